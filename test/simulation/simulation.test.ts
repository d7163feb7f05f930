// Do operators and gateways keep their promises, whatever goes wrong and in whatever order? Thousands of runs of the real code over
// a simulated cluster, each decided by its seed.
//
// One run again, with all that happens in it:  PENSTOCK_SIMULATION_SEED=<n> vitest run test/simulation
// More of them, from a seed on:                PENSTOCK_SIMULATION_RUNS=<n> [PENSTOCK_SIMULATION_FROM=<n>] vitest run test/simulation

import { expect, test } from 'vitest';
import { faults } from './faults.ts';
import { type Fault, type Outcome, simulate } from './run.ts';

const { env } = process;
const oneSeed = env.PENSTOCK_SIMULATION_SEED;
const runs = Number(env.PENSTOCK_SIMULATION_RUNS ?? 500);
const firstSeed = Number(env.PENSTOCK_SIMULATION_FROM ?? 1);
/** Of which a failure shows the last. */
const linesShown = 80;
/** A fault that so many runs do not find is not looked for. */
const searchMax = 300;
/** Against a hang, no more. */
const timeoutMs = 1_800_000;

async function traced(
  seed: number,
  fault?: Fault,
): Promise<{ readonly outcome: Outcome; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const outcome = await simulate(
    seed,
    (atMs, what) => void lines.push(`${(atMs / 1_000).toFixed(3)} ${what}`),
    fault,
  );
  return { outcome, lines };
}

function describeFailure(seed: number, failure: string, lines: readonly string[]): string {
  return [
    `The run with the seed ${seed} broke a promise: ${failure}`,
    `Again, with everything that happens: PENSTOCK_SIMULATION_SEED=${seed} vitest run test/simulation`,
    `The last of it, in seconds of virtual time:`,
    ...lines.slice(-linesShown).map((line) => `  ${line.slice(0, 300)}`),
  ].join('\n');
}

if (oneSeed !== undefined) {
  test('the run with the given seed, step by step', { timeout: timeoutMs }, async () => {
    const { outcome, lines } = await traced(Number(oneSeed));
    console.log(lines.join('\n'));
    expect(outcome.failure).toBeUndefined();
  });
} else {
  const blocks = 4;
  const seedOf = (block: number): number => firstSeed + Math.floor((block * runs) / blocks);
  const ranges = Array.from(
    { length: blocks },
    (_, block) => [seedOf(block), seedOf(block + 1) - 1] as const,
  );
  test.each(ranges)(
    'every promise holds in the runs with the seeds %i to %i',
    { timeout: timeoutMs },
    async (from, to) => {
      for (let seed = from; seed <= to; seed += 1) {
        const { failure } = await simulate(seed, () => {});
        if (failure === undefined) continue;
        const { lines } = await traced(seed);
        expect.fail(describeFailure(seed, failure, lines));
      }
    },
  );
}

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
      const { failure } = await simulate(seed, () => {}, fault);
      if (failure !== undefined && broken.test(failure)) return;
      if (failure !== undefined) others.add(failure.split(':')[0] ?? '');
    }
    expect.fail(
      `${searchMax} runs did not find it; what they found was ${[...others].join(', ') || 'nothing'}`,
    );
  },
);
