// What needs attention? Sentences out of the statuses of Providers and ModelRoutes, of failing calls, budgets and keys: the worst and newest
// first. Pure.

import { periodWords } from '../keys/words.ts';
import { requestsLink } from '../requests/link.ts';
import { pathOf } from '../shell/place.ts';
import { codeWords } from '../words/calls.ts';
import type { Tone } from '../words/conditions.ts';
import type { Formats } from '../words/format.ts';
import type { ModelRoute, Provider } from '../words/kube.ts';
import { statusOf } from '../words/object-status.ts';
import { keyStateWords } from '../words/part-states.ts';
import { providerOf, servingTargets, type Target, troubledTargets } from '../words/targets.ts';
import type { BudgetUse, HealthRow } from './ledger.ts';
import { isNearEnd, usedUpAt } from './pace.ts';
import type { Period } from './period.ts';
import { errorsOf, failedEndOf } from './totals.ts';

interface Alert {
  /** `off`: it is over, or may be. */
  readonly tone: Tone;
  readonly what: string;
  readonly message: string;
  readonly since: string | undefined;
  /** The state has lasted since then; otherwise it was a moment. */
  readonly isLasting?: true;
  /** The page of what it is about; undefined: it has none. */
  readonly to: string | undefined;
}

/** A key as its row has it. */
interface EndingKey {
  readonly namespace: string;
  readonly name: string;
  readonly owner: string;
  readonly expiresAt: string | null;
}

interface Known {
  readonly providers: readonly Provider[];
  readonly routes: readonly ModelRoute[];
  readonly health: readonly HealthRow[];
  readonly budgets: readonly BudgetUse[];
  readonly keys: readonly EndingKey[];
}

interface AlertContext {
  readonly formats: Pick<Formats, 'money' | 'number' | 'percent' | 'time' | 'ago'>;
  readonly period: Period;
  readonly nowMs: number;
}

const modelsMax = 5;
const ranks: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, busy: 2, off: 3, good: 4 };

export function alertsOf(
  { providers, routes, health, budgets, keys }: Known,
  context: AlertContext,
): readonly Alert[] {
  const failing = new Set(providers.filter((one) => statusOf(one).tone === 'bad').map(idOf));
  const degraded = providers.filter((one) => statusOf(one).word === 'Degraded').map(idOf);
  const troubled = failing.union(new Set(degraded));
  const reported = new Set(routes.filter(isOfTargets).map(idOf));
  const alerts = [
    ...providers.flatMap((provider) => alertsOfProvider(provider, routes, health, failing, context)),
    ...routes.flatMap((route) => alertsOfRoute(route, failing, troubled)),
    // Calls of a provider in trouble are counted in its row; a row of failing targets says what fails.
    ...health
      .filter(({ provider, route }) => !troubled.has(provider ?? '') && !reported.has(route ?? ''))
      .flatMap((row) => alertsOfCalls(row, routes, failing, context)),
    ...budgets.flatMap((budget) => alertsOfBudget(budget, context)),
    ...keys.flatMap((key) => alertsOfKey(key, context)),
  ];
  return alerts.sort((a, b) => ranks[a.tone] - ranks[b.tone] || (b.since ?? '').localeCompare(a.since ?? ''));
}

const idOf = ({ metadata: { namespace, name } }: Provider | ModelRoute) => `${namespace}/${name}`;

const providersOf = (route: ModelRoute): readonly string[] =>
  route.spec.targets.map((target) => providerOf(route, target));

/** Whether the status of a route is that its targets fail. */
const isOfTargets = (route: ModelRoute): boolean => statusOf(route).conditions[0]?.type === 'Targets';

function alertsOfProvider(
  provider: Provider,
  routes: readonly ModelRoute[],
  health: readonly HealthRow[],
  failing: ReadonlySet<string>,
  { formats }: AlertContext,
): Alert[] {
  const { namespace, name } = provider.metadata;
  const id = idOf(provider);
  const to = pathOf('providers', namespace, name);
  const ejected = (provider.status?.keys ?? []).filter(
    ({ state }) => !['Active', 'Disabled'].includes(state),
  );
  const isInTrouble = failing.has(id) || statusOf(provider).word === 'Degraded';
  const effect = isInTrouble ? effectOf(id, routes, health, failing, formats) : undefined;
  return [
    ...alertOfStatus(provider, `Provider ${namespace}/${name}`, to).map((alert) =>
      effect === undefined
        ? alert
        : {
            ...alert,
            tone: effect.isServed ? ('warn' as const) : alert.tone,
            message: alert.message + effect.words,
          },
    ),
    ...ejected.map((key) => ({
      tone: key.state === 'RateLimited' ? ('warn' as const) : ('bad' as const),
      what: `Key ${key.name} of ${namespace}/${name}: ${keyStateWords(key.state)}`,
      message: key.message ?? '',
      since: key.lastTransitionTime,
      isLasting: true as const,
      to,
    })),
  ];
}

/** What callers have of a Provider in trouble: failed attempts and affected models; and whether others serve all of these. */
function effectOf(
  id: string,
  routes: readonly ModelRoute[],
  health: readonly HealthRow[],
  failing: ReadonlySet<string>,
  formats: AlertContext['formats'],
): { readonly words: string; readonly isServed: boolean } {
  const rows = health.filter((row) => row.provider === id);
  const attempts = rows.reduce((sum, row) => sum + row.attempts, 0);
  const failed = rows.reduce((sum, row) => sum + errorsOf(row), 0);
  const affected = routes
    .filter((route) =>
      (failing.has(id) ? route.spec.targets : troubledTargets(route)).some(
        (target) => providerOf(route, target) === id,
      ),
    )
    .map((route) => ({ model: route.spec.model, servedBy: servingTargets(route, failing) }));
  const models = affected.map(({ model, servedBy }) =>
    servedBy.length === 0 ? model : `${model} (served by ${servedBy.join(', ')})`,
  );
  return {
    words:
      (failed === 0 ? '' : `; ${formats.number(failed)} of ${formats.number(attempts)} attempts failed`) +
      (models.length === 0 ? '' : `; affects ${models.slice(0, modelsMax).join(', ')}`) +
      (models.length > modelsMax ? ` and ${formats.number(models.length - modelsMax)} more` : ''),
    isServed: affected.length > 0 && affected.every(({ servedBy }) => servedBy.length > 0),
  };
}

function alertsOfRoute(
  route: ModelRoute,
  failing: ReadonlySet<string>,
  troubled: ReadonlySet<string>,
): Alert[] {
  const { namespace, name } = route.metadata;
  const to = pathOf('routes', namespace, name);
  const { drill } = route.status ?? {};
  const servedBy =
    isOfTargets(route) && statusOf(route).word === 'Degraded' ? servingTargets(route, failing) : [];
  const served = servedBy.length === 0 ? '' : `; served by ${servedBy.join(', ')}`;
  const of = providersOf(route);
  const atFault = troubledTargets(route).map((target) => providerOf(route, target));
  // A route of failing providers alone is named by them, and so is one that others serve.
  const isExplained =
    (of.length > 0 && of.every((id) => failing.has(id))) ||
    (servedBy.length > 0 && atFault.length > 0 && atFault.every((id) => troubled.has(id)));
  return [
    ...(isExplained
      ? []
      : alertOfStatus(route, `Route ${namespace}/${name}`, to).map((alert) => ({
          ...alert,
          message: alert.message + served,
        }))),
    ...(drill?.result === 'Failed'
      ? [
          {
            tone: 'warn' as const,
            what: `Failover drill of ${namespace}/${name} failed`,
            message: drill.message ?? '',
            since: drill.lastRunTime,
            to,
          },
        ]
      : []),
  ];
}

function alertOfStatus(object: Provider | ModelRoute, what: string, to: string): Alert[] {
  const { tone, word, message = '', conditions, since: sinceTarget } = statusOf(object);
  if (tone !== 'bad' && tone !== 'warn') return [];
  const since = sinceTarget ?? newest(conditions.filter((condition) => condition.tone === tone));
  return [{ tone, what: `${what}: ${word.toLowerCase()}`, message, since, isLasting: true, to }];
}

function newest(conditions: readonly { readonly since: string }[]): string | undefined {
  return conditions
    .map(({ since }) => since)
    .sort()
    .at(-1);
}

const hourMs = 3_600_000;

/** Attempts, also those that a retry made good: of a provider that is down with a spare behind it no request fails. */
function alertsOfCalls(
  row: HealthRow,
  routes: readonly ModelRoute[],
  failing: ReadonlySet<string>,
  { formats, period, nowMs }: AlertContext,
): Alert[] {
  const { attempts, lastFailedAt, lastFailure, provider, route, upstreamModel } = row;
  const failed = errorsOf(row);
  if (lastFailedAt === undefined || failed === 0) return [];
  const isOver = nowMs - Date.parse(lastFailedAt) > hourMs;
  const why = lastFailure?.cause ?? codeWords(lastFailure?.failure ?? '');
  const model = routes.find((one) => idOf(one) === route)?.spec.model;
  const isServed =
    route === undefined
      ? isServedElsewhere(row, routes, failing)
      : (row.outcomes.answered ?? 0) >= row.requests;
  // Without a provider the outcome is that of the whole request, which another attempt may have answered.
  const outcome = provider === undefined ? undefined : failedEndOf(row);
  return [
    {
      tone: isOver ? 'off' : failed * 2 >= attempts && !isServed ? 'bad' : 'warn',
      what: `${route ?? `${upstreamModel} at ${provider}`}: ${formats.number(failed)} of ${formats.number(attempts)} attempts failed`,
      message: [
        ...(isServed ? ['All callers were answered'] : []),
        ...(why === '' ? [] : [`Last: ${why}`]),
        ...(lastFailure === undefined ? [] : [lastFailure.request]),
      ].join(', '),
      since: lastFailedAt,
      to: requestsLink({ provider, model, outcome, period }),
    },
  ];
}

/** Each route that calls the model there has a further target that serves. */
function isServedElsewhere(
  { provider, upstreamModel }: HealthRow,
  routes: readonly ModelRoute[],
  failing: ReadonlySet<string>,
): boolean {
  const isIt = (route: ModelRoute, target: Target) =>
    target.upstreamModel === upstreamModel && providerOf(route, target) === provider;
  const callers = routes.filter((route) => route.spec.targets.some((target) => isIt(route, target)));
  const hasOther = (route: ModelRoute) => {
    const serving = servingTargets(route, failing);
    return route.spec.targets.some((target) => serving.includes(target.name) && !isIt(route, target));
  };
  return callers.length > 0 && callers.every(hasOther);
}

function alertsOfBudget(budget: BudgetUse, { formats, nowMs }: AlertContext): Alert[] {
  const { namespace, apiKey, usedShare, costUsd, limitUsd, period, resetsAt } = budget;
  if (!isNearEnd(budget, nowMs)) return [];
  const [, name] = apiKey?.split('/') ?? [];
  const blocks = budget.action === 'Block';
  const isUsedUp = usedShare >= 1;
  const spent = `${formats.money(costUsd)} of ${formats.money(limitUsd)} / ${periodWords(period)}`;
  const end = usedUpAt(budget, nowMs);
  const then = blocks ? 'refused' : 'served';
  return [
    {
      tone: isUsedUp && blocks ? 'bad' : 'warn',
      what: `Budget of ${apiKey ?? `namespace ${namespace}`}: ${isUsedUp ? 'used up' : `${formats.percent(usedShare)} used`}`,
      message: isUsedUp
        ? `${spent}; calls are ${then}${resetsAt === undefined ? '' : ` until ${formats.time(resetsAt)}`}`
        : end === undefined
          ? `${spent}${resetsAt === undefined ? '' : `; at this pace it lasts until it resets, ${formats.time(resetsAt)}`}`
          : `${spent}; at this pace used up on ${formats.time(end)}, ${formats.ago(end, nowMs)}`,
      since: undefined,
      to: name === undefined ? `/keys?namespace=${namespace}` : pathOf('keys', namespace, name),
    },
  ];
}

const soonMs = 7 * 24 * hourMs;

function alertsOfKey(
  { namespace, name, owner, expiresAt }: EndingKey,
  { formats, nowMs }: AlertContext,
): Alert[] {
  const leftMs = expiresAt === null ? Number.NaN : Date.parse(expiresAt) - nowMs;
  if (expiresAt === null || !(leftMs > 0 && leftMs <= soonMs)) return [];
  return [
    {
      tone: 'warn',
      what: `Key ${namespace}/${name} expires ${formats.ago(expiresAt, nowMs)}`,
      message: owner === '' ? '' : `Owner: ${owner}`,
      since: undefined,
      to: pathOf('keys', namespace, name),
    },
  ];
}
