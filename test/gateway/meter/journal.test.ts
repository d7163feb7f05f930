// Do all records reach the disk, in order, and what happens when it takes none?

import { appendFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../../gateway/clock.ts';
import { ledgerRecordSchema } from '../../../gateway/contract/ledger-record.ts';
import { type Journal, openFileJournal, openMemoryJournal } from '../../../gateway/meter/journal.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { makeRecord } from './make-facts.ts';

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
  readonly journal: Journal;
  readonly clock: FakeClock;
  readonly failed: string[];
  readonly dropped: number[];
  /** Resolves at the next failure that is reported. */
  nextFailure(): Promise<void>;
}

function open(): Rig {
  const clock = makeFakeClock();
  const failed: string[] = [];
  const dropped: number[] = [];
  let onFailure = (): void => {};
  const journal = openFileJournal(folder, { ...clock, wallMs: () => 0 } satisfies Clock, {
    failed: (reason) => {
      failed.push(reason);
      onFailure();
    },
    dropped: (records) => dropped.push(records),
  });
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
    for (const number of numbers(1, 1_000)) journal.append(record(number));
    await journal.flush();
    expect(await writtenNumbers()).toEqual(numbers(1, 1_000));
    expect((await readFile(path, 'utf8')).endsWith('\n')).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('wait for each other: one timer for a group, none when nothing waits', async () => {
    const { journal, clock } = open();
    expect(clock.pending()).toEqual([]);
    journal.append(record(1));
    clock.advance(60);
    journal.append(record(2));
    expect(clock.pending()).toEqual([100]);
    clock.advance(40);
    await journal.flush();
    expect(await writtenNumbers()).toEqual([1, 2]);
    expect(clock.pending()).toEqual([]);
  });

  test('that come while a group is written are in the next, behind it', async () => {
    const { journal } = open();
    const flushes: Promise<void>[] = [];
    for (const number of numbers(1, 50)) {
      journal.append(record(number));
      flushes.push(journal.flush());
      if (number % 7 === 0) await flushes[number - 1];
    }
    await Promise.all(flushes);
    expect(await writtenNumbers()).toEqual(numbers(1, 50));
  });

  test('that come while a group is written are on disk when the flush after them resolves', async () => {
    const { journal } = open();
    journal.append(record(1));
    const first = journal.flush();
    journal.append(record(2));
    await journal.flush();
    expect(await writtenNumbers()).toEqual([1, 2]);
    await first;
  });

  test('that wait are written when the journal is closed', async () => {
    const { journal, dropped } = open();
    journal.append(record(1));
    await journal.close();
    expect(await writtenNumbers()).toEqual([1]);
    expect(dropped).toEqual([]);
  });

  test('of an earlier run are kept, also where its last line is half', async () => {
    const first = open();
    first.journal.append(record(1));
    await first.journal.close();
    await appendFile(path, '{"id":"ha');
    const second = open();
    second.journal.append(record(2));
    await second.journal.close();
    const lines = (await readFile(path, 'utf8')).split('\n');
    expect(lines.map((line) => line.slice(0, 9))).toEqual(['{"id":"re', '{"id":"ha', '{"id":"re', '']);
  });
});

describe('while the disk takes none', () => {
  test('it is reported, records are kept, and written by itself when it takes them again', async () => {
    const { journal, clock, failed, dropped, nextFailure } = open();
    await rm(folder, { recursive: true });
    journal.append(record(1));
    const failure = nextFailure();
    clock.advance(100);
    await failure;
    await journal.flush();
    expect(failed[0]).toContain('ENOENT');
    journal.append(record(2));

    await makeFolder();
    clock.advance(1_000);
    await journal.flush();
    expect(await writtenNumbers()).toEqual([1, 2]);
    expect(dropped).toEqual([]);
    expect(clock.pending()).toEqual([]);
  });

  test('a failed write is tried again without a further record', async () => {
    const { journal, clock, failed, nextFailure } = open();
    await rm(folder, { recursive: true });
    journal.append(record(1));
    const failure = nextFailure();
    clock.advance(100);
    await failure;
    expect(failed).toHaveLength(1);
    expect(clock.pending()).toEqual([1_100]);
  });

  test('the order is kept, also of records that come during a write that fails', async () => {
    const { journal } = open();
    await rm(folder, { recursive: true });
    journal.append(record(1));
    const failing = journal.flush();
    // The group is taken a moment after the call, and fails with the disk's answer, later.
    await Promise.resolve();
    journal.append(record(2));
    await failing;
    journal.append(record(3));
    await makeFolder();
    await journal.flush();
    expect(await writtenNumbers()).toEqual([1, 2, 3]);
  });

  test('what could not be written to the end is counted as lost', async () => {
    const { journal, dropped } = open();
    await rm(folder, { recursive: true });
    for (const number of numbers(1, 3)) journal.append(record(number));
    await journal.close();
    expect(dropped).toEqual([3]);
    await makeFolder();
  });

  test('above 100,000 the oldest are lost, and counted', async () => {
    const { journal, dropped } = open();
    await rm(folder, { recursive: true });
    const one = record(1);
    for (let left = 100_002; left > 0; left--) journal.append(left === 1 ? record(2) : one);
    await journal.flush();
    expect(dropped).toEqual([2]);
    await makeFolder();
    await journal.flush();
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(100_000);
    expect(lines.at(-1)).toContain('"attempt":2');
  });
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
  journal.append(record(1));
  journal.append(record(2));
  expect(seen).toEqual([1, 2]);
  await journal.flush();
  await journal.close();
});

async function makeFolder(): Promise<void> {
  await mkdir(folder, { recursive: true });
}
