// Where several providers of a route speak the client's own dialect: does the state that each of them gives carry its
// mark, does it come back to that provider as it was, and does nothing else change?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { relayMessages } from '../../../../gateway/dialects/anthropic-messages/relay.ts';
import type { SameDialect } from '../../../../gateway/dialects/dialect.ts';
import { relayResponses } from '../../../../gateway/dialects/openai-responses/relay.ts';
import {
  type OpaqueState,
  originOf,
  packOpaque,
  unpackOpaque,
} from '../../../../gateway/dialects/state/opaque.ts';
import { RequestBody } from '../../../../gateway/json/request-body.ts';
import { cutStep, runs } from '../../../support/runs.ts';
import {
  blockDelta,
  blockStart,
  blockStop,
  messageDelta,
  messageStart,
  messageStop,
  textDelta,
} from '../support/messages-events.ts';
import { named, waysToWrite } from '../support/named-events.ts';
import { cutAt, readPieces, sentText } from '../support/read-pieces.ts';
import {
  numbered,
  response,
  responseBeginning,
  responseUsage,
  wholeResponse,
} from '../support/response-events.ts';
import { streamFacts } from './stream-facts.ts';

const own = originOf('platform/own', 'm-1');
const other = originOf('platform/other', 'm-1');
const plainFacts = { ...streamFacts, isStream: false };

/** What is in the bytes, and what it says. */
interface State {
  readonly raw: string;
  readonly state: OpaqueState;
}

const signature = { raw: '"EqoB+/="', state: { kind: 'signature', value: 'EqoB+/=' } } as const;
/** As nobody writes it, but might. */
const escaped = {
  raw: '"Eq\\u002b\\/\\ud800\\" é="',
  state: { kind: 'signature', value: 'Eq+/\ud800" é=' },
} as const;
const redacted = { raw: '"EmwKAhgB"', state: { kind: 'redacted', value: 'EmwKAhgB' } } as const;
const begunSeal = { raw: '"gAAAA-begun"', state: { kind: 'encrypted', value: 'gAAAA-begun' } } as const;
const seal = { raw: '"gAAAA-done=="', state: { kind: 'encrypted', value: 'gAAAA-done==' } } as const;

function withMarks(text: string, states: readonly State[], origin: string): string {
  return states.reduce(
    (left, { raw, state }) => left.replaceAll(raw, JSON.stringify(packOpaque(origin, state))),
    text,
  );
}

const fragile = '"\\u0041\\/\\ud800 é😀",1e400,-0,12345678901234567890,1.0';
const words = 'signature_delta redacted_thinking "signature":"EqoB" "encrypted_content":"gAAA" 漢字';

const messageWithStates = [
  messageStart,
  blockStart({ type: 'thinking', thinking: '', signature: '' }),
  blockDelta({ type: 'thinking_delta', thinking: 'Grüße' }),
  blockDelta({ type: 'thinking_delta', thinking: words }),
  `event: content_block_delta\ndata: {"n":[${fragile}], "type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature" : "EqoB+/="}}\n\n`,
  blockStop(),
  blockStart({ type: 'redacted_thinking', data: 'EmwKAhgB', newer: [null] }, 1),
  blockStop(1),
  blockStart({ type: 'thinking', thinking: '', signature: '' }, 2),
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":2,"delta":{"signature":"Eq\\u002b\\/\\ud800\\" é=","type":"signature_delta"}}\n\n',
  blockStop(2),
  blockStart({ type: 'thinking', thinking: '', signature: 'EqoB+/=' }, 3),
  blockDelta({ type: 'signature_delta', signature: '' }, 3),
  blockStop(3),
  blockStart({ type: 'text', text: 'thinking' }, 4),
  textDelta('漢', 4),
  textDelta(words, 4),
  blockDelta({ type: 'newer_delta', signature: 'signature_delta' }, 4),
  textDelta('!', 4),
  blockStop(4),
  messageDelta('end_turn'),
  messageStop,
].join('');

const reasoning = (content: string | null | undefined) => ({
  id: 'rs_1',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: words }],
  encrypted_content: content,
});
const stored = { id: 'rs_2', type: 'reasoning', summary: [] };
const compaction = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAAA-begun of another kind' };

const responseWithStates = numbered([
  ['response.created', { response }],
  ['response.output_item.added', { output_index: 0, item: reasoning(begunSeal.state.value) }],
  ['response.reasoning_summary_text.delta', { output_index: 0, delta: words }],
  ['response.reasoning_summary_text.delta', { output_index: 0, delta: '漢' }],
  ['response.output_item.done', { output_index: 0, item: reasoning(seal.state.value) }],
  ['response.output_item.done', { output_index: 1, item: stored }],
  ['response.output_item.done', { output_index: 2, item: reasoning('') }],
  ['response.output_item.done', { output_index: 3, item: compaction }],
  ['response.output_text.done', { output_index: 4, text: words }],
  [
    'response.completed',
    {
      response: {
        ...response,
        status: 'completed',
        output: [reasoning(seal.state.value), stored, reasoning(null), compaction],
        usage: responseUsage,
        instructions: words,
      },
    },
  ],
]);

const streams: readonly (readonly [string, SameDialect, string, readonly State[], number])[] = [
  ['messages', relayMessages, messageWithStates, [signature, redacted, escaped], 4],
  ['responses', relayResponses, responseWithStates, [begunSeal, seal], 3],
];

describe.each(streams)('a %s stream', (_, relay, whole, states, marks) => {
  const read = (pieces: readonly Buffer[], origin?: string) => {
    const reading = readPieces(relay.relayStream(streamFacts, origin), pieces);
    return { sent: sentText(reading), facts: { ...reading.facts } };
  };

  test('has the mark of its provider on every state, and no other byte differs', () => {
    const { sent, facts } = read([Buffer.from(whole)], own);
    expect(sent).toBe(withMarks(whole, states, own));
    expect(sent.split('penstock.1.').length - 1).toBe(marks);
    expect(facts.isComplete).toBe(true);
  });

  test('without an origin goes as it came', () => {
    expect(read([Buffer.from(whole)]).sent).toBe(whole);
  });

  test.each(Object.entries(waysToWrite(whole)))(
    'is marked alike however it is written and cut, and tells the gateway the same: %s',
    (__, text) => {
      const bytes = Buffer.from(text);
      const unmarked = read([bytes]);
      const wanted = JSON.stringify({ ...unmarked, sent: withMarks(unmarked.sent, states, own) });
      expect(JSON.stringify(read([bytes], own))).toBe(wanted);
      for (let at = 0; at <= bytes.length; at += cutStep(3)) {
        const halves = JSON.stringify(read([bytes.subarray(0, at), bytes.subarray(at)], own));
        // Comparing is dear; a message is only needed where they differ.
        if (halves !== wanted) expect(halves, `cut at ${at}`).toBe(wanted);
      }
      fc.assert(
        fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 40 }), (cuts) => {
          expect(JSON.stringify(read(cutAt(bytes, cuts), own))).toBe(wanted);
        }),
        { seed: 17, numRuns: runs(40) },
      );
    },
  );
});

test('a stream with nothing to mark is passed on as its own bytes', () => {
  const bytes = Buffer.from(wholeResponse);
  const stream = relayResponses.relayStream(streamFacts, own);
  expect(stream.push(bytes)).toBe(bytes);
});

test('a stream that is broken off after a marked event still counts its events', () => {
  const item = named('response.output_item.done', { sequence_number: 41, item: reasoning('gAAA') });
  const stream = relayResponses.relayStream(streamFacts, own);
  stream.push(Buffer.from(responseBeginning + item));
  const error = { message: 'gone', type: 'server_error', code: 'upstream_error', param: null };
  expect(stream.errorFrame?.(error)).toContain('"sequence_number":42');
});

describe('a plain answer', () => {
  const relayed = (relay: SameDialect, text: string, origin?: string): string => {
    const answer = relay.relayAnswer(Buffer.from(text), plainFacts, origin);
    if (!answer.ok) throw new Error('it is refused');
    return answer.body.toString('utf8');
  };
  const message = `\n {"n":[${fragile}],"type":"message","content": [{"type":"thinking","thinking":"","signature":"EqoB+/="}, {"type":"redacted_thinking","data":"EmwKAhgB"},{"type":"thinking","thinking":"hm","signature":"Eq\\u002b\\/\\ud800\\" é="},{"type":"thinking","thinking":"","signature":""},{"type":"text","text":"a"},null] }\n`;
  const answered = ` {"object":"response","n":[${fragile}],"output":[${JSON.stringify(reasoning('gAAAA-done=='))}, {"type":"message","content":[]},${JSON.stringify(stored)},1]}`;

  test.each([
    ['messages', relayMessages, message, [signature, redacted, escaped]],
    ['responses', relayResponses, answered, [seal]],
  ] as const)(
    'of %s has the mark of its provider on every state, and not a byte else is different',
    (_, relay, text, states) => {
      const marked = relayed(relay, text, own);
      expect(marked).toBe(withMarks(text, states, own));
      expect(marked).not.toBe(text);
      expect(relayed(relay, text)).toBe(text);
      const facts = (origin?: string) => ({
        ...relay.relayAnswer(Buffer.from(text), plainFacts, origin),
        body: '',
      });
      expect(facts(own)).toEqual(facts());
    },
  );

  test.each([
    ['messages', relayMessages, '{"type":"message","content":[{"type":"text","text":"a"}]}'],
    ['responses', relayResponses, '{"object":"response","status":"completed","output":"none"}'],
  ] as const)('of %s without any state is the very same bytes', (_, relay, text) => {
    const bytes = Buffer.from(text);
    const answer = relay.relayAnswer(bytes, plainFacts, own);
    expect(answer.ok && answer.body).toBe(bytes);
  });
});

function sent(relay: SameDialect, text: string, origin: string, cuts: readonly number[] = []): string {
  const target = { upstreamModel: 'up', isStream: false, parameters: {}, origin };
  const body = new RequestBody(cutAt(Buffer.from(text), cuts));
  return Buffer.concat(relay.editRequest(body, plainFacts, target)).toString('utf8');
}

const user = `{"role":"user","content":[{"type":"text","text":"a","n":[${fragile}]}]}`;
const assistant = (...blocks: string[]): string => `{"role":"assistant","content":[${blocks.join(', ')}]}`;
const thinking = (value: string): string =>
  `{"type":"thinking","thinking":"","signature":${JSON.stringify(value)}}`;
const hidden = (value: string): string => `{"type":"redacted_thinking","data":${JSON.stringify(value)}}`;
const item = (value: string | null): string => JSON.stringify({ ...stored, encrypted_content: value });
const text = `{"type":"text","text":"a","n":[${fragile}]}`;
const call = '{"type":"tool_use","id":"toolu_1","name":"f","input":{ }}';

describe('state that a client sends back', () => {
  const bodyOf = (list: string, turns: readonly string[]): string =>
    ` {"n":[${fragile}],"model":"up","${list}":[${turns.join(' ,')}],"last":true}`;

  interface Case {
    readonly turns: (mark: (origin: string, state: OpaqueState) => string) => readonly string[];
    readonly wanted: readonly string[];
  }

  const cases: readonly (readonly [string, 'messages' | 'input', Case])[] = [
    [
      'a signature, beside one that was never marked',
      'messages',
      {
        turns: (mark) => [
          user,
          assistant(thinking(mark(own, signature.state)), call),
          assistant(thinking('Eq'), text),
        ],
        wanted: [user, assistant(thinking('EqoB+/='), call), assistant(thinking('Eq'), text)],
      },
    ],
    [
      'redacted thinking, beside that of another provider',
      'messages',
      {
        turns: (mark) => [
          assistant(hidden(mark(other, redacted.state)), hidden(mark(own, redacted.state)), text),
          user,
          assistant(thinking(mark(other, signature.state))),
        ],
        wanted: [assistant(hidden('EmwKAhgB'), text), user],
      },
    ],
    [
      'a signature with odd characters',
      'messages',
      {
        turns: (mark) => [assistant(thinking(mark(own, escaped.state)), text)],
        wanted: [assistant(thinking(escaped.state.value), text)],
      },
    ],
    [
      'what a gateway behind this one had marked itself',
      'messages',
      {
        turns: (mark) => [
          assistant(thinking(mark(own, { kind: 'signature', value: mark(other, signature.state) })), text),
        ],
        wanted: [assistant(thinking(packOpaque(other, signature.state)), text)],
      },
    ],
    [
      'what this provider gave in another dialect, or another place: not at all',
      'messages',
      {
        turns: (mark) => [
          user,
          assistant(thinking(mark(own, seal.state)), hidden(mark(own, signature.state)), text),
        ],
        wanted: [user, assistant(text)],
      },
    ],
    [
      'encrypted reasoning, beside that of another provider and what was never marked',
      'input',
      {
        turns: (mark) => [
          user,
          item(mark(own, seal.state)),
          item(mark(other, seal.state)),
          item('gAAA'),
          item(null),
          item(mark(own, signature.state)),
        ],
        wanted: [user, item('gAAAA-done=='), item('gAAA'), item(null)],
      },
    ],
    [
      'a damaged mark: not at all',
      'input',
      {
        turns: (mark) => [user, item(`${mark(own, seal.state)}.`), item('penstock.1.'), item('gAAA')],
        wanted: [user, item('gAAA')],
      },
    ],
  ];

  test.each(cases)('%s', (_, list, { turns, wanted }) => {
    const relay = list === 'messages' ? relayMessages : relayResponses;
    const body = bodyOf(list, turns(packOpaque));
    expect(sent(relay, body, own)).toBe(bodyOf(list, wanted));
    fc.assert(
      fc.property(fc.array(fc.nat({ max: body.length }), { maxLength: 60 }), (cuts) => {
        expect(sent(relay, body, own, cuts)).toBe(bodyOf(list, wanted));
      }),
      { seed: 19, numRuns: runs(50) },
    );
  });

  const anyText = fc.oneof(fc.base64String({ minLength: 1 }), fc.string({ unit: 'binary', minLength: 1 }));

  test('is sent unchanged to its provider, and never to another', () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 1, maxLength: 4 }), (values) => {
        const answer = JSON.stringify({
          type: 'message',
          content: values.flatMap((value) => [
            { type: 'thinking', thinking: 'hm', signature: value },
            { type: 'redacted_thinking', data: value },
          ]),
        });
        const relayed = relayMessages.relayAnswer(Buffer.from(answer), plainFacts, own);
        if (!relayed.ok) throw new Error('it is refused');
        const { content }: { content: Record<string, string>[] } = JSON.parse(relayed.body.toString('utf8'));
        for (const { signature: given, data } of content) {
          expect(unpackOpaque(given ?? data ?? '')).toMatchObject({ origin: own });
        }
        const echoed = JSON.stringify({
          model: 'up',
          messages: [
            { role: 'user', content: 'a' },
            { role: 'assistant', content },
          ],
        });
        expect(JSON.parse(sent(relayMessages, echoed, own)).messages[1].content).toEqual(
          JSON.parse(answer).content,
        );
        expect(JSON.parse(sent(relayMessages, echoed, other)).messages).toHaveLength(1);
      }),
      { seed: 23, numRuns: runs(300) },
    );
  });
});

describe('thinking with a budget, in a loop of tool calls that was begun at another provider,', () => {
  const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1"}]}';
  const ours = thinking(packOpaque(own, signature.state));
  const theirs = thinking(packOpaque(other, signature.state));

  test.each([
    ['is off while the other’s thinking would be missed', [theirs, call], [call], 'disabled'],
    ['is off where it is before the last call only', [ours, call], [theirs, call], 'disabled'],
    ['is on again after the provider’s own thinking', [theirs, call], [ours, call], 'enabled'],
    ['stays on where the other has not thought', [ours, call], [call], 'enabled'],
  ])('%s', (_, first, second, wanted) => {
    const turns = [user, assistant(...first), result, assistant(...second), result];
    const body = `{"model":"m","thinking":{"type":"enabled","budget_tokens":2048},"messages":[${turns.join(',')}]}`;
    expect(JSON.parse(sent(relayMessages, body, own)).thinking.type).toBe(wanted);
  });

  test('is on again with the next question', () => {
    const turns = [user, assistant(theirs, call), result, assistant(text), user, assistant(call), result];
    const body = `{"model":"m","thinking":{"type":"enabled","budget_tokens":2048},"messages":[${turns.join(',')}]}`;
    expect(JSON.parse(sent(relayMessages, body, own)).thinking.type).toBe('enabled');
  });
});
