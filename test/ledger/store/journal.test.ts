// A file system on which SQLite has no write-ahead log: it answers with another journal, and with no error. Before, nobody looked.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pageRows } from '../../../ledger/store/row.ts';
import { openSqliteStore } from '../../../ledger/store/sqlite.ts';
import { openSqliteFile } from '../../../ledger/store/sqlite-file.ts';
import { makeEntry } from '../make-entry.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const page = (id: string) =>
  pageRows({ source: 'pod', cursor: id, entries: [makeEntry({ id })], asides: [] });
const countOf = { text: 'SELECT count(*) AS count FROM ledger_records', values: [] };

describe.each(['unix-dotfile', 'unix-none'])('on a file system as SQLite has it by %s', (vfs) => {
  const open = (isReader: boolean) =>
    openSqliteFile(`file:${join(folder, 'ledger.sqlite')}?vfs=${vfs}`, isReader);

  test('the remedy is logged, and the ledger goes on safely with one writer', () => {
    const writer = open(false);
    expect(writer.slowness()).toBe(
      'its file system has no shared memory for a write-ahead log, so reads and writes wait for each other. ' +
        'Give it a volume of block or local storage, or Postgres.',
    );
    const reader = open(true);
    expect(writer.take([page('a.1')], 0)).toMatchObject([{ added: 1 }]);
    expect(reader.query(countOf)).toEqual([{ count: 1n }]);
    expect(writer.take([page('b.1')], 0)).toMatchObject([{ added: 1 }]);
    expect(reader.query(countOf)).toEqual([{ count: 2n }]);
    reader.close();
    writer.close();
    const again = open(false);
    expect(again.query(countOf)).toEqual([{ count: 2n }]);
    expect(again.query({ text: 'PRAGMA synchronous', values: [] })).toEqual([{ synchronous: 2n }]);
    again.close();
  });
});

test('without any journal on disk, the ledger does not open', () => {
  expect(() => openSqliteFile('file:ledger?mode=memory', false)).toThrow(
    "file:ledger?mode=memory: its file system allows no journal on disk (SQLite answers 'memory'). " +
      'Give it a volume of block or local storage, or Postgres.',
  );
});

test('on an ordinary file system nothing is logged, and there is a write-ahead log', async () => {
  const path = join(folder, 'ledger.sqlite');
  const said: string[] = [];
  const store = await openSqliteStore(path, undefined, (reason) => said.push(reason));
  await store.close();
  expect(said).toEqual([]);
  using database = new DatabaseSync(path);
  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
});
