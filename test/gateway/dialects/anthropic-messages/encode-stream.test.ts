// What does a messages client get for the parts of a streamed answer?

import { describe, expect, test } from 'vitest';
import { encodeMessagesStream } from '../../../../gateway/dialects/anthropic-messages/encode-stream.ts';
import { anthropicMessages } from '../../../../gateway/dialects/anthropic-messages/index.ts';
import { type MarkedState, packOpaque } from '../../../../gateway/dialects/state/opaque.ts';
import type { PartHead, StreamPart } from '../../../../gateway/dialects/stream-part.ts';

const usage = { input: 17, cachedInput: 5, cacheWrite: 2, output: 7, reasoning: 3 };
const began: StreamPart = { type: 'answer-start', id: 'x', model: 'served', createdAt: 1 };

function part(index: number, head: PartHead, texts: readonly string[], opaque?: MarkedState): StreamPart[] {
  return [
    { type: 'part-start', choice: 0, index, head },
    ...texts.map((text): StreamPart => ({ type: 'part-delta', choice: 0, index, text })),
    { type: 'part-end', choice: 0, index, ...(opaque ? { opaque } : {}) },
  ];
}

const text = (index: number, ...texts: readonly string[]) => part(index, { type: 'text' }, texts);
const call = (index: number, id: string, ...texts: readonly string[]) =>
  part(index, { type: 'tool-call', id, name: 'look', kind: 'function' }, texts);
const end = (finish: Extract<StreamPart, { type: 'choice-end' }>['finish'], more = {}): StreamPart => ({
  type: 'choice-end',
  choice: 0,
  finish,
  ...more,
});

interface SentEvent {
  readonly name: string;
  readonly data: Record<string, unknown>;
}

function encode(parts: readonly StreamPart[]): SentEvent[] {
  const encoder = encodeMessagesStream({ id: 'abc', createdAt: 1, model: 'm', inputEstimate: 7 });
  const sent = encoder.open(0).encode([began, ...parts]) + encoder.close();
  return sent
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, name = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
      return { name, data: JSON.parse(data) };
    });
}

/** The events between the start and the end. */
function blocks(parts: readonly StreamPart[]): unknown[] {
  return encode([...parts, end('stop')])
    .slice(1, -2)
    .map(({ data: { type, ...members } }) => members);
}

test('every frame names its type twice, starts and ends once', () => {
  const events = encode([...text(0, 'a'), end('stop')]);
  expect(events.map(({ name }) => name)).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  for (const { name, data } of events) expect(data.type).toBe(name);
});

test('the start has an estimate of the input, and everything a message has', () => {
  const [first] = encode([...text(0, 'a'), end('stop')]);
  expect(first?.data.message).toEqual({
    id: 'msg_abc',
    type: 'message',
    role: 'assistant',
    model: 'served',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 7,
      output_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    },
  });
});

describe('blocks', () => {
  test('of text', () => {
    expect(blocks(text(0, 'a', 'b'))).toEqual([
      { index: 0, content_block: { type: 'text', text: '', citations: null } },
      { index: 0, delta: { type: 'text_delta', text: 'a' } },
      { index: 0, delta: { type: 'text_delta', text: 'b' } },
      { index: 0 },
    ]);
  });

  test('of a refusal are text', () => {
    expect(blocks(part(0, { type: 'refusal' }, ['No']))[1]).toEqual({
      index: 0,
      delta: { type: 'text_delta', text: 'No' },
    });
  });

  test('2, 4, 47: thinking comes first, in a thinking block with a signature', () => {
    expect(blocks([...part(0, { type: 'thinking' }, ['Hm']), ...text(1, 'a')])).toEqual([
      { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
      { index: 0 },
      { index: 1, content_block: { type: 'text', text: '', citations: null } },
      { index: 1, delta: { type: 'text_delta', text: 'a' } },
      { index: 1 },
    ]);
  });

  const state = { kind: 'encrypted', value: 'e', id: 'rs_1' } as const;
  const opaque = { origin: 'there', state };

  test('a bare signature after text comes before the next part, and not at the end', () => {
    const state: MarkedState = { origin: 'there', state: { kind: 'signature', value: 's' } };
    const bare = (index: number) => part(index, { type: 'thinking' }, [], state);
    const types = (parts: readonly StreamPart[]) =>
      encode([...parts, end('stop')]).flatMap(({ data }) => {
        const { content_block: block } = data as { content_block?: { type: string } };
        return block ? [block.type] : [];
      });
    expect(types([...text(0, 'a'), ...bare(1)])).toEqual(['text']);
    expect(types([...text(0, 'a'), ...bare(1), ...call(2, 'c', '{}')])).toEqual([
      'text',
      'thinking',
      'tool_use',
    ]);
    expect(types([...text(0, 'a'), ...bare(1), ...text(2, 'b')])).toEqual(['text', 'thinking', 'text']);
    expect(types([...bare(0), ...text(1, 'a')])).toEqual(['thinking', 'text']);
  });

  test('state of thinking goes along as its signature', () => {
    expect(blocks(part(0, { type: 'thinking' }, ['Hm'], opaque))[2]).toEqual({
      index: 0,
      delta: { type: 'signature_delta', signature: packOpaque('there', state) },
    });
  });

  test('thinking that is not shown is a block for its state', () => {
    expect(blocks(part(0, { type: 'thinking' }, [], opaque))).toEqual([
      { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { index: 0, delta: { type: 'signature_delta', signature: packOpaque('there', state) } },
      { index: 0 },
    ]);
  });

  test('redacted thinking stays redacted', () => {
    const redacted = { origin: 'there', state: { kind: 'redacted', value: 'r' } } as const;
    expect(blocks(part(0, { type: 'thinking' }, [], redacted))).toEqual([
      {
        index: 0,
        content_block: { type: 'redacted_thinking', data: packOpaque('there', redacted.state) },
      },
      { index: 0 },
    ]);
  });

  test('thinking without text and state is no block, and takes no number', () => {
    expect(blocks([...part(0, { type: 'thinking' }, []), ...text(1, 'a')])[0]).toMatchObject({ index: 0 });
  });

  test('41: of calls have an empty input, and one delta where there are no arguments', () => {
    expect(blocks([...call(0, 'toolu_1', '{"a":', '1}'), ...call(1, 'toolu_2', '{}')])).toEqual([
      { index: 0, content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} } },
      { index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
      { index: 0, delta: { type: 'input_json_delta', partial_json: '1}' } },
      { index: 0 },
      { index: 1, content_block: { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} } },
      { index: 1, delta: { type: 'input_json_delta', partial_json: '{}' } },
      { index: 1 },
    ]);
  });

  test('42: ids of calls are made, or made fit, and never the same twice', () => {
    const ids = blocks([
      ...call(0, '', '{}'),
      ...call(1, 'a.b', '{}'),
      ...call(2, 'a:b', '{}'),
      ...call(3, 'a_b', '{}'),
    ]).flatMap((members) => JSON.stringify(members).match(/"id":"([^"]*)"/)?.[1] ?? []);
    expect(ids[0]).toBe('toolu_abc_0');
    expect(ids[1]).toBe('a_b');
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
  });

  test('of other choices are not sent', () => {
    const others = text(0, 'b').map((other) => ({ ...other, choice: 1 }) as StreamPart);
    expect(blocks([...text(0, 'a'), ...others])).toEqual(blocks(text(0, 'a')));
  });
});

describe('the end', () => {
  test.each<[Parameters<typeof end>[0], string]>([
    ['stop', 'end_turn'],
    ['stop-sequence', 'stop_sequence'],
    ['length', 'max_tokens'],
    ['context-full', 'model_context_window_exceeded'],
    ['tool-calls', 'end_turn'],
    ['content-filter', 'refusal'],
    ['pause', 'pause_turn'],
  ])('%s of text is %s', (finish, reason) => {
    const events = encode([...text(0, 'a'), end(finish)]);
    expect(events.at(-2)?.data.delta).toMatchObject({ stop_reason: reason });
  });

  test.each(['stop', 'tool-calls'] as const)('54: %s after a call is tool_use', (finish) => {
    const events = encode([...call(0, 'toolu_1', '{}'), end(finish)]);
    expect(events.at(-2)?.data.delta).toMatchObject({ stop_reason: 'tool_use' });
  });

  test('names the stop sequence', () => {
    const events = encode([...text(0, 'a'), end('stop-sequence', { stopSequence: 'END' })]);
    expect(events.at(-2)?.data.delta).toEqual({
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
      stop_details: null,
    });
  });

  test('gives the reason of a refusal', () => {
    const refusal = { category: 'cyber', explanation: 'No' };
    const events = encode([...text(0, 'a'), end('content-filter', { refusal })]);
    expect(events.at(-2)?.data.delta).toMatchObject({ stop_details: { type: 'refusal', ...refusal } });
  });

  test('21: true counts come at the end, cached tokens once', () => {
    const events = encode([...text(0, 'a'), end('stop'), { type: 'usage', usage }]);
    expect(events.at(-2)?.data.usage).toEqual({
      input_tokens: 10,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 5,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 3 },
    });
  });

  test('without a count there is an estimate', () => {
    const events = encode([...text(0, 'a'.repeat(40)), end('stop')]);
    expect(events.at(-2)?.data.usage).toMatchObject({ input_tokens: 7, output_tokens: 10 });
  });

  test('of an answer without content is still one', () => {
    const names = encode([end('stop')]).map(({ name }) => name);
    expect(names).toEqual(['message_start', 'message_delta', 'message_stop']);
  });
});

describe('the time before content', () => {
  const before: readonly StreamPart[] = [
    began,
    { type: 'usage', usage },
    { type: 'ping' },
    { type: 'part-start', choice: 0, index: 0, head: { type: 'thinking' } },
  ];

  test('nothing is sent, so that an error can still be a status', () => {
    expect(
      encodeMessagesStream({ id: 'abc', createdAt: 1, model: 'm', inputEstimate: 7 }).open(0).encode(before),
    ).toBe('');
  });

  test('usage that is known early goes into the start', () => {
    const [first] = encode([{ type: 'usage', usage }, ...text(0, 'a'), end('stop')]);
    expect(first?.data.message).toMatchObject({ usage: { input_tokens: 10, cache_read_input_tokens: 5 } });
  });

  test('the input that the upstream counted at the end replaces the estimate', () => {
    const [first, ...rest] = encode([...text(0, 'a'), { type: 'usage', usage }, end('stop')]);
    expect(first?.data.message).toMatchObject({ usage: { input_tokens: 7 } });
    expect(rest.at(-2)?.data.usage).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 5 });
  });

  test('the parts of a failed attempt are forgotten', () => {
    const encoder = encodeMessagesStream({ id: 'abc', createdAt: 1, model: 'm', inputEstimate: 7 });
    encoder.open(0).encode([began, ...text(0, 'a')]);
    const again = encoder.open(0).encode([{ ...began, model: 'other' }, ...text(0, 'b'), end('stop')]);
    expect(again).toContain('"model":"other"');
    expect(again).toContain('"index":0');
  });
});

test('a ping after the start is sent', () => {
  const events = encode([...text(0, 'a'), { type: 'ping' }, ...text(1, 'b'), end('stop')]);
  expect(events).toContainEqual({ name: 'ping', data: { type: 'ping' } });
});

test('14: a broken stream ends with an error event', () => {
  const error = { type: 'api_error', message: 'Oh', code: 'upstream_error', param: null };
  expect(anthropicMessages.errorFrame(error, 'req_1')).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"Oh","code":"upstream_error"},"request_id":"req_1"}\n\n',
  );
});
