// What becomes of a request whose first provider fails? For every fault, streamed and not, in both
// endpoints and through a translation: what the caller gets, which calls are made, what is written down.

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../gateway/contract/routing-table.ts';
import { type Rig, type RigTarget, tableOf } from '../gateway/rig.ts';
import type { SseStyle } from '../support/wall/behaviour.ts';
import type { Behaviour, Wall } from '../support/wall.ts';
import {
  ask,
  askOpen,
  type Endpoint,
  endsWell,
  errorOf,
  lineOf,
  type Seen,
  textOf,
  wallText,
} from './ask.ts';
import { type BreaksOff, type Ends, type Mode, type MovesOn, type Row, rowsOf, type Told } from './faults.ts';
import { type House, inHouse } from './house.ts';

interface Variant {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** The dialect of the upstreams. */
  readonly upstream: DialectName;
}

const chat: Variant = { name: 'chat', endpoint: 'chat', upstream: 'openai-chat' };
const variants: readonly Variant[] = [
  chat,
  { name: 'completions', endpoint: 'completions', upstream: 'openai-completions' },
  { name: 'messages', endpoint: 'messages', upstream: 'anthropic-messages' },
  { name: 'responses', endpoint: 'responses', upstream: 'openai-responses' },
  { name: 'completions from chat upstreams', endpoint: 'completions', upstream: 'openai-chat' },
  { name: 'messages from chat upstreams', endpoint: 'messages', upstream: 'openai-chat' },
  { name: 'responses from messages upstreams', endpoint: 'responses', upstream: 'anthropic-messages' },
  { name: 'chat from responses upstreams', endpoint: 'chat', upstream: 'openai-responses' },
];

interface Stage {
  readonly rig: Rig;
  readonly first: Wall | undefined;
  readonly second: Wall | undefined;
}

/** The failing provider, and a good one behind it where asked for. */
async function stageOf(house: House, row: Row, { upstream }: Variant, hasSecond: boolean): Promise<Stage> {
  const first = row.fault === 'refused' ? undefined : await house.wallThat(row.fault);
  const second = hasSecond ? await house.wallThat({ type: 'answer' }) : undefined;
  const common = {
    dialects: [upstream],
    // A machine that has much else to do may be slow to connect.
    timeouts: { connectMs: 30_000, ...row.timeouts },
  };
  const targets: RigTarget[] = [{ ...common, baseUrl: first ? first.baseUrl : await house.nowhere() }];
  // The good one has time: only the one deadline of the request is common to both.
  const { totalMs } = row.timeouts ?? {};
  const timeouts = { connectMs: 30_000, ...(totalMs !== undefined && { totalMs }) };
  if (second) targets.push({ ...common, timeouts, baseUrl: second.baseUrl });
  const { failover } = tableOf([]).routes[0] ?? {};
  if (!failover) throw new Error('the table of the rig has no route');
  const route = row.retryOn ? { failover: { ...failover, retryOn: row.retryOn } } : {};
  return { rig: await house.rigOf(targets, route), first, second };
}

describe.concurrent.each(variants)('$name', (variant) => {
  describe.each(['stream', 'plain'] as const)('%s', (mode) => {
    for (const row of rowsOf(variant.upstream)) {
      if (row.modes?.includes(mode) === false) continue;
      switch (row.effect) {
        case 'moves-on':
          test(
            `${row.name}: the next provider answers`,
            inHouse((house) => movesOn(house, row, variant, mode)),
          );
          test(
            `${row.name} of the only provider: ${row.alone.status} ${row.alone.code}`,
            inHouse((house) => failsAlone(house, row, variant, mode)),
          );
          break;
        case 'ends':
          test(
            `${row.name}: ${toldOf(row, variant).status} after one call`,
            inHouse((house) => ends(house, row, variant, mode)),
          );
          break;
        case 'breaks-off':
          test(
            `${row.name}: an error frame and no good end`,
            inHouse((house) => breaksOff(house, row, variant)),
          );
      }
    }
  });
});

async function movesOn(house: House, row: MovesOn, variant: Variant, mode: Mode): Promise<void> {
  const { rig, first, second } = await stageOf(house, row, variant, true);
  const seen = await ask(rig, { endpoint: variant.endpoint, isStream: mode === 'stream' });
  expectWhole(seen, mode);
  // What may help at once, or within moments, is tried also where there is another.
  const calls = row.alone.calls;
  const numbers = calls === 2 ? [1, 2] : [1];
  expect(seen.headers).toMatchObject({
    'x-penstock-attempts': String(calls + 1),
    'x-penstock-provider': 'platform/p1',
  });
  expectFired(row, first, calls);
  expect(second?.calls).toHaveLength(1);
  expect(rig.records.map(lineOf)).toEqual([
    ...numbers.map((n) => `${n} t0 failed ${row.failure} platform`),
    `${calls + 1} t1 answered tenant`,
  ]);
  expect(new Set(rig.records.map(({ request }) => request))).toEqual(new Set([seen.headers['x-request-id']]));
  const { inputTokens, outputTokens } = second?.totals() ?? {};
  expect(rig.records.at(-1)).toMatchObject({
    isEstimated: false,
    usage: { input: inputTokens, output: outputTokens },
  });
  expect(rig.failures).toEqual([]);
}

async function failsAlone(house: House, row: MovesOn, variant: Variant, mode: Mode): Promise<void> {
  const { rig, first } = await stageOf(house, row, variant, false);
  const seen = await ask(rig, { endpoint: variant.endpoint, isStream: mode === 'stream' });
  expectTold(seen, row.alone);
  expectFired(row, first, row.alone.calls);
  const numbers = row.alone.calls === 2 ? [1, 2] : [1];
  expect(seen.headers['x-penstock-attempts']).toBe(String(numbers.length));
  expect(rig.records.map(lineOf)).toEqual(numbers.map((n) => `${n} t0 failed ${row.failure} platform`));
  // A message that has begun has told its input, and that one token of output is there.
  const isTold = row.hasBegun === true && variant.upstream === 'anthropic-messages';
  const input = isTold ? (first?.calls[0]?.tokens.inputTokens ?? 0) : 0;
  const cost = isTold ? input * 1_000_000 + 2_000_000 : 0;
  expect(rig.records.map(({ costPicodollars }) => costPicodollars)).toEqual(numbers.map(() => cost));
  expect(rig.failures).toEqual([]);
}

async function ends(house: House, row: Ends, variant: Variant, mode: Mode): Promise<void> {
  const { rig, first, second } = await stageOf(house, row, variant, true);
  const seen = await ask(rig, { endpoint: variant.endpoint, isStream: mode === 'stream' });
  expectTold(seen, toldOf(row, variant));
  if (row.message !== undefined) expect(errorOf(seen)?.message).toBe(row.message);
  expect(seen.headers['x-penstock-attempts']).toBe('1');
  expectFired(row, first, 1);
  expect(second?.calls).toHaveLength(0);
  expect(rig.records.map(lineOf)).toEqual([`1 t0 failed ${row.failure} platform`]);
  expect(rig.failures).toEqual([]);
}

async function breaksOff(house: House, row: BreaksOff, variant: Variant): Promise<void> {
  const { rig, first, second } = await stageOf(house, row, variant, true);
  const seen = await ask(rig, { endpoint: variant.endpoint, isStream: true });
  expectBrokenOff(seen, row.code);
  expect(textOf(seen)).toBe(firstTokens(row.read));
  expectFired(row, first, 1);
  expect(second?.calls).toHaveLength(0);
  expect(seen.headers['x-penstock-attempts']).toBe('1');
  expect(rig.records.map(lineOf)).toEqual([`1 t0 broken-off ${row.failure} tenant`]);
  expect(rig.records[0]).toMatchObject({ isEstimated: true, usage: { output: row.read } });
  expect(rig.failures).toEqual([]);
}

/** By the wall's own log: without the fault a row would say nothing. */
function expectFired({ fault }: Row, first: Wall | undefined, calls: number): void {
  if (fault === 'refused') return;
  expect(first?.calls.map(({ behaviour }) => behaviour)).toEqual(Array(calls).fill(fault));
}

/** What the caller is told of its own mistake depends on whether its dialect and the upstream's are of one family. */
function toldOf(row: Ends, { endpoint, upstream }: Variant): Omit<Told, 'calls'> {
  const isForeign = (endpoint === 'messages') !== (upstream === 'anthropic-messages');
  return isForeign ? (row.foreign ?? row.told) : row.told;
}

/** A whole answer that ends as it promised. */
function expectWhole(seen: Seen, mode: Mode): void {
  expect([seen.status, textOf(seen)]).toEqual([200, wallText]);
  if (mode === 'stream') {
    expect(seen.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(endsWell(seen)).toBe(true);
    expect([seen.ending, seen.unfinishedEvent]).toEqual(['last-chunk', '']);
  } else {
    expect(seen.headers['content-type']).toBe('application/json');
    expect(seen.ending).toBe('length-complete');
  }
}

/** A JSON error with the status that belongs to it, whether or not a stream was asked for. */
function expectTold(seen: Seen, told: Omit<Told, 'calls'>): void {
  expect([seen.status, errorOf(seen)?.code]).toEqual([told.status, told.code]);
  expect(seen.headers['content-type']).toBe('application/json');
  expect(seen.ending).toBe('length-complete');
  expect(seen.headers['retry-after']).toBe(told.retryAfter);
  expect(seen.headers['x-request-id']).toMatch(/^req_/);
}

/** Content, then an error frame as the last thing, then an end that no client takes for a good one. */
function expectBrokenOff(seen: Seen, code: string): void {
  expect(seen.status).toBe(200);
  expect(errorOf(seen)?.code).toBe(code);
  expect(seen.text).not.toMatch(/^data: \[DONE\]|message_stop|response\.completed/m);
  expect([seen.ending, seen.unfinishedEvent]).toEqual(['fin-early', '']);
}

function firstTokens(count: number): string {
  return wallText
    .split(/(?<= )/)
    .slice(0, count)
    .join('');
}

describe.concurrent.each(variants)('$name, beside the table', (variant) => {
  const { endpoint, upstream } = variant;

  test(
    'half a stream, then a reset: an error frame and no good end',
    inHouse(async (house) => {
      const hasRead = Promise.withResolvers<void>();
      const first = await house.wallThat({
        type: 'stall',
        after: { contentEvents: 3 },
        for: { until: hasRead.promise },
        followedBy: 'reset',
      });
      const second = await house.wallThat({ type: 'answer' });
      const rig = await house.rigOf([
        { dialects: [upstream], baseUrl: first.baseUrl },
        { dialects: [upstream], baseUrl: second.baseUrl },
      ]);
      const { connection, answer } = await askOpen(rig, { endpoint, isStream: true });
      const opened = await answer;
      while (textOf({ events: [await opened.nextEvent()].flatMap((e) => e ?? []), json: undefined }) === '');
      hasRead.resolve();
      const seen = { ...opened, ...(await opened.finished) };
      connection.close();
      expectBrokenOff(seen, 'upstream_error');
      expect(second.calls).toHaveLength(0);
      expect(rig.records.map(lineOf)).toEqual(['1 t0 broken-off truncated tenant']);
    }),
  );

  // The last event of a response is all that tells of its end: without it there is none.
  const isMarked = upstream === 'openai-responses';
  const leftOut = [
    ['no end marker, then the end', ['end']],
    ['no end marker and no usage', ['usage', 'end']],
    ['an end marker without a finish reason', ['finish']],
  ] as const;
  test.each(leftOut.filter(([, omit]) => !(isMarked && omit.some((part) => part === 'end'))))(
    '%s: the answer is whole all the same',
    inHouse(async (house, _name, omit) => {
      const wall = await house.wallThat({ type: 'answer', omit });
      const rig = await house.rigOf([{ dialects: [upstream], baseUrl: wall.baseUrl }]);
      const seen = await ask(rig, { endpoint, isStream: true });
      expectWhole(seen, 'stream');
      expect(rig.records.map(lineOf)).toEqual(['1 t0 answered tenant']);
    }),
  );

  test.each([
    ['a reset', 'reset-unannounced'],
    ['a FIN', 'fin-unannounced'],
  ] as const)(
    '%s behind the whole stream costs nothing',
    inHouse(async (house, _name, afterwards) => {
      const wall = await house.wallThat({ type: 'answer', afterwards });
      const rig = await house.rigOf([{ dialects: [upstream], baseUrl: wall.baseUrl }]);
      expectWhole(await ask(rig, { endpoint, isStream: true }), 'stream');
      expect(rig.records.map(lineOf)).toEqual(['1 t0 answered tenant']);
    }),
  );

  test.each([
    ['CRLF', { newline: '\r\n' }],
    ['lone CR', { newline: '\r' }],
    ['a byte order mark', { byteOrderMark: true }],
    ['ids, retries, comments and empty data', { ids: true, retryMs: 5, comments: true, emptyData: true }],
    ['JSON over several lines', { multiline: true }],
    ['names', { eventName: 'message' }],
  ] satisfies [string, SseStyle][])(
    'a stream written with %s is whole',
    inHouse(async (house, _name, sse) => {
      const wall = await house.wallThat({ type: 'answer', sse });
      const rig = await house.rigOf([{ dialects: [upstream], baseUrl: wall.baseUrl }]);
      const seen = await ask(rig, { endpoint, isStream: true });
      expectWhole(seen, 'stream');
      expect(seen.text).not.toMatch(/^(id|retry|: comment|event: message$)/m);
    }),
  );

  test(
    'a connection that dies when it is used again is replaced',
    inHouse(async (house) => {
      const wall = await house.wallThat({ type: 'stale-reuse', how: 'reset' });
      // No attempt of the route's: it has one only.
      const { failover } = tableOf([]).routes[0] ?? {};
      if (!failover) throw new Error('the table of the rig has no route');
      const rig = await house.rigOf([{ dialects: [upstream], baseUrl: wall.baseUrl }], {
        failover: { ...failover, maxAttempts: 1 },
      });
      for (let n = 0; n < 2; n++) expectWhole(await ask(rig, { endpoint, isStream: true }), 'stream');
      expect(wall.calls.map(({ isConnectionReused }) => isConnectionReused)).toEqual([false, true, false]);
    }),
  );
});

test(
  'an event named error is one, whatever its data',
  inHouse(async (house) => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
    const event = 'event: error\ndata: {"type":"overloaded_error","message":"busy"}\n\n';
    const first = await house.wallThat({ type: 'raw', bytes: head + event, followedBy: 'fin' });
    const second = await house.wallThat({ type: 'answer' });
    const rig = await house.rigOf([{ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]);
    expectWhole(await ask(rig, { isStream: true }), 'stream');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed error_event platform', '2 t1 answered tenant']);
  }),
);

test(
  'three attempts are the most: the fourth provider is not asked',
  inHouse(async (house) => {
    const walls = await Promise.all([500, 503, 529, 200].map((code) => house.wallThat(answerOf(code))));
    const rig = await house.rigOf(walls.map(({ baseUrl }) => ({ baseUrl })));
    const seen = await ask(rig);
    expectTold(seen, { status: 502, code: 'upstream_error' });
    expect(walls.map(({ calls }) => calls.length)).toEqual([1, 1, 1, 0]);
    expect(seen.headers['x-should-retry']).toBe('false');
  }),
);

test(
  'when none is left, the last is asked once more: two providers, three calls',
  inHouse(async (house) => {
    const walls = await Promise.all([503, 500].map((code) => house.wallThat(answerOf(code))));
    const rig = await house.rigOf(walls.map(({ baseUrl }) => ({ baseUrl })));
    expectTold(await ask(rig), { status: 502, code: 'upstream_error' });
    expect(walls.map(({ calls }) => calls.length)).toEqual([1, 2]);
  }),
);

test(
  'a failure that passes at once is tried again at the same provider, before a lower tier serves',
  inHouse(async (house) => {
    const first = await house.wallThat([{ type: 'status', status: 500 }, { type: 'answer' }]);
    const second = await house.wallThat({ type: 'answer' });
    const rig = await house.rigOf([{ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]);
    expectWhole(await ask(rig), 'plain');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_500 platform', '2 t0 answered tenant']);
  }),
);

test(
  'no provider misses its call for another that is tried twice: three providers, three calls',
  inHouse(async (house) => {
    const walls = await Promise.all([500, 500, 200].map((code) => house.wallThat(answerOf(code))));
    const rig = await house.rigOf(walls.map(({ baseUrl }) => ({ baseUrl })));
    expectWhole(await ask(rig), 'plain');
    expect(walls.map(({ calls }) => calls.length)).toEqual([1, 1, 1]);
  }),
);

test(
  'a provider that has recovered answers the second try',
  inHouse(async (house) => {
    const wall = await house.wallThat([{ type: 'status', status: 500 }, { type: 'answer' }]);
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl }]);
    expectWhole(await ask(rig), 'plain');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_500 platform', '2 t0 answered tenant']);
  }),
);

test(
  'a wait for a Retry-After that ends behind the deadline is not begun',
  inHouse(async (house) => {
    const wall = await house.wallThat({ type: 'status', status: 429, headers: { 'retry-after': '4' } });
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl, timeouts: { totalMs: 3_000 } }]);
    expectTold(await ask(rig), { status: 429, code: 'rate_limit_exceeded', retryAfter: '4' });
    expect(wall.calls).toHaveLength(1);
  }),
);

test(
  "a tenant's own rejected key is told as its own, never as the caller's",
  inHouse(async (house) => {
    const wall = await house.wallThat({ type: 'status', status: 401 });
    const rig = await house.rigOf([
      { baseUrl: wall.baseUrl, provider: 'team/own', providerEntry: { isPlatform: false } },
    ]);
    const seen = await ask(rig);
    expectTold(seen, { status: 403, code: 'upstream_auth_failed' });
    expect(seen.headers['x-should-retry']).toBe('false');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_401 own-key']);
  }),
);

test(
  'a mistake that only the second provider sees is told in its words',
  inHouse(async (house) => {
    const first = await house.wallThat({ type: 'status', status: 503 });
    const second = await house.wallThat({ type: 'status', status: 400, error: { message: 'too hot' } });
    const rig = await house.rigOf([{ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]);
    const seen = await ask(rig);
    expect([seen.status, errorOf(seen)?.message]).toEqual([400, 'too hot']);
  }),
);

test(
  'nothing of an upstream shows in what the caller is told',
  inHouse(async (house) => {
    const wall = await house.wallThat({
      type: 'status',
      status: 500,
      headers: { 'x-account': 'acct-secret', 'retry-after': '7' },
      error: { message: 'account acct-secret at http://10.1.2.3 is broken' },
    });
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl }]);
    const seen = await ask(rig);
    expect(JSON.stringify([seen.rawHeaders, seen.text])).not.toMatch(/acct-secret|10\.1\.2\.3|127\.0\.0\.1/);
  }),
);

function answerOf(code: number): Behaviour {
  return code === 200 ? { type: 'answer' } : { type: 'status', status: code };
}
