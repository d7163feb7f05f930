// What of a provider that writes a finish reason on every chunk? The reason is no sign of the end then, and a stream that breaks off is
// none that is whole.

import { describe, expect, test } from 'vitest';
import type { Wall } from '../support/wall.ts';
import { type AskOptions, ask, type Endpoint, endsWell, lineOf, textOf, wallText } from './ask.ts';
import { inHouse } from './house.ts';

const chunk = (delta: object, reason: string | null = 'stop'): string =>
  `data: ${JSON.stringify({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: reason }],
  })}\n\n`;
const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
const piece = (content: string): string => chunk({ content });
const whole = ['The ', 'gate ', 'opens'].map(piece).join('');

const cuts: readonly (readonly [string, string])[] = [
  ['between two chunks', whole],
  ['in the middle of a chunk', `${whole}data: {"id":"x","cho`],
  ['in the middle of the second chunk', `${piece('The ')}data: {"id":"x","cho`],
  ['in the middle of the second chunk, in its first letters', `${piece('The ')}da`],
  ['behind a role', `${chunk({ role: 'assistant', content: '' })}data: {"id":"x","cho`],
  ['where it thinks', `${whole}${chunk({ content: '' })}data: {"id":"x","cho`],
  ['in indented text', `${piece('The ')}data: {"id":"x","choices":[{"index":0,"delta":{"content":"    `],
  [
    'behind half a call',
    chunk({ content: 'The' }, 'length') +
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '{"at' } }] }, null),
  ],
];

const endpoints: readonly Endpoint[] = ['chat', 'messages', 'responses'];

describe.each(endpoints)('%s', (endpoint) => {
  const asked = (more: AskOptions = {}): AskOptions => ({ endpoint, isStream: true, ...more });
  const dialects = ['openai-chat' as const];
  const of = ({ baseUrl }: Wall) => ({ baseUrl, dialects });

  test.each(cuts)('a stream that breaks off %s has no end marker', async (_, events) =>
    inHouse(async (house) => {
      const wall = await house.wallThat({ type: 'raw', bytes: head + events, followedBy: 'fin' });
      const rig = await house.rigOf([of(wall)]);
      const seen = await ask(rig, asked());
      expect(endsWell(seen)).toBe(false);
      expect(rig.records.map(lineOf)).toEqual([
        expect.stringMatching(/^1 t0 (broken-off|failed) truncated /),
      ]);
    })(),
  );

  test.each(cuts)('assured, the next provider answers for one that breaks off %s', async (_, events) =>
    inHouse(async (house) => {
      const first = await house.wallThat({ type: 'raw', bytes: head + events, followedBy: 'fin' });
      const second = await house.wallThat({ type: 'answer' });
      const rig = await house.rigOf([of(first), of(second)]);
      const seen = await ask(rig, asked({ headers: { 'x-penstock-delivery': 'assured' } }));
      expect([endsWell(seen), textOf(seen)]).toEqual([true, wallText]);
    })(),
  );

  test.each([
    ['the end mark', `${whole}data: [DONE]\n\n`],
    ['a reason alone', whole + chunk({})],
    [
      'counts by themselves',
      `${whole}data: {"id":"x","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":3}}\n\n`,
    ],
  ])('with %s it is complete', async (_, events) =>
    inHouse(async (house) => {
      const wall = await house.wallThat({ type: 'raw', bytes: head + events, followedBy: 'fin' });
      const rig = await house.rigOf([of(wall)]);
      const seen = await ask(rig, asked());
      expect([endsWell(seen), textOf(seen)]).toEqual([true, 'The gate opens']);
    })(),
  );

  test(
    'a single chunk with a finish reason is complete at the end of its body, and not if it is cut',
    inHouse(async (house) => {
      const chunked =
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
      const only = piece('The gate opens');
      const body = `${Buffer.byteLength(only).toString(16)}\r\n${only}\r\n`;
      const wall = await house.wallThat([
        { type: 'raw', bytes: `${chunked}${body}0\r\n\r\n`, followedBy: 'fin' },
        { type: 'raw', bytes: chunked + body, followedBy: 'fin' },
      ]);
      const rig = await house.rigOf([of(wall)]);
      expect(endsWell(await ask(rig, asked()))).toBe(true);
      expect(endsWell(await ask(rig, asked()))).toBe(false);
    }),
  );
});
