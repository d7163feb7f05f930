// What needs attention? Sentences out of the statuses of Providers, ModelRoutes and budgets, the worst and newest first.

import type { Tone } from '../words/conditions.ts';
import type { Formats } from '../words/format.ts';
import type { ModelRoute, Provider } from '../words/kube.ts';
import { keyStateWords } from '../words/part-states.ts';
import { standingOf } from '../words/standing.ts';
import type { BudgetUse, HealthRow } from './ledger.ts';

interface Trouble {
  readonly tone: Tone;
  readonly what: string;
  readonly message: string;
  readonly since: string | undefined;
  /** Which object it is about; undefined: none with a page. */
  readonly of:
    | { readonly kind: 'providers' | 'routes' | 'keys'; readonly namespace: string; readonly name: string }
    | undefined;
}

export function troublesOf(
  providers: readonly Provider[],
  routes: readonly ModelRoute[],
  budgets: readonly BudgetUse[],
  money: Formats['money'],
): readonly Trouble[] {
  const troubles = [
    ...providers.flatMap(troublesOfProvider),
    ...routes.flatMap(troublesOfRoute),
    ...budgets.flatMap((budget) => troublesOfBudget(budget, money)),
  ];
  const rank = (tone: Tone) => (tone === 'bad' ? 0 : 1);
  return troubles.sort((a, b) => rank(a.tone) - rank(b.tone) || (b.since ?? '').localeCompare(a.since ?? ''));
}

function troublesOfProvider(provider: Provider): Trouble[] {
  const { namespace, name } = provider.metadata;
  const of = { kind: 'providers', namespace, name } as const;
  const standing = standingOf(provider);
  const ejected = (provider.status?.keys ?? []).filter(
    ({ state }) => !['Active', 'Disabled'].includes(state),
  );
  return [
    ...(standing.tone === 'bad' || standing.tone === 'warn'
      ? [
          {
            tone: standing.tone,
            what: `Provider ${namespace}/${name}: ${standing.word.toLowerCase()}`,
            message: standing.message ?? '',
            since: newest(standing.conditions.filter(({ tone }) => tone === standing.tone)),
            of,
          },
        ]
      : []),
    ...ejected.map((key) => ({
      tone: key.state === 'RateLimited' ? ('warn' as const) : ('bad' as const),
      what: `Key ${key.name} of ${namespace}/${name}: ${keyStateWords(key.state)}`,
      message: key.message ?? '',
      since: key.lastTransitionTime,
      of,
    })),
  ];
}

function troublesOfRoute(route: ModelRoute): Trouble[] {
  const { namespace, name } = route.metadata;
  const of = { kind: 'routes', namespace, name } as const;
  const standing = standingOf(route);
  const { drill } = route.status ?? {};
  return [
    ...(standing.tone === 'bad' || standing.tone === 'warn'
      ? [
          {
            tone: standing.tone,
            what: `Route ${namespace}/${name}: ${standing.word.toLowerCase()}`,
            message: standing.message ?? '',
            since: newest(standing.conditions.filter(({ tone }) => tone === standing.tone)),
            of,
          },
        ]
      : []),
    ...(standing.tone === 'off' ? [] : outageOf(route)),
    ...(drill?.result === 'Failed'
      ? [
          {
            tone: 'warn' as const,
            what: `Failover drill of ${namespace}/${name} failed`,
            message: drill.message ?? '',
            since: drill.lastRunTime,
            of,
          },
        ]
      : []),
  ];
}

/** No condition of a route reports an outage of its providers, yet its callers are refused. */
function outageOf({ metadata: { namespace, name }, status }: ModelRoute): Trouble[] {
  const inUse = (status?.targets ?? []).filter(({ state }) => ['Ready', 'Unhealthy'].includes(state));
  if (inUse.length === 0 || inUse.some(({ state }) => state === 'Ready')) return [];
  return [
    {
      tone: 'bad',
      what: `Route ${namespace}/${name}: no target answers`,
      message: inUse
        .flatMap((target) => (target.message === undefined ? [] : [`${target.name}: ${target.message}`]))
        .join('; '),
      since: newest(
        inUse.flatMap(({ lastTransitionTime: since }) => (since === undefined ? [] : [{ since }])),
      ),
      of: { kind: 'routes', namespace, name },
    },
  ];
}

function troublesOfBudget(budget: BudgetUse, money: Formats['money']): Trouble[] {
  if (budget.usedShare < 1) return [];
  const [, name] = budget.apiKey?.split('/') ?? [];
  const blocks = budget.action === 'Block';
  return [
    {
      tone: blocks ? 'bad' : 'warn',
      what: `Budget of ${budget.apiKey ?? `namespace ${budget.namespace}`} is used up`,
      message: `${money(budget.costUsd)} of ${money(budget.limitUsd)} for ${periodPhrase(budget.period)}; ${blocks ? 'calls are refused' : 'calls continue'}`,
      since: undefined,
      of: name === undefined ? undefined : { kind: 'keys', namespace: budget.namespace, name },
    },
  ];
}

function periodPhrase(period: string): string {
  return period === 'Total' ? 'all time' : `this ${period.toLowerCase()}`;
}

function newest(conditions: readonly { readonly since: string }[]): string | undefined {
  return conditions
    .map(({ since }) => since)
    .sort()
    .at(-1);
}

/** Failing attempts at one route or model. No sum says which of them a retry made good: it may have failed too. */
export function failedWords(row: HealthRow, number: (count: number) => string) {
  const { outcomes, attempts, requests } = row;
  const failures = ['failed', 'broken-off', 'interrupted'].reduce(
    (all, end) => all + (outcomes[end] ?? 0),
    0,
  );
  const further = Math.max(0, attempts - requests);
  return {
    name: row.route ?? `${row.upstreamModel} at ${row.provider}`,
    failed: `${number(failures)} of ${number(attempts)} attempts failed`,
    further: further === 0 ? '' : `${number(further)} ${further === 1 ? 'was a retry' : 'were retries'} · `,
  };
}
