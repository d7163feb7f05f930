// Is the sum of the ledger that of the providers' own log? Over every fault that there is, in eight variants, plain and streamed, with
// another provider behind it and without.

import { expect, test } from 'vitest';
import { useControlPlane } from '../cluster/control-plane.ts';
import { judgeSums, type Pair, type Word } from '../flow/ledger-sums/judge.ts';
import { type LedgerSumsSeen, prices, runLedgerSums, surprisesOf } from '../flow/ledger-sums/run.ts';
import { scenesOf, wholeExtent } from '../flow/ledger-sums/scenes.ts';
import { tokenKinds } from '../flow/same-tokens.ts';
import { openScorecard } from './scorecard.ts';

const plane = useControlPlane({ hasControllers: false });

test('the ledger equals the providers over every fault', async () => {
  const scenes = scenesOf(wholeExtent);
  const seen = await runLedgerSums(plane(), scenes);
  const verdict = judgeSums(seen.calls, seen.records, seen.sums, prices);
  const surprises = surprisesOf(seen, verdict);
  const { pairs, tokens, unrecorded, invented, doubled, refused, otherCosts, otherSums } = verdict;
  const card = openScorecard('the ledger against the log of the providers, over every fault');
  const fired = scenes.length - seen.notFired.length;
  const tried = seen.calls.length;
  const { recorded, provided } = tokens;
  const ways = new Set(scenes.map(({ fault }) => fault)).size;
  card.add({
    what: 'scenes whose fault did not happen',
    tried: scenes.length,
    failed: seen.notFired.length,
    fired,
    figures: `${ways} faults and ways to answer, in ${wholeExtent.variants.length} variants`,
  });
  card.add({ what: 'upstream calls without a record', tried, failed: unrecorded.length, fired });
  card.add({
    what: 'records that are there twice',
    tried: seen.records.length,
    failed: doubled.length,
    fired,
  });
  card.add({
    what: 'records of calls that no provider saw',
    tried: seen.records.length,
    failed: invented.length + Math.abs(refused.length - seen.refused),
    fired,
    figures: `${refused.length} of attempts at an address where nobody listens, of which callers were reported`,
  });
  card.add({
    what: 'tokens that providers reported, and the ledger has otherwise',
    tried: tokens.counted,
    failed: tokenKinds.filter((kind) => recorded[kind] !== provided[kind]).length,
    fired,
    figures: `${sayTokens(recorded)} by the records, ${sayTokens(provided)} by the providers`,
  });
  card.add({
    what: 'calls that left something else in the ledger than they should',
    tried: pairs.length,
    failed: surprises.length,
    fired,
  });
  card.add({ what: 'costs that are not those of their tokens', tried, failed: otherCosts.length, fired });
  card.add({
    what: 'sums of the ledger that are not those of its records',
    tried: 10,
    failed: otherSums.length,
    fired,
    figures: `${seen.sums?.costPicodollars} picodollars in all`,
  });
  card.print();
  for (const word of ['counted', 'begun', 'estimated', 'nothing'] as const) printWord(word, pairs, seen);
  expect(surprises).toEqual([]);
  expect(otherSums).toEqual([]);
  expect(card.misses()).toEqual([]);
});

const words: Readonly<Record<Word, string>> = {
  counted: 'the counts of the provider, to the token',
  begun: 'the input and the one token of output that a message begins with',
  estimated: 'counts of our own, marked as such',
  nothing: 'no tokens, marked as our own count',
  off: 'something else',
};

/** Which faults leave it, and what their providers have counted. */
function printWord(word: Word, pairs: readonly Pair[], { sceneOf }: LedgerSumsSeen): void {
  const these = pairs.filter((pair) => pair.word === word);
  const faults = new Map<string, Set<string>>();
  for (const { call, record } of these) {
    const { fault = 'the provider behind it' } = sceneOf.get(call.upstreamModel) ?? {};
    faults.set(fault, (faults.get(fault) ?? new Set()).add(record.upstreamDialect));
  }
  const add = (of: (pair: Pair) => number) => these.reduce((sum, pair) => sum + of(pair), 0);
  const sums = [
    `recorded ${add(({ record }) => record.usage.input)} in, ${add(({ record }) => record.usage.output)} out`,
    `counted by providers ${add(({ call }) => call.tokens.inputTokens)} in, ${add(({ call }) => call.tokens.outputTokens)} out`,
  ];
  const names = [...faults].map(([fault, dialects]) =>
    dialects.size === 4 ? fault : `${fault} (${[...dialects].join(', ')})`,
  );
  process.stdout.write(
    `\n${these.length} calls left ${words[word]}; ${sums.join('; ')}:\n  ${names.join('\n  ')}\n`,
  );
}

const sayTokens = (sums: object): string =>
  Object.entries(sums)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ');
