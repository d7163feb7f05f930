// Does a receiver hear of every record, whatever it answers and whenever the ledger ends?

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../core/clock.ts';
import {
  EVENTS_SINK,
  type EventSender,
  type SendOptions,
  sendEvents,
} from '../../../ledger/export/send-events.ts';
import { openSqliteStore } from '../../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../../ledger/store/store.ts';
import { until } from '../../support/until.ts';
import { makeEntry } from '../make-entry.ts';

const batchSchema = z.array(z.object({ id: z.string(), source: z.string(), type: z.string() }));
type Respond = (ids: string[], response: ServerResponse, request: IncomingMessage) => void;

let folder: string;
let store: LedgerStore;
let receiver: Server;
let url: string;
/** Ids of each batch that came. */
let batches: string[][];
let respond: Respond;
let reported: { sent: number; readonly failed: string[]; readonly leftOut: string[] };
const senders: EventSender[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  store = await openSqliteStore(join(folder, 'ledger.sqlite'));
  batches = [];
  reported = { sent: 0, failed: [], leftOut: [] };
  respond = (_, response) => response.writeHead(204).end();
  receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      const ids = batchSchema.parse(JSON.parse(body)).map(({ id }) => id);
      batches.push(ids);
      respond(ids, response, request);
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const address = receiver.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP port');
  url = `http://127.0.0.1:${address.port}/events`;
});
afterEach(async () => {
  for (const sender of senders.splice(0)) await sender.close();
  receiver.closeAllConnections();
  receiver.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

function send(more: Partial<SendOptions> = {}): EventSender {
  const sender = sendEvents({
    store,
    clock: { ...systemClock, setTimer: (ms, callback) => systemClock.setTimer(ms / 100, callback) },
    random: () => 0,
    url,
    token: 'word',
    source: 'urn:penstock:test',
    onSent(records) {
      reported.sent += records;
    },
    onFailed: (reason) => reported.failed.push(reason),
    onLeftOut: ({ id }) => reported.leftOut.push(id),
    ...more,
  });
  senders.push(sender);
  return sender;
}

let page = 0;
async function add(...ids: string[]): Promise<void> {
  const entries = ids.map((id) => makeEntry({ id }));
  await store.take({ source: 'p', cursor: `c.${page++}`, entries, asides: [] }, 0);
}
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `r.${from + at}`);

test('every record is sent in order, in batches with the bearer, and later ones as they arrive', async () => {
  await add(...numbered(0, 230));
  let headers: IncomingMessage['headers'] = {};
  respond = (_, response, request) => {
    headers = request.headers;
    response.writeHead(200).end('thanks');
  };
  send();
  await until(async () => reported.sent === 230);
  expect(batches.map(({ length }) => length)).toEqual([100, 100, 30]);
  await add('late');
  await until(async () => reported.sent === 231);
  expect(batches.flat()).toEqual([...numbered(0, 230), 'late']);
  expect(headers).toMatchObject({
    authorization: 'Bearer word',
    'content-type': 'application/cloudevents-batch+json; charset=utf-8',
  });
  expect(reported.failed).toEqual([]);
});

test('rejected records are sent again, in smaller batches if too large, and none is left out', async () => {
  await add(...numbered(0, 40));
  const answers: Respond[] = [
    (_, response) => response.writeHead(500).end('secret words'),
    (_, response) => response.destroy(),
    (_, response) => response.writeHead(429, { 'retry-after': '1' }).end(),
    (_, response) => response.writeHead(413).end(),
  ];
  respond = (ids, response, request) => {
    const answer = answers.shift() ?? ((_, last) => last.writeHead(202).end());
    answer(ids, response, request);
  };
  send();
  await until(async () => reported.sent === 40);
  expect(batches.map(({ length }) => length)).toEqual([40, 40, 40, 40, 20, 20]);
  expect(reported.failed).toEqual([
    'it answers with status 500',
    'it does not answer (ECONNRESET)',
    'it answers with status 429',
    'it answers with status 413',
  ]);
});

const [sentAt, fiveMinutesOn] = ['Sun, 01 Nov 2026 10:00:00 GMT', 'Sun, 01 Nov 2026 10:05:00 GMT'];
test.each([
  ['seconds', { 'retry-after': '300' }, 300_000],
  ['hours in seconds', { 'retry-after': '7200' }, 7_200_000],
  ['a day in seconds', { 'retry-after': '86400' }, 86_400_000],
  ['a date, by its own clock', { 'retry-after': fiveMinutesOn, date: sentAt }, 300_000],
  ['a date, without telling what it takes the time for', { 'retry-after': fiveMinutesOn }, 240_000],
  ['a date that is over', { 'retry-after': sentAt, date: fiveMinutesOn }, 500],
  ['more than a day, which is asked again after a day', { 'retry-after': '31536000' }, 86_400_000],
  ['what is neither', { 'retry-after': '12, 12' }, 500],
])('a receiver that asks to wait gets nothing for that time: %s', async (_, headers, waitedMs) => {
  await add('r.1');
  const answers: Respond[] = [
    (_ids, response) => {
      response.sendDate = false;
      response.writeHead(503, headers).end();
    },
  ];
  respond = (ids, response, request) => {
    const answer = answers.shift() ?? ((_ids, last) => last.writeHead(204).end());
    answer(ids, response, request);
  };
  const waits: number[] = [];
  const clock: SendOptions['clock'] = {
    now: systemClock.now,
    wallMs: () => Date.parse(sentAt) + 60_000,
    setTimer(ms, callback) {
      waits.push(ms);
      return systemClock.setTimer(0, callback);
    },
  };
  send({ clock });
  await until(async () => reported.sent === 1);
  expect(waits[0]).toBe(waitedMs);
});

test('the time without an acknowledgement counts from the first rejected batch, and ends with the next accepted one', async () => {
  let nowMs = 0;
  // Every pause is 20 minutes long.
  const clock: SendOptions['clock'] = {
    ...systemClock,
    now: () => nowMs,
    setTimer(_, callback) {
      nowMs += 1_200_000;
      return systemClock.setTimer(0, callback);
    },
  };
  const sender = send({ clock });
  expect(sender.untakenMs()).toBe(0);
  const waits: number[] = [];
  respond = (_, response) => {
    waits.push(sender.untakenMs());
    response.writeHead(waits.length > 3 ? 204 : 503).end();
  };
  await add('r.1');
  await until(async () => reported.sent === 1);
  expect(waits).toEqual([0, 1_200_000, 2_400_000, 3_600_000]);
  expect(sender.untakenMs()).toBe(0);
});

test('a receiver that accepts less gets smaller batches, and larger ones again after an hour', async () => {
  await add(...numbered(0, 200));
  respond = (ids, response) => response.writeHead(ids.length > 25 ? 413 : 204).end();
  let laterMs = 0;
  const now = () => systemClock.now() + laterMs;
  send({ clock: { ...systemClock, now, setTimer: (ms, back) => systemClock.setTimer(ms / 100, back) } });
  await until(async () => reported.sent === 200);
  expect(batches.map(({ length }) => length)).toEqual([100, 50, ...Array.from({ length: 8 }, () => 25)]);
  laterMs = 3_600_000;
  batches = [];
  respond = (_, response) => response.writeHead(204).end();
  await add(...numbered(200, 400));
  await until(async () => reported.sent === 400);
  expect(batches.map(({ length }) => length)).toEqual([25, 100, 75]);
});

test('a record that is too large even alone is left out and reported, stays in the ledger for its age, and all others are sent', async () => {
  await add(...numbered(0, 9));
  respond = (ids, response) => response.writeHead(ids.includes('r.4') ? 413 : 204).end();
  send();
  await until(async () => reported.sent === 8);
  expect(reported.leftOut).toEqual(['r.4']);
  const taken = batches.filter((ids) => !ids.includes('r.4')).flat();
  expect(taken).toEqual(numbered(0, 9).filter((id) => id !== 'r.4'));
  // What was too large for one is nothing to be small for with the others.
  expect(batches.at(-1)).toEqual(['r.5', 'r.6', 'r.7', 'r.8']);
  // All that held it were sent again but the last.
  expect(reported.failed.length).toBe(batches.filter((ids) => ids.includes('r.4')).length - 1);
  const upTo = await store.sinkCursor(EVENTS_SINK);
  expect((await store.records({ after: 0, limit: 100 })).map(({ sequence }) => sequence).at(-1)).toBe(upTo);
  const nowMs = Date.parse('2100-01-01');
  expect(await store.purge({ before: '2100-01-01', upTo, silentSinceMs: 0, nowMs })).toBe(9);
});

test('a ledger that ends before a batch is acknowledged sends it again', async () => {
  await add(...numbered(0, 3));
  const arrived = Promise.withResolvers<void>();
  respond = () => arrived.resolve();
  const first = send();
  await arrived.promise;
  await first.close();
  respond = (_, response) => response.writeHead(204).end();
  send();
  await until(async () => reported.sent === 3);
  expect(batches).toEqual([numbered(0, 3), numbered(0, 3)]);
  expect(reported.failed).toEqual([]);
});

test('records that the receiver has not acknowledged outlive their age', async () => {
  await add('old');
  const purge = async () =>
    store.purge({
      before: '2100-01-01',
      upTo: await store.sinkCursor(EVENTS_SINK),
      silentSinceMs: 0,
      nowMs: Date.parse('2100-01-01'),
    });
  expect(await purge()).toBe(0);
  send();
  await until(async () => reported.sent === 1);
  expect(await purge()).toBe(1);
});
