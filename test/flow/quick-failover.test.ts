// How long does a caller wait because its first provider fails, beyond what that provider took? Compared with callers whose first
// provider answers, asked in between: whatever else the machine does, both have it. A thousand of each, by gateways as processes:
// test/e2e/failover-load.e2e.ts.

import { expect, test } from 'vitest';
import type { Rig } from '../gateway/rig.ts';
import { ask } from './ask.ts';
import { expectWhole } from './fault-matrix.ts';
import { modes, type Row } from './faults.ts';
import { inHouse } from './house.ts';
import { failoverOf } from './rotated-keys.ts';

const failovers = 9;
const addedMaxMs = 50;

/** None that opens: each request fails over. */
const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };

const faults: readonly [what: string, fault: Row['fault']][] = [
  ['a 503', { type: 'status', status: 503 }],
  ['a reset', { type: 'reset' }],
  ['a refused connection', 'refused'],
];

test.each(faults.flatMap(([what, fault]) => modes.map((mode) => [what, mode, fault] as const)))(
  `%s (%s): the next provider answers, not ${addedMaxMs} ms later`,
  inHouse(async (house, _what, mode, fault) => {
    const second = await house.wallThat({ type: 'answer' });
    const first = fault === 'refused' ? undefined : await house.wallThat(fault);
    const baseUrl = first?.baseUrl ?? (await house.nowhere());
    // Two attempts for two targets: none is left for a second call to the first one.
    const once = { failover: { ...failoverOf(), maxAttempts: 2 } };
    const broken = await house.rigOf(
      [{ baseUrl, providerEntry: { breaker } }, { baseUrl: second.baseUrl }],
      once,
    );
    const sound = await house.rigOf([{ baseUrl: second.baseUrl }], once);
    const timed = async (rig: Rig, attempts: number): Promise<number> => {
      const beganMs = performance.now();
      const seen = await ask(rig, { isStream: mode === 'stream' });
      const tookMs = performance.now() - beganMs;
      expectWhole(seen, mode);
      expect(seen.headers['x-penstock-attempts']).toBe(String(attempts));
      return tookMs;
    };
    const soundMs: number[] = [];
    const brokenMs: number[] = [];
    for (let n = 0; n < failovers; n++) {
      soundMs.push(await timed(sound, 1));
      const tookMs = await timed(broken, 2);
      const failed = first?.calls[n];
      await failed?.finished;
      // Of a refused connection there is no call.
      brokenMs.push(tookMs - (failed?.endedAtMs ?? 0) + (failed?.startedAtMs ?? 0));
    }
    expect(broken.records.filter(({ outcome }) => outcome === 'failed')).toHaveLength(failovers);
    // Where a call takes longer than that, the machine has too much else to do: one more of them is as good.
    const mostMs = Math.max(addedMaxMs, medianOf(soundMs));
    expect(medianOf(brokenMs) - medianOf(soundMs)).toBeLessThan(mostMs);
  }),
);

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
