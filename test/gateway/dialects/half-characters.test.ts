// Does half a surrogate pair that is alone go out as U+FFFD, to upstreams and to clients? Upstreams refuse a body with
// one, in every later turn too, and clients cannot encode the text.

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { translateThrough } from '../../support/translate-through.ts';
import { recordOf } from '../endpoints/ask.ts';
import { C, call, heard, isTranslated, M, open, pairsOf, R, streamed, T } from './pitfalls/whole-way.ts';
import { type Members, schema } from './support/askings.ts';
import { delta, done, frame, piece } from './support/openai-streams.ts';
import { all, hear, hearStream, type Said, talkative } from './support/tellings.ts';

const half = 'x\ud83dy';
const whole = 'x\ufffdy';
const described = { name: 'look', description: half };

/** Half a character in every place where a client of the dialect can have one. */
const requests: Readonly<Record<DialectName, Members>> = {
  [C]: {
    messages: [
      { role: 'system', content: half },
      { role: 'user', content: half },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'look', arguments: `{"a":"x\\ud83dy"}` } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: half },
    ],
    tools: [{ type: 'function', function: { ...described, parameters: schema } }],
  },
  [R]: {
    instructions: half,
    input: [
      { role: 'user', content: half },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: `{"a":"x\\ud83dy"}` },
      { type: 'function_call_output', call_id: 'c1', output: half },
    ],
    tools: [{ type: 'function', ...described, parameters: schema }],
  },
  [M]: {
    max_tokens: 10,
    system: half,
    messages: [
      { role: 'user', content: half },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: { a: half } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: half }] },
    ],
    tools: [{ ...described, input_schema: schema }],
  },
  [T]: { prompt: half },
};

describe.each(pairsOf(all, all).filter(isTranslated))('from %s to %s', (client, upstream) => {
  const { tools: _, ...plain } = requests[client];
  const system = { role: 'system', content: half };
  const user = { role: 'user', content: half };
  const messages = client === C ? [system, user] : [user];
  const texts = { ...plain, ...(client === R ? { input: half } : { messages }) };
  const request = upstream === T && client !== T ? texts : requests[client];

  test('the upstream gets none', () => {
    const body = Buffer.from(JSON.stringify({ model: 'm', ...request }));
    const sent = String(translateThrough(client, upstream, body).sent[0]);
    expect(sent).not.toMatch(/\\ud83d/i);
    // One place in the arguments is JSON inside of JSON.
    expect(sent.split(whole).length - 1).toBe(client === T ? 1 : upstream === T ? 2 : 5);
  });
});

const said: readonly (readonly [string, readonly string[], string])[] = [
  ['alone at the end', ['a', '\ud83d'], 'a\ufffd'],
  ['alone in the middle', ['\ud83d', 'b'], '\ufffdb'],
  ['the second alone', ['a\ude00', 'b'], 'a\ufffdb'],
  ['in two deltas', ['a\ud83d', '\ude00b'], 'a😀b'],
  ['a delta each', ['\ud83d', '\ude00'], '😀'],
];

describe.each([M, R, T] as const)('a client of %s', (client) => {
  test.each(said)('gets a half %s replaced', (_, pieces, text) => {
    const frames = pieces.map((content) => frame(delta({ content }))).join('');
    const reported = frames + frame(delta({}, 'stop')) + done;
    expect(hearStream(client, streamed(client, C, reported))[0]).toBe(`text ${text}`);
    const message = { role: 'assistant', content: pieces.join('') };
    const answer = { id: 'a', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] };
    const outcome = open(client, C).plain(() => Buffer.from(JSON.stringify(answer)));
    if (outcome.type !== 'answered') throw outcome.error;
    expect(String(outcome.body)).not.toMatch(/\\ud83d/);
    expect(hear(client, JSON.parse(String(outcome.body)))[0]).toBe(`text ${text}`);
  });
});

test('a chat client of a completions upstream gets none', () => {
  const reported = frame(piece('a\ud83d')) + frame(piece('', 'stop')) + done;
  expect(hearStream(C, streamed(C, T, reported))[0]).toBe('text a\ufffd');
});

describe.each(pairsOf(talkative, talkative).filter(isTranslated))(
  'a client of %s, at %s',
  (client, upstream) => {
    test('gets none in texts, thoughts and arguments', () => {
      const parts: readonly Said[] = [['thinking', half], ['text', half], call('look', '{"a":"x\\ud83dy"}')];
      const lines = heard(client, upstream, parts, 'calls');
      expect(lines.join('\n')).not.toMatch(/\ud83d(?!\ude00)|\\ud83d(?!\\ude00)/);
      expect(lines.join('\n').split(whole)).toHaveLength(4);
    });
  },
);

test('arguments that are cut inside an escape arrive whole', () => {
  const input = '{"a":"\\ud83d\\ude00 \\ud83d \\\\ud83d \\u00e9"}';
  const pieces = [...input].map((letter, at) => ({
    tool_calls: [
      {
        index: 0,
        ...(at === 0 ? { id: 'c', type: 'function' } : {}),
        function: { ...(at === 0 ? { name: 'look' } : {}), arguments: letter },
      },
    ],
  }));
  const reported =
    pieces.map((entry) => frame(delta(entry))).join('') + frame(delta({}, 'tool_calls')) + done;
  const [line = ''] = hearStream(M, streamed(M, C, reported));
  expect(JSON.parse(line.slice(line.indexOf('{')))).toEqual({ a: '😀 \ufffd \\ud83d é' });
});

test('native bytes are forwarded unchanged', () => {
  const body = Buffer.from(`{"model":"m","messages":[{"role":"user","content":"x\\ud83dy"}]}`);
  expect(recordOf(JSON.parse(String(translateThrough(C, C, body).sent[0]))).messages).toEqual([
    { role: 'user', content: half },
  ]);
});
