// What changes in a messages, responses or chat request whose upstream speaks the same dialect? The model, what the
// target adds, and nothing else, unless the request carries state that this upstream would refuse.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { relayMessages } from '../../../../gateway/dialects/anthropic-messages/relay.ts';
import type { SameDialect } from '../../../../gateway/dialects/dialect.ts';
import { relayChat } from '../../../../gateway/dialects/openai-chat/relay.ts';
import { relayResponses } from '../../../../gateway/dialects/openai-responses/relay.ts';
import { originOf, packOpaque } from '../../../../gateway/dialects/state/opaque.ts';
import { RequestBody } from '../../../../gateway/json/request-body.ts';
import { cutAt } from '../support/read-pieces.ts';

function edit(
  dialect: SameDialect,
  pieces: readonly Buffer[],
  parameters: Record<string, unknown> = {},
): string {
  const facts = { model: 'm', isStream: false, wantsUsage: false, choices: 1 };
  const target = { upstreamModel: 'up', isStream: false, parameters, origin: 'own' };
  return Buffer.concat(dialect.editRequest(new RequestBody(pieces), facts, target)).toString('utf8');
}

const edited = (dialect: SameDialect, text: string, parameters?: Record<string, unknown>): string =>
  edit(dialect, [Buffer.from(text)], parameters);

const packed = packOpaque(originOf('other', 'm-1'), { kind: 'encrypted', value: 'gAAA', id: 'rs_1' });
const fragile = '"\\u0041\\/\\ud800 é😀", 1e400, -0, 12345678901234567890, 1.0';

/** What native clients send; `{}` represents what differs. */
const dialects = {
  messages: { relay: relayMessages, list: 'messages' },
  responses: { relay: relayResponses, list: 'input' },
  chat: { relay: relayChat, list: 'messages' },
} as const;

describe.each(Object.entries(dialects))('a %s request', (_, { relay, list }) => {
  test('keeps every byte but the model', () => {
    const text = `{ "${list}":[ {"role":"user","content":[${fragile}]} ],"model" : "m","newer":[${fragile}],"stream":false }`;
    expect(edited(relay, text)).toBe(text.replace('"m"', '"up"'));
  });

  test('gets the parameters of the target that it does not have', () => {
    const text = `{"model":"m","${list}":[],"temperature":null,"top_p":1}`;
    expect(edited(relay, text, { temperature: 0.5, top_p: 0.1, newer: { a: [1] } })).toBe(
      `{"model":"up","${list}":[],"temperature":0.5,"top_p":1,"newer":{"a":[1]}}`,
    );
  });

  test('is sent without the members that choose another model at its provider', () => {
    const text = `{"model":"up","fallbacks":[{"model":"dear"}],"${list}":[],"models":["dear"]}`;
    const target = { upstreamModel: 'up', isStream: false, parameters: {}, origin: 'own' };
    const facts = { model: 'm', isStream: false, wantsUsage: false, choices: 1 };
    const modelMembers = ['fallbacks', 'models'];
    const sent = relay.editRequest(new RequestBody([Buffer.from(text)]), facts, { ...target, modelMembers });
    expect(Buffer.concat(sent).toString('utf8')).toBe(`{"model":"up","${list}":[]}`);
  });

  test('that only mentions foreign state keeps every byte', () => {
    const words = JSON.stringify(`${packed} "signature":"" {"type":"thinking","signature":""} rs_penstock_1`);
    const text = `{"model":"up","${list}":[{"role":"user","content":[{"type":"text","text":${words}}]},${words},null,${fragile}]}`;
    expect(edited(relay, text)).toBe(text);
  });

  test('that is invalid JSON below the top level is left to the upstream', () => {
    const text = `{"model":"up","${list}":[{"signature":"", "data":"${packed}" "id":"rs_penstock_1"}]}`;
    expect(edited(relay, text)).toBe(text);
  });
});

const user = `{"role":"user","content":[{"type":"text","text":${fragile.split(',')[0]},"n":[${fragile}]}]}`;

interface Case {
  readonly turns: readonly string[];
  /** What is left; the same turns where nothing changes. */
  readonly wanted?: readonly string[];
}

function check(dialect: keyof typeof dialects, { turns, wanted = turns }: Case): void {
  const { relay, list } = dialects[dialect];
  const body = (entries: readonly string[]): string =>
    ` {"newer":[${fragile}],"model":"up","${list}":[${entries.join(', ')}],"last":true}`;
  expect(edited(relay, body(turns))).toBe(body(wanted));
  // However the body arrived.
  const bytes = Buffer.from(body(turns));
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 60 }), (cuts) => {
      expect(edit(relay, cutAt(bytes, cuts))).toBe(body(wanted));
    }),
    { seed: 13, numRuns: 50 },
  );
}

describe('45: thinking that is not the provider’s own is not sent to it', () => {
  const assistant = (...blocks: string[]): string => `{"role":"assistant","content":[${blocks.join(', ')}]}`;
  const thinking = (signature: string): string =>
    `{"type":"thinking","thinking":"hm","signature":${JSON.stringify(signature)}}`;
  const redacted = (data: string): string => `{"type":"redacted_thinking","data":${JSON.stringify(data)}}`;
  const text = `{"type":"text","text":"a","citations":[${fragile}]}`;

  test.each<[string, Case]>([
    ['packed by us', { turns: [user, assistant(thinking(packed), text)], wanted: [user, assistant(text)] }],
    [
      'with an empty signature',
      { turns: [user, assistant(thinking(''), text), user], wanted: [user, assistant(text), user] },
    ],
    [
      'with an empty signature that is written with spaces',
      {
        turns: [user, assistant(thinking('').replace(':""', ' \n : ""'), text)],
        wanted: [user, assistant(text)],
      },
    ],
    ['redacted, packed by us', { turns: [assistant(redacted(packed), text)], wanted: [assistant(text)] }],
    ['behind text', { turns: [assistant(text, thinking(packed))], wanted: [assistant(text)] }],
    [
      'between the provider’s own thinking',
      {
        turns: [assistant(thinking('Eq+/'), redacted(packed), thinking(''), redacted('Eq+/'), text)],
        wanted: [assistant(thinking('Eq+/'), redacted('Eq+/'), text)],
      },
    ],
    [
      'and nothing else: the message goes too',
      {
        turns: [
          user,
          assistant(thinking(packed), redacted(packed)),
          assistant(text),
          user,
          assistant(thinking('')),
        ],
        wanted: [user, assistant(text), user],
      },
    ],
    [
      'in several turns of ten',
      {
        turns: Array.from({ length: 10 }, (_, at) => assistant(thinking(at % 2 ? packed : `Eq${at}`), text)),
        wanted: Array.from({ length: 10 }, (_, at) =>
          at % 2 ? assistant(text) : assistant(thinking(`Eq${at}`), text),
        ),
      },
    ],
  ])('%s', (_, body) => {
    check('messages', body);
  });

  test.each<[string, Case]>([
    [
      '46: the provider’s own thinking, byte for byte',
      {
        turns: [
          assistant(
            `{"type":"thinking","thinking":" \\u0041\\/\\ud800\\n","signature":"E\\/\\u002b"}`,
            redacted('E'),
            text,
          ),
        ],
      },
    ],
    ['an empty signature of something else', { turns: [assistant('{"type":"newer","signature":""}', text)] }],
    [
      'thinking without a signature: the vendor says what is wrong',
      { turns: [assistant('{"type":"thinking","thinking":"hm"}')] },
    ],
    ['text as content', { turns: [`{"role":"user","content":"\\"signature\\":\\"\\" ${packed}"}`] }],
  ])('%s stays', (_, body) => {
    check('messages', body);
  });

  const call = '{"type":"tool_use","id":"toolu_1","name":"f","input":{}}';
  test('thinking that is no valid JSON is left to the upstream', () => {
    const body = (...blocks: string[]): string =>
      `{"model":"up","thinking":{"type":enabled},"messages":[${assistant(...blocks)}]}`;
    expect(edited(relayMessages, body(thinking(packed), call))).toBe(body(call));
  });

  const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1"}]}';
  const budget = '{"type":"enabled","budget_tokens":2048}';
  test.each([
    ['is switched off', [thinking(packed), call], budget, '{"type":"disabled"}'],
    ['stays on after the provider’s own thinking', [thinking('Eq'), thinking(packed), call], budget, budget],
    [
      'stays on after the provider’s own redacted thinking',
      [redacted('Eq'), thinking(packed), call],
      budget,
      budget,
    ],
    ['stays on without a call', [thinking(packed), text], budget, budget],
    ['stays on without a budget', [thinking(packed), call], '{"type":"adaptive"}', '{"type":"adaptive"}'],
    ['stays on where nothing was taken out', [call], budget, budget],
  ])(
    'thinking with a budget, which needs the thinking before an open call, %s',
    (_, blocks, given, wanted) => {
      const sent: unknown = JSON.parse(
        edited(
          relayMessages,
          `{"model":"m","thinking":${given},"messages":[${[user, assistant(...blocks), result].join(',')}]}`,
        ),
      );
      expect(sent).toMatchObject({ thinking: JSON.parse(wanted) });
    },
  );
});

describe('reasoning that the provider does not know is not sent to it', () => {
  const reasoning = (id: string, content: string | null): string =>
    JSON.stringify({ id, type: 'reasoning', summary: [], content: null, encrypted_content: content });
  const call = '{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{ }"}';
  const message = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","n":[${fragile}]}]}`;

  test.each<[string, Case]>([
    ['packed by us', { turns: [user, reasoning('rs_1', packed), call], wanted: [user, call] }],
    ['with an id of our making', { turns: [reasoning('rs_penstock_1', null), call], wanted: [call] }],
    ['alone', { turns: [reasoning('rs_penstock_1', packed)], wanted: [] }],
    [
      'in several places',
      {
        turns: [
          reasoning('rs_1', 'gAAA'),
          call,
          reasoning('rs_2', packed),
          message,
          reasoning('rs_penstock_3', ''),
        ],
        wanted: [reasoning('rs_1', 'gAAA'), call, message],
      },
    ],
    [
      'by reference',
      { turns: [user, '{"type":"item_reference","id":"rs_penstock_1"}', call], wanted: [user, call] },
    ],
  ])('%s', (_, body) => {
    check('responses', body);
  });

  test.each<[string, Case]>([
    ['the provider’s own reasoning', { turns: [reasoning('rs_1', 'gAAA'), call, message] }],
    ['another item with such an id', { turns: [call.replace('fc_1', 'rs_penstock_1')] }],
    ['an item without a type', { turns: ['{"id":"rs_penstock_1","role":"user","content":"a"}'] }],
  ])('%s stays', (_, body) => {
    check('responses', body);
  });

  test('text as input stays', () => {
    const text = `{"model":"up","input":"${packed} rs_penstock_1"}`;
    expect(edited(relayResponses, text)).toBe(text);
  });
});

describe('reasoning details that we packed are not sent to another provider', () => {
  const details = (...data: string[]): string =>
    data.map((each) => `{"type":"reasoning.encrypted","data":${JSON.stringify(each)},"index":0}`).join(', ');
  const turn = (list: string): string =>
    `{"role":"assistant","reasoning_details":[${list}],"content":"a","n":[${fragile}]}`;

  test.each<[string, Case]>([
    [
      'beside others',
      { turns: [user, turn(details('x', packed, 'y'))], wanted: [user, turn(details('x', 'y'))] },
    ],
    [
      'and nothing else: the member goes too',
      {
        turns: [user, turn(details(packed)), user],
        wanted: [user, `{"role":"assistant","content":"a","n":[${fragile}]}`, user],
      },
    ],
  ])('%s', (_, body) => {
    check('chat', body);
  });

  test('details of the provider’s own stay', () => {
    check('chat', { turns: [turn(details('x')), turn(''), turn(`{"data":1}, ${packed.length}`)] });
  });
});
