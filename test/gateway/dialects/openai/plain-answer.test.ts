// Is an answer that is not parsed judged as a parser's reader would judge it? It is forwarded and charged by that.

import { describe, expect, test } from 'vitest';
import { readOpenAiUsage } from '../../../../gateway/dialects/openai/convert-usage.ts';
import { readPlainAnswer } from '../../../../gateway/dialects/openai/plain-answer.ts';
import { readChoices } from '../../../../gateway/dialects/openai/read-choices.ts';
import { lacksNothing } from '../../../../gateway/dialects/openai/repair.ts';
import { asRecord, type JsonRecord } from '../../../../gateway/json/record.ts';
import { runs } from '../../../support/runs.ts';
import { makeRandom } from '../../json/random-json.ts';

const usage = { prompt_tokens: 250, completion_tokens: 20, total_tokens: 270 };
const choice = { index: 0, message: { role: 'assistant', content: 'a "word"\n' }, finish_reason: 'stop' };
const answer = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'm',
  choices: [choice],
  usage,
};

const read = (value: unknown, space?: number) =>
  readPlainAnswer(Buffer.from(JSON.stringify(value, null, space)));

describe('a complete plain answer', () => {
  test('is not parsed, and its model and counts are known', () => {
    expect(read(answer)).toEqual({ model: 'm', usage: readOpenAiUsage(usage) });
    expect(read(answer, 2)).toEqual(read(answer));
  });

  test('may have more members, several choices, and texts', () => {
    const more = {
      ...answer,
      service_tier: 'default',
      system_fingerprint: null,
      choices: [choice, { ...choice, index: 1, logprobs: null }],
    };
    expect(read(more)).toBeDefined();
    expect(read({ ...answer, choices: [{ index: 0, text: 'a', finish_reason: 'length' }] })).toBeDefined();
    expect(
      read({ ...answer, choices: [{ ...choice, message: { ...choice.message, tool_calls: null } }] }),
    ).toBeDefined();
  });

  test('is charged by all its counts', () => {
    const detailed = {
      ...usage,
      prompt_tokens_details: { cached_tokens: 100 },
      completion_tokens_details: { reasoning_tokens: 5 },
    };
    expect(read({ ...answer, usage: detailed })?.usage).toEqual(readOpenAiUsage(detailed));
    expect(readOpenAiUsage(detailed)).toMatchObject({ cachedInput: 100, reasoning: 5 });
  });
});

describe('an answer that is left to the parser', () => {
  const without = (name: keyof typeof answer) =>
    Object.fromEntries(Object.entries(answer).filter(([other]) => other !== name));
  const text = JSON.stringify(answer);
  test.each<[string, unknown]>([
    ...(Object.keys(answer) as (keyof typeof answer)[]).map((name): [string, unknown] => [
      `without ${name}`,
      without(name),
    ]),
    ['with an error', { ...answer, error: { message: 'no' } }],
    ['with an empty error', { ...answer, error: null }],
    ['an error object', { ...answer, object: 'error' }],
    ['with an empty id', { ...answer, id: '' }],
    ['without a time', { ...answer, created: 0 }],
    ['without choices', { ...answer, choices: [] }],
    ['without a reason', { ...answer, choices: [{ ...choice, finish_reason: null }] }],
    ['with a reason that means failure', { ...answer, choices: [{ ...choice, finish_reason: 'error' }] }],
    ['with calls', { ...answer, choices: [{ ...choice, message: { role: 'assistant', tool_calls: [] } }] }],
    ['with counts of nothing', { ...answer, usage: { ...usage, completion_tokens: 0, total_tokens: 250 } }],
    ['with invalid counts', { ...answer, usage: { ...usage, cached_tokens: -1 } }],
  ])('%s', (_, value) => {
    expect(read(value)).toBeUndefined();
  });

  test.each([
    ['cut off', text.slice(0, -1)],
    ['with more behind it', `${text}{}`],
    ['with a name twice', `${text.slice(0, -1)},"model":"b"}`],
    ['with an escaped name', `${text.slice(0, -1)},"err\\u006fr":"b"}`],
    ['with a line end in a text', text.replace('a \\"word\\"\\n', 'a\n')],
    ['a list', `[${text}]`],
    ['nothing', ''],
  ])('%s', (_, body) => {
    expect(readPlainAnswer(Buffer.from(body))).toBeUndefined();
  });
});

test('every answer that is accepted here is complete for a parser, with the same model and counts', () => {
  const random = makeRandom(20_261_127);
  const text = JSON.stringify(answer);
  const signs = '{}[]",:\\ \n0123456789-.eéxnul';
  let accepted = 0;
  for (let left = runs(50_000); left > 0; left--) {
    let damaged = text;
    for (let hits = 1 + random.below(2); hits > 0; hits--) {
      const at = random.below(damaged.length);
      const put = signs.charAt(random.below(signs.length));
      damaged = damaged.slice(0, at) + put + damaged.slice(at + random.below(2));
    }
    const plain = readPlainAnswer(Buffer.from(damaged));
    if (!plain) continue;
    accepted++;
    const parsed = readChoices(Buffer.from(damaged));
    const found: JsonRecord = parsed.ok ? parsed.answer : {};
    const isWhole = parsed.ok && lacksNothing(found, parsed.choices);
    const same = { model: found.model, usage: readOpenAiUsage(asRecord(found.usage)), isWhole };
    expect({ damaged, ...plain, isWhole: true }).toEqual({ damaged, ...same });
  }
  expect(accepted).toBeGreaterThan(runs(50_000) / 10);
});
