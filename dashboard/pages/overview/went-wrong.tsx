// What needs attention? Objects by their conditions, calls by the ledger.

import { Ago, Badge, Empty } from '../parts/basics.tsx';
import { type Asked, useAsked, useObjects } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import type { ModelRoute, Provider } from '../words/kube.ts';
import type { BudgetsAnswer, HealthAnswer } from './ledger.ts';
import type { Question } from './questions.ts';
import { failedWords, troublesOf } from './went-wrong.ts';

interface WentWrongProps {
  /** Those that are used up. */
  readonly budgets: Pick<Asked<BudgetsAnswer>, 'answer' | 'error' | 'isAsking'>;
  /** All of it is asked anew at each other one. */
  readonly nowMs: number;
  readonly period: string;
  readonly question: Question;
}

const shownMax = 8;

export function WentWrong({ budgets, nowMs, period, question: { query } }: WentWrongProps) {
  const { api, session, namespace, formats } = useShell();
  const providers = useObjects<Provider>('providers', namespace, nowMs);
  const routes = useObjects<ModelRoute>('modelroutes', namespace, nowMs);
  const health = useAsked(
    session.hasLedger ? `health of ${period} in ${namespace ?? '*'}` : undefined,
    (signal) => api.call<HealthAnswer>('ledger/v1/health', { query, signal }),
    `calls of ${namespace ?? '*'}`,
    nowMs,
  );
  const troubles = troublesOf(
    providers.objects ?? [],
    routes.objects ?? [],
    budgets.answer?.budgets ?? [],
    formats.money,
  );
  const failed = (health.answer?.health ?? [])
    .filter((row) => row.lastFailedAt !== undefined)
    .sort((a, b) => (b.lastFailedAt ?? '').localeCompare(a.lastFailedAt ?? ''));
  const unread = [providers.error, routes.error, health.error, budgets.error].flatMap(
    (error) => error?.message ?? [],
  );
  const isAsking = [providers, routes, health, budgets].some(
    (asked) => asked.isAsking && asked.answer === undefined,
  );
  return (
    <section class="panel" aria-labelledby="wrong-heading" aria-busy={isAsking || health.isAsking}>
      <h2 id="wrong-heading">Problems</h2>
      {isAsking && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {!isAsking && troubles.length === 0 && failed.length === 0 && unread.length === 0 && (
        <Empty title="No problems">
          <p>No failing calls in this period, no unhealthy object, no budget used up.</p>
        </Empty>
      )}
      <ul class="plain-list">
        {troubles.slice(0, shownMax).map(({ tone, what, message, since, of }) => (
          <li key={what} class="trouble">
            <Badge tone={tone}>{tone === 'bad' ? 'Critical' : 'Warning'}</Badge>
            <div>
              <p>
                {of === undefined ? what : <Link to={pathOf(of.kind, of.namespace, of.name)}>{what}</Link>}{' '}
                {since !== undefined && (
                  <span class="faint small">
                    <Ago at={since} />
                  </span>
                )}
              </p>
              {message !== '' && <p class="faint small clamp">{message}</p>}
            </div>
          </li>
        ))}
        {failed.slice(0, shownMax).map((row) => {
          const { name, failed: what, further } = failedWords(row, formats.number);
          return (
            <li key={name} class="trouble">
              <Badge tone="off">Failing calls</Badge>
              <div>
                <p>
                  {name}: {what}
                </p>
                <p class="faint small">
                  {further}
                  last failure <Ago at={row.lastFailedAt} />
                </p>
              </div>
            </li>
          );
        })}
      </ul>
      {troubles.length > shownMax && (
        <p class="faint small">
          {budgets.answer?.isTruncated && 'At least '}
          {formats.number(troubles.length - shownMax)} more: <Link to="/providers">Providers and routes</Link>
        </p>
      )}
      {unread.length > 0 && (
        <p class="hint">Some of this could not be loaded: {[...new Set(unread)].join(' ')}</p>
      )}
    </section>
  );
}
