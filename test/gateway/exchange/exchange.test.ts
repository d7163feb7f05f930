// What does the operator hear from a pod, and when? News at once, and only with the token.

import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import {
  DRILL_ORDERS_MAX,
  type DrillOrder,
  EXCHANGE_PATH,
  type ExchangeResponse,
  exchangeResponseSchema,
  JOURNAL_CURSOR_HEADER,
  JOURNAL_PATH,
} from '../../../core/contract/exchange.ts';
import { READER_FORMAT } from '../../../core/contract/routing-table.ts';
import { Drills } from '../../../gateway/drill/drills.ts';
import { PodState } from '../../../gateway/exchange/pod-state.ts';
import { buildExchangeServer, type ExchangeServer } from '../../../gateway/exchange/server.ts';
import type { JournalPage, ReadableJournal } from '../../../gateway/meter/journal.ts';
import { Health, type HealthSignal } from '../../../gateway/route/health.ts';
import { TableStatus } from '../../../gateway/table/status.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { openRaw, type RawRequest, rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { candidatesOf } from '../route/candidates.ts';
import { noPlan } from './no-plan.ts';

const token = 't'.repeat(43);
const [candidate] = candidatesOf([{ provider: 'platform/p', keys: { main: 'A' } }]);
if (!candidate) throw new Error('one candidate was expected');

interface Rig {
  readonly exchange: ExchangeServer;
  readonly port: number;
  readonly clock: FakeClock;
  readonly status: TableStatus;
  readonly health: Health;
  readonly readyPods: number[];
  readonly pages: Map<string | undefined, JournalPage>;
  readonly asked: (string | undefined)[];
  /** Ids of the drills that were begun. */
  readonly begun: string[];
  token: string | undefined;
  readonly timeOfDay: { setMs: number };
  written(): void;
  endDrill(id: string): void;
}

const rigs: Rig[] = [];

afterEach(() => {
  for (const { exchange } of rigs.splice(0)) {
    exchange.server.closeAllConnections();
    exchange.server.close();
  }
});

async function startRig(patienceMs?: number): Promise<Rig> {
  const fake = makeFakeClock(10_000);
  const timeOfDay = { setMs: 0 };
  const clock = { ...fake, wallMs: () => 1_800_000_000_000 + timeOfDay.setMs + fake.now() };
  const status = new TableStatus(clock.wallMs);
  const health = new Health(() => 0);
  const readyPods: number[] = [];
  const pages = new Map<string | undefined, JournalPage>();
  const asked: (string | undefined)[] = [];
  const listeners = new Set<() => void>();
  const journal: ReadableJournal = {
    begin: () => {},
    append: () => {},
    flush: async () => {},
    close: async () => {},
    async read(after) {
      asked.push(after);
      return pages.get(after);
    },
    onWritten(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const begun: string[] = [];
  const endings = new Map<string, () => void>();
  const drills = new Drills(({ id }) => {
    begun.push(id);
    return new Promise((resolve) => {
      endings.set(id, () => resolve({ id, isPassed: true, message: 'played' }));
    });
  });
  const exchange = buildExchangeServer(
    {
      clock,
      state: new PodState({ clock, table: status, health, drills }),
      journal,
      token: () => rig.token,
      plan: noPlan,
      onReadyPods: (count) => readyPods.push(count),
    },
    patienceMs,
  );
  exchange.server.listen(0, '127.0.0.1');
  await once(exchange.server, 'listening');
  const address = exchange.server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP port');
  const rig: Rig = {
    exchange,
    port: address.port,
    clock: fake,
    status,
    health,
    readyPods,
    pages,
    asked,
    begun,
    endDrill: (id) => endings.get(id)?.(),
    token,
    timeOfDay,
    written: () => {
      for (const listener of listeners) listener();
    },
  };
  rigs.push(rig);
  return rig;
}

const bearer = (value = token) => ({ authorization: `Bearer ${value}` });

async function poll(rig: Rig, body: Record<string, unknown> = {}): Promise<ExchangeResponse> {
  const { status, json } = await rawCall(
    { port: rig.port },
    { path: EXCHANGE_PATH, method: 'POST', headers: bearer(), body: { waitMs: 0, readyPods: 1, ...body } },
  );
  expect(status).toBe(200);
  return exchangeResponseSchema.parse(json);
}

/** A poll that waits; settled with what it was reported. */
async function waitingPoll(rig: Rig, seen: string, waitMs = 30_000, drills: readonly DrillOrder[] = []) {
  const before = rig.readyPods.length;
  const answer = poll(rig, { seen, waitMs, drills });
  let isAnswered = false;
  void answer.then(() => {
    isAnswered = true;
  });
  // It waits from the moment it is heard.
  await expect.poll(() => rig.readyPods.length).toBe(before + 1);
  return { answer, isAnswered: () => isAnswered };
}

const order = (id: string): DrillOrder => ({
  id,
  route: 'team/m',
  fault: 'ServerError',
  takeoverWithinMs: 2_000,
});

const take = (rig: Rig, generation: number): void =>
  rig.status.taken({ version: { epoch: 1, generation }, source: 'api', loadMs: 1 });

describe('a poll', () => {
  test('is answered at once, with the whole state, if it has seen none', async () => {
    const rig = await startRig();
    expect(await poll(rig, { waitMs: 30_000, readyPods: 12 })).toEqual({
      state: expect.any(String),
      formats: { min: 1, max: READER_FORMAT },
      health: [],
      drills: [],
    });
    expect(rig.readyPods).toEqual([12]);
    take(rig, 7);
    expect((await poll(rig)).table).toEqual({
      epoch: 1,
      generation: 7,
      source: 'api',
      sinceMs: 1_800_000_010_000,
    });
  });

  test('waits, and is answered in the turn in which a table is taken', async () => {
    const rig = await startRig();
    const { state } = await poll(rig);
    const { answer, isAnswered } = await waitingPoll(rig, state);
    expect(isAnswered()).toBe(false);
    take(rig, 8);
    expect((await answer).table?.generation).toBe(8);
  });

  test('is answered when a table is refused, with its number and the reason', async () => {
    const rig = await startRig();
    take(rig, 1);
    const { state } = await poll(rig);
    const { answer } = await waitingPoll(rig, state);
    rig.status.refused('the shard x is not there', {
      failure: 'incomplete',
      version: { epoch: 1, generation: 2 },
    });
    expect(await answer).toMatchObject({
      table: { generation: 1 },
      rejected: { epoch: 1, generation: 2, reason: 'the shard x is not there' },
    });
    take(rig, 2);
    expect((await poll(rig)).rejected).toBeUndefined();
  });

  test('is answered as soon as a drill that it ordered has ended', async () => {
    const rig = await startRig();
    const { state } = await poll(rig);
    const { answer, isAnswered } = await waitingPoll(rig, state, 30_000, [order('one'), order('two')]);
    expect(rig.begun).toEqual(['one', 'two']);
    expect(isAnswered()).toBe(false);
    rig.endDrill('two');
    expect((await answer).drills).toEqual([{ id: 'two', isPassed: true, message: 'played' }]);
  });

  test('may order the maximum of drills, with the longest names', async () => {
    const rig = await startRig();
    const route = `${'n'.repeat(63)}/${'r'.repeat(253)}`;
    const drills = Array.from({ length: DRILL_ORDERS_MAX }, (_, index) => {
      const { id, ...one } = order(`${route} ${Date.now()} ${1_000_000 + index}`);
      return { ...one, id, route, takeoverWithinMs: 600_000 };
    });
    await poll(rig, { drills });
    expect(rig.begun).toHaveLength(DRILL_ORDERS_MAX);
  });

  test('starts no more drills than may run at once, also with other orders at the same time', async () => {
    const rig = await startRig();
    const orders = (name: string) =>
      Array.from({ length: DRILL_ORDERS_MAX }, (_, at) => order(`${name}${at}`));
    await poll(rig, { drills: orders('a') });
    await poll(rig, { drills: orders('b') });
    expect(rig.begun).toEqual(orders('a').map(({ id }) => id));
    rig.endDrill('a7');
    await until(async () => rig.begun.at(-1) === 'b0');
    expect(rig.begun).toHaveLength(DRILL_ORDERS_MAX + 1);
  });

  test('that repeats the order of a drill runs it once; a drill that is no longer ordered is forgotten', async () => {
    const rig = await startRig();
    await poll(rig, { drills: [order('one')] });
    rig.endDrill('one');
    await until(async () => (await poll(rig, { drills: [order('one')] })).drills?.length === 1);
    expect(rig.begun).toEqual(['one']);
    expect((await poll(rig, { drills: [] })).drills).toEqual([]);
    expect((await poll(rig, { drills: [order('one')] })).drills).toEqual([]);
    expect(rig.begun).toEqual(['one', 'one']);
  });

  test('is answered at the end of the wait, with the state that it has seen', async () => {
    const rig = await startRig();
    const { state } = await poll(rig);
    const { answer, isAnswered } = await waitingPoll(rig, state, 5_000);
    rig.clock.advance(4_999);
    expect(isAnswered()).toBe(false);
    rig.clock.advance(1);
    expect((await answer).state).toBe(state);
    expect(rig.clock.pending()).toEqual([]);
  });

  test('is answered at once if it has seen another state', async () => {
    const rig = await startRig();
    const { state } = await poll(rig);
    take(rig, 1);
    expect((await poll(rig, { seen: state, waitMs: 30_000 })).state).not.toBe(state);
  });

  test('may be one of several, which all get the same answer', async () => {
    const rig = await startRig();
    const { state } = await poll(rig);
    const polls = [await waitingPoll(rig, state), await waitingPoll(rig, state)];
    take(rig, 3);
    const answers = await Promise.all(polls.map(({ answer }) => answer));
    expect(answers[0]).toEqual(answers[1]);
    expect(rig.clock.pending()).toEqual([]);
  });

  test('leaves nothing open if its caller disconnects', async () => {
    const rig = await startRig();
    const { state } = await poll(rig);
    const calling = rawCall(
      { port: rig.port },
      {
        path: EXCHANGE_PATH,
        method: 'POST',
        headers: bearer(),
        body: { seen: state, waitMs: 30_000, readyPods: 1 },
      },
    ).catch(() => undefined);
    await expect.poll(() => rig.clock.pending().length).toBe(2);
    rig.exchange.server.closeAllConnections();
    await calling;
    await expect.poll(() => rig.clock.pending()).toEqual([]);
  });

  test('has the same state for the same facts, also after a restart of the pod', async () => {
    const [one, two] = [await startRig(), await startRig()];
    for (const rig of [one, two]) take(rig, 4);
    expect((await poll(one)).state).toBe((await poll(two)).state);
  });
});

describe('health', () => {
  test('is reported within a second of a change, and at most once a second', async () => {
    const rig = await startRig();
    const { state } = await poll(rig);
    const { answer, isAnswered } = await waitingPoll(rig, state);
    const end = (signal: HealthSignal): void =>
      rig.health.onEnd(rig.health.onStart(candidate, false, rig.clock.now()), signal, rig.clock.now());
    end({ type: 'success' });
    expect(isAnswered()).toBe(false);
    rig.clock.advance(1_000);
    const working = await answer;
    expect(rig.clock.pending()).toEqual([]);
    expect(working.health).toEqual([{ provider: 'platform/p', key: 'main', state: 'working' }]);
    end({ type: 'key-cooldown', forMs: 20_000, reason: 'rate-limit' });
    expect((await poll(rig, { seen: working.state })).health, 'not yet').toEqual(working.health);
    rig.clock.advance(1_000);
    expect((await poll(rig)).health).toEqual([
      {
        provider: 'platform/p',
        key: 'main',
        upstreamModel: candidate.target.entry.upstreamModel,
        state: 'rate-limited',
        untilMs: 1_800_000_000_000 + rig.clock.now() + 19_000,
      },
    ]);
    end({ type: 'misconfigured' });
    rig.clock.advance(1_000);
    expect((await poll(rig)).misconfigured).toEqual([
      { provider: 'platform/p', upstreamModel: candidate.target.entry.upstreamModel },
    ]);
  });
});

test('times are reported by the current wall clock; a small step of the clock changes no times', async () => {
  const rig = await startRig();
  const restFor = (forMs: number): void =>
    rig.health.onEnd(
      rig.health.onStart(candidate, false, rig.clock.now()),
      { type: 'key-cooldown', forMs, reason: 'rate-limit' },
      rig.clock.now(),
    );
  const until = async (): Promise<number | undefined> => {
    rig.clock.advance(1_000);
    return (await poll(rig)).health[0]?.untilMs;
  };
  restFor(20_000);
  const dueMs = 1_800_000_000_000 + rig.clock.now() + 20_000;
  expect(await until()).toBe(dueMs);
  rig.timeOfDay.setMs = 800;
  restFor(19_000);
  expect(await until()).toBe(dueMs);
  rig.timeOfDay.setMs = -3_600_000;
  restFor(18_000);
  expect(await until()).toBe(dueMs - 3_600_000);
});

describe('without the token', () => {
  const paths = [
    ['POST', EXCHANGE_PATH],
    ['GET', JOURNAL_PATH],
  ] as const;

  test.each(paths)('%s %s is 401, whatever is sent instead', async (method, path) => {
    const rig = await startRig();
    const wrong = [
      {},
      bearer(''),
      bearer('x'),
      bearer(`${token}x`),
      bearer(token.slice(1)),
      { authorization: token },
      { authorization: `Basic ${token}` },
    ];
    for (const headers of wrong) {
      const answer = await rawCall({ port: rig.port }, { path, method, headers });
      expect([answer.status, answer.text.includes(token)]).toEqual([401, false]);
    }
    expect([rig.readyPods, rig.asked]).toEqual([[], []]);
  });

  test.each(paths)('%s %s is 503 while the pod has no token', async (method, path) => {
    const rig = await startRig();
    rig.token = undefined;
    const { status, text } = await rawCall(
      { port: rig.port },
      { path, method, headers: bearer('undefined') },
    );
    expect([status, text]).toEqual([503, expect.stringContaining('has not read the pointer Secret')]);
  });

  test('after a rotation the old token is 401', async () => {
    const rig = await startRig();
    rig.token = 'n'.repeat(43);
    const call = (value: string) =>
      rawCall({ port: rig.port }, { path: JOURNAL_PATH, method: 'GET', headers: bearer(value) });
    expect((await call(token)).status).toBe(401);
    expect((await call('n'.repeat(43))).status).toBe(410);
  });
});

describe('errors of a poll', () => {
  test.each<[string, Partial<RawRequest>, number, RegExp]>([
    ['no JSON', { body: '{"waitMs":' }, 400, /the body is not valid JSON/],
    ['a missing field', { body: { waitMs: 0 } }, 400, /readyPods: /],
    ['a wait too long', { body: { waitMs: 30_001, readyPods: 1 } }, 400, /waitMs: .*30000/],
    ['no object', { body: '[]' }, 400, /body: /],
    ['a body too large', { body: JSON.stringify({ seen: 'x'.repeat(20_000) }) }, 413, /larger than 16384/],
    ['another method', { method: 'GET' }, 405, /only POST/],
    [
      'another path',
      { path: '/internal/v1/other' },
      404,
      /only .*exchange, .*journal, .*plan, .*catalog, .*connection-check are here/,
    ],
    ['an invalid journal wait', { path: `${JOURNAL_PATH}?waitMs=x`, method: 'GET' }, 400, /waitMs: /],
    ['an empty cursor', { path: `${JOURNAL_PATH}?after=`, method: 'GET' }, 400, /after: /],
  ])('%s', async (_, options, status, words) => {
    const rig = await startRig();
    const answer = await rawCall(
      { port: rig.port },
      { path: EXCHANGE_PATH, method: 'POST', headers: bearer(), ...options },
    );
    expect([answer.status, answer.json]).toEqual([status, { error: expect.stringMatching(words) }]);
  });
});

describe('the journal', () => {
  const page = (text: string, cursor: string): JournalPage => ({ bytes: Buffer.from(text), cursor });
  const read = (rig: Rig, query = '') =>
    rawCall({ port: rig.port }, { path: JOURNAL_PATH + query, method: 'GET', headers: bearer() });

  test('is sent from a cursor on, with the next cursor', async () => {
    const rig = await startRig();
    rig.pages.set(undefined, page('{"a":1}\n', 'c.1'));
    rig.pages.set('c.1', page('{"a":2}\n', 'c.2'));
    const first = await read(rig);
    expect([first.status, first.text, first.headers[JOURNAL_CURSOR_HEADER]]).toEqual([
      200,
      '{"a":1}\n',
      'c.1',
    ]);
    const second = await read(rig, '?after=c.1');
    expect([second.text, second.headers[JOURNAL_CURSOR_HEADER]]).toEqual(['{"a":2}\n', 'c.2']);
  });

  test('of another pod is 410, with a message', async () => {
    const rig = await startRig();
    const { status, text } = await read(rig, '?after=strange');
    expect([status, text]).toEqual([410, expect.stringContaining("start again without 'after'")]);
  });

  test('without news waits for some', async () => {
    const rig = await startRig();
    rig.pages.set('c', page('', 'c'));
    const reading = read(rig, '?after=c&waitMs=30000');
    await expect.poll(() => rig.asked.length).toBe(1);
    rig.pages.set('c', page('{"a":3}\n', 'd'));
    rig.written();
    expect((await reading).text).toBe('{"a":3}\n');
    expect(rig.clock.pending()).toEqual([]);
  });

  test('without news during the whole wait is an empty answer', async () => {
    const rig = await startRig();
    rig.pages.set('c', page('', 'c'));
    const reading = read(rig, '?after=c&waitMs=700');
    await expect.poll(() => rig.asked.length).toBe(1);
    rig.clock.advance(700);
    const { status, text, headers } = await reading;
    expect([status, text, headers[JOURNAL_CURSOR_HEADER]]).toEqual([200, '', 'c']);
  });
});

test('a draining pod answers all waiting polls, and lets none wait any more', async () => {
  const rig = await startRig();
  const { state } = await poll(rig);
  const { answer } = await waitingPoll(rig, state);
  rig.pages.set(undefined, { bytes: Buffer.alloc(0), cursor: 'c' });
  rig.exchange.drain();
  expect((await answer).state).toBe(state);
  const again = await rawCall(
    { port: rig.port },
    { path: EXCHANGE_PATH, method: 'POST', headers: bearer(), body: { waitMs: 30_000, readyPods: 1 } },
  );
  expect(again.status).toBe(503);
  const journal = await rawCall(
    { port: rig.port },
    { path: `${JOURNAL_PATH}?waitMs=30000`, method: 'GET', headers: bearer() },
  );
  expect(journal.status).toBe(200);
  expect(rig.clock.pending()).toEqual([]);
});

test.each(['', 'content-length: 100\r\n\r\nx'])(
  'a request that does not go on after its first lines and %j is waited for no longer',
  async (begun) => {
    const rig = await startRig(100);
    const { send, answer, closed } = await openRaw({ port: rig.port });
    await send(`POST ${EXCHANGE_PATH} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n${begun}`);
    expect((await answer()).status).toBe(408);
    expect(await closed).toBe('fin');
  },
);
