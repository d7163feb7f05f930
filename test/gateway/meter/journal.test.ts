// Do all records reach the disk, in order, and what happens when it takes none?

import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../../core/clock.ts';
import { ledgerRecordSchema } from '../../../core/contract/ledger-record.ts';
import {
  type Journal,
  openFileJournal,
  openMemoryJournal,
  type ReadableJournal,
} from '../../../gateway/meter/journal.ts';
import type { JournalReport } from '../../../gateway/meter/journal-report.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { makeRecord } from './make-facts.ts';
import { ended } from './record-attempt.ts';

let folder = '';
let path = '';
const opened: Journal[] = [];

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'penstock-journal-')), 'made', 'by', 'it');
  path = join(folder, 'journal.jsonl');
});

afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close();
  await rm(join(folder, '..', '..', '..'), { recursive: true });
});

interface Rig {
  readonly journal: ReadableJournal;
  readonly clock: FakeClock;
  readonly failed: string[];
  readonly dropped: number[];
  /** Resolves at the next failure that is reported. */
  nextFailure(): Promise<void>;
}

function open(segmentBytes?: number): Rig {
  const clock = makeFakeClock();
  const failed: string[] = [];
  const dropped: number[] = [];
  let onFailure = (): void => {};
  const report: JournalReport = {
    failed: (reason) => {
      failed.push(reason);
      onFailure();
    },
    dropped: (records) => dropped.push(records),
  };
  const journal = openFileJournal(
    folder,
    { ...clock, wallMs: () => 0 } satisfies Clock,
    report,
    segmentBytes === undefined ? {} : { segmentBytes, folderBytesMax: 2 ** 50 },
  );
  opened.push(journal);
  const nextFailure = (): Promise<void> =>
    new Promise((resolve) => {
      onFailure = resolve;
    });
  return { journal, clock, failed, dropped, nextFailure };
}

const record = (number: number) => makeRecord({ number });

async function writtenNumbers(): Promise<number[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => ledgerRecordSchema.parse(JSON.parse(line)).attempt);
}

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('records', () => {
  test('are lines of JSON, in order, in a file that only its owner can read', async () => {
    const { journal } = open();
    for (const number of numbers(1, 1_000)) journal.append(ended(record(number)));
    await journal.flush();
    expect(await writtenNumbers()).toEqual(numbers(1, 1_000));
    expect((await readFile(path, 'utf8')).endsWith('\n')).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('are written in groups: one timer for a group, none while nothing waits', async () => {
    const { journal, clock } = open();
    expect(clock.pending()).toEqual([]);
    journal.append(ended(record(1)));
    clock.advance(60);
    journal.append(ended(record(2)));
    expect(clock.pending()).toEqual([100]);
    clock.advance(40);
    await journal.flush();
    expect(await writtenNumbers()).toEqual([1, 2]);
    expect(clock.pending()).toEqual([]);
  });

  test('that arrive during a write are in the next group', async () => {
    const { journal } = open();
    const flushes: Promise<void>[] = [];
    for (const number of numbers(1, 50)) {
      journal.append(ended(record(number)));
      flushes.push(journal.flush());
      if (number % 7 === 0) await flushes[number - 1];
    }
    await Promise.all(flushes);
    expect(await writtenNumbers()).toEqual(numbers(1, 50));
  });

  test('that arrive during a write are on disk when the next flush resolves', async () => {
    const { journal } = open();
    journal.append(ended(record(1)));
    const first = journal.flush();
    journal.append(ended(record(2)));
    await journal.flush();
    expect(await writtenNumbers()).toEqual([1, 2]);
    await first;
  });

  test('that wait are written when the journal is closed', async () => {
    const { journal, dropped } = open();
    journal.append(ended(record(1)));
    await journal.close();
    expect(await writtenNumbers()).toEqual([1]);
    expect(dropped).toEqual([]);
  });

  test('of an earlier run are kept, but for half a line at the end', async () => {
    const first = open();
    first.journal.append(ended(record(1)));
    await first.journal.close();
    await appendFile(path, '{"id":"ha');
    const second = open();
    second.journal.append(ended(record(2)));
    await second.journal.close();
    const lines = (await readFile(path, 'utf8')).split('\n');
    expect(lines.map((line) => line.slice(0, 9))).toEqual(['{"id":"re', '{"id":"re', '']);
  });
});

describe('on a disk that accepts nothing', () => {
  test('the error is reported, records are kept, and are written when the disk accepts them', async () => {
    const { journal, clock, failed, dropped, nextFailure } = open();
    await rm(folder, { recursive: true });
    journal.append(ended(record(1)));
    const failure = nextFailure();
    clock.advance(100);
    await failure;
    await journal.flush();
    expect(failed[0]).toContain('ENOENT');
    journal.append(ended(record(2)));

    await makeFolder();
    clock.advance(1_000);
    await journal.flush();
    expect(await writtenNumbers()).toEqual([1, 2]);
    expect(dropped).toEqual([]);
    expect(clock.pending()).toEqual([]);
  });

  test('the rest of a failed write is cut off before the next write', async () => {
    const { journal } = open();
    await rm(folder, { recursive: true });
    journal.append(ended(record(1)));
    await journal.flush();
    await makeFolder();
    await writeFile(path, '{"id":"half of it');
    await journal.flush();
    expect(await writtenNumbers()).toEqual([1]);
  });

  test('a failed write is tried again without a further record', async () => {
    const { journal, clock, failed, nextFailure } = open();
    await rm(folder, { recursive: true });
    journal.append(ended(record(1)));
    const failure = nextFailure();
    clock.advance(100);
    await failure;
    expect(failed).toHaveLength(1);
    expect(clock.pending()).toEqual([1_100]);
  });

  test('the order is kept, also of records that come during a write that fails', async () => {
    const { journal } = open();
    await rm(folder, { recursive: true });
    journal.append(ended(record(1)));
    const failing = journal.flush();
    // The group is taken a moment after the call, and fails with the disk's answer, later.
    await Promise.resolve();
    journal.append(ended(record(2)));
    await failing;
    journal.append(ended(record(3)));
    await makeFolder();
    await journal.flush();
    expect(await writtenNumbers()).toEqual([1, 2, 3]);
  });

  test('records that could not be written at the end are counted as lost', async () => {
    const { journal, dropped } = open();
    await rm(folder, { recursive: true });
    for (const number of numbers(1, 3)) journal.append(ended(record(number)));
    await journal.close();
    expect(dropped).toEqual([3]);
    await makeFolder();
  });

  test('above 100,000 the oldest are lost, and counted', async () => {
    const { journal, dropped } = open(2 ** 40);
    await rm(folder, { recursive: true });
    const one = record(1);
    for (let left = 100_002; left > 0; left--) journal.append(ended(left === 1 ? record(2) : one));
    await journal.flush();
    expect(dropped).toEqual([2]);
    await makeFolder();
    await journal.flush();
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(100_000);
    expect(lines.at(-1)).toContain('"attempt":2');
  });
});

/** What a reader gets that asks on and on, from a cursor; and the cursor it ends with. */
async function readAll(journal: ReadableJournal, after?: string) {
  const attempts: number[] = [];
  let cursor = after;
  let pages = 0;
  for (;;) {
    const page = await journal.read(cursor);
    if (!page) return { attempts, cursor: undefined, pages };
    const lines = page.bytes.toString('utf8').split('\n');
    expect(lines.pop(), 'whole lines').toBe('');
    attempts.push(...lines.map((line) => ledgerRecordSchema.parse(JSON.parse(line)).attempt));
    cursor = page.cursor;
    if (lines.length === 0) return { attempts, cursor, pages };
    pages++;
  }
}

async function writeAll(journal: Journal, wanted: readonly number[]): Promise<void> {
  for (const number of wanted) {
    journal.append(ended(record(number)));
    await journal.flush();
  }
}

const segments = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();

describe('a reader', () => {
  test('gets every record once, in order, over all files', async () => {
    const { journal } = open(3_000);
    await writeAll(journal, numbers(1, 40));
    expect((await segments()).length).toBeGreaterThan(5);
    expect((await readAll(journal)).attempts).toEqual(numbers(1, 40));
  });

  test('of an empty journal gets nothing, and a cursor to go on from', async () => {
    const { journal } = open();
    const { attempts, cursor } = await readAll(journal);
    expect(attempts).toEqual([]);
    await writeAll(journal, [1]);
    expect((await readAll(journal, cursor)).attempts).toEqual([1]);
  });

  test('gets no record that is not yet on disk', async () => {
    const { journal } = open();
    journal.append(ended(record(1)));
    expect((await readAll(journal)).attempts).toEqual([]);
    await journal.flush();
    expect((await readAll(journal)).attempts).toEqual([1]);
  });

  test('gets at most about a mebibyte at a time, of whole lines', async () => {
    const { journal } = open();
    for (const number of numbers(1, 4_000)) journal.append(ended(record(number)));
    await journal.flush();
    const first = await journal.read(undefined);
    expect(first?.bytes.length).toBeLessThanOrEqual(1024 * 1024);
    expect(first?.bytes.length).toBeGreaterThan(1_000_000);
    const { attempts, pages } = await readAll(journal);
    expect([attempts, pages > 1]).toEqual([numbers(1, 4_000), true]);
  });

  test('gets a record that is longer than that', async () => {
    const { journal } = open();
    const metadata = { long: 'x'.repeat(3_000_000) };
    journal.append(ended(makeRecord({ number: 1, key: { id: 'team/key', metadata } })));
    journal.append(ended(record(2)));
    await journal.flush();
    expect((await readAll(journal)).attempts).toEqual([1, 2]);
  });

  test('acknowledges records that it has read: only full files before its cursor are deleted', async () => {
    const { journal } = open(3_000);
    await writeAll(journal, numbers(1, 41));
    const before = await segments();
    const { cursor } = await readAll(journal);
    expect(await segments()).toEqual(['journal.jsonl']);
    expect(before.length).toBeGreaterThan(1);
    await writeAll(journal, [42]);
    expect((await readAll(journal, cursor)).attempts).toEqual([42]);
  });

  test('that lost an answer asks with its old cursor and misses nothing', async () => {
    const { journal } = open(3_000);
    await writeAll(journal, numbers(1, 2));
    const { cursor } = await readAll(journal);
    // The file it is in becomes a full one, of which it has taken over all.
    await writeAll(journal, numbers(3, 40));
    for (const _ of [1, 2, 3]) {
      const page = await journal.read(cursor);
      expect(page?.bytes.toString('utf8').slice(0, 60)).toContain('.3"');
    }
    expect((await readAll(journal, cursor)).attempts).toEqual(numbers(3, 40));
  });

  test('goes on after a restart of the gateway, also where all full files are gone', async () => {
    const first = open(3_000);
    await writeAll(first.journal, numbers(1, 20));
    const { cursor } = await readAll(first.journal);
    await first.journal.close();
    const second = open(3_000);
    await writeAll(second.journal, numbers(21, 40));
    expect((await readAll(second.journal, cursor)).attempts).toEqual(numbers(21, 40));
    await second.journal.close();
    expect((await readAll(open(3_000).journal)).attempts.at(-1)).toBe(40);
  });

  test.each([
    ['another journal', () => 'ffffffffffffffff.1.0'],
    ['nonsense', () => '../../etc/passwd'],
    ['a place inside a line', (cursor: string) => cursor.replace(/\d+$/, '7')],
    ['a place after the end', (cursor: string) => `${cursor}0`],
    ['a file that is not there', (cursor: string) => cursor.replace(/\.1\./, '.99.')],
  ])('with a cursor of %s gets an error', async (_, make) => {
    const { journal } = open();
    await writeAll(journal, [1]);
    const { cursor = '' } = await readAll(journal);
    expect(await journal.read(make(cursor))).toBeUndefined();
  });

  test('of a journal whose name was lost begins again', async () => {
    const first = open();
    await writeAll(first.journal, [1]);
    const { cursor } = await readAll(first.journal);
    await first.journal.close();
    await writeFile(join(folder, 'journal.json'), '{"identity":');
    const second = open();
    expect(await second.journal.read(cursor)).toBeUndefined();
    expect((await readAll(second.journal)).attempts).toEqual([1]);
  });

  test('reads right while files are filled and renamed under it', async () => {
    const { journal } = open(2_000);
    const writing = writeAll(journal, numbers(1, 200));
    const seen: number[] = [];
    let cursor: string | undefined;
    while (seen.length < 200) {
      const part = await readAll(journal, cursor);
      if (part.cursor === undefined) throw new Error('the cursor was refused');
      seen.push(...part.attempts);
      cursor = part.cursor;
    }
    await writing;
    expect(seen).toEqual(numbers(1, 200));
  });

  test('gets no record twice of a group that was written in part', async () => {
    const { journal } = open();
    await writeAll(journal, [1]);
    const { cursor } = await readAll(journal);
    // As a write leaves it that failed in its middle: one whole line and half of the next.
    await appendFile(path, `${JSON.stringify(record(2))}\n{"id":"ha`);
    expect((await readAll(journal, cursor)).attempts).toEqual([]);
    await journal.close();
    const second = open();
    await writeAll(second.journal, [3]);
    expect((await readAll(second.journal, cursor)).attempts).toEqual([2, 3]);
  });

  test('is woken when more has been written', async () => {
    const { journal } = open();
    let reported = 0;
    const stop = journal.onWritten(() => reported++);
    journal.append(ended(record(1)));
    expect(reported).toBe(0);
    await journal.flush();
    expect(reported).toBe(1);
    stop();
    await writeAll(journal, [2]);
    expect(reported).toBe(1);
  });
});

test('a rotation that a crash cut in two is completed at the next start', async () => {
  const first = open();
  await writeAll(first.journal, [1]);
  const { cursor } = await readAll(first.journal);
  await first.journal.close();
  await rename(path, join(folder, 'journal-1.jsonl'));
  const second = open();
  await writeAll(second.journal, [2]);
  expect((await readAll(second.journal, cursor)).attempts).toEqual([2]);
});

test('a journal cannot be opened where a file is in the way', async () => {
  open();
  await writeFile(join(folder, 'file'), '');
  const report = { failed: () => {}, dropped: () => {} };
  const clock: Clock = { ...makeFakeClock(), wallMs: () => 0 };
  expect(() => openFileJournal(join(folder, 'file'), clock, report)).toThrow('EEXIST');
});

test('a memory journal hands each record over at once', async () => {
  const seen: number[] = [];
  const journal = openMemoryJournal(({ attempt }) => seen.push(attempt));
  journal.append(ended(record(1)));
  journal.append(ended(record(2)));
  expect(seen).toEqual([1, 2]);
  await journal.flush();
  await journal.close();
});

async function makeFolder(): Promise<void> {
  await mkdir(folder, { recursive: true });
}
