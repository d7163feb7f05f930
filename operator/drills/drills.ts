// Schedules failover drills and collects their results. Each run is assigned to one gateway pod in the exchange, and to another if that
// pod leaves before it has reported a result.

import type { Clock } from '../../core/clock.ts';
import type { DrillOrder, DrillOutcome } from '../../core/contract/exchange.ts';
import type { Drill } from '../compile/drill.ts';
import { placeOf } from '../compile/index-by-place.ts';
import type { ModelRouteVerdict, RoutingVerdict } from '../compile/verdict.ts';
import { createAlarm } from '../leading/alarm.ts';
import type { PodAnswers } from '../pods/pods-state.ts';
import type { ModelRouteStatus } from '../resources/model-route.ts';
import type { GatewayPod } from '../watch/gateway-pods.ts';
import { ablePods, choosePod } from './choose-pod.ts';
import { dueMs, type LastRun } from './due.ts';

/** Drill facts for the status. */
export interface DrillReport {
  /** The last run that this operator has seen the end of. */
  readonly run?: DrillRun;
  /** Why the drill that is due cannot run. */
  readonly trouble?: string;
}

export interface DrillRun extends LastRun {
  readonly outcome: DrillOutcome;
}

/** Of one route, for metrics. Times in Unix milliseconds. */
export interface DrillReading {
  /** `namespace/name`. */
  readonly route: string;
  readonly dueMs: number;
  readonly lastRunMs?: number;
  readonly isPassed?: boolean;
  readonly takeoverMs?: number;
}

interface DrillsParts {
  readonly clock: Clock;
  /** The ready pods, by name. */
  pods(): readonly GatewayPod[];
  answers(): PodAnswers;
  epochFloor(): number;
  /** The table generation in which the present form of a route first appeared; undefined while it is in none. */
  sinceOf(verdict: ModelRouteVerdict): number | undefined;
  /** The drill in the status of the route. */
  statusOf(verdict: ModelRouteVerdict): ModelRouteStatus['drill'];
  /** Sends this pod its orders now, not with its next call. */
  renew(uid: string): void;
  /** There is something new to report on that route; by `Kind/namespace/name`. */
  onChange(key: string): void;
}

export interface Drills {
  /** The present verdicts; an unchanged drill goes on. */
  watch(verdicts: ReadonlyMap<string, RoutingVerdict>): void;
  /** Call it when a pod has reported something, was added or left. */
  look(): void;
  ordersOf(uid: string): readonly DrillOrder[];
  /** @param key `Kind/namespace/name`. */
  reportOf(key: string): DrillReport | undefined;
  readings(): readonly DrillReading[];
  close(): void;
}

/** A rollout may leave no pod for a moment; a longer absence is reported. */
const patienceMs = 60_000;
/** Never more often than this, however often a schedule comes. */
const lookGapMs = 1_000;
/** A wall clock that was put forward is noticed within this. */
const lookMsMax = 300_000;

interface Watched {
  readonly key: string;
  verdict: ModelRouteVerdict;
  drill: Drill;
  last: LastRun | undefined;
  /** Kept for metrics. */
  result: Pick<DrillReading, 'isPassed' | 'takeoverMs'>;
  report: DrillReport;
  run: ({ readonly order: DrillOrder; readonly uid: string } & LastRun) | undefined;
  /** Unix milliseconds since when no gateway pod could run it. */
  stuckSinceMs: number | undefined;
  /** Unix milliseconds; known once for each run, because it takes a while to find in a calendar. */
  dueMs: number;
}

export function createDrills(parts: DrillsParts): Drills {
  const { clock } = parts;
  const watched = new Map<string, Watched>();
  const alarm = createAlarm(clock, look);
  let orders = 0;
  let isClosed = false;

  return {
    watch(verdicts) {
      for (const key of watched.keys()) {
        const verdict = verdicts.get(key);
        if (verdict?.kind !== 'ModelRoute' || verdict.drill === undefined) watched.delete(key);
      }
      for (const [key, verdict] of verdicts) {
        if (verdict.kind !== 'ModelRoute' || verdict.drill === undefined) continue;
        const known = watched.get(key);
        if (known === undefined) watched.set(key, begin(key, verdict, verdict.drill));
        else if (known.verdict !== verdict) adopt(known, verdict, verdict.drill);
      }
      look();
    },
    look,
    ordersOf: (uid) => [...watched.values()].flatMap(({ run }) => (run?.uid === uid ? [run.order] : [])),
    reportOf: (key) => watched.get(key)?.report,
    readings: () =>
      [...watched.values()].map(({ verdict, last, result, dueMs: due }) => ({
        route: placeOf(verdict),
        dueMs: due,
        ...(last === undefined ? {} : { lastRunMs: last.atMs }),
        ...result,
      })),
    close() {
      isClosed = true;
      alarm(undefined);
      watched.clear();
    },
  };

  function begin(key: string, verdict: ModelRouteVerdict, drill: Drill): Watched {
    const reported = parts.statusOf(verdict);
    const atMs = Date.parse(reported?.lastRunTime ?? '');
    const last = Number.isNaN(atMs) ? undefined : { atMs, trigger: reported?.observedTrigger };
    return {
      key,
      verdict,
      drill,
      last,
      result:
        reported?.result === 'Passed' || reported?.result === 'Failed'
          ? { isPassed: reported.result === 'Passed' }
          : {},
      report: {},
      run: undefined,
      stuckSinceMs: undefined,
      dueMs: dueMs(drill, last, clock.wallMs()),
    };
  }

  function adopt(known: Watched, verdict: ModelRouteVerdict, drill: Drill): void {
    const isSame = JSON.stringify(known.drill) === JSON.stringify(drill);
    known.verdict = verdict;
    known.drill = drill;
    if (isSame) return;
    // What runs would prove something that is not asked for any more.
    known.run = undefined;
    known.dueMs = dueMs(drill, known.last, clock.wallMs());
  }

  function look(): void {
    if (isClosed) return;
    const nowMs = clock.wallMs();
    const pods = parts.pods();
    const answers = parts.answers();
    for (const one of watched.values()) settle(one, pods, answers);
    const ordered = countOrders();
    const renewed = new Set<string>();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const one of inTurn([...watched.values()])) {
      if (one.dueMs > nowMs) {
        nextMs = Math.min(nextMs, one.dueMs);
        continue;
      }
      const uid = order(one, pods, answers, ordered, nowMs);
      if (uid !== undefined) {
        renewed.add(uid);
        ordered.set(uid, (ordered.get(uid) ?? 0) + 1);
      } else if (one.stuckSinceMs !== undefined && one.report.trouble === undefined) {
        nextMs = Math.min(nextMs, one.stuckSinceMs + patienceMs);
      }
    }
    for (const uid of renewed) parts.renew(uid);
    const waitMs = Math.min(Math.max(lookGapMs, nextMs - nowMs), lookMsMax);
    alarm(Number.isFinite(nextMs) ? clock.now() + waitMs : undefined);
  }

  /** Ends a run that has its result, or whose pod is gone. */
  function settle(one: Watched, pods: readonly GatewayPod[], answers: PodAnswers): void {
    const { run } = one;
    if (run === undefined) return;
    const answer = answers.get(run.uid);
    if (answer?.failure !== undefined || pods.every(({ uid }) => uid !== run.uid)) {
      one.run = undefined;
      return;
    }
    const outcome = answer?.response?.drills?.find(({ id }) => id === run.order.id);
    if (outcome === undefined) return;
    const { isPassed, takeoverMs } = outcome;
    one.run = undefined;
    one.last = { atMs: run.atMs, trigger: run.trigger };
    one.result = { isPassed, ...(takeoverMs === undefined ? {} : { takeoverMs }) };
    one.report = { run: { ...one.last, outcome } };
    one.dueMs = dueMs(one.drill, one.last, clock.wallMs());
    parts.onChange(one.key);
  }

  /** Gives the pod that is to run it, if there is one. */
  function order(
    one: Watched,
    pods: readonly GatewayPod[],
    answers: PodAnswers,
    ordered: ReadonlyMap<string, number>,
    nowMs: number,
  ): string | undefined {
    const since = parts.sinceOf(one.verdict);
    // A drill cannot test a form that no gateway runs yet.
    if (since === undefined) return undefined;
    const route = placeOf(one.verdict);
    const able = ablePods(pods, answers, since, parts.epochFloor());
    const pod = choosePod(able, route, (uid) => ordered.get(uid) ?? 0);
    if (pod === undefined) {
      reportTrouble(one, troubleOf(pods.length, able.length), nowMs);
      return undefined;
    }
    const { fault, takeoverWithinMs, trigger } = one.drill;
    one.stuckSinceMs = undefined;
    one.run = {
      uid: pod.uid,
      atMs: nowMs,
      trigger,
      order: { id: `${route} ${nowMs} ${orders++}`, route, fault, takeoverWithinMs },
    };
    return pod.uid;
  }

  function reportTrouble(one: Watched, trouble: string, nowMs: number): void {
    one.stuckSinceMs ??= nowMs;
    if (nowMs - one.stuckSinceMs < patienceMs || one.report.trouble === trouble) return;
    one.report = { ...one.report, trouble };
    parts.onChange(one.key);
  }

  function countOrders(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { run } of watched.values()) {
      if (run !== undefined) counts.set(run.uid, (counts.get(run.uid) ?? 0) + 1);
    }
    return counts;
  }
}

function troubleOf(ready: number, able: number): string {
  if (ready === 0) return 'no gateway pod is ready; the drill runs as soon as a pod is';
  if (able === 0)
    return 'no gateway pod could run the drill: each pod is silent, too old for drills, or without the current form of the model; it runs as soon as a pod can';
  return 'every gateway pod is busy with other drills; this drill runs after them';
}

/** Drills that are not running, fewest running drills of the namespace first: a tenant with many long drills must not delay others. */
function inTurn(watched: readonly Watched[]): readonly Watched[] {
  const running = new Map<string, number>();
  for (const { run, verdict } of watched)
    if (run !== undefined) running.set(verdict.namespace, (running.get(verdict.namespace) ?? 0) + 1);
  const runningOf = ({ verdict }: Watched): number => running.get(verdict.namespace) ?? 0;
  return watched
    .filter(({ run }) => run === undefined)
    .toSorted((a, b) => runningOf(a) - runningOf(b) || a.dueMs - b.dueMs);
}
