// Which gateway pods do not use an upstream, a model or a key now, why, and is it worth a write? Circuit breakers and cooldowns change by
// the second, so they are written with other news of the upstream, and alone at most once a minute.

import type { TargetCalls, UpstreamHealth } from '../../core/contract/exchange.ts';
import { timeOf } from '../../core/kube/time.ts';
import { type ProviderStatus, TROUBLE_PODS_MAX, TROUBLES_MAX } from '../resources/provider.ts';
import { TROUBLE_REASONS } from '../resources/trouble-reason.ts';

type Health = NonNullable<ProviderStatus['health']>;
type TroubleStatus = NonNullable<Health['troubles']>[number];

/** One open breaker, or one key in cooldown. */
export interface Trouble {
  /** Absent: of the address, or of a model there. */
  readonly key?: string;
  readonly upstreamModel?: string;
  readonly reason: TroubleStatus['reason'];
  /** All of them, by name. */
  readonly pods: readonly TroubledPod[];
}

interface TroubledPod {
  readonly name: string;
  /** Unix milliseconds. */
  readonly nextTryMs?: number;
}

/** What one pod says of the Provider. */
export interface PodView {
  readonly pod: string;
  readonly entries: readonly UpstreamHealth[];
  readonly calls: readonly TargetCalls[];
}

type SettledTroubles = Pick<Health, 'troubles' | 'troublesObservedAt'> & {
  /** When the result changes with time alone. */
  readonly againMs?: number;
};

const gapMs = 60_000;

/**
 * The address first, then models, then keys; the same in whichever order the pods are heard.
 *
 * @param usedKeys names of the keys in use: the cooldown of an unused key is not reported.
 */
export function troublesOf(
  views: readonly Omit<PodView, 'calls'>[],
  usedKeys: readonly string[],
): readonly Trouble[] {
  const troubles = new Map<string, Trouble & { readonly pods: TroubledPod[] }>();
  for (const { pod, entries } of [...views].sort((a, b) => (a.pod < b.pod ? -1 : 1))) {
    for (const { key, upstreamModel, state, untilMs } of entries) {
      const reason = TROUBLE_REASONS[state];
      if (reason === undefined || (key !== undefined && !usedKeys.includes(key))) continue;
      const where = {
        ...(key === undefined ? {} : { key }),
        ...(upstreamModel === undefined ? {} : { upstreamModel }),
      };
      const id = idOf({ ...where, reason });
      const trouble = troubles.get(id) ?? { ...where, reason, pods: [] };
      trouble.pods.push({ name: pod, ...(untilMs === undefined ? {} : { nextTryMs: untilMs }) });
      troubles.set(id, trouble);
    }
  }
  return [...troubles].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, trouble]) => trouble);
}

/**
 * A new time of the next try, or a further pod, is no reason to write.
 *
 * @param fresh undefined until every pod has answered: then the present status is kept.
 * @param isWrittenAnyway Other news of the same upstream is written now.
 */
export function settleTroubles(
  fresh: readonly Trouble[] | undefined,
  before: Health | undefined,
  nowMs: number,
  isWrittenAnyway: boolean,
): SettledTroubles {
  const { troubles: reported, troublesObservedAt: reportedAt } = before ?? {};
  const kept = {
    ...(reported === undefined ? {} : { troubles: reported }),
    ...(reportedAt === undefined ? {} : { troublesObservedAt: reportedAt }),
  };
  if (fresh === undefined) return kept;
  const next = fresh.slice(0, TROUBLES_MAX).map((trouble) => troubleStatus(trouble, reported, nowMs));
  if (namesIn(next) === namesIn(reported ?? [])) return kept;
  const allowedMs = reportAgainMs(before);
  if (nowMs < allowedMs && !isWrittenAnyway) return { ...kept, againMs: allowedMs };
  return { ...(next.length === 0 ? {} : { troubles: next }), troublesObservedAt: timeOf(nowMs) };
}

/** Earliest time of the next write without a change of health: a minute after the last one. */
export function reportAgainMs(before: Health | undefined): number {
  const { troublesObservedAt, lastTransitionTime } = before ?? {};
  const times = [troublesObservedAt, lastTransitionTime].map((time) => Date.parse(time ?? '') || 0);
  return Math.max(...times) + gapMs;
}

export function troubleStatus(
  { pods, ...trouble }: Trouble,
  reported: readonly TroubleStatus[] | undefined,
  nowMs: number,
): TroubleStatus {
  const before = reported?.find((one) => idOf(one) === idOf(trouble));
  return {
    ...trouble,
    podCount: pods.length,
    pods: pods.slice(0, TROUBLE_PODS_MAX).map(({ name, nextTryMs }) => ({
      name,
      sinceTime: before?.pods.find((pod) => pod.name === name)?.sinceTime ?? timeOf(nowMs),
      ...(nextTryMs === undefined ? {} : { nextTryTime: timeOf(nextTryMs) }),
    })),
  };
}

/** In the order of the list: what is absent comes first. */
function idOf({
  key,
  upstreamModel,
  reason,
}: Pick<TroubleStatus, 'key' | 'upstreamModel' | 'reason'>): string {
  return JSON.stringify([key ?? '', upstreamModel ?? '', reason]);
}

function namesIn(troubles: readonly TroubleStatus[]): string {
  return JSON.stringify(troubles.map((one) => [idOf(one), one.pods.map(({ name }) => name)]));
}
