// Is what the measurement of parts switches on at work in real gateways, and nothing else?

import { expect, test } from 'vitest';
import { pickCores } from '../../tools/bench/measure/cores.ts';
import { compareParts } from '../../tools/bench/parts/compare-parts.ts';
import { parts } from '../../tools/bench/parts/parts.ts';
import { scenarios } from '../../tools/bench/scenarios.ts';
import { startBench } from './bench/support.ts';

test('a gateway without parts shows no sign of any, and one with all of them shows the signs of all', async () => {
  const bench = await startBench();
  try {
    const { launcher, upstream, workFolder, programs } = bench;
    const loads = scenarios.filter((each) => each.kind === 'load').filter(({ name }) => name === 'unary-1k');
    const models = ['unary'];
    // Of a hundred requests one is traced: on a busy machine a shorter load may bring none.
    const comparison = await compareParts(
      { rounds: 1, warmSeconds: 2, windowSeconds: 0.3 },
      loads,
      {
        client: { launcher, program: programs.client },
        context: { launcher, upstream, workFolder, cacheFolder: workFolder, models },
        cores: pickCores(),
        say: () => undefined,
      },
      parts.filter(({ name }) => ['off', 'limits, store', 'all'].includes(name)),
    );
    expect(comparison.broken).toEqual([]);
    expect(comparison.measurements.map(({ part }) => part).toSorted()).toEqual(
      comparison.parts.map(({ name }) => name).toSorted(),
    );
  } finally {
    await bench.close();
  }
}, 120_000);
