// What becomes of records that nobody takes over: when the folder is full, and when the process goes?

import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ledgerRecordSchema } from '../../../core/contract/ledger-record.ts';
import { openFileJournal } from '../../../gateway/meter/journal.ts';
import { writeUnacknowledged } from '../../../gateway/meter/unacknowledged.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';
import { makeRecord } from './make-facts.ts';
import { ended } from './record-attempt.ts';

let folder = '';
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-full-journal-'));
});

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await rm(folder, { recursive: true });
});

function open(folderBytesMax: number) {
  const clock = makeFakeClock();
  const unacknowledged: number[] = [];
  const journal = openFileJournal(
    folder,
    { ...clock, wallMs: () => 0 },
    {
      failed: (reason) => expect.unreachable(reason),
      dropped: (records) => expect.unreachable(`${records} records dropped`),
      unacknowledged: async (lines) => void unacknowledged.push(...attemptsIn(lines)),
    },
    { folderBytesMax },
  );
  closers.push(() => journal.close());
  const write = async (from: number, to: number): Promise<void> => {
    for (let number = from; number <= to; number++) {
      journal.append(ended(makeRecord({ number })));
      await journal.flush();
    }
  };
  return { journal, clock, unacknowledged, write };
}

function attemptsIn(lines: Buffer): number[] {
  const texts = lines.toString('utf8').trimEnd().split('\n').filter(Boolean);
  return texts.map((line) => ledgerRecordSchema.parse(JSON.parse(line)).attempt);
}

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('a folder at its limit', () => {
  test('gives up its oldest records, each logged once, and keeps the others', async () => {
    const { journal, unacknowledged, write } = open(16_000);
    await write(1, 100);
    // The last full file may not be sent yet.
    await until(async () => (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).length <= 4, 2);
    const kept: number[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await journal.read(cursor);
      if (!page || page.bytes.length === 0) break;
      kept.push(...attemptsIn(page.bytes));
      ({ cursor } = page);
    }
    expect(kept.length).toBeGreaterThan(5);
    expect([...unacknowledged, ...kept]).toEqual(numbers(1, 100));
    expect(journal.figures.unacknowledgedRecords).toBe(unacknowledged.length);
  });

  test('has a reader with a lost cursor begin again', async () => {
    const { journal, write } = open(16_000);
    await write(1, 1);
    const page = await journal.read(undefined);
    await write(2, 100);
    await until(async () => (await journal.read(page?.cursor)) === undefined, 2);
  });

  test('loses nothing if its reader keeps up', async () => {
    const { journal, unacknowledged, write } = open(16_000);
    let cursor: string | undefined;
    for (let from = 1; from < 100; from += 3) {
      await write(from, from + 2);
      cursor = (await journal.read(cursor))?.cursor;
    }
    expect(unacknowledged).toEqual([]);
  });
});

describe('a process that shuts down', () => {
  test('without any reader waits for none, and writes all records to its log', async () => {
    const { journal, unacknowledged, write, clock } = open(1_000_000);
    await write(1, 10);
    await journal.handOver(10_000);
    expect([unacknowledged, clock.now()]).toEqual([numbers(1, 10), 0]);
  });

  test('waits for a known reader, though it has not asked yet', async () => {
    const { journal, unacknowledged, write, clock } = open(1_000_000);
    await write(1, 10);
    const leaving = journal.handOver(10_000, true);
    await until(async () => clock.pending().includes(10_000), 2);
    const page = await journal.read(undefined);
    await journal.read(page?.cursor);
    await leaving;
    expect([unacknowledged, clock.now()]).toEqual([[], 0]);
  });

  test('without records waits for no reader', async () => {
    const { journal, unacknowledged, clock } = open(1_000_000);
    await journal.handOver(10_000, true);
    expect([unacknowledged, clock.now()]).toEqual([[], 0]);
  });

  test('writes nothing to its log after all was acknowledged', async () => {
    const { journal, unacknowledged, write } = open(1_000_000);
    await write(1, 10);
    const page = await journal.read(undefined);
    await journal.read(page?.cursor);
    await journal.handOver(10_000);
    expect(unacknowledged).toEqual([]);
  });

  test('waits for its reader to reach the end', async () => {
    const { journal, unacknowledged, write } = open(1_000_000);
    await write(1, 10);
    const page = await journal.read(undefined);
    const leaving = journal.handOver(10_000);
    await until(async () => (await journal.read(page?.cursor)) !== undefined, 2);
    await leaving;
    expect(unacknowledged).toEqual([]);
  });

  test('logs records that its reader has not acknowledged within ten seconds, and no more', async () => {
    const { journal, unacknowledged, write, clock } = open(1_000_000);
    await write(1, 10);
    const page = await journal.read(undefined);
    await journal.read(page?.cursor);
    await write(11, 13);
    const leaving = journal.handOver(10_000);
    await until(async () => clock.pending().includes(10_000), 2);
    clock.advance(10_000);
    await leaving;
    expect(unacknowledged).toEqual(numbers(11, 13));
    expect(journal.figures.unacknowledgedRecords).toBe(3);
  });
});

test('logs records that its disk refuses', async () => {
  const unacknowledged: number[] = [];
  const report = {
    failed() {},
    dropped: (records: number) => expect.unreachable(`${records} records dropped`),
    unacknowledged: async (lines: Buffer) => void unacknowledged.push(...attemptsIn(lines)),
  };
  const journal = openFileJournal(folder, { ...makeFakeClock(), wallMs: () => 0 }, report);
  await rm(folder, { recursive: true });
  for (const number of numbers(1, 3)) journal.append(ended(makeRecord({ number })));
  await journal.close();
  expect([unacknowledged, journal.figures.unacknowledgedRecords]).toEqual([numbers(1, 3), 3]);
  await mkdir(folder);
});

test('the log has one line for each record, which can be read back', async () => {
  let text = '';
  const lines = numbers(1, 120).map((number) => `${JSON.stringify(makeRecord({ number }))}\n`);
  await writeUnacknowledged(Buffer.from(lines.join('')), (piece) => {
    text += piece;
  });
  const reported: unknown[] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).record);
  expect(reported.map((record) => ledgerRecordSchema.parse(record).attempt)).toEqual(numbers(1, 120));
});
