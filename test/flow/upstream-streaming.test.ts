// upstreamStreaming: Always. A plain call whose upstream is asked for a stream: the caller gets what it would have
// got, and what a stream shows early (silence, breaks, errors) moves on early.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName, RouteEntry, Timeouts } from '../../gateway/contract/routing-table.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { withoutNulls } from '../support/rebuild-answer.ts';
import { type Answer, type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { ask, errorOf, isBag, lineOf, textOf, wallText } from './ask.ts';
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
  test('the caller gets the very answer that a plain upstream call gives, and its usage', async () => {
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
    ['a plain answer, where a stream was asked for', { type: 'answer', mode: 'plain' }, 'malformed', {}],
  ])('%s: the next provider answers', async (_, behaviour, failure, timeouts) => {
    offer(upstream, always, timeouts);
    first.script(behaviour);
    const seen = await ask(rig, { endpoint });
    expect([seen.status, textOf(seen)]).toEqual([200, wallText]);
    expect(rig.records.map(lineOf)).toEqual([`1 t0 failed ${failure} platform`, '2 t1 answered tenant']);
  });

  test('where all of them fail, the caller gets a status and no part of an answer', async () => {
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

test('what the caller has said of streams does not matter to its plain call', async () => {
  offer('openai-chat');
  const seen = await ask(rig, { more: { stream: false, stream_options: null } });
  expect([seen.status, textOf(seen), sentToFirst().stream_options]).toEqual([
    200,
    wallText,
    { include_usage: true },
  ]);
});

test('a streamed call is as it always was', async () => {
  offer('openai-chat');
  first.script({ type: 'cut', after, answer: other });
  const seen = await ask(rig, { isStream: true });
  expect(rig.records.map(lineOf)).toEqual(['1 t0 broken-off truncated tenant']);
  expect(errorOf(seen)?.code).toBe('upstream_error');
});
