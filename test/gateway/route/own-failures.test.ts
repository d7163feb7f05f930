// Is it the target that fails, or one caller's requests at it?

import { describe, expect, test } from 'vitest';
import { Health, type HealthSignal } from '../../../gateway/route/health.ts';
import { OwnFailures } from '../../../gateway/route/own-failures.ts';
import type { Candidate } from '../../../gateway/route/plan.ts';
import { candidatesOf } from './candidates.ts';

const [candidate] = candidatesOf([{ provider: 'platform/p', keys: { a: 'A', b: 'B' } }]);
if (!candidate) throw new Error('there is no candidate');
const at: Candidate = candidate;

const failure: HealthSignal = { type: 'target-failure', cause: 'status_500', mayBeCallers: true };

function attempt(health: Health, caller: string, signal: HealthSignal, nowMs: number): void {
  health.onEnd(health.onStart(at, false, nowMs, caller), signal, nowMs);
}

/** Failures of `poison`, 20 a second; answers to `good`, 5 a second; for ten seconds. */
function load(signal: HealthSignal, callers: (n: number) => string = () => 'poison'): Health {
  const health = new Health(() => 0);
  for (let ms = 0; ms < 10_000; ms += 50) {
    if (ms % 200 === 0 && health.isUsable(at, ms)) attempt(health, 'good', { type: 'success' }, ms);
    if (health.isUsable(at, ms)) attempt(health, callers(ms / 50), signal, ms);
  }
  return health;
}

describe('while other callers are answered', () => {
  test('failures of one caller do not open the breaker, however many', () => {
    expect(load(failure).breakers(10_000)).toEqual([]);
  });

  test.each<HealthSignal>([
    { type: 'target-failure', cause: 'status_503' },
    { type: 'endpoint-failure', cause: 'connect_refused' },
  ])('$cause counts, whichever caller meets it', (signal) => {
    expect(load(signal).breakers(10_000)).not.toEqual([]);
  });

  test('failures of many callers with one each count', () => {
    expect(load(failure, String).breakers(10_000)).not.toEqual([]);
  });

  test('failures of a caller that is answered in between count', () => {
    const health = new Health(() => 0);
    for (let n = 0; n < 40; n++) {
      const caller = `caller ${n % 2}`;
      attempt(health, caller, { type: 'success' }, n);
      attempt(health, caller, failure, n);
    }
    expect(health.breakers(40)).not.toEqual([]);
  });
});

test('failures of a single caller count, again after five seconds without another caller', () => {
  const alone = new Health(() => 0);
  for (let n = 0; n < 5; n++) attempt(alone, 'poison', failure, n);
  expect(alone.breakers(5)).toHaveLength(1);

  const health = new Health(() => 0);
  attempt(health, 'good', { type: 'success' }, 0);
  for (let n = 0; n < 9; n++) attempt(health, 'poison', failure, 4_000 + n);
  expect(health.breakers(4_999)).toEqual([]);
  for (let n = 0; n < 4; n++) attempt(health, 'poison', failure, 5_000 + n);
  expect(health.breakers(5_004)).toHaveLength(1);
});

test('an answer that broke off counts as before, whichever caller read it', () => {
  const health = new Health(() => 0);
  for (let n = 0; n < 3; n++) {
    attempt(health, 'good', { type: 'none' }, n);
    const watched = health.onStart(at, false, n, 'poison');
    health.onContent(watched, n);
    health.onEnd(watched, failure, n);
  }
  expect(health.breakers(3)).toHaveLength(1);
});

test('of many failing callers, the latest are remembered, for half a minute', () => {
  const failures = new OwnFailures();
  const isOwn = (caller: string, nowMs: number): boolean => failures.onFailure('t', caller, nowMs, nowMs);
  for (let n = 0; n < 100; n++) expect(isOwn(String(n), 0)).toBe(false);
  expect([isOwn('99', 1), isOwn('0', 1)]).toEqual([true, false]);
  failures.forget(30_001);
  expect(isOwn('99', 30_001)).toBe(false);
});
