// Can an OpenAI-shaped upstream break the gateway by what it answers? Any JSON is read, or refused as malformed;
// nothing throws, and a plain answer means what the same answer means in one chunk.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { gatherChoice } from '../../../../gateway/dialects/answer/gather-choice.ts';
import { GatheredStream } from '../../../../gateway/dialects/answer/gathered-stream.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { openAiCompletions } from '../../../../gateway/dialects/openai-completions/index.ts';
import { runs } from '../../../support/runs.ts';
import { delta, done, frame } from '../support/openai-streams.ts';
import { cutAt, readPieces } from '../support/read-pieces.ts';
import { chatDecoder, makeConversation, target } from '../support/upstream-call.ts';

const names = [
  ...['choices', 'message', 'delta', 'content', 'text', 'refusal', 'reasoning', 'reasoning_content'],
  ...['reasoning_details', 'thinking_blocks', 'tool_calls', 'function_call', 'function', 'custom', 'name'],
  ...[
    'arguments',
    'input',
    'id',
    'index',
    'type',
    'data',
    'signature',
    'finish_reason',
    'logprobs',
    'tokens',
  ],
  ...[
    'top_logprobs',
    'token_logprobs',
    'usage',
    'prompt_tokens',
    'error',
    'model',
    'created',
    'service_tier',
  ],
  ...['toString', 'valueOf', '__proto__'],
] as const;

const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    fc.constantFrom<unknown>(
      '',
      'a',
      'stop',
      'thinking',
      '{}',
      '{"x":1}',
      'reasoning.text',
      null,
      true,
      0,
      1,
      -1,
      1.5,
      1e300,
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 6 }),
  ),
})).value;

/** Near enough to the real thing to get past the first checks. */
const choice = fc.dictionary(fc.constantFrom(...names), anything, { maxKeys: 6 });
const entry = fc.record(
  {
    index: fc.constantFrom(0, 1, 2, -1, 'x'),
    finish_reason: fc.constantFrom('stop', 'length', null, 7),
    message: choice,
    delta: choice,
    text: anything,
    logprobs: anything,
  },
  { requiredKeys: [] },
);
const answer = fc.oneof(
  anything,
  fc.record(
    {
      id: anything,
      model: anything,
      created: anything,
      usage: anything,
      service_tier: anything,
      choices: fc.array(entry, { maxLength: 3 }),
    },
    { requiredKeys: ['choices'] },
  ),
);

describe.each([openAiChat, openAiCompletions])('an upstream of $name', ({ asUpstream }) => {
  const call = asUpstream.open(makeConversation({ choices: 2 }), target);

  test('may answer with anything', () => {
    fc.assert(
      fc.property(answer, (value) => {
        const decoded = call.decodeAnswer(Buffer.from(JSON.stringify(value)));
        if (!decoded.ok) expect(['malformed', 'error-event']).toContain(decoded.fault.kind);
        else expect(decoded.answer.choices.length).toBeGreaterThan(0);
      }),
      { seed: 21, numRuns: runs(2000) },
    );
  });

  test('may stream anything: the parts are in order, and the same however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(answer, { maxLength: 6 }),
        fc.array(fc.nat({ max: 2000 }), { maxLength: 8 }),
        (values, cuts) => {
          const bytes = Buffer.from(values.map(frame).join('') + done);
          const whole = readPieces(call.streamDecoder(), [bytes]);
          const cut = readPieces(call.streamDecoder(), cutAt(bytes, cuts));
          expect(cut.out.flat()).toEqual(whole.out.flat());
          expect({ ...cut.facts }).toEqual({ ...whole.facts });
          expectOrder(whole.out.flat());
        },
      ),
      { seed: 22, numRuns: runs(1000) },
    );
  });

  test('gives the same answer plain and in one chunk', () => {
    fc.assert(
      fc.property(fc.record({ message: choice, text: anything, logprobs: anything }), (value) => {
        const plain = call.decodeAnswer(
          Buffer.from(JSON.stringify({ choices: [{ index: 0, finish_reason: 'length', ...value }] })),
        );
        const { message: delta, ...rest } = value;
        const chunk = { choices: [{ index: 0, finish_reason: 'length', delta, ...rest }] };
        const streamed = readPieces(call.streamDecoder(), [Buffer.from(frame(chunk) + done)]).out.flat();
        if (!plain.ok) throw new Error('refused');
        expect(gatherChoice(streamed, 0)).toEqual(plain.answer.choices[0]);
      }),
      { seed: 23, numRuns: runs(1000) },
    );
  });
});

/** Start, deltas, end: one part of a choice after the other, numbered, nothing empty, nothing after the end. */
function expectOrder(parts: readonly { readonly type: string }[]): void {
  const open = new Map<number, number>();
  const next = new Map<number, number>();
  const ended = new Set<number>();
  for (const part of parts) {
    const {
      type,
      choice = 0,
      index,
      text,
    }: { type: string; choice?: number; index?: number; text?: string } = part;
    if (!['part-start', 'part-delta', 'part-end', 'choice-end'].includes(type)) continue;
    expect(ended.has(choice)).toBe(false);
    if (type === 'part-start') {
      expect([open.get(choice), index]).toEqual([undefined, next.get(choice) ?? 0]);
      open.set(choice, index ?? -1);
      next.set(choice, (index ?? 0) + 1);
    } else if (type === 'choice-end') {
      expect(open.get(choice)).toBeUndefined();
      ended.add(choice);
    } else {
      expect(open.get(choice)).toBe(index);
      if (type === 'part-end') open.delete(choice);
      else expect(text).not.toBe('');
    }
  }
}

test('usage in the chunk of a choice is the usage of the answer', () => {
  const { usage, ...end } = { ...delta({}, 'stop'), usage: { prompt_tokens: 7, completion_tokens: 3 } };
  const [choice] = z.array(z.looseObject({})).parse(Object(end).choices);
  const text = frame(delta({ content: 'a' })) + frame({ ...end, choices: [{ ...choice, usage }] }) + done;
  const reported = { input: 7, output: 3 };
  for (const wantsUsage of [true, false]) {
    const asked = { model: 'm', isStream: true, choices: 1, wantsUsage };
    const relayed = readPieces(openAiChat.same.relayStream(asked), [Buffer.from(text)]);
    expect(relayed.facts).toMatchObject({ isComplete: true, usage: reported });
    const gathered = new GatheredStream(openAiChat.same.relayStream(asked), openAiChat.same, 1_000_000);
    readPieces(gathered, [Buffer.from(text)]);
    expect(gathered.answer()).toMatchObject({ usage });
  }
  expect(readPieces(chatDecoder(1), [Buffer.from(text)]).facts).toMatchObject({ usage: reported });
});
