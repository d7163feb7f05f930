// What does the next process find of calls that had ended when a gateway was killed, and whose records could not be written yet, since
// their request went on?

import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { type LedgerRecord, ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { openFileJournal } from '../../gateway/meter/journal.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { until } from '../support/until.ts';
import { type Behaviour, type Call, startWall, type Wall } from '../support/wall.ts';
import { askOpen, isBag, lineOf } from './ask.ts';

let parts = new AsyncDisposableStack();
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-ended-'));
  const made = folder;
  parts.defer(() => rm(made, { recursive: true }));
});

afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

const openJournal = (at: string) =>
  openFileJournal(at, systemClock, {
    failed: (reason) => expect.unreachable(reason),
    dropped: (records) => expect.unreachable(`${records} records dropped`),
  });

async function wallOf(script: (call: Call) => Behaviour): Promise<Wall> {
  return parts.adopt(await startWall(script), (one) => one.close());
}

async function rigOf(walls: readonly Wall[]): Promise<Rig> {
  const table = tableOf(walls.map(({ baseUrl }) => ({ baseUrl, dialects: ['openai-chat'] })));
  const journal = openJournal(join(folder, 'first'));
  return parts.adopt(await startRig(table, { journal }), (one) => one.close());
}

/** The prompt of a call. */
function promptOf({ json }: Call): unknown {
  const [message] = isBag(json) && Array.isArray(json.messages) ? json.messages : [];
  return isBag(message) ? message.content : undefined;
}

/** As if the process had been killed now: what lies on its disk, read by another one. */
async function afterKill(): Promise<readonly LedgerRecord[]> {
  const next = join(folder, 'next');
  await cp(join(folder, 'first'), next, { recursive: true });
  const journal = openJournal(next);
  await journal.flush();
  const page = await journal.read(undefined);
  await journal.close();
  const lines = page?.bytes.toString('utf8').split('\n').filter(Boolean) ?? [];
  return lines.map((line) => ledgerRecordSchema.parse(JSON.parse(line)));
}

async function untilWritten(pattern: RegExp): Promise<void> {
  const path = join(folder, 'first', 'under-way.jsonl');
  await until(async () => pattern.test(await readFile(path, 'utf8').catch(() => '')));
}

const usage = { inputTokens: 7, outputTokens: 5 };

describe('calls of a request that continues', () => {
  test('plain: counted, and paid by the platform, since no client received anything', async () => {
    const wall = await wallOf((call) =>
      promptOf(call) === 'three' ? { type: 'hang', when: 'before-headers' } : { type: 'answer', usage },
    );
    const rig = await rigOf([wall]);
    const more = { prompt: ['one', 'two', 'three'] };
    const { connection } = await askOpen(rig, { endpoint: 'completions', more });
    await untilWritten(/"answered".*"answered"/s);
    const records = await afterKill();
    connection.close();
    expect(records.map(lineOf).sort()).toEqual([
      '1 t0 answered platform',
      '2 t0 answered platform',
      '3 t0 interrupted platform',
    ]);
    for (const { outcome, usage: counted, isEstimated } of records) {
      if (outcome === 'answered') expect([counted.input, counted.output, isEstimated]).toEqual([7, 5, false]);
    }
  });

  test('streamed: a failed attempt keeps its outcome, whatever the next attempt does', async () => {
    const broken = await wallOf((call) =>
      promptOf(call) === 'two' ? { type: 'status', status: 503 } : { type: 'answer', usage },
    );
    const spare = await wallOf(() => ({ type: 'stall', after: { contentEvents: 3 } }));
    const rig = await rigOf([broken, spare]);
    const { connection, answer } = await askOpen(rig, {
      endpoint: 'completions',
      isStream: true,
      more: { prompt: ['one', 'two'] },
    });
    const seen = await answer;
    while (!(await seen.nextEvent())?.data?.includes('"index":1'));
    await untilWritten(
      /^(?=.*"answered")(?=.*"failed")(?=.*(?:"t1"[^\n]*"payer":"tenant"|"payer":"tenant"[^\n]*"t1"))/s,
    );
    const records = await afterKill();
    connection.close();
    expect(records.map(lineOf).sort()).toEqual([
      '1 t0 answered tenant',
      '2 t0 failed status_503 platform',
      '3 t1 interrupted tenant',
    ]);
  });
});

test('an answer whose tokens are being counted: delivered, and billed', async () => {
  const wall = await wallOf(() => ({ type: 'answer', usageChunk: 'never', usage: { outputTokens: 1.5 } }));
  const table = tableOf([{ baseUrl: wall.baseUrl, upstreamModel: 'gpt-4o' }]);
  const journal = openJournal(join(folder, 'first'));
  const rig = parts.adopt(await startRig(table, { journal }), (one) => one.close());
  const { connection, answer } = await askOpen(rig);
  await (await answer).finished;
  await journal.flush();
  const records = await afterKill();
  connection.close();
  expect(records.map(lineOf)).toEqual(['1 t0 answered tenant']);
});
