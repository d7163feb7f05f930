// What does the next process find of attempts that were in flight when a gateway ended without a word?

import { appendFile, copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type LedgerRecord, ledgerRecordSchema } from '../../../core/contract/ledger-record.ts';
import { openFileJournal, type ReadableJournal } from '../../../gateway/meter/journal.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { type Differing, makeRecord } from './make-facts.ts';
import { attemptsAt } from './record-attempt.ts';

let folder = '';
let path = '';
const opened: ReadableJournal[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-under-way-'));
  path = join(folder, 'under-way.jsonl');
});

afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close();
  await rm(folder, { recursive: true });
});

interface Life {
  readonly journal: ReadableJournal;
  readonly attempts: ReturnType<typeof attemptsAt>;
  readonly clock: FakeClock;
  readonly replayed: number[];
  readonly damaged: number[];
}

/** A process that opens the folder; the one before it is never reported that it ends. */
function live(segmentBytes?: number): Life {
  const clock = makeFakeClock();
  const [replayed, damaged]: number[][] = [[], []];
  const journal = openFileJournal(
    folder,
    { ...clock, wallMs: () => 0 },
    {
      failed: (reason) => expect.unreachable(reason),
      dropped: (records) => expect.unreachable(`${records} records dropped`),
      replayed: (records) => void replayed?.push(records),
      damaged: (lines) => void damaged?.push(lines),
    },
    segmentBytes === undefined ? {} : { segmentBytes, folderBytesMax: 2 ** 50 },
  );
  opened.push(journal);
  return { journal, attempts: attemptsAt(journal), clock, replayed: replayed ?? [], damaged: damaged ?? [] };
}

const cutOff = (number: number, outputEstimate: number, more: Differing = {}): LedgerRecord =>
  makeRecord({ number, outcome: 'interrupted', usage: undefined, outputEstimate, ...more });

async function recordsOf({ journal }: Life): Promise<readonly LedgerRecord[]> {
  await journal.flush();
  const page = await journal.read(undefined);
  const lines = page?.bytes.toString('utf8').split('\n').filter(Boolean) ?? [];
  return lines.map((line) => ledgerRecordSchema.parse(JSON.parse(line)));
}

const reported = (records: readonly LedgerRecord[]) =>
  records.map(({ attempt, outcome, usage }) => `${attempt} ${outcome} ${usage.output}`);

describe('an attempt in flight at a crash', () => {
  test('has a record with the outcome interrupted, an estimate and a payer', async () => {
    const { journal, attempts } = live();
    attempts.begin('req_1.1', () => cutOff(1, 5));
    await journal.flush();
    const next = live();
    expect(await recordsOf(next)).toEqual([
      expect.objectContaining({
        id: 'req_1.1',
        outcome: 'interrupted',
        isEstimated: true,
        usage: expect.objectContaining({ input: 101, output: 5 }),
        payer: 'tenant',
        costPicodollars: 101 * 1_000_000 + 5 * 2_000_000,
      }),
    ]);
    expect(next.replayed).toEqual([1]);
  });

  test('has that record once, however often the gateway starts and crashes afterwards', async () => {
    const { journal, attempts } = live();
    attempts.begin('req_1.1', () => cutOff(1, 5));
    await journal.flush();
    for (let times = 0; times < 3; times++) await recordsOf(live());
    expect(reported(await recordsOf(live()))).toEqual(['1 interrupted 5']);
  });

  test('is recorded as it was some seconds before the crash', async () => {
    const { journal, attempts, clock } = live();
    let output = 1;
    attempts.begin('req_1.1', () => cutOff(1, output));
    await journal.flush();
    output = 700;
    await journal.flush();
    // The journal writes it by itself.
    expect(clock.pending()).toContain(5_000);
    output = 800;
    clock.advance(5_000);
    await journal.flush();
    output = 900;
    expect(reported(await recordsOf(live()))).toEqual(['1 interrupted 800']);
  });

  test('that had ended before its record could be written is recorded as it ended', async () => {
    const { journal, attempts, replayed } = live();
    for (const number of [1, 2]) attempts.begin(`req_1.${number}`, () => cutOff(number, 5));
    await journal.flush();
    for (const number of [1, 2]) attempts.begin(`req_1.${number}`, () => makeRecord({ number }));
    await journal.flush();
    attempts.append(makeRecord({ number: 1 }));
    await journal.flush();
    expect([reported(await recordsOf(live())), replayed]).toEqual([['1 answered 50', '2 answered 50'], []]);
  });

  test('that had ended within the group of its record has no second one', async () => {
    const { journal, attempts } = live(1_000);
    attempts.begin('req_1.1', () => cutOff(1, 5));
    await journal.flush();
    attempts.begin('req_1.1', () => makeRecord({ number: 1 }));
    for (const number of [1, 3, 4, 5]) {
      attempts.append(makeRecord({ number }));
      await journal.flush();
    }
    for (let cursor: string | undefined, times = 0; times < 6; times++) {
      cursor = (await journal.read(cursor))?.cursor;
    }
    expect(live(1_000).replayed).toEqual([]);
  });

  test('that has its own record in the journal has no second one', async () => {
    const { journal, attempts } = live();
    attempts.begin('req_1.1', () => cutOff(1, 5));
    attempts.begin('req_1.2', () => cutOff(2, 6));
    await journal.flush();
    attempts.append(makeRecord({ number: 1 }));
    await journal.flush();
    const next = live();
    expect(reported(await recordsOf(next))).toEqual(['1 answered 50', '2 interrupted 6']);
    expect(next.replayed).toEqual([1]);
  });

  test('has no second one either after a crash between its record and the note of its end', async () => {
    const { journal, attempts } = live();
    attempts.begin('req_1.1', () => cutOff(1, 5));
    await journal.flush();
    await copyFile(path, `${path}.before`);
    attempts.append(makeRecord({ number: 1 }));
    await journal.flush();
    await copyFile(`${path}.before`, path);
    const next = live();
    expect(reported(await recordsOf(next))).toEqual(['1 answered 50']);
    expect(next.replayed).toEqual([]);
  });

  test('has no second one either after its record was acknowledged and deleted', async () => {
    const { journal, attempts } = live(1_000);
    for (const number of [1, 2]) attempts.begin(`req_1.${number}`, () => cutOff(number, number));
    await journal.flush();
    for (const number of [1, 3, 4, 5]) {
      attempts.append(makeRecord({ number }));
      await journal.flush();
    }
    for (let cursor: string | undefined, times = 0; times < 6; times++) {
      cursor = (await journal.read(cursor))?.cursor;
    }
    expect(reported(await recordsOf(live(1_000)))).toEqual(['2 interrupted 2']);
  });

  test('is not forgotten if its record arrives during the write of a group', async () => {
    const { journal, attempts } = live();
    attempts.begin('req_1.1', () => cutOff(1, 5));
    await journal.flush();
    attempts.append(makeRecord({ number: 9 }));
    const writing = journal.flush();
    // The group is taken a moment after the call.
    await Promise.resolve();
    attempts.append(makeRecord({ number: 1 }));
    await writing;
    expect(reported(await recordsOf(live()))).toEqual(['9 answered 50', '1 interrupted 5']);
  });
});

describe('the file beside the journal', () => {
  test('holds no attempts that end within a group', async () => {
    const { journal, attempts } = live();
    for (let number = 1; number <= 100; number++) {
      attempts.begin(`req_1.${number}`, () => expect.unreachable('nobody has to estimate'));
      attempts.append(makeRecord({ number }));
    }
    await journal.flush();
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  test('can be read by its owner only', async () => {
    const { journal, attempts } = live();
    attempts.begin('req_1.1', () => cutOff(1, 5));
    await journal.flush();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('does not grow with the number of attempts', async () => {
    const { journal, attempts } = live();
    const key = { id: 'team/key', metadata: { long: 'x'.repeat(500_000) } };
    attempts.begin('req_1.99', () => cutOff(99, 5));
    for (let number = 1; number <= 40; number++) {
      attempts.begin(`req_1.${number}`, () => cutOff(number, 5, { key }));
      await journal.flush();
      attempts.append(makeRecord({ number }));
      await journal.flush();
    }
    expect((await stat(path)).size).toBeLessThan(6 * 1024 * 1024);
    expect(await readFile(path, 'utf8')).toContain('"req_1.99"');
    expect(live().replayed).toEqual([1]);
  });

  test('is read as far as it is valid: half a line is left out, a damaged one is quarantined and counted', async () => {
    const { journal, attempts } = live();
    for (const number of [1, 2, 3]) attempts.begin(`req_1.${number}`, () => cutOff(number, number));
    await journal.flush();
    await writeFile(path, (await readFile(path, 'utf8')).replace('"output":2,', '"output":9,'));
    await appendFile(path, '{"id":"req_1.4","requ');
    const next = live();
    expect(reported(await recordsOf(next))).toEqual(['1 interrupted 1', '3 interrupted 3']);
    expect(next.damaged).toEqual([1]);
    expect(await readFile(join(folder, 'damaged.jsonl'), 'utf8')).toContain('"output":9,');
  });
});

describe('a damaged record', () => {
  async function damage(): Promise<Life> {
    const { journal, attempts } = live();
    for (const number of [1, 2, 3]) attempts.append(makeRecord({ number }));
    await journal.flush();
    const records = join(folder, 'journal.jsonl');
    await writeFile(records, (await readFile(records, 'utf8')).replace('"attempt":2', '"attempt":7'));
    return live();
  }

  test('is not sent, but counted once and quarantined', async () => {
    const life = await damage();
    expect((await recordsOf(life)).map(({ attempt }) => attempt)).toEqual([1, 3]);
    expect((await recordsOf(life)).map(({ attempt }) => attempt)).toEqual([1, 3]);
    expect(life.damaged).toEqual([1]);
    expect(await readFile(join(folder, 'damaged.jsonl'), 'utf8')).toContain('"attempt":7');
  });

  test('does not stop a reader from the records after it', async () => {
    const { journal, attempts } = await damage();
    const page = await journal.read(undefined);
    attempts.append(makeRecord({ number: 4 }));
    await journal.flush();
    const next = await journal.read(page?.cursor);
    expect(next?.bytes.toString('utf8')).toContain('"attempt":4');
  });
});
