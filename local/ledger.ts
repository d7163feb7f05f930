// Where do the records of a laptop go? From the journal of the gateway beside it into one file, which the ledger's commands read.

import { SPEND_KEYS_MAX } from '../core/contract/spend.ts';
import type { AskSpend } from '../gateway/limits/ledger-reader.ts';
import type { ReadableJournal } from '../gateway/meter/journal.ts';
import { readSpendPage } from '../ledger/read-api/spend-page.ts';
import { readPage } from '../ledger/read-page.ts';
import { openSqliteStore } from '../ledger/store/sqlite.ts';
import type { LedgerStore, Page } from '../ledger/store/store.ts';

interface LocalLedger {
  readonly store: LedgerStore;
  readonly askSpend: AskSpend;
  /** Reads the rest of the journal first. */
  close(): Promise<void>;
}

/** Under which name the cursor is kept: there is one journal. */
const source = 'local';

/**
 * @param onPage Called with what was stored.
 * @param print Called once for each reason for which nothing can be stored; it is tried again with the next record.
 * @throws {Error} where the file cannot be opened.
 */
export async function openLocalLedger(
  path: string,
  journal: ReadableJournal,
  wallMs: () => number,
  print: (line: string) => void,
  onPage: (page: Pick<Page, 'entries' | 'refusals' | 'refusalSums'>) => void = () => {},
): Promise<LocalLedger> {
  const store = await openSqliteStore(path, undefined, (reason) => print(`The ledger is slow: ${reason}`));
  let cursor = await store.cursorOf(source);
  let reported: string | undefined;

  const takeAll = async (): Promise<void> => {
    for (;;) {
      const page = (await journal.read(cursor)) ?? (await journal.read(undefined));
      if (page === undefined || page.bytes.length === 0) return;
      const { skipped: _, ...lines } = readPage(page.bytes);
      await store.take({ source, cursor: page.cursor, ...lines }, wallMs());
      cursor = page.cursor;
      onPage(lines);
      if (lines.asides.length > 0)
        print(`${lines.asides.length} journal lines are not ledger records and were skipped.`);
    }
  };
  // One at a time, in turn: records written during a run are taken by the next.
  let running: Promise<void> = Promise.resolve();
  const run = (): Promise<void> => {
    running = running.then(takeAll).then(
      () => {
        reported = undefined;
      },
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== reported) print(`The ledger could not be written: ${reason}`);
        reported = reason;
      },
    );
    return running;
  };
  const stopListening = journal.onWritten(() => void run());
  void run();

  return {
    store,
    askSpend: (after, day) => readSpendPage(store, wallMs(), { after, limit: SPEND_KEYS_MAX, day }),
    async close() {
      stopListening();
      await run();
      await store.close();
    },
  };
}
