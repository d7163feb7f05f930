// What does a client get of a responses stream or answer that passes through, and what does the gateway learn of it?

import { createParser } from 'eventsource-parser';
import { describe, expect, test } from 'vitest';
import type { AnswerFacts } from '../../../../gateway/dialects/dialect.ts';
import { relayResponses } from '../../../../gateway/dialects/openai-responses/relay.ts';
import type { ErrorObject } from '../../../../gateway/request/errors.ts';
import { named } from '../support/named-events.ts';
import { readPieces, sentText } from '../support/read-pieces.ts';
import {
  numbered,
  response,
  responseBeginning,
  responseUsage,
  wholeResponse,
} from '../support/response-events.ts';
import { streamFacts } from './stream-facts.ts';

function relay(text: string): { sent: string; facts: AnswerFacts } {
  const reading = readPieces(relayResponses.relayStream(streamFacts), [Buffer.from(text)]);
  return { sent: sentText(reading), facts: reading.facts };
}

const delta = (text: string): string => named('response.output_text.delta', { delta: text });
const completed = named('response.completed', { response: { ...response, usage: responseUsage } });

describe('forwarded events', () => {
  test.each([
    ['a whole response', wholeResponse],
    [
      'unknown members',
      responseBeginning + named('response.output_text.delta', { delta: '', newer: [1] }) + completed,
    ],
    [
      'unknown events',
      responseBeginning +
        named('response.newer.done', { n: 1 }) +
        named('response.newer.delta', { n: 1 }) +
        completed,
    ],
    [
      'numbers and strings that a parser would change',
      `${responseBeginning}event: response.completed\ndata: {"type":"response.completed","response":{"n":[1e400,-0,12345678901234567890],"s":"\\u0041\\/\\ud800"}}\n\n`,
    ],
  ])('%s, byte for byte', (_, text) => {
    const { sent, facts } = relay(text);
    expect(sent).toBe(text);
    expect(facts).toMatchObject({
      isComplete: true,
      hasContent: true,
      fault: undefined,
      servedModel: 'served',
    });
  });

  test('an event line that the upstream left out is added', () => {
    expect(relay(wholeResponse.replaceAll(/event: .*\n/g, '')).sent).toBe(wholeResponse);
  });

  test('no comments, ids, retries, empty data and data without a type', () => {
    const noise = ': keep-alive\n\nid: 1\nretry: 5\n\nevent: x\ndata:\n\ndata: {}\n\n';
    expect(relay(noise + responseBeginning + noise + completed).sent).toBe(responseBeginning + completed);
  });

  test('no events of other dialects, and no ambiguous names', () => {
    const foreign = ['ping', 'message_start', 'responses', 'response.', 'response.a<b>', 'response.a b'];
    const events = foreign.map((name) => `event: ${name}\ndata: {"type":"${name}"}\n\n`).join('');
    expect(relay(events + responseBeginning + events + completed).sent).toBe(responseBeginning + completed);
  });
});

describe('first content', () => {
  test.each([
    ['response.created', {}, false],
    ['response.in_progress', {}, false],
    ['response.output_item.added', { item: { type: 'function_call', name: 'f' } }, false],
    ['response.content_part.added', {}, false],
    ['response.output_text.delta', { delta: 'a' }, true],
    ['response.refusal.delta', { delta: 'a' }, true],
    ['response.function_call_arguments.delta', { delta: '{' }, true],
    ['response.custom_tool_call_input.delta', { delta: 'a' }, true],
    ['response.reasoning_summary_text.delta', { delta: 'a' }, true],
    ['response.output_item.done', { item: { type: 'function_call', name: 'f' } }, true],
    ['response.output_text.done', { text: '' }, false],
    ['response.output_item.added', { item: { type: 'web_search_call', status: 'in_progress' } }, false],
    ['response.web_search_call.searching', {}, false],
    ['response.image_generation_call.generating', {}, false],
    ['response.image_generation_call.partial_image', { partial_image_b64: 'aGk=' }, true],
  ])('%s', (type, members, isContent) => {
    expect(relay(named(type, members)).facts.hasContent).toBe(isContent);
  });

  test('may stand in the last event only', () => {
    const end = named('response.completed', { response: { ...response, output: [{ type: 'message' }] } });
    expect(relay(end).facts).toMatchObject({ hasContent: true, isComplete: true });
    expect(relay(completed).facts).toMatchObject({ hasContent: false, isComplete: true });
  });
});

test('after the first content deltas are only looked at', () => {
  const broken = 'event: response.output_text.delta\ndata: {"delta":]}\n\n';
  expect(relay(delta('a') + broken + completed)).toMatchObject({
    sent: delta('a') + broken + completed,
    facts: { fault: undefined },
  });
  expect(relay(broken).facts.fault?.kind).toBe('malformed');
});

describe('usage', () => {
  const counted = { input: 7, cachedInput: 2, cacheWrite: 1, output: 3, reasoning: 1 };
  test.each([
    ['completed', { isComplete: true, fault: undefined }],
    ['incomplete', { isComplete: true, fault: undefined }],
    ['failed', { isComplete: false, fault: { kind: 'error-event' } }],
  ])('18, 22: on response.%s is recorded', (status, wanted) => {
    const text =
      delta('a') + named(`response.${status}`, { response: { ...response, status, usage: responseUsage } });
    const { facts } = relay(text);
    expect(facts).toMatchObject({ usage: counted, ...wanted });
    // Cut into many chunks it is the same.
    const pieces = [...Buffer.from(text)].map((byte) => Buffer.from([byte]));
    expect(readPieces(relayResponses.relayStream(streamFacts), pieces).facts).toEqual(facts);
  });

  test('that is not reported is estimated from the deltas', () => {
    const { facts } = relay(delta('a') + delta('b') + delta('c') + named('response.completed', { response }));
    expect(facts).toMatchObject({ usage: undefined, outputEstimate: 3 });
  });
});

describe('the end', () => {
  test.each([
    ['nothing', ''],
    ['a beginning', responseBeginning],
    ['a whole item', responseBeginning + named('response.output_item.done', { item: {} })],
    ['half a last event', responseBeginning + completed.slice(0, 60)],
    ['the end mark of another dialect', `${responseBeginning}data: [DONE]\n\n`],
  ])('13: behind %s is a stream that was cut, not success', (_, text) => {
    expect(relay(text).facts).toMatchObject({ isComplete: false, fault: { kind: 'truncated' } });
  });

  test('13: cut at any byte it is complete exactly after the last event', () => {
    const bytes = Buffer.from(wholeResponse);
    for (let at = 0; at <= bytes.length; at++) {
      const { facts } = readPieces(relayResponses.relayStream(streamFacts), [bytes.subarray(0, at)]);
      expect(facts.isComplete, `cut at ${at}`).toBe(at >= bytes.length - 2);
    }
  });
});

test.each([
  ['text as data', 'event: response.output_text.done\ndata: hello\n\n'],
  ['a page', 'data: <html>\n\ndata: </html>\n\n'],
  ['lists as data', 'event: response.output_text.delta\ndata: [1]\n\n'.repeat(2)],
  ['a last event that is no JSON', 'event: response.completed\ndata: {]}\n\n'],
  ['a last event without a response', named('response.completed')],
])('%s is not this dialect and ends the stream as malformed', (_, event) => {
  for (const before of ['', responseBeginning]) {
    expect(relay(before + event + completed)).toMatchObject({
      sent: before,
      facts: { isComplete: false, fault: { kind: 'malformed' } },
    });
  }
});

describe('12: an error inside a stream of status 200 is an error, not an empty answer', () => {
  const error = { code: 'rate_limit_exceeded', message: 'no' };
  test.each([
    [
      'response.failed',
      named('response.failed', { response: { ...response, status: 'failed', error } }),
      error,
    ],
    [
      'a response that was completed and has failed',
      named('response.completed', { response: { ...response, status: 'failed', error } }),
      error,
    ],
    [
      'a response that was completed and holds an error',
      named('response.completed', { response: { ...response, status: 'completed', error } }),
      error,
    ],
    [
      'a response that was completed and is cancelled',
      named('response.completed', { response: { ...response, status: 'cancelled' } }),
      { message: 'the response was cancelled' },
    ],
    [
      'an error beside a response that was completed',
      named('response.completed', { response: { ...response, status: 'completed' }, error }),
      error,
    ],
    [
      'an error beside a response that is incomplete',
      named('response.incomplete', { response: { ...response, status: 'incomplete' }, error }),
      error,
    ],
    [
      'response.failed without an error',
      named('response.failed', { response: { ...response, error: null } }),
      { code: null },
    ],
    ['response.failed without a response', named('response.failed'), { code: null }],
    [
      'an error in the flat form',
      named('error', { ...error, param: 'p' }),
      { ...error, param: 'p', type: null },
    ],
    [
      'an error in the nested form',
      named('error', { error: { ...error, type: 't' } }),
      { ...error, type: 't' },
    ],
    ['an error without its name', `data: ${JSON.stringify({ type: 'error', ...error })}\n\n`, error],
    [
      'an error of another dialect',
      'data: {"error":{"message":"no","code":429}}\n\n',
      { code: '429', status: 429 },
    ],
    ['text', 'event: error\ndata: gone\n\n', { message: 'gone' }],
  ])('%s', (_, event, wanted) => {
    for (const before of ['', responseBeginning]) {
      const { sent, facts } = relay(before + event + completed);
      expect(facts.fault).toMatchObject({ kind: 'error-event', error: wanted });
      expect(facts.isComplete).toBe(false);
      expect(sent).toBe(before);
    }
  });
});

describe('the frames that break a stream off', () => {
  const error: ErrorObject = { message: 'gone', type: 'server_error', code: 'upstream_error', param: null };

  function breakOff(text: string, reported: ErrorObject = error) {
    const stream = relayResponses.relayStream(streamFacts);
    // Event by event: the mass of a stream is not taken one by one where it comes in one piece.
    for (const event of text.split(/(?<=\n\n)/)) stream.push(Buffer.from(event));
    const frames: { event: string | undefined; data: Record<string, unknown> }[] = [];
    const parser = createParser({
      onEvent: ({ event, data }) => frames.push({ event, data: JSON.parse(data) }),
    });
    parser.feed(stream.errorFrame?.(reported) ?? '');
    return frames;
  }

  test('are response.failed with the response as it was announced, then an error that is flat and nested', () => {
    const { message, type, code, param } = error;
    expect(breakOff(responseBeginning)).toEqual([
      {
        event: 'response.failed',
        data: {
          type: 'response.failed',
          sequence_number: 7,
          response: { ...response, status: 'failed', error: { code: 'server_error', message } },
        },
      },
      {
        event: 'error',
        data: {
          type: 'error',
          sequence_number: 8,
          code,
          message,
          param,
          error: { message, type, code, param },
        },
      },
    ]);
  });

  test.each([
    [
      'goes on where the last event was, not where they are counted from',
      numbered([['response.created', { response }]]) +
        named('response.output_text.delta', { sequence_number: 41, delta: 'a' }),
      42,
    ],
    ['goes on behind deltas that were not looked at', responseBeginning, 7],
    [
      'is the place in the stream where the upstream gives no numbers',
      named('response.created', { response }) + delta('a') + delta('b'),
      3,
    ],
    [
      'counts only what was passed on',
      `${responseBeginning}: comment\n\nevent: error\ndata: {"sequence_number":99}\n\n`,
      7,
    ],
  ])('have a number that %s', (_, text, sequence) => {
    expect(breakOff(text).map(({ data }) => data.sequence_number)).toEqual([sequence, sequence + 1]);
  });

  test('hold a response of their own where the upstream never announced one', () => {
    expect(breakOff(delta('a'))[0]?.data.response).toMatchObject({
      object: 'response',
      status: 'failed',
      model: 'm',
      output: [],
    });
  });

  test.each([
    ['rate_limit_exceeded', 'rate_limit_exceeded'],
    ['context_length_exceeded', 'context_length_exceeded'],
    ['overloaded', 'slow_down'],
    ['upstream_unavailable', 'slow_down'],
    ['upstream_timeout', 'server_error'],
    ['internal_error', 'server_error'],
  ])('tell %s as %s', (code, wanted) => {
    const [failed, reported] = breakOff(responseBeginning, { ...error, code });
    expect(failed?.data.response).toMatchObject({ error: { code: wanted } });
    expect(reported?.data).toMatchObject({ code, error: { code } });
  });
});

describe('a plain answer', () => {
  const plain = (text: string) =>
    relayResponses.relayAnswer(Buffer.from(text), { ...streamFacts, isStream: false });

  test.each(['completed', 'incomplete', 'in_progress'])('that is %s goes on as its own bytes', (status) => {
    const text = ` {"object":"response","status":"${status}","error":null,"model":"served","n":1e400,"s":"\\u0041\\/","usage":{"input_tokens":7,"output_tokens":3}} `;
    const answer = plain(text);
    expect(answer).toMatchObject({
      ok: true,
      usage: { input: 7, output: 3 },
      outputEstimate: 3,
      servedModel: 'served',
    });
    expect(answer.ok && answer.body.toString('utf8')).toBe(text);
  });

  test.each([
    ['[{"type":"message","content":[{"text":"1234"},{"refusal":"1234"},null]}]', 2],
    ['[{"type":"reasoning","summary":[{"text":"1234"}]},{"arguments":"1234"},{"input":"1234"},1]', 3],
    ['{}', 0],
  ])('without usage is estimated by its text: %s', (output, outputEstimate) => {
    expect(plain(`{"object":"response","status":"completed","output":${output}}`)).toMatchObject({
      ok: true,
      outputEstimate,
    });
  });

  test.each([
    ['<html>', 'malformed'],
    ['', 'malformed'],
    ['[]', 'malformed'],
    ['{}', 'malformed'],
    ['{"object":"chat.completion"}', 'malformed'],
    ['{"object":"response"', 'malformed'],
    ['{"object":"response"}', 'malformed'],
    ['{"object":"response","output":[]}', 'malformed'],
    ['{"object":"response","status":"cancelled","output":[]}', 'error-event'],
    ['{"object":"response","status":"failed"}', 'error-event'],
    ['{"object":"response","status":"failed","error":{"code":"server_error","message":"no"}}', 'error-event'],
    ['{"error":{"message":"no"}}', 'error-event'],
    ['{"object":"error","message":"no"}', 'error-event'],
  ])('%s is refused as %s', (text, kind) => {
    expect(plain(text)).toMatchObject({ ok: false, fault: { kind } });
  });
});
