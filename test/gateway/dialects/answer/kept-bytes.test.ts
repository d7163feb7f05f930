// Is everything counted that translation keeps of a stream for later, and given back when it is not kept any more?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KeptText } from '../../../../gateway/dialects/answer/kept.ts';
import type { AnswerStream } from '../../../../gateway/dialects/dialect.ts';
import { findDialect } from '../../../../gateway/dialects/registry.ts';
import { openCall, translateStream } from '../../../../gateway/dialects/translate.ts';
import { blockDelta, blockStart, messageStart } from '../support/messages-events.ts';
import { named } from '../support/named-events.ts';
import { frame } from '../support/openai-streams.ts';
import { bodyOf, makeConversation, target } from '../support/upstream-call.ts';

type Pair = 'openai-chat' | 'openai-responses' | 'anthropic-messages';

const requests = {
  'openai-chat': { model: 'm', messages: [{ role: 'user', content: 'x' }] },
  'openai-responses': { model: 'm', input: 'x' },
  'anthropic-messages': { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
};

function open(client: Pair, upstream: Pair, more: Parameters<typeof makeConversation>[0] = {}): AnswerStream {
  const context = { upstreams: new Set([upstream]), header: () => undefined };
  const encoder = findDialect(client)
    .translate(bodyOf(requests[client]), context)
    .streamEncoder({ id: 'x', createdAt: 1, model: 'm', inputEstimate: 1 });
  return translateStream(openCall(findDialect(upstream), makeConversation(more), target), encoder.open(0));
}

const long = 'x'.repeat(100_000);
const chat = (delta: object) => frame({ choices: [{ index: 0, delta }] });
const call = (index: number, input: string, more: object = { id: `c${index}`, name: 'f' }) =>
  chat({ tool_calls: [{ index, ...more, function: { ...more, arguments: input } }] });

function keptAfter(stream: AnswerStream, begun: string, piece: string, times: number): number {
  stream.push(Buffer.from(begun));
  for (let time = 0; time < times; time++) stream.push(Buffer.from(piece));
  return stream.facts.keptBytes;
}

describe('bytes that are kept of a stream are counted', () => {
  const patch = { tools: [{ kind: 'custom', name: 'patch' }] } as const;
  test.each([
    ['reported', 'openai-responses', 'openai-chat', '', chat({ content: long })],
    ['thoughts', 'openai-responses', 'openai-chat', '', chat({ reasoning_content: long })],
    ['input', 'openai-responses', 'openai-chat', call(0, '{"a":"'), call(0, long, {})],
    [
      'a call behind one that does not end',
      'anthropic-messages',
      'openai-chat',
      call(0, '{') + call(1, '{"a":"'),
      call(1, long, {}),
    ],
    ['text behind one', 'anthropic-messages', 'openai-chat', call(0, '{'), chat({ content: long })],
    ['input of a call without a name', 'anthropic-messages', 'openai-chat', '', call(0, long, {})],
    [
      'what a provider wants back',
      'anthropic-messages',
      'openai-chat',
      '',
      chat({ reasoning_details: [{ type: 'x', index: 0, data: long }] }),
    ],
    [
      'a signature',
      'openai-chat',
      'anthropic-messages',
      messageStart + blockStart({ type: 'thinking', thinking: '' }),
      blockDelta({ type: 'signature_delta', signature: long }),
    ],
    [
      'input of an item without a name',
      'openai-chat',
      'openai-responses',
      '',
      named('response.function_call_arguments.delta', { output_index: 0, delta: long }),
    ],
  ] as const)('%s', (_, client, upstream, begun, piece) => {
    const kept = keptAfter(open(client, upstream), begun, piece, 30);
    expect(kept).toBeGreaterThanOrEqual(30 * long.length);
    expect(kept).toBeLessThan(30 * long.length * 1.1);
  });

  test('input that has to be unwrapped', () => {
    const stream = open('openai-responses', 'openai-chat', patch);
    const named = { id: 'c0', name: 'patch' };
    expect(keptAfter(stream, call(0, '{"input":"', named), call(0, long, {}), 30)).toBeGreaterThan(
      30 * long.length,
    );
  });
});

describe('nothing is kept', () => {
  test('of events that were sent and are not repeated at the end', () => {
    const stream = open('anthropic-messages', 'openai-chat');
    const kept = keptAfter(stream, chat({ content: long }) + call(0, '{"a":"'), call(0, long, {}), 30);
    expect(kept).toBeLessThan(1000);
  });

  test('of events that waited, after they are sent', () => {
    const stream = open('anthropic-messages', 'openai-chat');
    keptAfter(stream, call(0, '{') + call(1, '{"a":"'), call(1, long, {}), 30);
    expect(String(stream.push(Buffer.from(call(0, '}', {})))).length).toBeGreaterThan(30 * long.length);
    expect(stream.facts.keptBytes).toBeLessThan(1000);
  });
});

test('kept text equals the received text, also if more arrives after it was read', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 300 }), fc.nat(), (pieces, look) => {
      const text = new KeptText();
      for (const [at, piece] of pieces.entries()) {
        text.add(piece);
        if (at === look) expect(text.toString()).toBe(pieces.slice(0, at + 1).join(''));
      }
      expect(text.toString()).toBe(pieces.join(''));
    }),
    { seed: 41 },
  );
});
