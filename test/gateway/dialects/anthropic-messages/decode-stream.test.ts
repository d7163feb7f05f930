// What does a streamed message of an upstream mean?

import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../../gateway/dialects/conversation.ts';
import { blockOf, endOf, start, textBlock } from '../support/messages-events.ts';
import { named } from '../support/named-events.ts';
import { decodeStream, encodeRequest, short } from './talk.ts';

const json = (partial: string) => ({ type: 'input_json_delta', partial_json: partial });
const look = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };

describe('blocks', () => {
  test.each<[string, string, readonly string[]]>([
    ['text', textBlock(0, 'a', 'b') + endOf('end_turn'), ['0 text', '0 + a', '0 + b', '0 end', 'stop']],
    [
      'text that is in the start of its block',
      blockOf(0, { type: 'text', text: 'a' }) + endOf('end_turn'),
      ['0 text', '0 + a', '0 end', 'stop'],
    ],
    [
      'two texts in a row',
      textBlock(0, 'a') + textBlock(1, 'b') + endOf('end_turn'),
      ['0 text', '0 + a', '0 end', '1 text', '1 + b', '1 end', 'stop'],
    ],
    [
      'thinking and its signature',
      blockOf(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Hm' },
        { type: 'signature_delta', signature: 'Eq' },
        { type: 'signature_delta', signature: 'Q=' },
      ) +
        textBlock(1, 'a') +
        endOf('end_turn'),
      [
        '0 thinking',
        '0 + Hm',
        '0 end {"kind":"signature","value":"EqQ="}',
        '1 text',
        '1 + a',
        '1 end',
        'stop',
      ],
    ],
    [
      'thinking that is signed and not shown',
      blockOf(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'signature_delta', signature: 'EqQ=' },
      ) + endOf('end_turn'),
      ['0 thinking', '0 end {"kind":"signature","value":"EqQ="}', 'stop'],
    ],
    [
      'redacted thinking',
      blockOf(0, { type: 'redacted_thinking', data: 'Emw=' }) + endOf('end_turn'),
      ['0 thinking', '0 end {"kind":"redacted","value":"Emw="}', 'stop'],
    ],
    [
      'thinking of other vendors, without a signature',
      blockOf(0, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: 'Hm' }) +
        endOf('end_turn'),
      ['0 thinking', '0 + Hm', '0 end', 'stop'],
    ],
    [
      'a tool call',
      blockOf(0, look, json('{"at"'), json(':1}')) + endOf('tool_use'),
      ['0 tool-call look', '0 + {"at"', '0 + :1}', '0 end', 'tool-calls'],
    ],
    [
      '41: a tool call without arguments',
      blockOf(0, look, json('')) + blockOf(1, { ...look, id: 'toolu_2' }) + endOf('tool_use'),
      ['0 tool-call look', '0 + {}', '0 end', '1 tool-call look', '1 + {}', '1 end', 'tool-calls'],
    ],
    [
      'a tool call whose input is in the start of its block',
      blockOf(0, { ...look, input: { at: 1 } }) + endOf('tool_use'),
      ['0 tool-call look', '0 + {"at":1}', '0 end', 'tool-calls'],
    ],
    [
      'a tool call that is cut at the limit',
      blockOf(0, look, json('{"at')) + endOf('max_tokens'),
      ['0 tool-call look', '0 + {"at', '0 end', 'length'],
    ],
    [
      '5: text between two calls',
      blockOf(0, look, json('{"a":1}')) +
        textBlock(1, 'x') +
        blockOf(2, { ...look, id: 'toolu_2' }, json('{"b":1}')) +
        endOf('tool_use'),
      [
        '0 tool-call look',
        '0 + {"a":1}',
        '0 end',
        '1 text',
        '1 + x',
        '1 end',
        '2 tool-call look',
        '2 + {"b":1}',
        '2 end',
        'tool-calls',
      ],
    ],
    [
      'tools that the provider runs itself',
      blockOf(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }, json('{"query":"x"}')) +
        blockOf(1, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }) +
        textBlock(2, 'Found') +
        endOf('end_turn'),
      ['0 text', '0 + Found', '0 end', 'stop'],
    ],
    [
      'citations, and deltas of types to come',
      blockOf(
        0,
        { type: 'text', text: '' },
        { type: 'citations_delta', citation: {} },
        { type: 'tomorrow_delta', text: 'x' },
        { type: 'text_delta', text: 'a' },
      ) + endOf('end_turn'),
      ['0 text', '0 + a', '0 end', 'stop'],
    ],
    ['no content at all', endOf('end_turn'), ['stop']],
    [
      'pings and events of types to come, and an end mark of another dialect',
      `${named('ping')}${named('tomorrow')}${textBlock(0, 'a')}data: [DONE]\n\n${endOf('end_turn')}`,
      ['ping', '0 text', '0 + a', '0 end', 'stop'],
    ],
    [
      'blocks that are not ended',
      named('content_block_start', { index: 0, content_block: { ...look, input: { at: 1 } } }) +
        endOf('tool_use'),
      ['0 tool-call look', '0 + {"at":1}', '0 end', 'tool-calls'],
    ],
  ])('%s', (_, text, parts) => {
    const decoded = decodeStream(start + text);
    expect(short(decoded.parts)).toEqual(parts);
    expect(decoded.facts).toMatchObject({ isComplete: true, fault: undefined });
  });

  test('state is marked with where it came from', () => {
    const { parts } = decodeStream(
      start + blockOf(0, { type: 'redacted_thinking', data: 'Emw=' }) + endOf('end_turn'),
    );
    expect(parts).toContainEqual(
      expect.objectContaining({ opaque: { origin: 'here', state: { kind: 'redacted', value: 'Emw=' } } }),
    );
  });

  test('the answer begins with the model that answers', () => {
    const { parts, facts } = decodeStream(start + endOf('end_turn'));
    expect(parts[0]).toEqual({ type: 'answer-start', id: 'msg_1', model: 'served', createdAt: 0 });
    expect(facts.servedModel).toBe('served');
  });

  test('only text and calls are content', () => {
    const hidden = blockOf(0, { type: 'redacted_thinking', data: 'Emw=' });
    expect(decodeStream(start + hidden).facts.hasContent).toBe(false);
    expect(decodeStream(start + textBlock(0, 'a')).facts.hasContent).toBe(true);
    expect(decodeStream(start + blockOf(0, look)).facts.hasContent).toBe(true);
  });
});

describe('tools under other names', () => {
  test('32: free text comes out of its wrapping', () => {
    const tools: Tool[] = [{ kind: 'custom', name: 'patch' }];
    const text = blockOf(0, { ...look, name: 'patch' }, json('{"input":"*** Be'), json('gin"}'));
    const { parts } = decodeStream(start + text + endOf('tool_use'), { tools });
    expect(short(parts)).toEqual(['0 tool-call patch', '0 + *** Begin', '0 end', 'tool-calls']);
    expect(parts).toContainEqual(
      expect.objectContaining({ head: { type: 'tool-call', id: 'toolu_1', name: 'patch', kind: 'custom' } }),
    );
  });

  test.each<[string, Tool]>([
    ['31: in a namespace', { kind: 'function', name: 'look', namespace: 'maps' }],
    ['43: with dots', { kind: 'function', name: 'look.at.it' }],
    ['43: of more than 128 characters', { kind: 'function', name: 'look'.repeat(40) }],
  ])('a tool %s is known again', (_, tool) => {
    const [{ name }] = encodeRequest({ tools: [tool] }).tools;
    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,128}$/);
    const { parts } = decodeStream(start + blockOf(0, { ...look, name }) + endOf('tool_use'), {
      tools: [tool],
    });
    expect(parts).toContainEqual(
      expect.objectContaining({ head: { type: 'tool-call', id: 'toolu_1', ...tool } }),
    );
  });
});

describe('the end', () => {
  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop-sequence'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'context-full'],
    ['tool_use', 'tool-calls'],
    ['pause_turn', 'pause'],
    ['refusal', 'content-filter'],
    ['tomorrow', 'stop'],
  ])('%s is %s', (reason, finish) => {
    expect(short(decodeStream(start + textBlock(0, 'a') + endOf(reason)).parts).at(-1)).toBe(finish);
  });

  test('54: an end_turn after a call is an end for the call', () => {
    expect(short(decodeStream(start + blockOf(0, look) + endOf('end_turn')).parts).at(-1)).toBe('tool-calls');
  });

  test('the stop sequence is reported', () => {
    const { parts } = decodeStream(start + endOf('stop_sequence', {}, { stop_sequence: 'END' }));
    expect(parts).toContainEqual({
      type: 'choice-end',
      choice: 0,
      finish: 'stop-sequence',
      stopSequence: 'END',
    });
  });

  test('why it was refused is reported', () => {
    const details = { type: 'refusal', category: 'cyber', explanation: 'No' };
    const { parts } = decodeStream(start + endOf('refusal', {}, { stop_details: details }));
    expect(parts.at(-1)).toEqual({
      type: 'choice-end',
      choice: 0,
      finish: 'content-filter',
      refusal: { category: 'cyber', explanation: 'No' },
    });
  });

  test.each<[string, string, string]>([
    ['13: nothing after the text', start + textBlock(0, 'a'), 'truncated'],
    ['nothing at all', '', 'truncated'],
    ['half an event', `${start}${textBlock(0, 'a')}data: {"type":"message_st`, 'truncated'],
    ['what is no JSON', `${start}data: <html>\n\n`, 'malformed'],
    ['what is no object', `${start}data: [1]\n\n`, 'malformed'],
    ['an end without a start', named('message_stop'), 'malformed'],
    ['65: a second start', start + textBlock(0, 'a') + start + endOf('end_turn'), 'malformed'],
  ])('%s is no whole answer', (_, text, kind) => {
    const { facts } = decodeStream(text);
    expect(facts.isComplete).toBe(false);
    expect(facts.fault?.kind).toBe(kind);
  });

  test('a stream that ends after its finish reason is complete', () => {
    const text = start + textBlock(0, 'a') + endOf('end_turn').split('event: message_stop')[0];
    const { parts, facts } = decodeStream(text);
    expect(facts).toMatchObject({ isComplete: true, fault: undefined });
    expect(short(parts).at(-1)).toBe('stop');
  });

  test.each<[string, string, unknown]>([
    [
      '12: an error event',
      named('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
      { message: 'Overloaded', type: 'overloaded_error', status: 529 },
    ],
    [
      'an event that is only named an error',
      'event: error\ndata: {"error":{"type":"api_error","message":"Oh"}}\n\n',
      { message: 'Oh', type: 'api_error', status: 500 },
    ],
    ['an error without a name', 'data: {"error":"Oh"}\n\n', { message: 'Oh', type: null }],
    ['an error that is no JSON', 'event: error\ndata: Oh\n\n', { message: 'Oh' }],
    ['a reason that means an error', endOf('abort'), { message: '', type: null }],
    [
      'an error beside the end',
      named('message_delta', { delta: { stop_reason: 'end_turn' }, error: { message: 'Oh' } }),
      { message: 'Oh' },
    ],
  ])('%s ends the stream', (_, text, error) => {
    const { facts } = decodeStream(start + textBlock(0, 'a') + text + endOf('end_turn'));
    expect(facts.isComplete).toBe(false);
    expect(facts.fault).toMatchObject({ kind: 'error-event', error });
  });
});

describe('usage', () => {
  test('19: the counters of the start and of the end are not added', () => {
    const { facts } = decodeStream(start + textBlock(0, 'a') + endOf('end_turn', { output_tokens: 7 }));
    expect(facts.usage).toEqual({ input: 17, cachedInput: 5, cacheWrite: 2, output: 7, reasoning: 0 });
  });

  test('20: counters of the end alone are used', () => {
    const bare = named('message_start', { message: { id: 'msg_1', model: 'm' } });
    const usage = {
      input_tokens: 3,
      cache_read_input_tokens: null,
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 4 },
    };
    expect(decodeStream(bare + endOf('end_turn', usage)).facts.usage).toEqual({
      input: 3,
      cachedInput: 0,
      cacheWrite: 0,
      output: 9,
      reasoning: 4,
    });
  });

  test('a counter that is null or absent at the end keeps its value', () => {
    const usage = { input_tokens: null, output_tokens: 9 };
    expect(decodeStream(start + endOf('end_turn', usage)).facts.usage).toMatchObject({
      input: 17,
      output: 9,
    });
  });

  test.each([
    ['none', {}, { input: 17, cachedInput: 5 }],
    ['the input alone', { input_tokens: 10 }, { input: 17, cachedInput: 5 }],
    ['an invalid count', { output_tokens: -1 }, undefined],
  ])(
    'a message that ends with no count of its output, %s, lacks it: one token is at its start',
    (_, reported, usage) => {
      const { facts } = decodeStream(start + textBlock(0, 'a') + endOf('end_turn', reported));
      expect(facts).toMatchObject({ isComplete: true, lacksOutput: true });
      if (usage === undefined) expect(facts.usage).toBeUndefined();
      else expect(facts.usage).toMatchObject(usage);
    },
  );

  test('usage that is known at the start is reported at once, without the output', () => {
    const { parts, facts } = decodeStream(start);
    expect(facts).toMatchObject({ usage: { input: 17 }, lacksOutput: true });
    expect(parts[1]).toMatchObject({ type: 'usage', usage: { input: 17, cachedInput: 5 } });
  });
});

describe('lines', () => {
  const whole = start + textBlock(0, 'Grüße 漢字') + endOf('end_turn');
  const expected = short(decodeStream(whole).parts);

  test.each([
    ['16: CRLF', whole.replaceAll('\n', '\r\n')],
    ['16: lone CR', whole.replaceAll('\n', '\r')],
    ['17: no space behind the colon', whole.replaceAll('data: ', 'data:')],
    ['no names of events', whole.replaceAll(/event: .*\n/g, '')],
    ['comments', whole.replaceAll('event: ', ': hello\nevent: ')],
    ['no last blank line', whole.trimEnd()],
  ])('%s changes nothing', (_, text) => {
    expect(expected).toContain('0 + Grüße 漢字');
    expect(short(decodeStream(text).parts)).toEqual(expected);
  });
});
