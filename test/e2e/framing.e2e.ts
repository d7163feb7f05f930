// Of a million streams, written by upstreams as they like, does one make a client see anything but whole events of its own
// dialect? Every legal spelling, hostile lines and names, garbage, cuts; four dialects from four, passing through and translated.
//
// PENSTOCK_FRAMING_SEED says where to begin, PENSTOCK_FRAMING_RUNS how many; after PENSTOCK_FRAMING_MINUTES (default 10) no more are begun.

import { expect, test } from 'vitest';
import { runFraming } from '../gateway/dialects/properties/framing.ts';
import { openScorecard } from './scorecard.ts';

const seed = Number(process.env.PENSTOCK_FRAMING_SEED ?? Date.now() % 1_000_000_000);
const runs = Number(process.env.PENSTOCK_FRAMING_RUNS ?? 1_000_000);
const minutes = Number(process.env.PENSTOCK_FRAMING_MINUTES ?? 10);

test('whatever an upstream writes, clients get whole events of their own dialect', () => {
  const scorecard = openScorecard(`Framing, seeds from ${seed}`);
  const pairs = new Map<string, { tried: number; failed: number; ends: Map<string, number> }>();
  const wrong: string[] = [];
  const until = performance.now() + minutes * 60_000;
  for (let run = 0; run < runs && performance.now() < until; run++) {
    const { faults, pair, end } = runFraming(seed + run);
    const count = pairs.get(pair) ?? { tried: 0, failed: 0, ends: new Map() };
    pairs.set(pair, count);
    count.tried++;
    count.ends.set(end, (count.ends.get(end) ?? 0) + 1);
    if (faults.length === 0) continue;
    count.failed++;
    if (wrong.length < 20) wrong.push(`seed ${seed + run}, ${pair}, ${end}: ${faults.join('; ')}`);
  }
  for (const [pair, { tried, failed, ends }] of [...pairs].sort()) {
    const broken = tried - (ends.get('complete') ?? 0);
    const figures = [...ends].sort().map(([end, count]) => `${count} ${end}`);
    scorecard.add({ what: pair, tried, failed, fired: broken, figures: figures.join(', ') });
  }
  const total = [...pairs.values()].reduce((sum, { tried }) => sum + tried, 0);
  scorecard.add({ what: 'all', tried: total, failed: wrong.length, figures: `of ${runs} asked for` });
  scorecard.print();
  expect(wrong).toEqual([]);
  expect(scorecard.misses()).toEqual([]);
  expect(pairs.size).toBe(16);
});
