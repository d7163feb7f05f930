// Is what the pods say about an upstream worth a write? The first judgement is; after that, no more often than it helps a
// reader, because breakers and rate limits come and go by the second: a turn every ten seconds, all else once a minute.

import { timeOf } from '../../core/kube/time.ts';
import type { Condition, ProviderVerdict } from '../compile/verdict.ts';
import { cutText } from '../cut-text.ts';
import { FOUND_EARLIER } from '../probe/prober.ts';
import type { ProviderStatus } from '../resources/provider.ts';
import { earliest } from './earliest.ts';
import { HEALTH_MESSAGES, healthCondition } from './health-condition.ts';
import type { ProviderHealth } from './health-of.ts';
import type { ObjectStatus } from './object-status.ts';
import { reportAgainMs, settleTroubles } from './troubles.ts';

type KeyStatus = NonNullable<ProviderStatus['keys']>[number];

export interface SettledHealth {
  readonly condition: Condition & { readonly observedGeneration?: number };
  readonly health?: NonNullable<ProviderStatus['health']>;
  readonly keys: readonly KeyStatus[];
  /** When the result changes with time alone. */
  readonly againMs?: number;
}

const healthyGapMs = 10_000;
const keysGapMs = 60_000;
const errorCharsMax = 1_024;

/** @param fresh undefined until every pod has answered: then the present status is kept. */
export function settleHealth(
  verdict: ProviderVerdict,
  fresh: ProviderHealth | undefined,
  present: ObjectStatus | undefined,
  nowMs: number,
): SettledHealth {
  const before: ProviderStatus = present ?? {};
  const upstream = settleUpstream(verdict, fresh, before, nowMs);
  const keys = settleKeys(verdict, fresh, before, nowMs);
  const { againMs, ...troubles } = settleTroubles(
    verdict.isInTable ? fresh?.troubles : [],
    before.health,
    nowMs,
    upstream.isNews || !verdict.isInTable,
  );
  const health = { ...upstream.health, ...troubles };
  const soonestMs = earliest(upstream.againMs, keys.againMs, againMs);
  return {
    condition: upstream.condition,
    ...(Object.keys(health).length === 0 ? {} : { health }),
    keys: keys.keys,
    ...(soonestMs === undefined ? {} : { againMs: soonestMs }),
  };
}

type Upstream = Pick<SettledHealth, 'condition' | 'health' | 'againMs'> & {
  /** The condition differs from the last one. */
  readonly isNews: boolean;
};

function settleUpstream(
  verdict: ProviderVerdict,
  fresh: ProviderHealth | undefined,
  { conditions, health: healthBefore }: ProviderStatus,
  nowMs: number,
): Upstream {
  const health = withoutTroubles(healthBefore);
  const before = conditions?.find(({ type }) => type === 'Healthy');
  const reason = verdict.isInTable ? (fresh?.reason ?? before?.reason) : 'NoTraffic';
  const known = isHealthReason(reason) ? reason : 'NoTraffic';
  const kept = before !== undefined && isHealthReason(before.reason) ? keep(before.reason) : undefined;
  if (before === undefined || kept === undefined) return say();

  const isOfThisSpec = before.observedGeneration === verdict.generation;
  if (known === before.reason) {
    if (!isOfThisSpec) return { ...kept, condition: healthCondition(known, fresh?.message) };
    if (!isForAnotherReason()) return withError(kept);
    const againMs = reportAgainMs(healthBefore);
    return nowMs < againMs ? { ...withError(kept), againMs } : say();
  }
  // An upstream that worked and is not called any more is not worth a word.
  if (known === 'NoTraffic' && before.reason === 'Healthy' && verdict.isInTable && isOfThisSpec) return kept;
  const isFirst = before.reason === 'NoTraffic';
  if (isFirst || !isOfThisSpec || health?.lastTransitionTime === undefined) return say();
  const allowedMs = Date.parse(health.lastTransitionTime) + healthyGapMs;
  return nowMs < allowedMs ? { ...kept, againMs: allowedMs } : say();

  function say(): Upstream {
    const counts =
      fresh === undefined || known === 'NoTraffic'
        ? {}
        : { healthyPods: fresh.healthyPods, totalPods: fresh.totalPods };
    return {
      condition: healthCondition(known, fresh?.message),
      health: { ...counts, lastTransitionTime: timeOf(nowMs), ...errorAtTurn() },
      isNews: true,
    };
  }

  /** For a working Provider, an end of its traffic is not worth a write. */
  function isForAnotherReason(): boolean {
    if (fresh === undefined || known === 'NoTraffic') return false;
    if (hasTurned(fresh, health ?? {})) return true;
    const { message = HEALTH_MESSAGES[known] } = fresh;
    const isUnchecked = message.endsWith(FOUND_EARLIER);
    return (
      message !== before?.message &&
      !isUnchecked &&
      (known !== 'Healthy' || message === HEALTH_MESSAGES.Healthy)
    );
  }

  /** A recovered upstream keeps its last error. A new failure does not keep the error of the previous one. */
  function errorAtTurn(): Pick<NonNullable<ProviderStatus['health']>, 'lastError'> {
    const isSameUpstream = verdict.isInTable && before?.observedGeneration === verdict.generation;
    const goesOn = !isTrouble(known) || isTrouble(before?.reason);
    const earlier = isSameUpstream && goesOn ? health?.lastError : undefined;
    const text = isTrouble(known) ? (fresh?.lastError ?? earlier) : earlier;
    return text === undefined ? {} : { lastError: cutText(text, errorCharsMax) };
  }

  /** Calls often fail before a check does: once a turn, its word comes later. */
  function withError(kept: Upstream): Upstream {
    const text = fresh?.lastError;
    if (!isTrouble(known) || text === undefined || kept.health?.lastError !== undefined) return kept;
    return { ...kept, health: { ...kept.health, lastError: cutText(text, errorCharsMax) } };
  }

  function keep(reasonBefore: ProviderHealth['reason']): Upstream {
    const observed = before?.observedGeneration;
    return {
      condition: {
        ...healthCondition(reasonBefore, before?.message),
        ...(observed === undefined ? {} : { observedGeneration: observed }),
      },
      ...(health === undefined ? {} : { health }),
      isNews: false,
    };
  }
}

type Counts = Pick<NonNullable<ProviderStatus['health']>, 'healthyPods' | 'totalPods'>;

/** Whether pods find another thing than before: that one more or less uses it changes only those that work, or only the others. */
function hasTurned(now: Counts, before: Counts): boolean {
  const failing = ({ healthyPods = 0, totalPods = 0 }: Counts): number => totalPods - healthyPods;
  return now.healthyPods !== before.healthyPods && failing(now) !== failing(before);
}

/** Without troubles, which are written at their own pace. */
function withoutTroubles(health: ProviderStatus['health']): ProviderStatus['health'] {
  if (health === undefined) return undefined;
  const { troubles: _, troublesObservedAt: __, ...upstream } = health;
  return upstream;
}

function isTrouble(reason: string | undefined): boolean {
  return reason !== 'Healthy' && reason !== 'NoTraffic' && isHealthReason(reason);
}

function isHealthReason(reason: string | undefined): reason is ProviderHealth['reason'] {
  return reason !== undefined && Object.hasOwn(HEALTH_MESSAGES, reason);
}

function settleKeys(
  verdict: ProviderVerdict,
  fresh: ProviderHealth | undefined,
  present: ProviderStatus,
  nowMs: number,
): { keys: readonly KeyStatus[]; againMs?: number } {
  const allowedMs =
    keysGapMs +
    Math.max(
      0,
      ...(present.keys ?? []).map(({ lastTransitionTime }) => Date.parse(lastTransitionTime ?? '') || 0),
    );
  let againMs: number | undefined;
  const keys = verdict.keys.map((key): KeyStatus => {
    const before = present.keys?.find(({ name }) => name === key.name);
    const trouble = key.state === 'Active' ? fresh?.keys.get(key.name) : undefined;
    const next = { ...key, ...trouble };
    // Only with one and the same value in its Secret is a change the traffic's.
    const isSameValue =
      key.state === 'Active' && before !== undefined && before.fingerprint === key.fingerprint;
    if (before?.state === next.state) {
      return { ...next, ...pick(before.lastTransitionTime) };
    }
    if (isSameValue && fresh === undefined) return before;
    if (isSameValue && nowMs < allowedMs) {
      againMs = allowedMs;
      return before;
    }
    return { ...next, lastTransitionTime: timeOf(nowMs) };
  });
  return { keys, ...(againMs === undefined ? {} : { againMs }) };
}

function pick(lastTransitionTime: string | undefined): { lastTransitionTime?: string } {
  return lastTransitionTime === undefined ? {} : { lastTransitionTime };
}
