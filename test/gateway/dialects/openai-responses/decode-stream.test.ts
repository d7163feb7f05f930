// What do the events of a responses upstream mean, whatever it leaves out?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gatherChoice } from '../../../../gateway/dialects/answer/gather-choice.ts';
import type { Conversation } from '../../../../gateway/dialects/conversation.ts';
import { runs } from '../../../support/runs.ts';
import { cutAt, readPieces } from '../support/read-pieces.ts';
import { eventText } from '../support/response-events.ts';
import { decodePlain, decoder, decodeStream, inShort } from './talk.ts';

type Event = { readonly type: string; readonly [member: string]: unknown };

const counts = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
const created = { type: 'response.created', response: { id: 'resp_1', model: 'served', created_at: 5 } };
const completed = (output: unknown[] = []) => ({
  type: 'response.completed',
  response: { id: 'resp_1', model: 'served', status: 'completed', output, usage: counts },
});
const added = (index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});
const done = (index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});
const on = (type: string, index: number, more: object) => ({
  type: `response.${type}`,
  output_index: index,
  ...more,
});
const textDelta = (index: number, delta: string, id = 'msg_1') =>
  on('output_text.delta', index, { item_id: id, content_index: 0, delta });
const message = (said: string) => ({
  type: 'message',
  id: 'msg_1',
  content: [{ type: 'output_text', text: said }],
});
const call = (id: string, args: string) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'f',
  arguments: args,
});
const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'hm' }],
  encrypted_content: 'enc',
};

const state = '{"origin":"here","state":{"kind":"encrypted","value":"enc","id":"rs_1"}}';
const textParts = ['0( text', '0: hello', '0)', 'stop'];
const callParts = ['0( function call_1 f', '0: {"a":1}', '0)', 'tool-calls'];
const thoughtParts = ['0( thinking', '0: hm', `0) ${state}`, 'stop'];

/** What comes of them behind `response.created`. */
function shortOf(events: readonly Event[], more: Partial<Conversation> = {}): string[] {
  const { parts } = decodeStream(eventText(created, ...events), more);
  const [first, ...rest] = inShort(parts);
  expect(first).toBe('start resp_1 served');
  // Where the counts stand does not matter, but for the end, which comes behind them.
  return rest.filter((line) => line !== 'usage 7 3');
}

describe('an item', () => {
  test.each<[string, readonly Event[], readonly string[]]>([
    [
      'reported in full',
      [
        added(0, message('')),
        textDelta(0, 'hello'),
        on('output_text.done', 0, { content_index: 0, text: 'hello' }),
        done(0, message('hello')),
        completed([message('hello')]),
      ],
      textParts,
    ],
    ['never announced', [textDelta(0, 'hello'), completed()], textParts],
    [
      'without deltas',
      [added(0, message('')), on('output_text.done', 0, { content_index: 0, text: 'hello' }), completed()],
      textParts,
    ],
    [
      'with its part only',
      [
        added(0, message('')),
        on('content_part.done', 0, { content_index: 0, part: { type: 'output_text', text: 'hello' } }),
        completed(),
      ],
      textParts,
    ],
    ['with its end only', [done(0, message('hello')), completed()], textParts],
    ['in the terminal event only', [completed([message('hello')])], textParts],
    [
      'reported in the stream and with another id at its end',
      [added(0, message('')), textDelta(0, 'hello'), completed([{ ...message('hello'), id: 'other' }])],
      textParts,
    ],
    [
      '54: a call reported in full',
      [
        added(0, call('call_1', '')),
        on('function_call_arguments.delta', 0, { delta: '{"a"' }),
        on('function_call_arguments.delta', 0, { delta: ':1}' }),
        on('function_call_arguments.done', 0, { arguments: '{"a":1}' }),
        done(0, call('call_1', '{"a":1}')),
        completed(),
      ],
      ['0( function call_1 f', '0: {"a"', '0: :1}', '0)', 'tool-calls'],
    ],
    [
      '3: a call with its arguments at the end only',
      [
        added(0, call('call_1', '')),
        on('function_call_arguments.done', 0, { arguments: '{"a":1}' }),
        completed(),
      ],
      callParts,
    ],
    [
      'a call that is never announced',
      [
        on('function_call_arguments.delta', 0, { delta: '{"a":1}' }),
        done(0, call('call_1', '{"a":1}')),
        completed(),
      ],
      callParts,
    ],
    ['a call in the terminal event only', [completed([call('call_1', '{"a":1}')])], callParts],
    [
      '41: a call without arguments',
      [added(0, call('call_1', '')), done(0, call('call_1', '')), completed()],
      ['0( function call_1 f', '0: {}', '0)', 'tool-calls'],
    ],
    [
      'reasoning reported in full',
      [
        added(0, { ...thought, summary: [], encrypted_content: 'half' }),
        on('reasoning_summary_text.delta', 0, { summary_index: 0, delta: 'hm' }),
        on('reasoning_summary_text.done', 0, { summary_index: 0, text: 'hm' }),
        done(0, thought),
        completed([thought]),
      ],
      thoughtParts,
    ],
    ['reasoning with its end only', [done(0, thought), completed()], thoughtParts],
    [
      'reasoning whose state comes in the terminal event',
      [
        added(0, { ...thought, summary: [] }),
        on('reasoning_summary_text.delta', 0, { summary_index: 0, delta: 'hm' }),
        completed([thought]),
      ],
      thoughtParts,
    ],
    [
      'reasoning in several summaries',
      [
        on('reasoning_summary_text.delta', 0, { summary_index: 0, delta: 'a' }),
        on('reasoning_summary_text.delta', 0, { summary_index: 1, delta: 'b' }),
        completed(),
      ],
      ['0( thinking', '0: a', '0: \n\nb', '0)', 'stop'],
    ],
    [
      'raw reasoning',
      [
        on('reasoning_text.delta', 0, { content_index: 0, delta: 'hm' }),
        on('reasoning_text.done', 0, { content_index: 0, text: 'hm' }),
        completed(),
      ],
      ['0( thinking', '0: hm', '0)', 'stop'],
    ],
    [
      'reasoning that is not shown',
      [done(0, { ...thought, summary: [] }), completed()],
      ['0( thinking', `0) ${state}`, 'stop'],
    ],
    [
      'a refusal',
      [
        on('refusal.delta', 0, { content_index: 0, delta: 'no' }),
        on('refusal.done', 0, { content_index: 0, refusal: 'no' }),
        completed(),
      ],
      ['0( refusal', '0: no', '0)', 'stop'],
    ],
    [
      "of a provider's own tool",
      [
        added(0, { type: 'web_search_call', id: 'ws_1' }),
        on('web_search_call.searching', 0, {}),
        done(0, { type: 'web_search_call' }),
        textDelta(1, 'hello'),
        completed([{ type: 'web_search_call' }, message('hello')]),
      ],
      textParts,
    ],
    [
      '1: text beside nothing',
      [
        textDelta(0, ''),
        textDelta(0, 'hello'),
        { type: 'response.invented' },
        { type: 'keepalive' },
        completed(),
      ],
      textParts,
    ],
  ])('%s', (_, events, parts) => {
    expect(shortOf(events)).toEqual(parts);
  });

  test('8: ids that change from event to event are one item, by its index', () => {
    const events = [
      added(0, message('')),
      textDelta(0, 'he', 'a'),
      textDelta(0, 'llo', 'b'),
      done(0, { ...message('hello'), id: 'c' }),
      completed(),
    ];
    expect(shortOf(events)).toEqual(['0( text', '0: he', '0: llo', '0)', 'stop']);
  });

  test('items of a server that numbers all of them 0 stay apart', () => {
    const items = [call('call_1', '{"a":1}'), call('call_2', '{"a":1}')];
    const events = items.flatMap((item) => [added(0, { ...item, arguments: '' }), done(0, item)]);
    expect(shortOf([...events, completed(items)])).toEqual([
      ...['0( function call_1 f', '0: {"a":1}', '0)'],
      ...['1( function call_2 f', '1: {"a":1}', '1)', 'tool-calls'],
    ]);
  });

  test('32: a custom call comes as custom', () => {
    const item = { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: '' };
    const events = [
      added(0, item),
      on('custom_tool_call_input.delta', 0, { delta: 'raw' }),
      done(0, { ...item, input: 'raw' }),
      completed(),
    ];
    const parts = shortOf(events, { tools: [{ kind: 'custom', name: 'patch' }] });
    expect(parts.slice(0, 3)).toEqual(['0( custom call_1 patch', '0: raw', '0)']);
  });
});

test('65: a response that begins twice becomes one answer', () => {
  expect(shortOf([created, textDelta(0, 'hello'), created, completed()])).toEqual(textParts);
});

describe('the end', () => {
  const incomplete = (reason: string) => ({
    type: 'response.incomplete',
    response: { ...completed().response, status: 'incomplete', incomplete_details: { reason } },
  });
  test.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content-filter'],
    ['interrupted', 'length'],
  ])('22: incomplete because of %s is %s, with its counts', (reason, finish) => {
    const { parts, facts } = decodeStream(eventText(created, textDelta(0, 'a'), incomplete(reason)));
    expect(inShort(parts).at(-1)).toBe(finish);
    expect(inShort(parts)).toContain('usage 7 3');
    expect(facts).toMatchObject({ isComplete: true, usage: { input: 7, output: 3 }, servedModel: 'served' });
  });

  test.each(['response.failed', 'response.completed'])(
    "22, 12: failed is a fault in the upstream's words, with its counts (%s)",
    (type) => {
      const error = { code: 'rate_limit_exceeded', message: 'slow' };
      const failed = { type, response: { status: 'failed', error, usage: counts } };
      const { facts } = decodeStream(eventText(created, failed));
      expect(facts.fault).toEqual({
        kind: 'error-event',
        error: { ...error, type: null, param: null, status: null },
      });
      expect(facts.usage).toMatchObject({ input: 7 });
    },
  );

  test('12: an error beside a response that was completed is the fault, with its counts', () => {
    const error = { code: 'rate_limit_exceeded', message: 'slow' };
    const { facts } = decodeStream(
      eventText(created, {
        type: 'response.completed',
        response: { status: 'completed', usage: counts },
        error,
      }),
    );
    expect(facts).toMatchObject({
      isComplete: false,
      fault: { kind: 'error-event', error },
      usage: { input: 7 },
    });
  });

  test.each([
    ['flat', { type: 'error', code: 'server_error', message: 'oops', param: null }],
    ['nested', { type: 'error', error: { type: 'x', code: 'server_error', message: 'oops' } }],
  ])('12: a %s error is the fault at once, and the counts that come along are heard', (_, error) => {
    const stream = decoder();
    stream.push(Buffer.from(eventText(created, error)));
    expect(stream.facts.fault).toMatchObject({
      kind: 'error-event',
      error: { code: 'server_error', message: 'oops' },
    });
    const both = decodeStream(
      eventText(created, error, { type: 'response.failed', response: { usage: counts } }),
    );
    expect(both.facts).toMatchObject({ usage: { input: 7 }, fault: { error: { message: 'oops' } } });
  });

  test('12: after an error in the same bytes an end is ignored, and no text is sent', () => {
    const error = { type: 'error', code: 'server_error', message: 'oops' };
    const { parts, facts } = decodeStream(
      eventText(created, textDelta(0, 'a'), error, textDelta(0, 'b'), completed()),
    );
    expect(facts).toMatchObject({
      isComplete: false,
      fault: { error: { message: 'oops' } },
      usage: { input: 7 },
    });
    expect(inShort(parts)).not.toContain('0: b');
    expect(inShort(parts)).toContain('0: a');
  });

  test('13: a stream without a terminal event is truncated, whatever it held', () => {
    for (const text of ['', 'data: [DONE]\n\n', eventText(created, done(0, message('hello')))]) {
      expect(decodeStream(text).facts).toMatchObject({ isComplete: false, fault: { kind: 'truncated' } });
    }
  });

  test('an event may repeat a long request, but not be endless', () => {
    const long = (length: number) =>
      eventText({ ...created, response: { instructions: 'x'.repeat(length) } });
    expect(decodeStream(long(2_000_000) + eventText(completed())).facts.isComplete).toBe(true);
    expect(decodeStream(long(4_200_000)).facts.fault).toMatchObject({ kind: 'too-large' });
  });

  test('an event that is no JSON is malformed', () => {
    expect(decodeStream('data: {"type":\n\n').facts.fault).toMatchObject({ kind: 'malformed' });
  });
});

const stream = eventText(
  created,
  added(0, { ...thought, summary: [] }),
  on('reasoning_summary_text.delta', 0, { summary_index: 0, delta: 'hm – 𝄞' }),
  done(0, thought),
  added(1, message('')),
  textDelta(1, 'é'),
  textDelta(1, '漢字'),
  done(1, message('é漢字')),
  added(2, call('call_1', '')),
  on('function_call_arguments.delta', 2, { delta: '{"a":"𝄞"}' }),
  done(2, call('call_1', '{"a":"𝄞"}')),
  completed(),
);

test.each([
  ['15: line feeds', stream],
  ['16: CRLF', stream.replaceAll('\n', '\r\n')],
  ['16: lone CR', stream.replaceAll('\n', '\r')],
  ['17: no space behind the colon', stream.replaceAll(': {', ':{')],
])('18: any split of the bytes gives the same parts, with %s', (_, text) => {
  const bytes = Buffer.from(text);
  const read = (pieces: readonly Buffer[]) => {
    const { out, facts } = readPieces(decoder(), pieces);
    return { parts: out.flat(), facts };
  };
  const whole = read([bytes]);
  expect(whole.facts.isComplete).toBe(true);
  expect(inShort(whole.parts)).toHaveLength(13);
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 20 }), (cuts) => {
      expect(read(cutAt(bytes, cuts))).toEqual(whole);
    }),
    { numRuns: runs(200) },
  );
});

describe('a plain answer', () => {
  test('decodes to the same parts as its stream', () => {
    const items = [thought, message('hello'), call('call_1', '{"a":1}')];
    const streamed = decodeStream(
      eventText(created, ...items.map((item, index) => done(index, item)), completed()),
    );
    const plain = decodePlain({
      ...completed(items).response,
      object: 'response',
      created_at: 5,
      error: null,
    });
    expect(plain).toEqual({
      ok: true,
      answer: {
        id: 'resp_1',
        model: 'served',
        createdAt: 5,
        choices: [gatherChoice(streamed.parts, 0)],
        usage: streamed.facts.usage,
      },
    });
  });

  test.each([
    ['no JSON', '<html>', 'malformed'],
    ['a list', '[]', 'malformed'],
    ['no output', '{}', 'malformed'],
    ['not done yet', '{"status":"queued","output":[]}', 'malformed'],
    ['failed', '{"status":"failed","output":[],"error":{"message":"no"}}', 'error-event'],
    ['26: an error of another form', '{"error":["oops"]}', 'error-event'],
  ])('64: %s is a fault', (_, body, kind) => {
    expect(decodePlain(body)).toMatchObject({ ok: false, fault: { kind } });
  });

  test('log probabilities of all text stand in one list', () => {
    const token = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] };
    const item = { type: 'message', content: [{ type: 'output_text', text: 'a', logprobs: [token] }] };
    expect(decodePlain({ status: 'completed', output: [item] })).toMatchObject({
      answer: { choices: [{ logprobs: [token] }] },
    });
  });
});

const names = [
  'type',
  'item',
  'response',
  'output',
  'output_index',
  'delta',
  'text',
  'content',
  'name',
  'call_id',
  'summary',
  'arguments',
  'error',
  'usage',
  'part',
  'id',
  'logprobs',
];
const types = [
  'response.created',
  'response.output_item.added',
  'response.output_item.done',
  'response.output_text.delta',
  'response.output_text.done',
  'response.content_part.done',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.reasoning_summary_text.delta',
  'response.reasoning_text.done',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
  'message',
  'function_call',
  'custom_tool_call',
  'reasoning',
  'output_text',
];
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(...types, 0, 1, -1, null, true, '', 'a', '{}'),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('json'), { maxKeys: 6 }),
  ),
}));

test('whatever JSON an upstream sends, nothing throws, and a stream ends complete or with a fault', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...types), fc.dictionary(fc.constantFrom(...names), json)), {
        maxLength: 6,
      }),
      (events) => {
        const reported = events.map(([type, event]) => ({ ...event, type }));
        const { parts, facts } = decodeStream(eventText(...reported));
        expect(facts.isComplete).toBe(facts.fault === undefined);
        const open = new Set<number>();
        for (const part of parts) {
          if (part.type === 'part-start') {
            expect(open.size).toBe(0);
            open.add(part.index);
          } else if (part.type === 'part-delta') expect(open.has(part.index)).toBe(true);
          else if (part.type === 'part-end') expect(open.delete(part.index)).toBe(true);
        }
        for (const [, event] of events) decodePlain(event);
      },
    ),
    { numRuns: runs(2000) },
  );
});
