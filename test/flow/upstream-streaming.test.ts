// upstreamStreaming: Always. A plain call whose upstream is asked for a stream: the caller gets what it would have
// got, and what a stream shows early (silence, breaks, errors) moves on early.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName, RouteEntry, Timeouts } from '../../core/contract/routing-table.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { withoutNulls } from '../support/rebuild-answer.ts';
import { until } from '../support/until.ts';
import { type Answer, type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { ask, type Endpoint, errorOf, isBag, lineOf, textOf, wallText } from './ask.ts';
import { type House, inHouse } from './house.ts';
import { pairs, tableOfTwo } from './two-walls.ts';

let first: Wall;
let second: Wall;
let rig: Rig;

beforeAll(async () => {
  first = await startWall();
  second = await startWall();
  rig = await startRig({ ...tableOf([]), routes: [] }, { random: () => 0 });
});

afterAll(async () => {
  await rig.close();
  await first.close();
  await second.close();
});

afterEach(() => {
  rig.records.length = 0;
  first.script({ type: 'answer' });
  second.script({ type: 'answer' });
});

const always: Partial<RouteEntry> = { upstreamStreaming: 'Always' };

function offer(dialect: DialectName, route: Partial<RouteEntry> = always, timeouts: Timeouts = {}): void {
  rig.offer(tableOfTwo([first, second], dialect, route, timeouts));
}

/** What two answers to one request may differ in. */
function lasting(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lasting);
  if (!isBag(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !/^(id|created|created_at|completed_at)$/.test(name));
  return Object.fromEntries(kept.map(([name, member]) => [name, lasting(member)]));
}

/** The request as the first provider got it last. */
function sentToFirst(): Record<string, unknown> {
  const json = first.calls.at(-1)?.json;
  if (!isBag(json)) throw new Error('the first provider was not asked');
  return json;
}

const other: Answer = { text: 'Half of this answer would have been for nothing at all, dear reader.' };
const after = { contentEvents: 5 };

describe.each(pairs)('$endpoint from $upstream', ({ endpoint, upstream }) => {
  test('the caller gets the same answer as from a plain upstream call, and its usage', async () => {
    first.script({ type: 'answer', id: 'one' });
    offer(upstream, {});
    const plain = await ask(rig, { endpoint });
    expect(sentToFirst().stream ?? false).toBe(false);
    offer(upstream);
    const gathered = await ask(rig, { endpoint });
    expect(sentToFirst().stream).toBe(true);
    expect([gathered.status, gathered.headers['content-type']]).toEqual([200, 'application/json']);
    expect(withoutNulls(lasting(gathered.json))).toEqual(withoutNulls(lasting(plain.json)));
    const [once, again] = rig.records;
    expect(again).toMatchObject({
      outcome: 'answered',
      isEstimated: false,
      isStream: false,
      usage: once?.usage,
    });
    expect(again?.firstContentMs).toBeTypeOf('number');
  });

  test.each<readonly [string, Behaviour, string, Timeouts]>([
    [
      'silence before the first event',
      { type: 'hang', when: 'before-headers' },
      'timeout_first_event',
      { firstEventMs: 100 },
    ],
    [
      'silence behind content',
      { type: 'stall', after, answer: other },
      'timeout_liveness',
      { livenessMs: 100 },
    ],
    ['a FIN', { type: 'cut', after, framing: 'close', answer: other }, 'truncated', {}],
    ['an error event', { type: 'error-event', afterEvents: 8, answer: other }, 'error_event', {}],
    ['an event that is not JSON', { type: 'garbage-event', atEvent: 8, answer: other }, 'unusable', {}],
    ['a page, where a stream was asked for', { type: 'html' }, 'malformed', {}],
  ])('%s: the next provider answers', async (_, behaviour, failure, timeouts) => {
    offer(upstream, always, timeouts);
    first.script(behaviour);
    const seen = await ask(rig, { endpoint });
    expect([seen.status, textOf(seen)]).toEqual([200, wallText]);
    expect(rig.records.map(lineOf)).toEqual([`1 t0 failed ${failure} platform`, '2 t1 answered tenant']);
  });

  test('if all of them fail, the caller gets a status and no part of an answer', async () => {
    offer(upstream);
    first.script({ type: 'cut', after, answer: other });
    second.script({ type: 'cut', after, answer: other });
    const seen = await ask(rig, { endpoint });
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_invalid_response']);
    expect(seen.text).not.toContain('Half');
  });
});

describe('calls of tools', () => {
  const parameters = { type: 'object', properties: { place: { type: 'string' } } };
  const tools = {
    chat: { tools: [{ type: 'function', function: { name: 'look', parameters } }] },
    messages: { tools: [{ name: 'look', input_schema: parameters }] },
    responses: { tools: [{ type: 'function', name: 'look', parameters }] },
  } as const;

  test.each([
    ['chat', 'openai-chat'],
    ['messages', 'anthropic-messages'],
    ['responses', 'openai-responses'],
    ['messages', 'openai-chat'],
    ['chat', 'anthropic-messages'],
  ] as const)('%s from %s', async (endpoint, upstream) => {
    first.script({
      type: 'answer',
      text: 'Let me see. ',
      toolCalls: [
        { name: 'look', arguments: '{"place":"the weir"}', id: 'call_a' },
        { name: 'look', arguments: '{"place":"the gate"}', id: 'call_b' },
      ],
    });
    const answers: unknown[] = [];
    for (const route of [{}, always]) {
      offer(upstream, route);
      const seen = await ask(rig, { endpoint, more: tools[endpoint] });
      answers.push(withoutNulls(lasting(seen.json)));
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(JSON.stringify(answers[1])).toContain('the gate');
  });
});

test('several choices come together', async () => {
  offer('openai-chat');
  first.script({ type: 'answer', choices: [{ text: 'one and two' }, { text: 'three and four' }] });
  const seen = await ask(rig, { more: { n: 2 } });
  expect(seen.json).toMatchObject({
    choices: [
      { index: 0, message: { content: 'one and two' }, finish_reason: 'stop' },
      { index: 1, message: { content: 'three and four' }, finish_reason: 'stop' },
    ],
  });
});

test('a request of several calls: each is fetched as a stream', async () => {
  offer('openai-chat');
  const seen = await ask(rig, { endpoint: 'completions', more: { prompt: ['one', 'two'] } });
  expect(seen.json).toMatchObject({ choices: [{ text: wallText }, { text: wallText }] });
  expect(first.calls.slice(-2).map(({ json }) => isBag(json) && json.stream)).toEqual([true, true]);
});

test('stream options of the caller do not affect its plain call', async () => {
  offer('openai-chat');
  const seen = await ask(rig, { more: { stream: false, stream_options: null } });
  expect([seen.status, textOf(seen), sentToFirst().stream_options]).toEqual([
    200,
    wallText,
    { include_usage: true },
  ]);
});

test('a streamed call does not change', async () => {
  offer('openai-chat');
  first.script({ type: 'cut', after, answer: other });
  const seen = await ask(rig, { isStream: true });
  expect(rig.records.map(lineOf)).toEqual(['1 t0 broken-off truncated tenant']);
  expect(errorOf(seen)?.code).toBe('upstream_error');
});

describe('an upstream whose stream', () => {
  const streamOf = (...events: readonly object[]): Behaviour => ({
    type: 'raw',
    bytes: [
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n',
      ...events.map(
        (event) => `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
      ),
      ...(events.some((event) => 'type' in event) ? [] : ['data: [DONE]\n\n']),
    ].join(''),
    followedBy: 'fin',
  });
  const words = Array.from({ length: 20 }, (_, at) => `word${at} `);
  /** @param ends The counts of each `message_delta`. */
  const messageOf = (...ends: readonly (object | undefined)[]): Behaviour =>
    streamOf(
      {
        type: 'message_start',
        message: {
          ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'x', content: [], stop_reason: null },
          usage: { input_tokens: 100, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...words.map((text) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text },
      })),
      { type: 'content_block_stop', index: 0 },
      ...ends.map((usage) => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage })),
      { type: 'message_stop' },
    );
  const head = { id: 'c', created: 1, model: 'x' };
  /** @param ends The counts after the last choice. */
  const chunksOf = (piece: (text: string) => object, ...ends: readonly object[]): Behaviour =>
    streamOf(
      ...words.map((text) => ({ ...head, choices: [{ index: 0, ...piece(text), finish_reason: null }] })),
      { ...head, choices: [{ index: 0, ...piece(''), finish_reason: 'stop' }], usage: ends[0] },
      ...ends.slice(1).map((usage) => ({ ...head, choices: [], usage })),
    );
  const chatOf = (...ends: readonly object[]) => chunksOf((content) => ({ delta: { content } }), ...ends);
  const counts = {
    ...{ prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_050 },
    prompt_tokens_details: { cached_tokens: 900 },
  };
  const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const cached = { input: 1_000, cachedInput: 900, output: 50 };

  const lacking: Case['record'] = { usage: { input: 100, output: 20 }, isEstimated: true };
  const whole: Case['record'] = { usage: cached, isEstimated: false };
  interface Case {
    readonly what: string;
    readonly says: Behaviour;
    readonly upstream: DialectName;
    readonly endpoint: Endpoint;
    readonly record: { readonly usage: object; readonly isEstimated: boolean };
    /** The usage of the answer. */
    readonly reported: object;
  }
  const messages = { upstream: 'anthropic-messages', endpoint: 'messages' } as const;
  const chat = { upstream: 'openai-chat', endpoint: 'chat' } as const;
  const completions = { upstream: 'openai-completions', endpoint: 'completions' } as const;
  const cases: readonly Case[] = [
    {
      ...messages,
      what: 'counts its beginning alone',
      says: messageOf(undefined),
      record: lacking,
      reported: { input_tokens: 100, output_tokens: 1 },
    },
    {
      ...messages,
      endpoint: 'chat',
      what: 'counts its beginning alone',
      says: messageOf(undefined),
      record: lacking,
      reported: { prompt_tokens: 100, completion_tokens: 1 },
    },
    {
      ...messages,
      what: 'ends a second time, with no output',
      says: messageOf({ output_tokens: 50 }, { output_tokens: 0 }),
      record: { usage: { input: 100, output: 50 }, isEstimated: false },
      reported: { input_tokens: 100, output_tokens: 50 },
    },
    { ...chat, what: 'tells zeros last', says: chatOf(counts, zeros), record: whole, reported: counts },
    {
      ...chat,
      endpoint: 'messages',
      what: 'tells zeros last',
      says: chatOf(counts, zeros),
      record: whole,
      reported: { input_tokens: 100, cache_read_input_tokens: 900, output_tokens: 50 },
    },
    {
      ...chat,
      what: 'tells last what is no count',
      says: chatOf(counts, { cost: 0.1 }),
      record: whole,
      reported: counts,
    },
    {
      ...chat,
      what: 'counts on with every event',
      says: chatOf({ ...counts, completion_tokens: 49 }, counts),
      record: whole,
      reported: counts,
    },
    {
      ...completions,
      what: 'tells zeros last',
      says: chunksOf((text) => ({ text }), counts, zeros),
      record: whole,
      reported: counts,
    },
  ];

  /** The same asked plainly and as a stream. */
  async function askBoth(
    house: House,
    { says, upstream, endpoint }: Pick<Case, 'says' | 'upstream' | 'endpoint'>,
  ) {
    const wall = await house.wallThat(says);
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl, dialects: [upstream] }], always);
    const plain = await ask(rig, { endpoint });
    await ask(rig, { endpoint, isStream: true });
    await until(async () => rig.records.length === 2);
    return { plain, records: rig.records };
  }

  test.each(cases)(
    '$what ($endpoint from $upstream) costs the same, whether or not its caller streams',
    inHouse(async (house, { record, reported, ...asked }: Case) => {
      const { plain, records } = await askBoth(house, asked);
      expect(records[0]).toMatchObject({ outcome: 'answered', isStream: false, ...record });
      const [gathered, streamed] = records.map(({ usage, isEstimated, costPicodollars }) => [
        usage,
        isEstimated,
        costPicodollars,
      ]);
      expect(gathered).toEqual(streamed);
      expect(isBag(plain.json) && plain.json.usage).toMatchObject(reported);
    }),
  );

  test(
    'without counts is estimated alike, streamed or not',
    inHouse(async (house) => {
      const { records } = await askBoth(house, { ...chat, says: chatOf() });
      const seen = records.map(({ usage, isEstimated, estimatedBy }) => [
        usage.output,
        isEstimated,
        estimatedBy,
      ]);
      expect(seen).toEqual([
        [20, true, 'characters'],
        [20, true, 'characters'],
      ]);
    }),
  );
});
