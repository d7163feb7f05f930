// What does an outage cost, and how soon is it over? Pods with the real plan, breaker and next step, in a world where time
// only passes when something happens.

import { describe, expect, test } from 'vitest';
import { type AttemptFailure, failureCode, judgeFailure } from '../../../gateway/attempt/failure.ts';
import { type FailedAttempt, nextStep } from '../../../gateway/attempt/next-step.ts';
import { Health } from '../../../gateway/route/health.ts';
import { type Candidate, selectTargets } from '../../../gateway/route/plan.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { makeRandom } from '../../support/wall/split.ts';
import { routeOf } from './candidates.ts';

/** A primary, and behind it a spare that always answers. */
const route = routeOf([{ priority: 0 }, { priority: 1 }]);
const spareTakesMs = 40;

interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
  readonly failure: AttemptFailure;
  /** Until the failure is there. */
  readonly afterMs: number;
  /** Of the primary, while it lives: until its answer, of which nothing comes before. */
  readonly answersAfterMs?: number;
}

interface Seen {
  /** When attempts at the primary began, while it was dead. */
  readonly wasted: number[];
  /** When attempts at the primary began, while it lived. */
  readonly broughtToPrimary: number[];
  /** When the primary answered. */
  readonly servedByPrimary: number[];
  /** Attempts at the primary in flight when its breaker opened first. */
  inFlightAtOpening: number | undefined;
  requests: number;
  answered: number;
  upstreamCalls: number;
}

function runPod(clock: FakeClock, random: () => number, outage: Outage): { seen: Seen; request(): void } {
  const health = new Health(random);
  const seen: Seen = {
    wasted: [],
    broughtToPrimary: [],
    servedByPrimary: [],
    inFlightAtOpening: undefined,
    requests: 0,
    answered: 0,
    upstreamCalls: 0,
  };
  const isDead = (): boolean => clock.now() >= outage.fromMs && clock.now() < outage.toMs;

  function attempt(
    candidate: Candidate,
    isRepetition: boolean,
    onDone: (failure?: AttemptFailure) => void,
  ): void {
    const isPrimary = candidate.target.entry.name === 't0';
    const fails = isPrimary && isDead();
    if (fails) seen.wasted.push(clock.now());
    else if (isPrimary) seen.broughtToPrimary.push(clock.now());
    const answersAfterMs = isPrimary ? (outage.answersAfterMs ?? spareTakesMs) : spareTakesMs;
    seen.upstreamCalls += 1;
    const watched = health.onStart(candidate, isRepetition, clock.now());
    clock.setTimer(fails ? outage.afterMs : answersAfterMs, () => {
      const inFlight = health.inFlight(candidate.target.healthId);
      const wasOpen = health.breakers(clock.now()).length > 0;
      const isEndpoint = judgeFailure(outage.failure).scope === 'endpoint';
      const cause = failureCode(outage.failure);
      health.onEnd(
        watched,
        fails ? { type: isEndpoint ? 'endpoint-failure' : 'target-failure', cause } : { type: 'success' },
        clock.now(),
      );
      if (!wasOpen && health.breakers(clock.now()).length > 0) seen.inFlightAtOpening ??= inFlight;
      if (isPrimary && !fails) seen.servedByPrimary.push(clock.now());
      onDone(fails ? outage.failure : undefined);
    });
  }

  function request(): void {
    seen.requests += 1;
    const plan = selectTargets(route, ([dialect]) => dialect, {
      random,
      load: {
        inFlight: (id) => health.inFlight(id),
        shareOf: (target) => health.shareOf(target, clock.now()),
      },
    });
    const { candidates } = plan;
    const at = (position: number): Candidate => {
      const candidate = candidates[position];
      if (!candidate) throw new RangeError(`there is no candidate ${position}`);
      return candidate;
    };
    const failed: FailedAttempt[] = [];
    const next = (): void => {
      const step = nextStep({
        candidates: candidates.map(({ target, endpoint }) => ({
          keyId: endpoint.healthId,
          targetId: target.entry.name,
          endpointId: target.provider.entry.id,
          tier: target.entry.priority,
        })),
        isUsable: (position) => health.isUsable(at(position), clock.now()),
        isClosed: (position) => health.isClosed(at(position), clock.now()),
        hasRetryBudget: (position) => health.hasBudget(at(position), clock.now()),
        lastResort: () => health.lastResort(candidates, clock.now()),
        coolsForMs: (position) => health.coolsForMs(at(position), clock.now(), false),
        waitedMs: 0,
        failed,
        failover: route.entry.failover,
        hasSideEffects: () => false,
        remainingMs: 600_000,
        random,
      });
      if (step.type === 'give-up') return;
      clock.setTimer(step.delayMs, () => {
        const isRepetition = failed.some(({ candidate }) => candidate === step.candidate);
        attempt(at(step.candidate), isRepetition, (failure) => {
          if (failure === undefined) {
            seen.answered += 1;
            return;
          }
          failed.push({
            candidate: step.candidate,
            judgement: judgeFailure(failure),
            retryAfterMs: undefined,
          });
          next();
        });
      });
    };
    next();
  }
  return { seen, request };
}

/** Pods that share requests which come at a steady pace; until all are answered. */
function simulate(
  options: { readonly pods: number; readonly everyMs: number; readonly forMs: number; readonly seed: number },
  outage: Outage,
): readonly Seen[] {
  const clock = makeFakeClock();
  const pods = Array.from({ length: options.pods }, (_, n) =>
    runPod(clock, makeRandom(options.seed * 100 + n), outage),
  );
  let count = 0;
  const arrive = (): void => {
    pods[count++ % pods.length]?.request();
    if (clock.now() + options.everyMs < options.forMs) clock.setTimer(options.everyMs, arrive);
  };
  clock.setTimer(0, arrive);
  clock.advance(options.forMs + 60_000);
  return pods.map(({ seen }) => seen);
}

const noWords = { message: '', type: null, code: null, param: null, status: null };
const status = (code: number): AttemptFailure => ({
  kind: 'status',
  status: code,
  error: noWords,
  retryAfterMs: undefined,
});
const kinds: readonly (readonly [name: string, failure: AttemptFailure, afterMs: number])[] = [
  ['refuses connections', { kind: 'transport', code: 'connect_refused', detail: '' }, 1],
  ['answers 500', status(500), 20],
  ['answers 503', status(503), 200],
  ['is silent', { kind: 'timeout', timer: 'first-event' }, 12_000],
];

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** Attempts that were not in flight, nor made, before the breaker opened: its trials. */
const trialsOf = ({ wasted, inFlightAtOpening = 0 }: Seen): readonly number[] =>
  wasted.slice(5 + inFlightAtOpening);

function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((time, n) => time - (times[n] ?? 0));
}

describe.each(kinds)('a primary that %s', (_name, failure, afterMs) => {
  test('for a minute, at 200 requests a second over four pods: all are answered, with few wasted calls', () => {
    const seen = simulate(
      { pods: 4, everyMs: 5, forMs: 60_000, seed: 1 },
      { fromMs: 0, toMs: Number.POSITIVE_INFINITY, failure, afterMs },
    );
    const requests = sum(seen.map((pod) => pod.requests));
    expect(requests).toBe(12_000);
    expect(sum(seen.map(({ answered }) => answered))).toBe(requests);
    if (afterMs < 1_000) {
      expect(sum(seen.map(({ upstreamCalls }) => upstreamCalls))).toBeLessThanOrEqual(1.1 * requests);
    }
    for (const pod of seen) {
      expect(pod.inFlightAtOpening, 'its breaker has opened').toBeDefined();
      // Of one probe interval of five seconds each, or longer.
      expect(trialsOf(pod).length).toBeLessThanOrEqual(60 / 5);
      for (const gap of gapsOf(trialsOf(pod))) expect(gap).toBeGreaterThanOrEqual(5_000);
    }
  });

  test.each([1, 2, 3, 4])(
    'and comes back after a minute is used within half a minute, and wholly soon (%i)',
    (seed) => {
      const outage = { fromMs: 10_000, toMs: 70_000, failure, afterMs };
      const seen = simulate({ pods: 2, everyMs: 20, forMs: 160_000, seed }, outage);
      for (const pod of seen) {
        expect(pod.answered).toBe(pod.requests);
        for (const gap of gapsOf(trialsOf(pod))) expect(gap).toBeGreaterThanOrEqual(5_000);
        const [back = Number.POSITIVE_INFINITY] = pod.servedByPrimary.filter((time) => time > outage.toMs);
        expect(back - outage.toMs).toBeLessThanOrEqual(30_000);
        // A tenth at first, all of them half a minute later.
        const shareIn = (fromMs: number, toMs: number): number =>
          pod.servedByPrimary.filter((time) => time >= fromMs && time < toMs).length / ((toMs - fromMs) / 40);
        expect(shareIn(back + 200, back + 3_200)).toBeLessThan(0.35);
        expect(shareIn(back + 33_000, back + 43_000)).toBeGreaterThan(0.97);
      }
    },
  );
});

test.each([1, 2, 3, 4, 5, 6])(
  'one request every four seconds finds it back within half a minute, too (%i)',
  (seed) => {
    const outage = { fromMs: 0, toMs: 60_000, failure: status(503), afterMs: 5 };
    const [pod] = simulate({ pods: 1, everyMs: 4_000, forMs: 120_000, seed }, outage);
    const [back = Number.POSITIVE_INFINITY] = pod?.servedByPrimary ?? [];
    expect(pod?.answered).toBe(30);
    expect(back - outage.toMs).toBeLessThanOrEqual(30_000);
    expect(pod?.wasted.length).toBeLessThanOrEqual(5 + 60 / 5);
  },
);

test.each([1, 2, 3, 4])(
  'a primary whose answers come whole, after half a minute, is asked every five seconds while the first is awaited (%i)',
  (seed) => {
    const outage = { fromMs: 0, toMs: 60_000, failure: status(503), afterMs: 5, answersAfterMs: 30_000 };
    const [pod] = simulate({ pods: 1, everyMs: 100, forMs: 150_000, seed }, outage);
    const [first = Number.POSITIVE_INFINITY, ...more] = pod?.broughtToPrimary ?? [];
    expect(first - outage.toMs).toBeLessThanOrEqual(25_000);
    const trials = [first, ...more.filter((time) => time < first + 35_000)];
    for (const gap of gapsOf(trials)) expect(gap).toBeCloseTo(5_000, -3);
    expect(trials).toHaveLength(7);
    // With the second answer it is closed, not with the second in a row.
    expect(more.filter((time) => time < first + 40_000).length).toBeGreaterThan(10);
  },
);
