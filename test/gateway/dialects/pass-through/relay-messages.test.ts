// What does a client get of a messages stream or answer that passes through, and what does the gateway learn of it?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { relayMessages } from '../../../../gateway/dialects/anthropic-messages/relay.ts';
import type { AnswerFacts } from '../../../../gateway/dialects/dialect.ts';
import { runs } from '../../../support/runs.ts';
import {
  blockDelta,
  blockStart,
  blockStop,
  messageDelta,
  messageStart,
  messageStop,
  ping,
  textDelta,
  textStart,
  wholeMessage,
} from '../support/messages-events.ts';
import { named } from '../support/named-events.ts';
import { readPieces, sentText } from '../support/read-pieces.ts';
import { streamFacts } from './stream-facts.ts';

function relay(text: string): { sent: string; facts: AnswerFacts } {
  const reading = readPieces(relayMessages.relayStream(streamFacts), [Buffer.from(text)]);
  return { sent: sentText(reading), facts: reading.facts };
}

const begun = messageStart + textStart + textDelta('a') + textDelta('b');
const ended = blockStop() + messageDelta('end_turn') + messageStop;

describe('forwarded events', () => {
  test.each([
    ['a whole message', wholeMessage],
    ['23: a ping, which keeps the client alive', begun + ping + ping + ended],
    [
      '46: native thinking and its signature, byte for byte',
      messageStart +
        blockStart({ type: 'thinking', thinking: '', signature: '' }) +
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" \\u0041\\/ \\ud800 é \\n"}}\n\n' +
        'event: content_block_delta\ndata: {"index":0, "delta":{"signature":"EqoB\\u002b\\/==","type":"signature_delta"},"type":"content_block_delta"}\n\n' +
        ended,
    ],
    [
      'unknown members',
      begun +
        named('content_block_delta', {
          index: 0,
          newer: { a: null },
          delta: { type: 'text_delta', text: '' },
        }) +
        ended,
    ],
    [
      'unknown events',
      begun + named('message_newer', { n: 1 }) + blockDelta({ type: 'newer_delta' }) + ended,
    ],
    [
      'numbers that a parser would change',
      `${begun}event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"n":[1e400,-0,12345678901234567890]}\n\n${messageStop}`,
    ],
    [
      'an event whose name and type differ, by its name',
      `${begun}event: content_block_delta\ndata: {"type":"x"}\n\n${ended}`,
    ],
  ])('%s', (_, text) => {
    const { sent, facts } = relay(text);
    expect(sent).toBe(text);
    expect(facts).toMatchObject({ isComplete: true, fault: undefined });
  });

  test.each([
    ['data that is nothing to clients', 'data: {}\n\ndata: {"type":1}\n\ndata: {"type":"a\\nb"}\n\n'],
    ['comments', ': a\n\n:b\n\n'],
    ['names without data', 'event: ping\n\n'],
    ['names of no messages event', named('newer_event') + named('response.created') + named('ping_x')],
    ['lines that are no fields', 'what\nis this\n\n'],
  ])('%s: not at all', (_, text) => {
    expect(relay(text + begun + text + ended).sent).toBe(begun + ended);
  });

  test('an event line that the upstream left out is added, because Anthropic SDKs go by it', () => {
    const { sent } = relay(wholeMessage.replaceAll(/event: .*\n/g, ''));
    expect(sent).toBe(wholeMessage);
  });
});

describe('first content', () => {
  test.each([
    ['message_start', '', false],
    ['a ping', ping, false],
    ['an empty text block', textStart, false],
    ['a text block that is not empty', blockStart({ type: 'text', text: 'a' }), true],
    ['an empty text delta', textStart + textDelta(''), false],
    ['a text delta', textStart + textDelta(' '), true],
    ['an empty thinking block', blockStart({ type: 'thinking', thinking: '', signature: '' }), false],
    ['an empty thinking delta', blockDelta({ type: 'thinking_delta', thinking: '' }), false],
    ['a thinking delta', blockDelta({ type: 'thinking_delta', thinking: 'hm' }), true],
    [
      'the signature of thinking that is not shown',
      blockDelta({ type: 'signature_delta', signature: 'E' }),
      true,
    ],
    ['redacted thinking', blockStart({ type: 'redacted_thinking', data: 'E' }), true],
    ['a tool call', blockStart({ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }), true],
    ['a tool call of the provider itself', blockStart({ type: 'server_tool_use', id: 's', name: 'f' }), true],
    ['an unknown block', blockStart({ type: 'newer' }), true],
    ['a block without a type', blockStart({}), false],
    ['an invalid block', named('content_block_start', { content_block: null }), false],
    ['an invalid delta', named('content_block_delta', { delta: 'a' }), false],
    ['a stop reason', messageDelta('end_turn'), false],
    ['an unknown event', named('message_newer'), false],
  ])('%s: %#', (_, event, isContent) => {
    expect(relay(messageStart + event).facts.hasContent).toBe(isContent);
  });
});

test('after the first content deltas are only looked at', () => {
  const broken = 'event: content_block_delta\ndata: {"type":"content_block_delta",]}\n\n';
  expect(relay(begun + broken + ended)).toMatchObject({
    sent: begun + broken + ended,
    facts: { fault: undefined },
  });
  expect(relay(messageStart + broken).facts.fault?.kind).toBe('malformed');
});

describe('usage', () => {
  const usage = (text: string) => relay(text).facts.usage;

  test('19: of message_start and message_delta is not added: the latest value counts', () => {
    expect(usage(begun + messageDelta('end_turn', { input_tokens: 30, output_tokens: 15 }))).toEqual({
      input: 135,
      cachedInput: 100,
      cacheWrite: 5,
      output: 15,
      reasoning: 0,
    });
  });

  test('that is null or missing later keeps the earlier counts', () => {
    const later = { input_tokens: null, cache_read_input_tokens: null, output_tokens: 4 };
    expect(usage(begun + messageDelta(null, later) + messageDelta('end_turn', {}))).toMatchObject({
      input: 130,
      cachedInput: 100,
      output: 4,
    });
  });

  test('20: only on message_delta is used', () => {
    const start = named('message_start', { message: { model: 'served' } });
    const counts = { input_tokens: 7, cache_read_input_tokens: 2, output_tokens: 3 };
    expect(usage(start + textDelta('a') + messageDelta('end_turn', counts))).toMatchObject({
      input: 9,
      cachedInput: 2,
      output: 3,
    });
  });

  test('of a stream that broke off is known as far as it was reported', () => {
    expect(usage(begun)).toMatchObject({ input: 130, output: 1 });
  });

  test('lacks the output until the end of the message', () => {
    const lacks = (text: string) => relay(text).facts.lacksOutput;
    expect([messageStart, begun, begun + messageDelta(null, {})].map(lacks)).toEqual([true, true, true]);
    expect(lacks(begun + messageDelta('end_turn', { output_tokens: 2 }))).toBe(false);
  });

  test('unreported usage is estimated by the deltas', () => {
    const start = named('message_start', { message: {} });
    const events = [start, textDelta('a'), textDelta('b'), textDelta('c'), ended];
    expect(relay(events.join('')).facts.outputEstimate).toBe(3);
    const pieces = events.map((event) => Buffer.from(event));
    expect(readPieces(relayMessages.relayStream(streamFacts), pieces).facts.outputEstimate).toBe(3);
  });
});

describe('the end', () => {
  const truncated = { isComplete: false, fault: { kind: 'truncated' } };
  test.each([
    ['nothing', ''],
    ['a start', messageStart],
    ['content', begun],
    ['a finished block', begun + blockStop()],
    ['a delta without a stop reason', begun + messageDelta(null)],
    ['an empty stop reason', begun + messageDelta('')],
    ['half an end', begun + messageStop.slice(0, 30)],
    ['the name of an end', `${begun}event: message_stop\n`],
    ['the end mark of another dialect', `${begun}data: [DONE]\n\n`],
  ])('13: behind %s is a stream that was cut, not success', (_, text) => {
    expect(relay(text).facts).toMatchObject(truncated);
  });

  test('13: cut at any byte it is complete exactly after the stop reason', () => {
    const bytes = Buffer.from(wholeMessage);
    const decided = wholeMessage.indexOf('\n\n', wholeMessage.indexOf('event: message_delta'));
    const from = Buffer.byteLength(wholeMessage.slice(0, decided));
    for (let at = 0; at <= bytes.length; at++) {
      const { facts } = readPieces(relayMessages.relayStream(streamFacts), [bytes.subarray(0, at)]);
      expect(facts.isComplete, `cut at ${at}`).toBe(at >= from);
    }
  });

  test('after a stop reason gets the message_stop that SDKs need', () => {
    const text = begun + blockStop() + messageDelta('end_turn');
    for (const end of ['', 'data: [DONE]\n\n', messageStop.trimEnd(), messageStop]) {
      expect(relay(text + end)).toMatchObject({
        sent: text + messageStop,
        facts: { isComplete: true, fault: undefined },
      });
    }
  });

  test('without content but with a stop reason is an answer', () => {
    const text = messageStart + messageDelta('end_turn') + messageStop;
    expect(relay(text)).toMatchObject({ sent: text, facts: { isComplete: true, hasContent: false } });
  });

  test('without content and without a stop reason is not an answer', () => {
    expect(relay(messageStart + messageStop)).toMatchObject({
      sent: messageStart,
      facts: { fault: { kind: 'malformed' } },
    });
  });
});

describe('events of no Messages stream', () => {
  test.each([
    ['65: a second message_start', begun + messageStart, begun],
    ['content before message_start', textStart, ''],
    ['a delta before message_start', textDelta('a'), ''],
    ['an end before message_start', messageStop, ''],
    ['a message_start without a message', named('message_start'), ''],
    ['text as data', `${begun}event: ping\ndata: hello\n\n`, begun],
    ['lists as data', `${begun}data: [1]\n\ndata: [1]\n\n`, begun],
    ['a page', `data: <html>\n\n${begun}`, ''],
    ['an end that is no JSON', `${begun}event: message_stop\ndata: {]}\n\n`, begun],
  ])('%s ends the stream as malformed', (_, text, sent) => {
    expect(relay(text + ended)).toMatchObject({
      sent,
      facts: { isComplete: false, fault: { kind: 'malformed' } },
    });
  });
});

describe('12: an error inside a stream of status 200 is an error, not an empty answer', () => {
  const error = { type: 'overloaded_error', message: 'no' };
  test.each([
    ['as the vendor writes it', named('error', { error }), error],
    ['without its name', `data: ${JSON.stringify({ type: 'error', error })}\n\n`, error],
    ['with the type last', `data: ${JSON.stringify({ error, type: 'error' })}\n\n`, error],
    [
      'as other dialects write it',
      `data: {"error":{"message":"no","code":429}}\n\n`,
      { message: 'no', code: '429', status: 429 },
    ],
    ['as text', 'event: error\ndata: gone\n\n', { message: 'gone' }],
    ['as a string', 'event: error\ndata: {"error":"gone"}\n\n', { message: 'gone' }],
    ['as nothing in particular', 'event: error\ndata: {}\n\n', {}],
    ['beside the end', named('message_delta', { delta: { stop_reason: 'end_turn' }, error }), error],
    ['as the reason of the end', messageDelta('error'), {}],
    ['as a reason that means one', messageDelta('abort'), {}],
    ['beside a start', named('message_start', { message: {}, error }), error],
  ])('%s', (_, event, wanted) => {
    for (const before of ['', messageStart, begun]) {
      const { sent, facts } = relay(before + event + ended);
      expect(facts.fault).toMatchObject({ kind: 'error-event', error: wanted });
      expect(facts.isComplete).toBe(false);
      expect(sent).toBe(before);
    }
  });
});

// The relay goes by names and looks for line ends. A model can write those too; nothing of that may be taken for an event.
test('text of a model is never read as an event of the provider', () => {
  const word = fc.constantFrom(
    ...[
      'event: error',
      'event: message_stop',
      'data: [DONE]',
      '"type":"message_stop"',
      '\n\n',
      '\r\n',
      '\r',
      '\n',
    ],
    ...['"error"', '{"type":"error"}', '\\', '"', '}', '\uFEFF', '\u2028', '[DONE]'],
  );
  const text = fc
    .array(fc.oneof(word, fc.string({ unit: 'grapheme' })), { maxLength: 6 })
    .map((words) => words.join(''));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), (texts) => {
      const stream = begun + texts.map((each) => textDelta(each)).join('') + ended;
      const { sent, facts } = relay(stream);
      expect(sent).toBe(stream);
      expect(facts).toMatchObject({ isComplete: true, fault: undefined });
    }),
    { seed: 11, numRuns: runs(500) },
  );
});

describe('a plain answer', () => {
  const plain = (text: string) =>
    relayMessages.relayAnswer(Buffer.from(text), { ...streamFacts, isStream: false });

  test('goes on as its own bytes', () => {
    const text =
      ' {"type":"message","content":[{"type":"thinking","thinking":"\\u0041","signature":"E\\/"}],"model":"served","n":1e400,"usage":{"input_tokens":7,"cache_read_input_tokens":2,"output_tokens":3}} ';
    const answer = plain(text);
    expect(answer).toMatchObject({
      ok: true,
      usage: { input: 9, cachedInput: 2, output: 3 },
      outputEstimate: 3,
      servedModel: 'served',
    });
    expect(answer.ok && answer.body.toString('utf8')).toBe(text);
  });

  test.each([
    ['[{"type":"text","text":"12345678"}]', 2],
    ['[{"type":"thinking","thinking":"1234"},{"type":"tool_use","input":{"a":1}},null,"x",{}]', 3],
    ['[]', 0],
  ])('without usage is estimated by its text: %s', (content, outputEstimate) => {
    expect(plain(`{"type":"message","content":${content},"stop_reason":"end_turn"}`)).toMatchObject({
      ok: true,
      usage: undefined,
      outputEstimate,
    });
  });

  test.each([
    ['<html>', 'malformed'],
    ['', 'malformed'],
    ['[]', 'malformed'],
    ['{}', 'malformed'],
    ['{"type":"message"}', 'malformed'],
    ['{"type":"message","content":"a"}', 'malformed'],
    ['{"content":[]}', 'malformed'],
    ['{"type":"message","content":[]', 'malformed'],
    ['{"type":"error","error":{"type":"api_error","message":"no"}}', 'error-event'],
    ['{"error":{"message":"no"}}', 'error-event'],
    ['{"type":"message","content":[],"error":"no"}', 'error-event'],
    ['{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"error"}', 'error-event'],
  ])('%s is refused as %s', (text, kind) => {
    expect(plain(text)).toMatchObject({ ok: false, fault: { kind } });
  });
});
