// Do the faults that take more than one call come out as they should, in every dialect, streamed and plain, however often they happen?
//
// PENSTOCK_STAGES_SHARE plays each of them so many times as often as the table says (default 1; 0.02 to see it work).

import { expect, test } from 'vitest';
import { nativeVariants } from '../flow/fault-matrix.ts';
import { type FaultStage, faultStages } from '../flow/fault-stages.ts';
import { modes } from '../flow/faults.ts';
import { House } from '../flow/house.ts';
import { openScorecard } from './scorecard.ts';

const share = Number(process.env.PENSTOCK_STAGES_SHARE ?? 1);

const variants = nativeVariants.flatMap((variant) => modes.map((mode) => ({ variant, mode })));

test('each fault in four dialects, streamed and plain', { timeout: 1_800_000 }, async () => {
  const scorecard = openScorecard(`Faults of several calls, ${share} times as often as in the table`);
  const failures: string[] = [];
  for (const stage of faultStages) await playAll(stage);
  scorecard.print();
  expect(failures).toEqual([]);
  expect(scorecard.misses()).toEqual([]);

  async function playAll(stage: FaultStage): Promise<void> {
    const { fault, limitMs } = stage;
    const times = Math.max(2, Math.round(stage.times * share));
    const left = [...variants];
    const playNext = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const { variant, mode } = next;
        const house = new House();
        try {
          const { fired, tookMs = [] } = await stage.play(house, variant, mode, times);
          const sorted = tookMs.toSorted((a, b) => a - b);
          const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
          const figures = `p99 ${p99.toFixed(1)} ms, at most ${(sorted.at(-1) ?? 0).toFixed(1)} ms`;
          scorecard.add({
            what: `${fault}, ${variant.name}, ${mode}`,
            tried: times,
            failed: limitMs === undefined || p99 < limitMs ? 0 : 1,
            fired,
            ...(limitMs !== undefined && { figures }),
          });
        } catch (error) {
          failures.push(`${fault}, ${variant.name}, ${mode}: ${String(error).slice(0, 500)}`);
        } finally {
          await house.close();
        }
      }
    };
    // What is measured has the machine to itself.
    const atOnce = limitMs === undefined ? 4 : 1;
    await Promise.all(Array.from({ length: atOnce }, playNext));
  }
});
