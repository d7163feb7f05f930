// Is the sum of the ledger that of the providers' own log, whatever they do? Every fault in the four dialects; through translations, and
// alone, in the long form, `npm run e2e -- ledger-sum`.

import { expect, test } from 'vitest';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { judgeSums } from './judge.ts';
import { prices, runLedgerSums, surprisesOf } from './run.ts';
import { scenesOf, shortExtent } from './scenes.ts';

const plane = useControlPlane({ hasControllers: false });

test('over every fault, each call is one record, and the ledger’s tokens equal the providers’', async () => {
  const scenes = scenesOf(shortExtent);
  const seen = await runLedgerSums(plane(), scenes);
  expect(seen.notFired.map(({ fault }) => fault)).toEqual([]);
  const verdict = judgeSums(seen.calls, seen.records, seen.sums, prices);
  const { pairs, tokens, refused, ...faults } = verdict;
  expect(faults).toEqual({ unrecorded: [], invented: [], doubled: [], otherCosts: [], otherSums: [] });
  expect(refused).toHaveLength(seen.refused);
  expect(refused.length).toBeGreaterThan(0);
  expect(surprisesOf(seen, verdict)).toEqual([]);
  expect(pairs.length).toBeGreaterThan(scenes.length);
  expect(tokens.counted).toBeGreaterThan(scenes.length / 2);
  expect(tokens.recorded).toEqual(tokens.provided);
});
