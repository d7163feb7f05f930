// How are the conditions of an object shown? What is wrong first, with the remedy, then the rest.

import { countOf } from '../words/format.ts';
import type { CommonStatus } from '../words/kube.ts';
import type { ConditionWords } from '../words/standing.ts';
import { Ago, Badge, Empty } from './basics.tsx';

interface ConditionsProps {
  readonly conditions: readonly ConditionWords[];
  readonly programmed: CommonStatus['programmed'];
}

const words = { good: 'OK', busy: 'In progress', warn: 'Warning', bad: 'Critical', off: 'Info' } as const;

export function Conditions({ conditions, programmed }: ConditionsProps) {
  if (conditions.length === 0) return <Empty title="Not processed yet" />;
  const pods = countOf(programmed?.runningPods, programmed?.readyPods);
  const rank = { bad: 0, warn: 1, busy: 2, off: 3, good: 4 } as const;
  const sorted = conditions.toSorted((a, b) => rank[a.tone] - rank[b.tone]);
  return (
    <>
      <ul class="conditions">
        {sorted.map(({ type, title, reason, message, wayOut, tone, since }) => (
          <li key={type}>
            <Badge tone={tone}>{words[tone]}</Badge>
            <div>
              <p class="condition-title">
                {title}{' '}
                <span class="faint small">
                  {type}
                  {reason !== type && ` · ${reason}`} · <Ago at={since} />
                </span>
              </p>
              {tone !== 'good' && message !== '' && <p class="condition-message">{message}</p>}
              {wayOut !== undefined && <p class="way-out">{wayOut}</p>}
            </div>
          </li>
        ))}
      </ul>
      {pods !== undefined && (
        <p class="faint small">
          Live on {pods} gateway pods
          {programmed?.tableGeneration !== undefined && (
            <>, table generation {programmed.tableGeneration} or later</>
          )}
          {programmed?.observedAt !== undefined && (
            <>
              {' '}
              (checked <Ago at={programmed.observedAt} />)
            </>
          )}
          .
        </p>
      )}
    </>
  );
}
