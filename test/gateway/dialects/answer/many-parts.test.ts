// What does an answer cost that has more tool calls and parts than any model gives?

import { describe, expect, test } from 'vitest';
import { GatheredStream } from '../../../../gateway/dialects/answer/gathered-stream.ts';
import { partsMax } from '../../../../gateway/dialects/answer/part-writer.ts';
import { findDialect } from '../../../../gateway/dialects/registry.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { startCpuTimer } from '../../../support/cpu-timer.ts';
import {
  blockDelta,
  blockStart,
  messageDelta,
  messageStart,
  messageStop,
} from '../support/messages-events.ts';
import { named } from '../support/named-events.ts';
import { done, frame } from '../support/openai-streams.ts';
import { chatDecoder, makeConversation, target } from '../support/upstream-call.ts';

/** A turn of the event loop takes 50 ms at most when all is well; the machine may be slow, and its caches shared. */
const turnMs = 5_000;

const tooMany = { kind: 'malformed', detail: expect.stringContaining('more than 1000') };

/** Milliseconds that this thread worked: others may have its core at the same time. */
function timeOf(step: () => void): number {
  const workedMs = startCpuTimer();
  step();
  return workedMs();
}

const callsOf = (count: number, input: string) =>
  Array.from({ length: count }, (_, index) => ({
    index,
    id: `c${index}`,
    type: 'function',
    function: { name: 'f', arguments: input },
  }));
const toolCalls = (calls: readonly object[]) =>
  frame({ choices: [{ index: 0, delta: { tool_calls: calls } }] });
const chatAnswer = (calls: readonly object[]) =>
  Buffer.from(
    JSON.stringify({
      choices: [{ index: 0, message: { content: null, tool_calls: calls }, finish_reason: 'tool_calls' }],
    }),
  );
const openChat = () => findDialect('openai-chat').asUpstream.open(makeConversation(), target);

describe('too many tool calls are not an answer, and cost no time', () => {
  test.each(['{"a', '{}'])('in a plain answer, each with the input %j', (input) => {
    const body = chatAnswer(callsOf(2_000, input));
    const took = timeOf(() => expect(openChat().decodeAnswer(body)).toMatchObject({ fault: tooMany }));
    expect(took).toBeLessThan(turnMs);
  });

  test('in one event', () => {
    const decoder = chatDecoder();
    const event = Buffer.from(toolCalls(callsOf(2_000, '{"a')));
    expect(timeOf(() => decoder.push(event))).toBeLessThan(turnMs);
    expect(decoder.facts.fault).toEqual(tooMany);
  });

  test('without names', () => {
    const decoder = chatDecoder();
    decoder.push(
      Buffer.from(toolCalls(callsOf(2 * partsMax, '{').map(({ index }) => ({ index, function: {} })))),
    );
    expect(decoder.facts.fault).toEqual(tooMany);
  });

  test('items of a plain response', () => {
    const output = callsOf(2_000, '{"a').map(({ id }) => ({
      type: 'function_call',
      call_id: id,
      name: 'f',
      arguments: '{"a',
    }));
    const call = findDialect('openai-responses').asUpstream.open(makeConversation(), target);
    const answer = { id: 'r', object: 'response', status: 'completed', output };
    expect(call.decodeAnswer(Buffer.from(JSON.stringify(answer)))).toMatchObject({ fault: tooMany });
  });

  test('as many as are allowed are answered', () => {
    const body = chatAnswer(callsOf(partsMax, '{"a":1}'));
    expect(openChat().decodeAnswer(body)).toMatchObject({ ok: true });
  });
});

test('a long input is scanned once, however many calls begin after it', () => {
  const decoder = chatDecoder();
  const [long] = callsOf(1, `{"a":"${'x'.repeat(900_000)}`);
  decoder.push(Buffer.from(toolCalls([long ?? {}])));
  const more = callsOf(partsMax, '{}')
    .slice(1)
    .flatMap((call) => [call, { index: 0, function: { arguments: 'x' } }]);
  // To parse it with each of them takes 1,000 times a millisecond or more.
  expect(timeOf(() => decoder.push(Buffer.from(toolCalls(more))))).toBeLessThan(turnMs);
  expect(decoder.facts.fault).toBeUndefined();
});

test('parts that wait after an unfinished call are limited', () => {
  const decoder = chatDecoder();
  decoder.push(Buffer.from(toolCalls(callsOf(1, '{"a'))));
  const deltas = Array.from({ length: 10_000 }, () => [{ content: 'a' }, { refusal: 'b' }]).flat();
  const event = frame({ choices: deltas.map((delta) => ({ index: 0, delta })) });
  expect(timeOf(() => decoder.push(Buffer.from(event)))).toBeLessThan(turnMs);
  expect(decoder.facts.fault).toEqual(tooMany);
});

test('a complete call ends as soon as another part begins', () => {
  const decoder = chatDecoder();
  decoder.push(Buffer.from(toolCalls(callsOf(2, '{"a":'))));
  const ends = (parts: readonly StreamPart[]) => parts.filter(({ type }) => type === 'part-end').length;
  expect(ends(decoder.push(Buffer.from(toolCalls([{ index: 0, function: { arguments: '1}' } }]))))).toBe(1);
});

describe('a stream that is put together to a plain answer', () => {
  const gather = (dialect: 'openai-chat' | 'anthropic-messages', events: readonly string[]) => {
    const { same } = findDialect(dialect);
    const facts = { model: 'm', isStream: true, wantsUsage: true, choices: 1 };
    const stream = new GatheredStream(same.relayStream(facts), same, 64 * 1024 * 1024);
    const took = timeOf(() => {
      for (const event of events) stream.push(Buffer.from(event));
    });
    return { stream, took };
  };

  test('of more tool calls than any model makes is refused', () => {
    const { stream, took } = gather('openai-chat', [toolCalls(callsOf(10_000, '{}')), done]);
    expect(took).toBeLessThan(turnMs);
    expect(stream.flaw()).toMatch(/form no complete answer/);
  });

  test('with pieces for the first of a thousand calls is searched for a bounded time', () => {
    const pieces = Array.from({ length: 80_000 }, () => ({ index: 0 }));
    const events = [toolCalls(callsOf(partsMax - 1, '{}')), ...Array(24).fill(toolCalls(pieces)), done];
    const { stream, took } = gather('openai-chat', events);
    expect(took).toBeLessThan(turnMs);
    expect(stream.flaw()).toMatch(/form no complete answer/);
  });

  test('with many pieces for the call before is an answer', () => {
    const pieces = Array.from({ length: 20_000 }, () => ({ index: 0, function: { arguments: ' ' } }));
    const { stream } = gather('openai-chat', [
      toolCalls(callsOf(1, '{}')),
      toolCalls(pieces),
      frame({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
      done,
    ]);
    expect(stream.flaw()).toBeUndefined();
  });

  test('the probabilities of its tokens stand for themselves, however many there are', () => {
    const content = Array.from({ length: 20_000 }, () => ({ token: 'a', logprob: -1 }));
    const { stream, took } = gather('openai-chat', [
      frame({ choices: [{ index: 0, delta: { content: 'a' }, logprobs: { content } }] }),
      frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      done,
    ]);
    expect(took).toBeLessThan(turnMs);
    expect(stream.answer()).toMatchObject({ choices: [{ logprobs: { content } }] });
  });

  test('of a message has each citation once', () => {
    const citations = Array.from({ length: 20_000 }, (_, index) => ({ type: 'char_location', index }));
    const deltas = citations.map((citation) => blockDelta({ type: 'citations_delta', citation }));
    const { stream, took } = gather('anthropic-messages', [
      messageStart,
      blockStart({ type: 'text', text: '' }),
      deltas.join(''),
      messageDelta('end_turn'),
      messageStop,
    ]);
    expect(took).toBeLessThan(turnMs);
    expect(stream.answer()).toMatchObject({ content: [{ citations }] });
  });
});

test('with pieces of reasoning out of order is searched for a bounded time', () => {
  const decoder = chatDecoder();
  const details = (entries: readonly object[]) =>
    Buffer.from(frame({ choices: [{ index: 0, delta: { reasoning_details: entries } }] }));
  decoder.push(details(Array.from({ length: partsMax - 1 }, (_, index) => ({ type: 't', index }))));
  const pieces = details(Array.from({ length: 43_000 }, () => ({ type: 't', index: 0 })));
  const took = timeOf(() => {
    for (let event = 0; event < 24; event++) decoder.push(pieces);
  });
  expect(took).toBeLessThan(turnMs);
  expect(decoder.facts.fault).toEqual({ kind: 'malformed', detail: expect.stringContaining('out of order') });
});

test('input that is held for a call is not copied to check that it is not empty', () => {
  const decoder = findDialect('openai-responses').asUpstream.open(makeConversation(), target).streamDecoder();
  const input = (type: 'delta' | 'done', text: string) =>
    named(`response.function_call_arguments.${type}`, {
      output_index: 0,
      [type === 'delta' ? 'delta' : 'arguments']: text,
    });
  for (let n = 0; n < 7; n++) decoder.push(Buffer.from(input('delta', 'a'.repeat(1024 * 1024))));
  const pairs = Buffer.from((input('delta', 'a') + input('done', '')).repeat(4_000));
  // To join them with each pair takes 4,000 times two milliseconds.
  expect(timeOf(() => decoder.push(pairs))).toBeLessThan(turnMs);
});

test('a plain answer has as many probabilities as fit into it', () => {
  const content = Array.from({ length: 160_000 }, () => ({}));
  const choice = { index: 0, message: { content: 'a' }, finish_reason: 'stop', logprobs: { content } };
  expect(openChat().decodeAnswer(Buffer.from(JSON.stringify({ choices: [choice] })))).toMatchObject({
    ok: true,
  });
});

test('a large event may hold as many values as a plain answer', () => {
  const decoder = findDialect('openai-responses').asUpstream.open(makeConversation(), target).streamDecoder();
  const event = named('response.output_item.done', { x: Array.from({ length: 1_200_000 }, () => ({})) });
  expect(event.length).toBeLessThan(4 * 1024 * 1024);
  decoder.push(Buffer.from(event));
  expect(decoder.facts.fault).toEqual({
    kind: 'too-large',
    detail: expect.stringContaining('more than 1000000 structural characters'),
  });
});
