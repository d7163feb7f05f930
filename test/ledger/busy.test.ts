// Who is answered while many ask? A real store, of which one question takes as long as the test wants.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SPEND_PATH } from '../../gateway/contract/spend.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { noGateways, serveReadApi } from './read-house.ts';

test('of many questions at once some are told to come back, and never those of gateways', async () => {
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  const store = parts.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  const heavy = Promise.withResolvers<void>();
  let underWay = 0;
  const full = Promise.withResolvers<void>();
  const reader = await serveReadApi({
    store: {
      ...store,
      async sums(query) {
        underWay += 1;
        if (underWay === 32) full.resolve();
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
