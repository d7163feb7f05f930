// What holds of breaker, retry budget and next step, whatever happens in whichever order? Histories are made up, and what
// they give is compared with a few sentences that are easier to believe than the code.

import fc from 'fast-check';
import { test } from 'vitest';
import { type AttemptFailure, judgeFailure } from '../../../gateway/attempt/failure.ts';
import { type CandidateFacts, type FailedAttempt, nextStep } from '../../../gateway/attempt/next-step.ts';
import {
  type Circuit,
  closedCircuit,
  mayTry,
  onAnswered,
  onFailure,
  onReleased,
  onStreamEnded,
  onStreamFailure,
  onTried,
  phaseOf,
  shareOf,
} from '../../../gateway/route/circuit.ts';
import { RetryBudget } from '../../../gateway/route/retry-budget.ts';

const runs = { numRuns: 10_000 };

/** Said a million times: the test runner's own words cost too much for that. */
function must(isTrue: boolean, sentence: string): void {
  if (!isTrue) throw new Error(`does not hold: ${sentence}`);
}

const limits = { consecutiveFailures: 5, openForMs: 5_000, maxOpenMs: 25_000 };

/** Attempts and how they go on: what one breaker sees of one pod. `which` counts from the attempt begun last. */
type Step =
  | { readonly type: 'pass'; readonly ms: number }
  | { readonly type: 'start' }
  | {
      readonly type: 'content' | 'end' | 'fail' | 'leave';
      readonly which: number;
      readonly random: number;
    };

const ends = fc.record({
  type: fc.constantFrom('content' as const, 'end' as const, 'fail' as const, 'leave' as const),
  which: fc.constantFrom(0, 0, 0, 1, 2, 5),
  random: fc.constantFrom(0, 0.5, 0.999),
});
const start: Step = { type: 'start' };
const steps: fc.Arbitrary<readonly Step[]> = fc.oneof(
  fc
    .constantFrom(1, 200, 1_000, 5_000, 6_000, 25_000, 31_000, 61_000)
    .map((ms): readonly Step[] => [{ type: 'pass', ms }]),
  fc.constant([start]),
  ends.map((end): readonly Step[] => [end]),
  ends.map((end): readonly Step[] => [start, { ...end, which: 0 }]),
  // What opens it: made up of single ones it would hardly ever.
  ends.map(({ random }) =>
    Array.from({ length: 5 }, (): Step[] => [start, { type: 'fail', which: 0, random }]).flat(),
  ),
  ends.map(({ random }) =>
    Array.from({ length: 3 }, (): Step[] => [
      start,
      { type: 'content', which: 0, random },
      { type: 'fail', which: 0, random },
    ]).flat(),
  ),
);

interface Attempt {
  readonly startedAtMs: number;
  hasContent: boolean;
  readonly isTrial: boolean;
}

test('a breaker keeps its rules under any events', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40 }), (chosen) => {
      let circuit: Circuit = closedCircuit;
      let nowMs = 0;
      const inFlight: Attempt[] = [];
      /** Answers of trials since it was open last. */
      let answers = 0;
      /** Failures in a row, and broken streams in a row, since it was closed last. */
      let inARow = 0;
      let brokenInARow = 0;
      let calls = 0;
      const heard = ({ startedAtMs }: Attempt): boolean => startedAtMs >= circuit.openedAtMs;

      for (const step of chosen.flat()) {
        const before = phaseOf(circuit, nowMs);
        if (step.type === 'pass') {
          nowMs += step.ms;
          continue;
        }
        if (step.type === 'start') {
          if (!mayTry(circuit, nowMs)) continue;
          must(before !== 'open', 'while it is open nothing is let through');
          const isTrial = before === 'half-open';
          if (isTrial) {
            const others = inFlight.filter(
              (one) => one.isTrial && !one.hasContent && nowMs - one.startedAtMs < 5_000,
            );
            must(!others.some(heard), 'one trial in five seconds at a time');
          }
          circuit = onTried(circuit, nowMs);
          // Two attempts of one moment would be one to the breaker.
          inFlight.push({ startedAtMs: nowMs, hasContent: false, isTrial });
          nowMs += 1;
          continue;
        }
        const [attempt] = inFlight.splice(Math.max(0, inFlight.length - 1 - step.which), 1);
        if (attempt === undefined) continue;
        const { startedAtMs, hasContent } = attempt;
        const wasHeard = heard(attempt);
        const failure = { startedAtMs, cause: 'x' };
        switch (step.type) {
          case 'content':
            if (!hasContent) {
              circuit = onAnswered(circuit, startedAtMs, nowMs);
              if (wasHeard) answers += before === 'half-open' ? 1 : 0;
              if (wasHeard && before !== 'half-open') inARow = 0;
              calls += 1;
            }
            inFlight.push({ ...attempt, hasContent: true });
            break;
          case 'end':
            circuit = hasContent
              ? onStreamEnded(circuit, startedAtMs)
              : onAnswered(circuit, startedAtMs, nowMs);
            if (wasHeard && hasContent) brokenInARow = 0;
            if (wasHeard && !hasContent) {
              answers += before === 'half-open' ? 1 : 0;
              if (before !== 'half-open') inARow = 0;
              calls += 1;
            }
            break;
          case 'fail':
            circuit = hasContent
              ? onStreamFailure(circuit, limits, failure, nowMs, step.random)
              : onFailure(circuit, limits, failure, nowMs, step.random);
            if (wasHeard && hasContent) brokenInARow += 1;
            if (wasHeard && !hasContent) {
              inARow += 1;
              calls += 1;
            }
            break;
          case 'leave':
            circuit = onReleased(circuit, startedAtMs);
            break;
        }
        const after = phaseOf(circuit, nowMs);
        if (after === 'open' && before !== 'open') {
          must(step.type === 'fail', 'only a failure opens it');
          must(wasHeard, 'and none that began before it opened last');
          const openMs = circuit.openUntilMs - nowMs;
          must(openMs >= 5_000 && openMs <= 25_000, `open for ${openMs} ms`);
          if (before !== 'half-open') {
            must(inARow >= 5 || brokenInARow >= 3 || calls >= 20, 'not for a few');
          }
          [answers, inARow, brokenInARow, calls] = [0, 0, 0, 0];
        }
        if (after === 'slow-start' && before === 'half-open') {
          must(answers === 2, 'two answers close it');
          [answers, inARow, brokenInARow, calls] = [0, 0, 0, 0];
        }
        must(before !== 'open' || after === 'open', 'no news but time ends an open one');
        const share = shareOf(circuit, nowMs);
        must(share >= 0.1 && share <= 1, `a share of ${share}`);
        must(inARow < 5 || after === 'open' || after === 'half-open', 'five in a row never leave it closed');
      }
    }),
    runs,
  );
});

test('a retry budget admits three retries in ten seconds, or a tenth of the requests', () => {
  const asked = fc.record({
    waitMs: fc.constantFrom(0, 1, 50, 700, 4_000),
    requests: fc.constantFrom(0, 1, 40),
  });
  fc.assert(
    fc.property(fc.array(asked, { maxLength: 60 }), (asks) => {
      const budget = new RetryBudget();
      let nowMs = 0;
      const requests: number[] = [];
      const repetitions: number[] = [];
      for (const { waitMs, requests: more } of asks) {
        nowMs += waitMs;
        for (let n = 0; n < more; n++) {
          budget.onAsked(false, nowMs);
          requests.push(nowMs);
        }
        if (more === 1) continue;
        const lately = (times: readonly number[], ms: number): number =>
          times.filter((time) => nowMs - time < ms).length;
        const may = budget.mayRepeat(nowMs);
        // What is five seconds old or less always counts; what is older than ten never does.
        must(may || lately(repetitions, 10_000) >= 3, 'three are always allowed');
        if (may) {
          const most = Math.max(3, lately(requests, 10_000) / 10);
          must(lately(repetitions, 5_000) < most, 'a tenth, or three');
          budget.onAsked(true, nowMs);
          repetitions.push(nowMs);
        }
      }
    }),
    runs,
  );
});

const noWords = { message: '', type: null, code: null, param: null, status: null };
const failureArbitrary: fc.Arbitrary<AttemptFailure> = fc.oneof(
  fc.record({
    kind: fc.constant('status' as const),
    status: fc.constantFrom(400, 401, 402, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529),
    error: fc.constant(noWords),
    retryAfterMs: fc.constantFrom(undefined, 0, 900, 5_000, 5_001),
  }),
  fc.record({
    kind: fc.constant('transport' as const),
    code: fc.constantFrom('reset' as const, 'connect_timeout' as const, 'connect_refused' as const),
    detail: fc.constant(''),
  }),
  fc.record({
    kind: fc.constant('timeout' as const),
    timer: fc.constantFrom('first-event' as const, 'total' as const),
  }),
  fc.record({ kind: fc.constant('answer' as const), fault: fc.constant({ kind: 'truncated' as const }) }),
);

const candidateArbitrary: fc.Arbitrary<CandidateFacts> = fc
  .record({
    target: fc.nat({ max: 3 }),
    key: fc.nat({ max: 1 }),
    contextLength: fc.constantFrom(undefined, 8_000, 128_000),
  })
  .map(({ target, key, contextLength }) => ({
    keyId: `p${target >> 1}/${key}`,
    targetId: `t${target}`,
    endpointId: `p${target >> 1}`,
    tier: target >> 1,
    contextLength,
  }));

const callArbitrary = fc.record({
  candidates: fc.array(candidateArbitrary, { minLength: 1, maxLength: 5 }),
  failures: fc.array(failureArbitrary, { minLength: 12, maxLength: 12 }),
  usable: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
  closed: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
  hasRetryBudget: fc.boolean(),
  hasSideEffects: fc.boolean(),
  maxAttempts: fc.integer({ min: 1, max: 6 }),
  attemptsPerTarget: fc.integer({ min: 1, max: 3 }),
  remainingMs: fc.constantFrom(0, 50, 2_000, 600_000),
  random: fc.constantFrom(0, 0.5, 0.999),
});

test('the next step of a call keeps its rules after any failure', () => {
  fc.assert(
    fc.property(callArbitrary, (call) => {
      const { candidates, usable, closed, hasSideEffects, maxAttempts, attemptsPerTarget, remainingMs } =
        call;
      const failed: FailedAttempt[] = [];
      const retryOn = [
        'ConnectFailure',
        'Timeout',
        'RateLimited',
        'ServerError',
        'Overloaded',
        'AuthFailure',
        'ModelNotFound',
      ] as const;
      for (;;) {
        const step = nextStep({
          candidates,
          isUsable: (position) => usable[position] === true,
          isClosed: (position) => usable[position] === true && closed[position] === true,
          hasRetryBudget: () => call.hasRetryBudget,
          lastResort: () => undefined,
          coolsForMs: () => undefined,
          waitedMs: 0,
          failed,
          failover: {
            retryOn: [...retryOn],
            maxAttempts,
            attemptsPerTarget,
            backoffBaseMs: 100,
            backoffMaxMs: 2_000,
            honorRetryAfter: true,
          },
          hasSideEffects: () => hasSideEffects,
          remainingMs,
          random: () => call.random,
        });
        if (step.type === 'give-up') break;
        const last = failed.at(-1);
        const { candidate, delayMs } = step;
        const isRepetition = failed.some((attempt) => attempt.candidate === candidate);
        must(failed.length < maxAttempts, 'no more attempts than there may be');
        if (last !== undefined) {
          const { judgement } = last;
          must(judgement.reason !== null, "a caller's mistake is asked once");
          must(!(judgement.mayHaveActed && hasSideEffects), 'nothing is done twice');
          must(delayMs === 0 || delayMs < remainingMs, 'no wait beyond the deadline');
          if (isRepetition) {
            must(candidate === last.candidate, 'the same is the one that failed last');
            must(
              judgement.retriesAlone > 0 && (judgement.mayRetrySame || delayMs > 0),
              'never after silence, and after an overload not at once',
            );
            must(call.hasRetryBudget, 'never without a budget');
          } else {
            must(delayMs === 0, 'another is not waited for');
            must(usable[candidate] === true, 'another is usable');
          }
          const rest = new Set(
            candidates.flatMap(({ targetId }, position) =>
              usable[position] &&
              failed.every((attempt) => candidates[attempt.candidate]?.targetId !== targetId)
                ? [targetId]
                : [],
            ),
          );
          const mayHelp = [...rest].some((id) =>
            candidates.some(
              ({ targetId, endpointId }, position) =>
                targetId === id &&
                usable[position] &&
                failed.every((attempt) => candidates[attempt.candidate]?.endpointId !== endpointId),
            ),
          );
          // What the operator asks for is its own business.
          if (isRepetition && mayHelp && attemptsPerTarget === 1) {
            const isShortRest = judgement.keyCooldown === 'rate-limit' && delayMs <= 2_500;
            must(
              delayMs === 0 || isShortRest,
              'no wait while another could serve, but for a short rate limit',
            );
            must(closed[candidate] === true, 'no second call into a breaker that is not closed');
            must(failed.length + 2 <= maxAttempts, 'no call that another would miss');
          }
        }
        const failure = call.failures[failed.length];
        if (failure === undefined) throw new Error('more attempts than there may be');
        failed.push({
          candidate,
          judgement: judgeFailure(failure),
          retryAfterMs: failure.kind === 'status' ? failure.retryAfterMs : undefined,
        });
        // A limited or rejected key cools down.
        if (judgeFailure(failure).keyCooldown !== null) {
          for (const [position, { keyId }] of candidates.entries()) {
            if (keyId === candidates[candidate]?.keyId) usable[position] = false;
          }
        }
      }
    }),
    runs,
  );
});
