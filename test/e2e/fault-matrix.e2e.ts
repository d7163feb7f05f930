// Does every fault of a provider come out as it should, in every dialect and through translations, streamed and plain, however they
// follow one another?
//
// PENSTOCK_MATRIX_SEED draws another order; PENSTOCK_MATRIX_ROUNDS how often all of them are played.

import { expect, test } from 'vitest';
import { faultCasesOf, nativeVariants, translatedVariants } from '../flow/fault-matrix.ts';
import { House } from '../flow/house.ts';
import { addSums, noSums } from '../flow/same-tokens.ts';
import { createRandom } from '../security/random.ts';
import { openScorecard } from './scorecard.ts';

const seed = Number(process.env.PENSTOCK_MATRIX_SEED ?? 1 + Math.floor(Math.random() * 1e6));
const rounds = Number(process.env.PENSTOCK_MATRIX_ROUNDS ?? 3);
const atOnce = 8;

interface Tally {
  tried: number;
  failed: number;
  fired: number;
}

test(`${rounds} rounds of every fault in eight variants`, { timeout: 3_000_000 }, async () => {
  const scorecard = openScorecard(`Fault matrix, seed ${seed}, rounds ${rounds}`);
  const random = createRandom(seed);
  const tallies = new Map<string, Tally>();
  const failures: string[] = [];
  let tokens = noSums;
  const all = [...nativeVariants, ...translatedVariants].flatMap((variant) =>
    faultCasesOf(variant).map((one) => ({ variant: variant.name, one })),
  );
  for (let round = 0; round < rounds; round++) {
    const left = all.map((each) => ({ each, place: random(2 ** 30) })).toSorted((a, b) => a.place - b.place);
    const playNext = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const { variant, one } = next.each;
        const tally = tallies.get(one.fault) ?? { tried: 0, failed: 0, fired: 0 };
        tallies.set(one.fault, tally);
        tally.tried++;
        const house = new House();
        try {
          const fired = await one.play(house);
          tally.fired += fired;
          tokens = addSums(tokens, house.tokens);
        } catch (error) {
          tally.failed++;
          failures.push(`${variant}, ${one.mode}, ${one.name}: ${String(error).slice(0, 500)}`);
        } finally {
          await house.close();
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, playNext));
  }
  for (const [what, tally] of tallies) scorecard.add({ what, ...tally });
  const sum = (of: keyof Tally): number =>
    [...tallies.values()].reduce((total, tally) => total + tally[of], 0);
  scorecard.add({ what: 'all faults', tried: sum('tried'), failed: sum('failed'), fired: sum('fired') });
  const { recorded, provided, counted, estimated } = tokens;
  scorecard.add({
    what: 'tokens by the records and by the providers: the same sums',
    tried: counted,
    failed: JSON.stringify(recorded) === JSON.stringify(provided) ? 0 : 1,
    fired: counted,
    figures: `${recorded.input} in and ${recorded.output} out recorded, ${provided.input} and ${provided.output} counted by providers; ${estimated} records with estimates are not in it`,
  });
  scorecard.print();
  expect(failures).toEqual([]);
  expect(scorecard.misses()).toEqual([]);
});
