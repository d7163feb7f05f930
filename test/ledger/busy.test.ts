// Who is answered while many ask, or begin to and do not go on? A real store, of which one question takes as long as the test wants.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { SPEND_PATH } from '../../core/contract/spend.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { openRaw } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { noGateways, type ReadApi, serveReadApi } from './read-house.ts';

test('of many questions at once some get Retry-After, but never the gateways’', async () => {
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  const store = parts.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  const heavy = Promise.withResolvers<void>();
  let inFlight = 0;
  const full = Promise.withResolvers<void>();
  const reader = await serveReadApi({
    store: {
      ...store,
      async sums(query) {
        inFlight += 1;
        if (inFlight === 32) full.resolve();
        await heavy.promise;
        return await store.sums(query);
      },
    },
    access: { judge: async () => 'allowed' },
    clock: { ...makeFakeClock(), wallMs: () => 0 },
    budgets: () => undefined,
    gateways: noGateways,
    token: () => 'exchange',
    onFailure: (error) => expect.unreachable(String(error)),
  });
  parts.adopt(reader, (one) => one.close());
  const asked = Array.from({ length: 32 }, () => reader.ask('/v1/sums', 'anybody'));
  await full.promise;
  const late = await reader.ask('/v1/sums', 'anybody');
  expect([late.status, late.headers['retry-after']]).toEqual([503, '1']);
  for (const path of [SPEND_PATH, `${SPEND_PATH}?after=0`])
    expect((await reader.ask(path, 'exchange')).status).toBe(200);
  heavy.resolve();
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => 200));
  expect((await reader.ask('/v1/sums', 'anybody')).status).toBe(200);
});

describe('questions whose bodies do not arrive', () => {
  const failures: unknown[] = [];
  let judged = 0;

  async function startReader(parts: AsyncDisposableStack, patienceMs?: number): Promise<ReadApi> {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
    parts.defer(() => rm(folder, { recursive: true, force: true }));
    const store = parts.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
    const judge = async (token: string) => {
      judged += 1;
      return token === 'nobody' ? 'unknown' : 'allowed';
    };
    const reader = await serveReadApi(
      {
        store,
        access: { judge },
        clock: { ...makeFakeClock(), wallMs: () => 0 },
        budgets: () => undefined,
        gateways: noGateways,
        token: () => 'exchange',
        onFailure: (error) => failures.push(error),
      },
      patienceMs,
    );
    return parts.adopt(reader, (one) => one.close());
  }

  /** All but the last byte of a question. */
  async function begin({ port }: ReadApi, token: string) {
    const connection = await openRaw({ port });
    const body = '{"namespace": "team-a"}';
    await connection.send(
      `POST /v1/catalog HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
    );
    return { ...connection, end: () => connection.send(body.slice(-1)) };
  }

  beforeEach(() => {
    failures.length = 0;
    judged = 0;
  });

  test('are refused at once for an unknown token', async () => {
    await using parts = new AsyncDisposableStack();
    const reader = await startReader(parts);
    const begun = await Promise.all(Array.from({ length: 32 }, () => begin(reader, 'nobody')));
    for (const { answer, closed } of begun) {
      const { status, finished } = await answer();
      expect([status, (await finished).json]).toMatchObject([401, { error: { code: 'invalid_token' } }]);
      expect(await closed).toBe('fin');
    }
  });

  test('hold no slot, of any user, and continue after the body arrives', async () => {
    await using parts = new AsyncDisposableStack();
    const reader = await startReader(parts);
    const begun = [];
    for (let at = 1; at <= 40; at++) {
      begun.push(await begin(reader, 'anybody'));
      await until(async () => judged === at);
    }
    expect((await reader.ask('/v1/sums', 'anybody')).status).toBe(200);
    const [first, ...others] = begun;
    await first?.end();
    const answer = await first?.answer();
    expect((await answer?.finished)?.json).toMatchObject({ error: { code: 'no_gateway' } });
    for (const { abort } of others) abort();
    first?.close();
  });

  test('get an error after their time, and do not count as an error of the ledger', async () => {
    await using parts = new AsyncDisposableStack();
    const reader = await startReader(parts, 100);
    const { answer, closed } = await begin(reader, 'anybody');
    expect((await answer()).status).toBe(408);
    expect(await closed).toBe('fin');
    const gone = await begin(reader, 'anybody');
    await until(async () => judged === 2);
    gone.abort();
    // What was asked later is answered later.
    expect((await reader.ask('/v1/sums', 'anybody')).status).toBe(200);
    expect(failures).toEqual([]);
  });
});
