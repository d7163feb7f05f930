// Which of two ledgers in one Postgres takes records, and what becomes of one that led?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPostgresStore } from '../../../ledger/store/postgres.ts';
import type { LedgerStore } from '../../../ledger/store/store.ts';
import { until } from '../../support/until.ts';
import { makeEntry } from '../make-entry.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

let postgres: Postgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.close());

interface Standing {
  readonly store: LedgerStore;
  readonly seen: string[];
  end(): Promise<void>;
}

async function stand(url: string): Promise<Standing> {
  const store = await openPostgresStore(url, () => {});
  const seen: string[] = [];
  const leadership = store.lead({
    onElected: () => seen.push('elected'),
    onLost: () => seen.push('lost'),
  });
  return { store, seen, end: () => leadership.close().then(() => store.close()) };
}

const take = ({ store }: Standing, id: string) =>
  store.take({ source: 'pod', cursor: id, entries: [makeEntry({ id })], asides: [] }, Date.now());

test('one leads and writes; the other one reads, may not write, and takes over when the first ends', async () => {
  const url = await postgres.createDatabase('one_leads');
  const first = await stand(url);
  await until(async () => first.seen.length > 0);
  const second = await stand(url);
  await take(first, 'a.1');
  expect(await second.store.cursorOf('pod')).toBe('a.1');
  await expect(take(second, 'b.1')).rejects.toThrow('another ledger leads, or none can');
  expect(second.seen).toEqual([]);
  await first.end();
  await until(async () => second.seen.length > 0);
  expect(await take(second, 'b.1')).toMatchObject({ added: 1 });
  await second.end();
});

test('a failed write of a page does not lose the lead; a killed database does, until it is back', async () => {
  const url = await postgres.createDatabase('lead_lost');
  const one = await stand(url);
  await until(async () => one.seen.length > 0);
  // No column holds it.
  const broken = one.store.setSinkCursor('events', Number.MAX_VALUE);
  await expect(broken).rejects.toThrow(/Postgres: /);
  expect(await take(one, 'a.1')).toMatchObject({ added: 1 });
  expect(one.seen).toEqual(['elected']);
  await postgres.kill();
  await until(async () => one.seen.at(-1) === 'lost');
  await expect(take(one, 'b.1')).rejects.toThrow('another ledger leads, or none can');
  await postgres.start();
  await until(async () => one.seen.at(-1) === 'elected');
  expect(await take(one, 'b.1')).toMatchObject({ added: 1 });
  await one.end();
});
