// What needs attention? First of all on the page: each with its page or its requests.

import { useState } from 'preact/hooks';
import type { KeyRowsAnswer } from '../../api-types.ts';
import { Ago, Badge, Button, Prose } from '../parts/basics.tsx';
import { CsvButton } from '../parts/csv.tsx';
import { useAsked, useObjects } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import type { ModelRoute, Provider } from '../words/kube.ts';
import { alertsOf } from './alerts.ts';
import type { BudgetsAnswer, HealthAnswer } from './ledger.ts';
import type { Period } from './period.ts';
import type { Question } from './questions.ts';

interface AlertsProps {
  /** Everything is asked again when it changes. */
  readonly nowMs: number;
  readonly period: Period;
  readonly budgets: Question;
  readonly health: Question;
}

const shownMax = 5;
const toneWords = { bad: 'Critical', warn: 'Warning', off: 'Earlier', busy: 'Note', good: 'Good' } as const;

export function Alerts({ nowMs, period, budgets: ofBudgets, health: ofHealth }: AlertsProps) {
  const { api, session, namespace, formats } = useShell();
  const [isWhole, setWhole] = useState(false);
  const place = namespace ?? '*';
  const providers = useObjects<Provider>('providers', namespace, nowMs);
  const routes = useObjects<ModelRoute>('modelroutes', namespace, nowMs);
  const ofLedger = <Answer,>(name: string, view: string, { what, query }: Question) =>
    useAsked(
      session.hasLedger ? name : undefined,
      (signal) => api.call<Answer>(`ledger/v1/${what}`, { query, signal }),
      view,
      nowMs,
    );
  const health = ofLedger<HealthAnswer>(`health of ${period} in ${place}`, `calls of ${place}`, ofHealth);
  const budgets = ofLedger<BudgetsAnswer>(`budgets of ${place}`, `budgets of ${place}`, ofBudgets);
  const keys = useAsked(
    `keys that end in ${place}`,
    (signal) =>
      api.call<KeyRowsAnswer>('rows/apikeys', {
        query: { namespace, state: 'ExpiresSoon', sort: 'expires', order: 'asc', limit: 20 },
        signal,
      }),
    `keys that end in ${place}`,
    nowMs,
  );
  const parts = [providers, routes, health, budgets, keys];
  const alerts = alertsOf(
    {
      providers: providers.objects ?? [],
      routes: routes.objects ?? [],
      health: health.answer?.health ?? [],
      budgets: budgets.answer?.budgets ?? [],
      keys: keys.answer?.rows ?? [],
    },
    { formats, period, nowMs },
  );
  const unread = parts.flatMap(({ error }) => error?.message ?? []);
  const isAsking = parts.some((asked) => asked.isAsking && asked.answer === undefined);
  const shown = isWhole ? alerts : alerts.slice(0, shownMax);
  return (
    <section
      class="panel alerts"
      aria-labelledby="alerts-heading"
      aria-busy={parts.some((asked) => asked.isAsking)}
    >
      <h2 id="alerts-heading">Problems</h2>
      {alerts.length > 0 && (
        <p class="csv">
          <CsvButton
            what="Problems"
            head={['Severity', 'What', 'Message', 'Since (UTC)']}
            rows={() =>
              alerts.map(({ tone, what, message, since }) => [toneWords[tone], what, message, since])
            }
          />
        </p>
      )}
      {isAsking && alerts.length === 0 && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {!isAsking && alerts.length === 0 && unread.length === 0 && (
        <p>
          <Badge tone="good">None</Badge> No failing calls in this period, no unhealthy object, no budget near
          its end, no key that expires soon.
        </p>
      )}
      <ul class="plain-list">
        {shown.map(({ tone, what, message, since, isLasting, to }) => (
          <li key={what} class="trouble">
            <Badge tone={tone}>{toneWords[tone]}</Badge>
            <div>
              <p>
                {to === undefined ? what : <Link to={to}>{what}</Link>}{' '}
                {since !== undefined && (
                  <span class="faint small">
                    {isLasting ? `for ${formats.lasting(since, nowMs)}` : <Ago at={since} />}
                  </span>
                )}
              </p>
              {message !== '' && (
                <p class="faint small clamp">
                  <Prose text={message} />
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
      {alerts.length > shownMax && (
        <Button look="quiet" onClick={() => setWhole(!isWhole)}>
          {isWhole
            ? 'Show fewer'
            : `Show ${budgets.answer?.isTruncated ? 'at least ' : ''}${formats.number(alerts.length - shownMax)} more`}
        </Button>
      )}
      {unread.length > 0 && (
        <p class="hint">Some of this could not be loaded: {[...new Set(unread)].join(' ')}</p>
      )}
    </section>
  );
}
