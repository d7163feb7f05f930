// Is all that was used there again after a restore, and after a move to Postgres? The real program, its journals those of real gateways.

import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useControlPlane } from '../cluster/control-plane.ts';
import { tableOf, testKey } from '../gateway/rig.ts';
import { type Postgres, startPostgres } from '../ledger/postgres.ts';
import { type RawTarget, rawCall } from '../support/raw-client.ts';
import { startWall } from '../support/wall.ts';
import { openLedgerStage, recordsOf, spendOf, sumsOf, untilTaken } from './ledger-stage.ts';

const plane = useControlPlane({ hasControllers: false });
let postgres: Postgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.close());

async function call(door: RawTarget, times: number): Promise<void> {
  for (let at = 0; at < times; at++)
    await rawCall(door, {
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${testKey}` },
      body: { model: 'm', messages: [{ role: 'user', content: 'three plain words' }] },
    });
}

test('a ledger without its volume is restored from a backup and moves to Postgres, while gateways serve', async () => {
  await using parts = new AsyncDisposableStack();
  const wall = await startWall();
  parts.defer(() => wall.close());
  const stage = await openLedgerStage(plane(), tableOf([{ baseUrl: wall.baseUrl }]));
  parts.defer(() => stage.close());
  const door = await stage.startGateway();
  if (stage.place.type !== 'sqlite') throw new Error('the stage is of SQLite');
  const home = dirname(stage.place.path);

  await call(door, 20);
  const first = await stage.launchLedger();
  const before = await stage.openReader();
  await untilTaken(before, first, 20);
  const backup = (await stage.command(['backup', '--to', `${home}-backups`])).trim();
  const seen = [await recordsOf(before), await sumsOf(before), await spendOf(before)];
  expect(seen[0]).toHaveLength(20);
  await before.close();
  first.process.signal('SIGKILL');
  await first.process.exit;
  await rm(home, { recursive: true });
  await call(door, 5);

  expect(await stage.command(['restore', '--from', backup])).toBe('Restored everything.\n');
  const restored = await stage.openReader();
  expect([await recordsOf(restored), await sumsOf(restored), await spendOf(restored)]).toEqual(seen);
  const second = await stage.launchLedger();
  await untilTaken(restored, second, 25);
  await restored.close();
  await second.process.stop();

  const elsewhere = { type: 'postgres', url: await postgres.createDatabase('moved') } as const;
  const words = ['import', '--from', stage.place.path];
  expect(await stage.command(words, elsewhere)).toBe('Imported everything.\n');
  expect(await stage.command(words, elsewhere)).toBe(
    '0 records were added, 0 were there already, 0 were put aside.\n',
  );
  await call(door, 5);
  const third = await stage.launchLedger([], elsewhere);
  const moved = await stage.openReader(elsewhere);
  await untilTaken(moved, third, 30);
  const records = await recordsOf(moved);
  expect(new Set(records.map(({ id }) => id)).size).toBe(30);
  expect(records).toHaveLength(30);
  const cost = records.reduce((sum, { costPicodollars }) => sum + BigInt(costPicodollars ?? 0), 0n);
  expect([(await sumsOf(moved))?.costPicodollars, await spendOf(moved)]).toEqual([cost, cost]);
  await third.process.stop();
});
