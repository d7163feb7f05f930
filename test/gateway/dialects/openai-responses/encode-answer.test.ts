// What does a responses client get, streamed and plain? Every stream is held against the schema of
// its events and against the story they have to tell.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gatherChoice } from '../../../../gateway/dialects/answer/gather-choice.ts';
import type { FinishReason, ModelAnswer } from '../../../../gateway/dialects/conversation.ts';
import { encodeResponsesErrorFrame } from '../../../../gateway/dialects/openai-responses/error-body.ts';
import { packOpaque } from '../../../../gateway/dialects/state/opaque.ts';
import type { PartHead, StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { response } from '../../../support/openapi/responses-schema.ts';
import { readResponseEvents } from '../../../support/openapi/responses-sequence.ts';
import { runs } from '../../../support/runs.ts';
import { openEncoder, plainAnswer, streamText } from './talk.ts';

const start: StreamPart = { type: 'answer-start', id: 'up_1', model: 'served', createdAt: 1 };
const counts = { input: 7, cachedInput: 2, cacheWrite: 1, output: 3, reasoning: 1 };
const usage: StreamPart = { type: 'usage', usage: counts };
const end = (finish: FinishReason): StreamPart => ({ type: 'choice-end', choice: 0, finish });

/** One whole part after the other. */
function partsOf(...whole: readonly (readonly [PartHead, ...string[]])[]): StreamPart[] {
  return whole.flatMap(([head, ...texts], index): StreamPart[] => [
    { type: 'part-start', choice: 0, index, head },
    ...texts.map((text): StreamPart => ({ type: 'part-delta', choice: 0, index, text })),
    { type: 'part-end', choice: 0, index },
  ]);
}

const text: PartHead = { type: 'text' };
const thinking: PartHead = { type: 'thinking' };
const call = (id: string, more: object = {}): PartHead => ({
  type: 'tool-call',
  id,
  name: 'f',
  kind: 'function',
  ...more,
});
const patch = call('call_2', { name: 'apply_patch', kind: 'custom', namespace: 'functions' });

const eventsOf = (parts: readonly StreamPart[], request: object = {}) =>
  readResponseEvents(streamText([start, ...parts], request));
const typesOf = (parts: readonly StreamPart[]) =>
  eventsOf(parts).map(({ type }) => type.replace('response.', ''));

/** The response of the terminal event. */
function lastResponse(parts: readonly StreamPart[], request: object = {}) {
  const last = eventsOf(parts, request).at(-1);
  if (!last || !('response' in last)) throw new Error('no response in the last event');
  return last.response;
}

const opening = ['created', 'in_progress'];

describe('a stream', () => {
  test('57, 7: of text is one message, added before its first delta', () => {
    expect(typesOf([...partsOf([text, 'a', 'b']), end('stop')])).toEqual([
      ...opening,
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
  });

  test('text parts in a row share a message', () => {
    const { output } = lastResponse([...partsOf([text, 'a'], [text, 'b']), end('stop')]);
    expect(output).toMatchObject([{ type: 'message', content: [{ text: 'a' }, { text: 'b' }] }]);
  });

  test('6, 9: of a call alone has no message, and the call is an item', () => {
    expect(typesOf([...partsOf([call('call_1'), '{"a"', ':1}']), end('tool-calls')])).toEqual([
      ...opening,
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
  });

  test('5: text between two calls closes one item and opens the next', () => {
    const parts = partsOf([call('call_1'), '{}'], [text, 'a'], [patch, 'raw'], [call(''), '{}']);
    expect(lastResponse([...parts, end('tool-calls')]).output).toEqual([
      {
        type: 'function_call',
        id: 'fc_abc_0',
        status: 'completed',
        call_id: 'call_1',
        name: 'f',
        arguments: '{}',
      },
      expect.objectContaining({ type: 'message', id: 'msg_abc_1' }),
      {
        type: 'custom_tool_call',
        id: 'ctc_abc_2',
        status: 'completed',
        call_id: 'call_2',
        name: 'apply_patch',
        namespace: 'functions',
        input: 'raw',
      },
      expect.objectContaining({ call_id: 'call_abc_3' }),
    ]);
  });

  test('2: of thinking has a reasoning item for each, which keeps the state of its provider', () => {
    const opaque = { origin: 'here', state: { kind: 'signature', value: 'sig' } } as const;
    const parts = partsOf([thinking, 'hm'], [thinking], [thinking]).map((part) =>
      part.type === 'part-end' && part.index < 2 ? { ...part, opaque } : part,
    );
    const sealed = packOpaque('here', opaque.state);
    expect(lastResponse([...parts, end('stop')]).output).toEqual([
      {
        type: 'reasoning',
        id: 'rs_penstock_abc_0',
        status: 'completed',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: sealed,
      },
      {
        type: 'reasoning',
        id: 'rs_penstock_abc_1',
        status: 'completed',
        summary: [],
        encrypted_content: sealed,
      },
    ]);
  });

  test('without content is still a whole response', () => {
    expect(typesOf([end('stop')])).toEqual([...opening, 'completed']);
    expect(typesOf([])).toEqual([...opening, 'completed']);
  });

  test('10: the terminal event has id, model, output, and counts that came after the end', () => {
    expect(lastResponse([...partsOf([text, 'a']), end('stop'), usage])).toMatchObject({
      id: 'resp_abc',
      object: 'response',
      model: 'served',
      output: [{ type: 'message' }],
      usage: {
        input_tokens: 7,
        input_tokens_details: { cached_tokens: 2, cache_write_tokens: 1 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 1 },
        total_tokens: 10,
      },
    });
  });

  test('without counts has estimated ones', () => {
    const { usage: estimated } = lastResponse([...partsOf([text, 'y'.repeat(20)]), end('stop')]);
    expect(estimated).toMatchObject({ input_tokens: 7, output_tokens: 5, total_tokens: 12 });
  });

  test('log probabilities stand in the delta, at its end and in the part', () => {
    const token = {
      token: 'a',
      bytes: [97],
      logprob: -1,
      top_logprobs: [{ token: 'b', logprob: -2, bytes: null }],
    };
    const parts = partsOf([text, 'a']).map((part) =>
      part.type === 'part-delta' ? { ...part, logprobs: [token] } : part,
    );
    const shown = { ...token, top_logprobs: [{ token: 'b', logprob: -2, bytes: [] }] };
    const events = eventsOf([...parts, end('stop')]).filter((event) =>
      event.type.startsWith('response.output_text'),
    );
    expect(events).toMatchObject([{ logprobs: [shown] }, { logprobs: [shown] }]);
  });

  test('has the first of several answers only', () => {
    const second = partsOf([text, 'b']).map((part) => ('choice' in part ? { ...part, choice: 1 } : part));
    const { output } = lastResponse([...second, ...partsOf([text, 'a']), end('stop')]);
    expect(output).toMatchObject([{ content: [{ text: 'a' }] }]);
  });

  test('23: a ping keeps the client alive with a comment', () => {
    expect(openEncoder().encode([{ type: 'ping' }])).toBe(': keep-alive\n\n');
  });
});

describe('the end', () => {
  test.each([
    ['stop', 'completed', null],
    ['stop-sequence', 'completed', null],
    ['tool-calls', 'completed', null],
    ['pause', 'completed', null],
    ['length', 'incomplete', { reason: 'max_output_tokens' }],
    ['context-full', 'incomplete', { reason: 'max_output_tokens' }],
    ['content-filter', 'incomplete', { reason: 'content_filter' }],
  ] as const)('53: %s is %s', (finish, status, details) => {
    const parts = [...partsOf([text, 'a']), end(finish)];
    expect(lastResponse(parts)).toMatchObject({ status, incomplete_details: details, output: [{ status }] });
  });

  test('a call that was cut short says so', () => {
    const parts = [...partsOf([call('call_1'), '{}'], [call('call_2'), '{"a']), end('length')];
    expect(lastResponse(parts).output).toMatchObject([{ status: 'completed' }, { status: 'incomplete' }]);
  });

  test.each([
    ['its explanation', 'because', 'because'],
    ['a sentence of ours', null, 'The model declined to answer.'],
  ])('a refusal is a complete answer with %s as text', (_, explanation, reported) => {
    const refused: StreamPart = {
      type: 'choice-end',
      choice: 0,
      finish: 'content-filter',
      refusal: { category: null, explanation },
    };
    expect(lastResponse([refused])).toMatchObject({
      status: 'completed',
      output: [{ content: [{ type: 'output_text', text: reported }] }],
    });
  });

  test('a refusal in words is text, but where text is to be parsed as JSON', () => {
    const parts = [...partsOf([{ type: 'refusal' }, 'no']), end('stop')];
    expect(lastResponse(parts).output).toMatchObject([{ content: [{ type: 'output_text', text: 'no' }] }]);
    const request = { text: { format: { type: 'json_object' } } };
    expect(lastResponse(parts, request).output).toMatchObject([
      { content: [{ type: 'refusal', refusal: 'no' }] },
    ]);
    expect(eventsOf(parts, request).map(({ type }) => type)).toContain('response.refusal.done');
  });
});

describe('11: a stream that breaks', () => {
  const error = { message: 'gone', type: 'server_error', code: 'upstream_error', param: null };

  test('ends with the failed response, then an error, counted on', () => {
    const encoder = openEncoder();
    const sent = encoder.encode([start, ...partsOf([text, 'a']).slice(0, 2), usage]);
    const events = readResponseEvents(sent + encoder.errorFrame?.(error));
    expect(events.slice(-2)).toMatchObject([
      {
        type: 'response.failed',
        response: {
          status: 'failed',
          error: { code: 'server_error', message: 'gone' },
          output: [{ status: 'incomplete', content: [{ text: 'a' }] }],
          usage: { total_tokens: 10 },
        },
      },
      { type: 'error', code: 'upstream_error', message: 'gone', error: { type: 'server_error' } },
    ]);
  });

  test('before anything was sent still begins', () => {
    for (const text of [openEncoder().errorFrame?.(error) ?? '', encodeResponsesErrorFrame(error, 'req_1')]) {
      const types = readResponseEvents(text).map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(['response.created', 'response.failed', 'error']));
    }
  });

  test.each([
    ['rate_limit_error', 'rate_limit_exceeded', 'rate_limit_exceeded'],
    ['invalid_request_error', 'context_length_exceeded', 'context_length_exceeded'],
    ['server_error', 'overloaded', 'slow_down'],
    ['server_error', 'upstream_unavailable', 'slow_down'],
    ['server_error', 'upstream_timeout', 'server_error'],
    ['server_error', null, 'server_error'],
  ])('%s %s is sent to agents as %s', (type, code, reported) => {
    const text = encodeResponsesErrorFrame({ ...error, type, code }, 'req_1');
    const failed = readResponseEvents(text).find((event) => event.type === 'response.failed');
    expect(failed).toMatchObject({ response: { error: { code: reported } } });
  });
});

describe('the response object', () => {
  const answer: ModelAnswer = { id: 'x', model: 'served', createdAt: 1, choices: [], usage: counts };

  test('repeats the settings of the request', () => {
    const set = {
      instructions: 'i',
      max_output_tokens: 20,
      metadata: { a: 'b' },
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      reasoning: { effort: 'low', summary: 'auto' },
      safety_identifier: 's',
      service_tier: 'flex',
      temperature: 0.5,
      text: { format: { type: 'text' }, verbosity: 'low' },
      tool_choice: 'required',
      tools: [
        { type: 'function', name: 'f', description: 'd', parameters: {}, strict: true },
        { type: 'web_search' },
      ],
      top_logprobs: 2,
      top_p: 0.5,
      truncation: 'auto',
      user: 'u',
    };
    const built = plainAnswer(answer, set);
    expect(response.parse(built)).toMatchObject(set);
  });

  test('has a default for all else, and never claims to be stored', () => {
    const built = response.parse(plainAnswer(answer, { store: true, background: false }));
    expect(built).toMatchObject({ temperature: 1, top_p: 1, tools: [], tool_choice: 'auto', store: false });
  });

  test('is named after the requested model if the upstream names none', () => {
    expect(plainAnswer({ ...answer, model: '' })).toMatchObject({ model: 'm' });
  });
});

const words = fc.array(fc.string({ minLength: 1, maxLength: 5 }), { maxLength: 3 });
const someHead: fc.Arbitrary<PartHead> = fc.oneof(
  fc.constant(text),
  fc.constant(thinking),
  fc.constant<PartHead>({ type: 'refusal' }),
  fc.record({ id: fc.constantFrom('', 'call_1', 'call_2') }).map(({ id }) => call(id)),
  fc.constant(patch),
);
const someParts = fc.array(
  fc.tuple(someHead, words).map(([head, texts]): readonly [PartHead, ...string[]] => [head, ...texts]),
  { maxLength: 6 },
);
const someEnd = fc.constantFrom<FinishReason>('stop', 'length', 'tool-calls', 'content-filter', 'pause');

test('any parts make a stream that holds together, and the same response as the plain answer', () => {
  fc.assert(
    fc.property(someParts, someEnd, fc.boolean(), (whole, finish, isJson) => {
      const parts = [...partsOf(...whole), end(finish), usage];
      const request = isJson ? { text: { format: { type: 'json_object' } } } : {};
      const plain = plainAnswer(
        { id: 'x', model: 'served', createdAt: 1, choices: [gatherChoice(parts, 0)], usage: counts },
        request,
      );
      expect(response.parse(plain)).toEqual(lastResponse(parts, request));
    }),
    { numRuns: runs(500) },
  );
});
