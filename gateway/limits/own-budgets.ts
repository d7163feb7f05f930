// What has this process spent of each budget, and what may requests in flight still spend? Kept until the ledger reports it,
// or the period is over.

import { type Budget, type PeriodBounds, periodAt } from '../../core/contract/budget.ts';
import type { BudgetReading } from './reservation.ts';
import type { Subject } from './subject.ts';

const nanodollarsPerMicrodollar = 1_000;

/** One budget of one subject in one period. */
export class OwnBudget implements BudgetReading {
  /** Names the subject and the period with its first day, so that a new period begins with nothing spent. */
  readonly key: string;
  readonly subject: Pick<Subject, 'kind' | 'id'>;
  readonly period: Budget['period'];
  readonly bounds: PeriodBounds;
  spent = 0;
  held = 0;
  /** Else nothing is known of it. */
  isKept = false;

  constructor(key: string, { kind, id }: Subject, period: Budget['period'], bounds: PeriodBounds) {
    this.key = key;
    this.subject = { kind, id };
    this.period = period;
    this.bounds = bounds;
  }
}

/** A budget of a table, in the period that it is in. */
export interface AskedBudget {
  readonly subject: Subject;
  readonly budget: Budget;
  /** What may be spent in the period. */
  readonly limit: number;
  own: OwnBudget;
}

/** Budgets of a subject, and how long they are those to be asked. */
interface Asked {
  readonly budgets: readonly AskedBudget[];
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Something spent that the ledger will tell of. */
interface Unseen {
  readonly budgets: readonly AskedBudget[];
  readonly cost: number;
  /** Its records are among this many first records of the journal. */
  readonly recordsBefore: number;
}

/** Most entries kept without an answer of the ledger: some 10 s of a busy pod. */
const unseenMax = 10_000;

export class OwnBudgets {
  private readonly budgets = new Map<string, OwnBudget>();
  private readonly asked = new WeakMap<Subject, Asked>();
  /** In the order in which they were spent. */
  private unseen: Unseen[] = [];
  /** Spending beyond that number: it counts as acknowledged later than some of it was, never earlier. */
  private readonly excess = new Map<OwnBudget, number>();
  private excessBefore = 0;

  /** Budgets of which anything is known. */
  get size(): number {
    return this.budgets.size;
  }

  /** Entries that wait for the ledger; bounded, however long it is away. */
  get unseenSize(): number {
    return this.unseen.length;
  }

  /** In the periods that a moment is in. */
  askedOf(subject: Subject, wallMs: number): readonly AskedBudget[] {
    const known = this.asked.get(subject);
    if (known !== undefined && wallMs >= known.fromMs && wallMs < known.untilMs) {
      this.find(known.budgets);
      return known.budgets;
    }
    const budgets = (subject.budgets ?? []).map((budget): AskedBudget => {
      const { period, limitMicrodollars } = budget;
      const bounds = periodAt(period, wallMs);
      const key = `${subject.kind}:${subject.id}:${period}:${bounds.start}`;
      const own = this.keptOr(new OwnBudget(key, subject, period, bounds));
      return { subject, budget, limit: limitMicrodollars * nanodollarsPerMicrodollar, own };
    });
    // All periods begin and end with a day.
    const { start, endMs = wallMs } = periodAt('Day', wallMs);
    this.asked.set(subject, { budgets, fromMs: Date.parse(start), untilMs: endMs });
    return budgets;
  }

  /** Looks again for budgets that were not found before. */
  find(budgets: readonly AskedBudget[]): void {
    for (const asked of budgets) if (!asked.own.isKept) asked.own = this.keptOr(asked.own);
  }

  hold(budgets: readonly AskedBudget[], amount: number): void {
    this.find(budgets);
    for (const { own } of budgets) {
      own.held += amount;
      if (own.isKept) continue;
      own.isKept = true;
      this.budgets.set(own.key, own);
    }
  }

  /**
   * Ends what was held.
   *
   * @param recordsBefore Records of the journal by now; undefined without a ledger.
   */
  settle(
    budgets: readonly AskedBudget[],
    amount: number,
    cost: number,
    recordsBefore: number | undefined,
  ): void {
    for (const { own } of budgets) {
      own.held -= amount;
      own.spent += cost;
    }
    if (recordsBefore !== undefined && cost > 0) this.awaitLedger({ budgets, cost, recordsBefore });
  }

  /** The ledger's sums include this many first records of the journal, with their spending. */
  see(records: number): void {
    const end = this.unseen.findIndex(({ recordsBefore }) => recordsBefore > records);
    for (const { budgets, cost } of this.unseen.splice(0, end === -1 ? this.unseen.length : end))
      for (const { own } of budgets) own.spent -= cost;
    if (this.excessBefore > records) return;
    for (const [own, cost] of this.excess) own.spent -= cost;
    this.excess.clear();
  }

  /** Forgets periods that are over, and budgets of which nothing is spent or held. */
  sweep(wallMs: number): void {
    for (const [key, own] of this.budgets) {
      const { spent, held, bounds } = own;
      const isOver = bounds.endMs !== undefined && bounds.endMs <= wallMs;
      if (held > 0 || (spent > 0 && !isOver)) continue;
      own.isKept = false;
      this.budgets.delete(key);
    }
  }

  private keptOr(own: OwnBudget): OwnBudget {
    return this.budgets.get(own.key) ?? own;
  }

  private awaitLedger(spent: Unseen): void {
    if (this.unseen.length < unseenMax) {
      this.unseen.push(spent);
      return;
    }
    for (const { own } of spent.budgets) this.excess.set(own, (this.excess.get(own) ?? 0) + spent.cost);
    this.excessBefore = spent.recordsBefore;
  }
}
