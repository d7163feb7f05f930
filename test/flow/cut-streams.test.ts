// Can a cut stream ever look whole? A provider's connection ends at a random byte, in every framing; nobody who reads
// the gateway's answer may take what is left for an answer: not a raw reader, not the official SDKs, by events or by their helpers.
//
// What this guards: a close-delimited body that is cut ends without any error in the transport, and then none of the
// official SDKs raises on its own. Only the terminal marker tells a whole answer from half of one. The long form is
// `npm run e2e -- cut-streams`.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Errand, pythonSdks, readInPython } from '../conformance/python-readers.ts';
import { nodeReaders } from '../conformance/stream-readers.ts';
import {
  type CutStage,
  type CutTally,
  judge,
  newTally,
  type Pair,
  rawReader,
  readCutStreams,
  startCutStage,
} from './cut-stage.ts';

const seed = 20_261;
const atOnce = 8;
/** How many streams each way to read gets. */
const counts = { raw: 50, node: 10, python: 5 };

/** Passing through, and one translation for each client's dialect. */
const pairs: readonly Pair[] = [
  ['openai-chat', 'openai-chat'],
  ['openai-chat', 'anthropic-messages'],
  ['openai-completions', 'openai-completions'],
  ['openai-completions', 'openai-chat'],
  ['openai-responses', 'openai-responses'],
  ['openai-responses', 'anthropic-messages'],
  ['anthropic-messages', 'anthropic-messages'],
  ['anthropic-messages', 'openai-chat'],
];

let stage: CutStage;
let first = 1;

beforeAll(async () => {
  stage = await startCutStage(pairs, seed);
});

beforeEach(() => {
  stage.rig.records.length = 0;
});

afterAll(() => stage.close());

/** Numbers that no other test of this file has. */
function take(count: number): { first: number; count: number } {
  const numbers = { first, count };
  first += count;
  return numbers;
}

function expectHonest(tally: CutTally, count: number): void {
  expect(tally.wrong, `0 of ${count} streams may be read wrongly (seed ${seed})`).toEqual([]);
  expect(tally.tried).toBe(count);
  expect(tally.cut, `cut, of ${count}`).toBeGreaterThan(count / 2);
  expect(tally.brokenOff, `broken off behind content, of ${count}`).toBeGreaterThan(count / 4);
  // The ledger saw the same as the reader.
  const countOf = (outcome: string): number =>
    stage.rig.records.filter((record) => record.outcome === outcome).length;
  expect([countOf('answered'), countOf('broken-off')]).toEqual([tally.whole, tally.brokenOff]);
  expect(stage.rig.failures).toEqual([]);
}

describe.each(pairs)('%s from %s', (client, upstream) => {
  test(`${counts.raw} truncated streams, read raw: none has a terminal marker`, async () => {
    const tally = newTally();
    await readCutStreams(stage, rawReader(client), upstream, { ...take(counts.raw), atOnce }, tally);
    expectHonest(tally, counts.raw);
    // The marker of responses is their last event: nothing can be missing behind it.
    if (upstream !== 'openai-responses') expect(tally.whole, 'cut behind their marker').toBeGreaterThan(0);
  });

  test.each(nodeReaders.filter(({ dialect }) => dialect === client))(
    `${counts.node} cut streams, read by $sdk for Node ($way): it raises in every one, in our words`,
    async (reader) => {
      const tally = newTally();
      await readCutStreams(stage, reader, upstream, { ...take(counts.node), atOnce }, tally);
      expectHonest(tally, counts.node);
    },
  );
});

test.each(pythonSdks)(
  `${counts.python} cut streams for each way to read by $sdk: it raises in every one, in our words`,
  {
    timeout: 300_000,
  },
  async (python) => {
    const errands = pairs.flatMap(([client, upstream]) =>
      python.reads
        .filter(([dialect]) => dialect === client)
        .map(
          ([dialect, way]): Errand => ({
            dialect,
            way,
            model: stage.model(client, upstream),
            ...take(counts.python),
          }),
        ),
    );
    const readings = await readInPython(python, stage.address, errands, { atOnce, timeoutMs: 240_000 });
    const tally = newTally();
    for (const [number, reading] of readings) await judge(stage, number, reading, tally);
    expectHonest(tally, errands.length * counts.python);
  },
);
