// What a gateway pod is to the ledger: a real journal in a folder, handed out by the gateway's own server on a port of its own.

import { once } from 'node:events';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../core/clock.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import { Drills } from '../../gateway/drill/drills.ts';
import { PodState } from '../../gateway/exchange/pod-state.ts';
import { buildExchangeServer } from '../../gateway/exchange/server.ts';
import { openFileJournal, type ReadableJournal } from '../../gateway/meter/journal.ts';
import { Health } from '../../gateway/route/health.ts';
import { TableStatus } from '../../gateway/table/status.ts';
import type { JournalPod } from '../../ledger/ask-journal.ts';
import { noPlan } from '../gateway/exchange/no-plan.ts';
import { ended } from '../gateway/meter/record-attempt.ts';

export const token = 't'.repeat(43);

export interface TestPod {
  readonly pod: JournalPod;
  readonly journal: ReadableJournal;
  readonly folder: string;
  /** Written when it resolves. */
  write(...records: LedgerRecord[]): Promise<void>;
  /** Into the file itself, past the gateway's own code. */
  writeRaw(text: string): Promise<void>;
  close(): Promise<void>;
}

/** @param segmentBytes A full file is begun again; small, so that pages end in many places. */
export async function startPod(uid: string, segmentBytes = 4_000): Promise<TestPod> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-journal-'));
  const open = (): ReadableJournal =>
    openFileJournal(folder, systemClock, { failed() {}, dropped() {} }, { segmentBytes });
  let journal = open();
  const health = new Health(() => 0);
  const server: Server = buildExchangeServer({
    clock: systemClock,
    state: new PodState({
      clock: systemClock,
      table: new TableStatus(systemClock.wallMs),
      health,
      drills: new Drills(() => new Promise(() => {})),
    }),
    journal: {
      begin: (attempt) => journal.begin(attempt),
      append: (attempt) => journal.append(attempt),
      flush: () => journal.flush(),
      close: () => journal.close(),
      read: (after) => journal.read(after),
      onWritten: (listener) => journal.onWritten(listener),
    },
    token: () => token,
    plan: noPlan,
    onReadyPods() {},
  }).server;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP port');
  return {
    pod: { uid, name: `gateway-${uid}`, ip: '127.0.0.1', port: address.port },
    get journal() {
      return journal;
    },
    folder,
    async write(...records) {
      for (const record of records) journal.append(ended(record));
      await journal.flush();
    },
    async writeRaw(text) {
      await journal.close();
      await appendFile(join(folder, 'journal.jsonl'), text);
      journal = open();
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await journal.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
