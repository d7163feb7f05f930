// What have keys spent by now? The ledger here is asked as the operator asks that of a cluster: for those that have changed, all in one
// question.

import type { Clock } from '../../core/clock.ts';
import { periodAt } from '../../core/contract/budget.ts';
import { SPEND_KEYS_MAX, type Spent } from '../../core/contract/spend.ts';
import { readSpendPage } from '../../ledger/read-api/spend-page.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import { followLedger } from '../../operator/usage/follow-ledger.ts';
import { createSpendBook } from '../../operator/usage/spend-book.ts';

interface FollowSpendOptions {
  readonly store: Pick<LedgerStore, 'spend'>;
  readonly clock: Clock;
  /** @param apiKeys `namespace/name` of those that have changed; undefined: any may have. */
  onSpend(spentOf: (apiKey: string) => Spent | undefined, apiKeys: readonly string[] | undefined): void;
  onFailure(error: unknown): void;
}

export function followSpend({ store, clock, onSpend, onFailure }: FollowSpendOptions): {
  close(): Promise<void>;
} {
  const book = createSpendBook();
  /** The day of the last complete report. */
  let reportedDay: string | undefined;
  return followLedger({
    book,
    clock,
    random: () => 0,
    ask: ({ after }) => readSpendPage(store.spend, clock.wallMs(), { after, limit: SPEND_KEYS_MAX }),
    // It lies in this process.
    tokenOf: () => '',
    onNews(news) {
      if (!book.isWhole()) {
        reportedDay = undefined;
        return;
      }
      // Every period ends with a day.
      const day = periodAt('Day', clock.wallMs()).start;
      const isNewDay = day !== reportedDay;
      reportedDay = day;
      const changed = news.type === 'changed' ? news.keys : [];
      if (isNewDay) onSpend(book.ofKey, undefined);
      else if (changed.length > 0) onSpend(book.ofKey, changed);
    },
    onFault: onFailure,
    onAway: onFailure,
    onBack: () => {},
  });
}
