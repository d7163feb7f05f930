// Does one tenant keep another from its answers? Team-a opens fast streams with one key, and with four keys; team-b asks for a small answer
// ten times a second. On a quiet machine, and beside processes that want every core. And beside bodies of 30 MB, four at once.
//
// PENSTOCK_FAIR_SECONDS (default 60) says for how long.

import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { greedyKeys, startFairRig } from './fairness/rig.ts';
import { load, readProbe } from './scale/readings.ts';
import { openScorecard } from './scorecard.ts';

const seconds = Number(process.env.PENSTOCK_FAIR_SECONDS ?? 60);
const patienceMs = 500;

const floods = [
  { what: '100 streams of one key', keys: 1, each: 100 },
  { what: '20 streams of each of four keys', keys: 4, each: 20 },
];
const machines = [
  { where: 'on a quiet machine', burners: 0 },
  { where: 'on a busy machine', burners: availableParallelism() },
];

for (const { what, keys, each } of floods) {
  for (const { where, burners } of machines) {
    test(`another tenant is answered beside ${what}, ${where}`, async () => {
      await using rig = await startFairRig();
      const alone = await rig.callFor(5);
      await using _ = rig.busyMachine(burners);
      rig.flood(greedyKeys.slice(0, keys).map((key) => ({ key, count: each })));
      await expect.poll(async () => (await rig.report()).open, { timeout: 30_000 }).toBeGreaterThan(50);
      const beside = await rig.callFor(seconds);
      const { open, refused, mebibytes } = await rig.report();
      const card = openScorecard(`beside ${what}, ${where}; load of the machine ${load()}`);
      card.add({
        what: `95 % of the answers come within ${patienceMs} ms`,
        tried: beside.made,
        failed: beside.made - beside.withinMs(patienceMs),
        allowed: beside.made * 0.05,
        fired: open,
        figures: `p50 ${alone.p50Ms.toFixed(0)} ms alone, ${beside.p50Ms.toFixed(0)} beside, p99 ${beside.p99Ms.toFixed(0)}; ${JSON.stringify(beside.statuses)}; ${open} streams open, ${refused} refused, ${mebibytes} MiB`,
      });
      card.print();
      expect(card.misses()).toEqual([]);
    });
  }
}

const bodies = [
  { what: 'escaped quotes that pass through', model: 'large', word: '\\"' },
  { what: 'words that pass through', model: 'large', word: 'word ' },
  { what: 'words that are translated', model: 'large-translated', word: 'word ' },
] as const;

for (const { what, model, word } of bodies) {
  test(`another tenant is answered beside four bodies of 30 MB of ${what}`, async () => {
    await using rig = await startFairRig();
    await rig.callFor(3);
    const alone = await rig.callFor(10);
    const [key = ''] = greedyKeys;
    rig.sendBodies({ key, connections: 4, model, word, bytes: 30 * 2 ** 20 });
    await expect.poll(async () => (await rig.report()).served, { timeout: 30_000 }).toBeGreaterThan(2);
    await readProbe(rig.gateway.process);
    const before = await rig.report();
    const beside = await rig.callFor(seconds);
    const { lagP99Ms, lagMaxMs, turnMaxMs } = await readProbe(rig.gateway.process);
    const { served, failed } = await rig.report();
    const card = openScorecard(`beside four bodies of 30 MB of ${what}; load of the machine ${load()}`);
    const fired = served - before.served;
    card.add({
      what: 'the event loop is less than 50 ms late in 99 of 100 cases',
      tried: beside.made,
      failed: lagP99Ms < 50 ? 0 : 1,
      fired,
      figures: `p99 ${lagP99Ms} ms, most ${lagMaxMs} ms, longest turn of its own ${turnMaxMs} ms`,
    });
    card.add({
      what: 'the other tenant waits less than twice as long (p50)',
      tried: beside.made,
      failed: beside.good === beside.made && beside.p50Ms < 2 * alone.p50Ms ? 0 : 1,
      fired,
      figures: `p50 ${alone.p50Ms.toFixed(1)} ms alone, ${beside.p50Ms.toFixed(1)} beside, p99 ${beside.p99Ms.toFixed(0)}; ${fired} bodies answered, ${failed - before.failed} refused`,
    });
    card.print();
    expect(card.misses()).toEqual([]);
  });
}
