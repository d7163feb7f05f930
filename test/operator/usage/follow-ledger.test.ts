// Does the leader go on asking, whatever the ledger does, and say once that it is away?

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import type { SpendReport } from '../../../core/contract/spend.ts';
import { openLedgerClient } from '../../../operator/usage/ask-ledger.ts';
import { followLedger } from '../../../operator/usage/follow-ledger.ts';
import { createSpendBook, type SpendNews } from '../../../operator/usage/spend-book.ts';
import { makeClock, settle } from '../clock.ts';
import { makePage } from './make-spent.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

const signal = new AbortController().signal;
const askAt = (address: string) =>
  openLedgerClient({ address }, systemClock).ask({ token: 'secret-token', after: 7, signal });

test('the ledger is asked for news after the known sequence, with the exchange token', async () => {
  const seen: unknown[] = [];
  const page = makePage({ sequence: 7 });
  const address = await serve(({ url, headers }, response) => {
    seen.push([url, headers.authorization]);
    response.end(JSON.stringify({ ...page, more: 'than is read' }));
  });
  expect(await askAt(address)).toEqual(page);
  expect(seen).toEqual([['/internal/v1/spend?after=7', 'Bearer secret-token']]);
});

test.each<[string, RequestListener, RegExp]>([
  ['refuses', (_, response) => response.writeHead(401).end(), /^it rejects the exchange token$/],
  ['is busy', (_, response) => response.writeHead(503).end(), /^it answers with status 503$/],
  ['says something else', (_, response) => response.end('<html>'), /^its answer is not JSON$/],
  [
    'is an older one',
    (_, response) => response.end('{"sequence":1,"hasMore":false,"keys":[]}'),
    /^its answer is not understood: ledger: /,
  ],
  ['breaks off', (_, response) => response.socket?.destroy(), /^it does not answer \(ECONNRESET\)$/],
])('where it %s, the reason is reported without a token', async (_, answer, reason) => {
  const address = await serve(answer);
  await expect(askAt(address)).rejects.toThrow(reason);
});

test('the ledger is asked every second, at once for further pages, with backoff after failures, and its outage is logged once', async () => {
  const clock = makeClock();
  const asked: number[] = [];
  const reported: string[] = [];
  const news: SpendNews[] = [];
  let answer: () => Promise<SpendReport> = async () =>
    makePage({ sequence: asked.length, hasMore: asked.length < 3 });
  const follower = followLedger({
    book: createSpendBook(),
    clock,
    random: () => 1,
    ask: ({ after }) => {
      asked.push(after);
      return answer();
    },
    tokenOf: () => 'token',
    onNews: (one) => news.push(one),
    onFault: (error) => expect.unreachable(String(error)),
    onAway: (reason) => reported.push(reason),
    onBack: () => reported.push('back'),
  });
  const pass = async (ms: number, stepMs = 250) => {
    for (let at = 0; at < ms; at += stepMs) {
      clock.advance(stepMs);
      await settle();
    }
  };
  await settle();
  await pass(2, 1);
  expect(asked).toEqual([0, 1, 2]);
  await pass(3_000);
  expect(asked).toEqual([0, 1, 2, 3, 4, 5]);
  expect(news).toHaveLength(6);

  answer = () => Promise.reject(new Error('it does not answer (ECONNREFUSED)'));
  asked.length = 0;
  await pass(55_000);
  expect(reported).toEqual([]);
  await pass(65_000);
  expect(reported).toEqual(['it does not answer (ECONNREFUSED)']);
  // One, half a second, one, two, four, eight, and then fifteen.
  expect(asked.length).toBeGreaterThan(8);
  expect(asked.length).toBeLessThan(16);
  expect(follower.newsAgeMs()).toBeGreaterThan(100_000);

  answer = async () => makePage({ sequence: 9 });
  await pass(16_000);
  expect(reported).toEqual(['it does not answer (ECONNREFUSED)', 'back']);
  expect(follower.newsAgeMs()).toBeLessThanOrEqual(1_000);
  const closing = follower.close();
  await settle();
  await closing;
  expect(clock.pending()).toEqual([]);
});

test('an error in the operator is not blamed on the ledger, and the next answer is requested as usual', async () => {
  const clock = makeClock();
  const asked: number[] = [];
  const faults: unknown[] = [];
  const fault = new TypeError('ours');
  const follower = followLedger({
    book: createSpendBook(),
    clock,
    random: () => 1,
    ask: async ({ after }) => {
      asked.push(after);
      return makePage({ sequence: asked.length });
    },
    tokenOf: () => 'token',
    onNews: () => {
      throw fault;
    },
    onFault: (error) => faults.push(error),
    onAway: (reason) => expect.unreachable(reason),
    onBack() {},
  });
  await settle();
  for (let second = 0; second < 90; second += 1) {
    clock.advance(1_000);
    await settle();
  }
  expect(asked).toEqual(Array.from({ length: 91 }, (_, at) => at));
  expect(faults).toEqual(asked.map(() => fault));
  expect(follower.newsAgeMs()).toBe(0);
  const closing = follower.close();
  await settle();
  await closing;
});
