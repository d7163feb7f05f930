// How are the conditions of an object shown? What is wrong first, with the remedy, then the rest.

import { countOf } from '../words/format.ts';
import type { CommonStatus } from '../words/kube.ts';
import type { ConditionWords } from '../words/object-status.ts';
import { Ago, Badge, Empty, Prose } from './basics.tsx';

interface ConditionsProps {
  readonly conditions: readonly ConditionWords[];
  readonly programmed: CommonStatus['programmed'];
  /** Already shown above, so not repeated. */
  readonly said?: string | undefined;
}

const words = { good: 'OK', busy: 'In progress', warn: 'Warning', bad: 'Critical', off: 'Info' } as const;

export function Conditions({ conditions, programmed, said }: ConditionsProps) {
  if (conditions.length === 0) return <Empty title="Not processed yet" />;
  const pods = countOf(programmed?.runningPods, programmed?.readyPods);
  const rank = { bad: 0, warn: 1, busy: 2, off: 3, good: 4 } as const;
  const sorted = conditions.toSorted((a, b) => rank[a.tone] - rank[b.tone]);
  const good = sorted.filter(({ tone }) => tone === 'good');
  const others = sorted.filter(({ tone }) => tone !== 'good');
  return (
    <>
      {others.length > 0 && <List conditions={others} said={said} />}
      {good.length > 0 && (
        <details open={others.length === 0 && good.length < 3}>
          <summary>
            <Badge tone="good">OK</Badge> {good.map(({ title }) => title).join(' · ')}
          </summary>
          <List conditions={good} said={said} />
        </details>
      )}
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

function List({ conditions, said }: Pick<ConditionsProps, 'conditions' | 'said'>) {
  return (
    <ul class="conditions">
      {conditions.map(({ type, title, reason, message, wayOut, tone, since }) => (
        <li key={type}>
          <Badge tone={tone}>{words[tone]}</Badge>
          <div>
            <p class="condition-title">
              {title}{' '}
              <span class="faint small" title={`${type}: ${reason}`}>
                {type}
                {since !== '' && (
                  <>
                    {' '}
                    · <Ago at={since} />
                  </>
                )}
              </span>
            </p>
            {isNews(tone, message, wayOut) && message !== said && (
              <p class="condition-message">
                <Prose text={message} />
              </p>
            )}
            {wayOut !== undefined && <p class="way-out">{wayOut}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** For an object that its owner has switched off, the remedy says everything. */
function isNews(tone: ConditionWords['tone'], message: string, wayOut: string | undefined): boolean {
  return message !== '' && tone !== 'good' && !(tone === 'off' && wayOut !== undefined);
}
