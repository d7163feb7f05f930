// Is it the route that is drilled, or the weather of the night? Whatever the operator's checks have found, a drill goes as if all were well.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drillFaultSchema } from '../../../core/contract/exchange.ts';
import { makeRandom } from '../../support/wall/split.ts';
import type { RigTarget } from '../rig.ts';
import { type Drill, drill, keys, main, spare } from './play-drill.ts';

const silent = [{ provider: 'platform/p0' }];
const brief = { timeouts: { firstEventMs: 800 } };

describe('a first target that fails the checks', () => {
  test('fails in the drill if its provider is silent, and the next target takes over', async () => {
    expect(await drill({ hints: silent })).toEqual({
      id: 'one',
      isPassed: true,
      servedBy: 'spare',
      takeoverMs: 0,
      message: 'target spare answered 0 ms after target main failed',
    });
  });

  test('fails in the drill if each of its keys is refused', async () => {
    const targets = [{ ...main, keys }, spare];
    const hints = Object.keys(keys).map((key) => ({ provider: 'platform/p0', key }));
    expect(await drill({ targets, hints })).toMatchObject({
      isPassed: true,
      message: 'target spare answered 0 ms after target main failed',
    });
  });

  test('has its own timeout, though the target after it has a shorter one', async () => {
    const targets = [main, { ...spare, ...brief }];
    expect(await drill({ fault: 'Hang', targets, hints: silent })).toMatchObject({
      isPassed: false,
      servedBy: 'spare',
      takeoverMs: 12_000,
    });
  });

  test('passes with its own timeout, though the target after it has a longer one', async () => {
    const targets = [{ ...main, ...brief }, spare];
    expect(await drill({ fault: 'Hang', targets, hints: silent })).toMatchObject({
      isPassed: true,
      servedBy: 'spare',
      takeoverMs: 800,
    });
  });
});

test('has the same result as if the checks had found nothing', async () => {
  const target = fc.record({
    priority: fc.integer({ min: 0, max: 2 }),
    weight: fc.integer({ min: 0, max: 3 }),
    keys: fc.subarray(['a', 'b', 'c']),
    firstEventMs: fc.integer({ min: 100, max: 5_000 }),
  });
  const hint = fc.record(
    {
      provider: fc.integer({ min: 0, max: 3 }).map((n) => `platform/p${n}`),
      key: fc.constantFrom('a', 'b', 'c'),
    },
    { requiredKeys: ['provider'] },
  );
  const asked = fc.record({
    fault: fc.constantFrom(...drillFaultSchema.options),
    targets: fc.array(target, { minLength: 1, maxLength: 4 }),
    failover: fc.record({
      maxAttempts: fc.integer({ min: 1, max: 5 }),
      attemptsPerTarget: fc.integer({ min: 1, max: 2 }),
    }),
    seed: fc.nat(),
  });
  await fc.assert(
    fc.asyncProperty(asked, fc.array(hint, { maxLength: 6 }), async ({ targets, seed, ...rest }, hints) => {
      const play = (found: Drill['hints'] = []) =>
        drill({ ...rest, targets: targets.map(targetOf), hints: found, random: makeRandom(seed) });
      expect(await play(hints)).toEqual(await play());
    }),
    { numRuns: 100 },
  );
});

/** Each at a provider of its own. */
function targetOf(
  one: {
    readonly priority: number;
    readonly weight: number;
    readonly keys: readonly string[];
    readonly firstEventMs: number;
  },
  index: number,
): RigTarget {
  const { priority, weight, firstEventMs } = one;
  return {
    baseUrl: `http://127.0.0.1:${index + 1}/v1`,
    name: `t${index}`,
    priority,
    weight,
    timeouts: { firstEventMs },
    ...(one.keys.length === 0
      ? {}
      : { keys: Object.fromEntries(one.keys.map((name) => [name, `secret-${name}`])) }),
  };
}

describe('targets of one priority', () => {
  const names = ['a', 'b', 'c', 'd'];
  const targets = names.map((name, index) => ({
    baseUrl: `http://127.0.0.1:${index + 1}/v1`,
    name,
    priority: 0,
  }));

  test.each([undefined, 'ApiKey', 'PromptPrefix'] as const)(
    'each runs to be the first, drawn by weight, whatever keeps calls together (%s)',
    async (affinity) => {
      const failover = affinity === undefined ? {} : { affinity };
      const messages = names.map(async (_, turn) => {
        const random = () => (turn + 0.5) / names.length;
        return (await drill({ targets, failover, random })).message;
      });
      expect(await Promise.all(messages)).toEqual(
        names.map((name) => expect.stringContaining(`after target ${name} failed`)),
      );
    },
  );
});
