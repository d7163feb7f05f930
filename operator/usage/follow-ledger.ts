// Follows the spend in the ledger: one loop asks for changes after the last sequence, and passes them on. While the ledger is away it
// retries with a backoff.

import type { Clock } from '../../core/clock.ts';
import type { SpendReport } from '../../core/contract/spend.ts';
import { wait } from '../../core/kube/wait.ts';
import { letOthers } from '../turn.ts';
import type { AskLedger } from './ask-ledger.ts';
import type { SpendBook, SpendNews } from './spend-book.ts';

export interface LedgerFollowerParts {
  readonly book: SpendBook;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  readonly ask: AskLedger;
  /** The bearer token, read for each call; undefined before there is one. */
  tokenOf(): string | undefined;
  onNews(news: SpendNews): void;
  /** An answer could not be processed: a fault of the operator, not of the ledger. */
  onFault(error: unknown): void;
  /** The ledger has not answered for longer than a restart takes; called once. The reason has no secrets. */
  onAway(reason: string): void;
  /** The ledger answers again, after `onAway`. */
  onBack(): void;
}

interface LedgerFollower {
  /** Since its last answer, or since it was asked first. */
  newsAgeMs(): number;
  close(): Promise<void>;
}

/** The longest delay until a used-up budget is reported. */
export const pollMs = 1_000;
const backoffMinMs = 500;
const backoffMaxMs = 15_000;
/** An upgrade of the ledger is no news: its pod ends and comes again. */
const awayMs = 60_000;

export function followLedger(parts: LedgerFollowerParts): LedgerFollower {
  const { book, clock } = parts;
  const end = new AbortController();
  const { signal } = end;
  let answeredAtMs = clock.now();
  let failures = 0;
  let isAway = false;
  const running = run();

  return {
    newsAgeMs: () => clock.now() - answeredAtMs,
    async close() {
      end.abort();
      await running;
    },
  };

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const restMs = await askOnce();
      if (restMs === 0) await letOthers(clock);
      else await wait(clock, restMs, signal);
    }
  }

  /** Gives how long to rest after it. */
  async function askOnce(): Promise<number> {
    let answer: SpendReport;
    try {
      const token = parts.tokenOf();
      if (token === undefined) throw new Error('the operator has no exchange token yet');
      answer = await parts.ask({ token, after: book.after(), signal });
    } catch (error) {
      return signal.aborted ? 0 : onFailure(error);
    }
    if (signal.aborted) return 0;
    failures = 0;
    answeredAtMs = clock.now();
    if (isAway) parts.onBack();
    isAway = false;
    try {
      const news = book.take(answer);
      parts.onNews(news);
      return news.type === 'again' || answer.hasMore ? 0 : pollMs;
    } catch (error) {
      parts.onFault(error);
      return pollMs;
    }
  }

  /** Gives how long to rest after it. */
  function onFailure(error: unknown): number {
    const backoffMs = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(failures, 10));
    failures += 1;
    if (!isAway && clock.now() - answeredAtMs >= awayMs) {
      isAway = true;
      parts.onAway(error instanceof Error ? error.message : 'it could not be reached');
    }
    return backoffMs * (0.5 + parts.random() / 2);
  }
}
