// Do operators and gateways keep their promises, whatever goes wrong and in whatever order? Fifty runs of the real code over
// a simulated cluster, each decided by its seed, and two thousand in `npm run e2e -- simulation`. They are dealt out to two files, so that
// two cores have some.
//
// One run again, with all that happens in it:  PENSTOCK_SIMULATION_SEED=<n> vitest run test/simulation/every-promise
// More of them, from a seed on:                PENSTOCK_SIMULATION_RUNS=<n> [PENSTOCK_SIMULATION_FROM=<n>] vitest run test/simulation/every-promise

import { expect, test } from 'vitest';
import { simulate } from './run.ts';
import { timeoutMs, traced } from './tracing.ts';

const files = 2;
const { env } = process;
const oneSeed = env.PENSTOCK_SIMULATION_SEED;
const firstSeed = Number(oneSeed ?? env.PENSTOCK_SIMULATION_FROM ?? 1);
/** Of which a failure shows the last. */
const linesShown = 80;

/**
 * @param file Which of the files, from 0.
 * @param usualRuns Of all files together; `npm run e2e -- simulation` makes forty times as many.
 */
export function testShareOfRuns(file: number, usualRuns = 50): void {
  const runs = oneSeed === undefined ? Number(env.PENSTOCK_SIMULATION_RUNS ?? usualRuns) : 1;
  const seeds = Array.from({ length: runs }, (_, index) => firstSeed + index).filter(
    (seed) => seed % files === file,
  );
  test(`every promise holds in ${seeds.length} runs, with seeds from ${seeds[0]} to ${seeds.at(-1)}`, {
    timeout: timeoutMs,
  }, async () => {
    for (const seed of seeds) {
      const failure = oneSeed === undefined ? (await simulate(seed)).failure : await tellAll(seed);
      if (failure === undefined) continue;
      const { lines } = await traced(seed);
      expect.fail(describeFailure(seed, failure, lines));
    }
  });
}

async function tellAll(seed: number): Promise<string | undefined> {
  const { outcome, lines } = await traced(seed);
  console.log(lines.join('\n'));
  return outcome.failure;
}

function describeFailure(seed: number, failure: string, lines: readonly string[]): string {
  return [
    `The run with the seed ${seed} broke a promise: ${failure}`,
    `Again, with everything that happens: PENSTOCK_SIMULATION_SEED=${seed} vitest run test/simulation/every-promise`,
    `The last of it, in seconds of virtual time:`,
    ...lines.slice(-linesShown).map((line) => `  ${line.slice(0, 300)}`),
  ].join('\n');
}
