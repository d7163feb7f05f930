// Can the simulation be believed? The same seed is the same run, and a promise that is broken on purpose is noticed.

import { expect, test } from 'vitest';
import { faults } from './faults.ts';
import { simulate } from './run.ts';
import { timeoutMs, traced } from './tracing.ts';

/** A fault that so many runs do not find is not looked for. */
const searchMax = 300;

test('the same seed is the same run, to the last step', async () => {
  for (const seed of [3, 77]) {
    const [one, other] = [await traced(seed), await traced(seed)];
    expect(other).toEqual(one);
    expect(one.lines.length).toBeGreaterThan(100);
  }
});

test.each(faults)(
  'it would be noticed that $name',
  { timeout: timeoutMs },
  async ({ broken, from, ...fault }) => {
    const others = new Set<string>();
    for (let seed = from; seed < from + searchMax; seed += 1) {
      const { failure } = await simulate(seed, undefined, fault);
      if (failure !== undefined && broken.test(failure)) return;
      if (failure !== undefined) others.add(failure.split(':')[0] ?? '');
    }
    expect.fail(
      `${searchMax} runs did not find it; what they found was ${[...others].join(', ') || 'nothing'}`,
    );
  },
);
