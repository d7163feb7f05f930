// What is written down of answers whose upstream has not counted?

import { describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { ask } from './ask.ts';
import { expectWhole } from './fault-matrix.ts';
import { type House, inHouse } from './house.ts';

async function recordOf(house: House, upstreamModel: string, isStream: boolean) {
  const wall = await house.wallThat({ type: 'answer', usageChunk: 'never', ...(isStream ? {} : noCounts) });
  const rig = await house.rigOf([{ baseUrl: wall.baseUrl, upstreamModel }]);
  expectWhole(await ask(rig, { isStream }), isStream ? 'stream' : 'plain');
  await until(async () => rig.records.length === 1, 2);
  const [record] = rig.records;
  if (!record) throw new Error('there is no record');
  return record;
}

/** Counts that are none. */
const noCounts = { usage: { inputTokens: -1, outputTokens: 1.5, cachedTokens: 0, reasoningTokens: 0 } };

describe('a model of OpenAI', () => {
  test(
    'plain: counted by its own vocabulary, and marked as an estimate',
    inHouse(async (house) => {
      expect(await recordOf(house, 'gpt-4o', false)).toMatchObject({
        isEstimated: true,
        estimatedBy: 'tokenizer',
        // Names, roles and the model are some of the input; the answer is what it is.
        usage: { input: 9, output: 12 },
        costPicodollars: 9 * 1_000_000 + 12 * 2_000_000,
      });
    }),
  );

  test(
    'streamed: its input by the vocabulary, its output by the events that came',
    inHouse(async (house) => {
      expect(await recordOf(house, 'gpt-4o', true)).toMatchObject({
        isEstimated: true,
        estimatedBy: 'tokenizer',
        usage: { output: 11 },
      });
    }),
  );
});

test(
  'a model of another vendor is estimated by sizes',
  inHouse(async (house) => {
    const record = await recordOf(house, 'llama-3', false);
    expect(record).toMatchObject({ isEstimated: true, estimatedBy: 'characters' });
    // 54 characters.
    expect(record.usage.output).toBe(14);
  }),
);
