// What has this process spent of each budget, and what may it have to spend for requests under way? Kept until the ledger tells of it,
// or the period is over.

import type { BudgetClaim, BudgetReading } from './reservation.ts';

interface BudgetState {
  spent: number;
  held: number;
  readonly endMs: number | undefined;
}

/** Something spent that the ledger will tell of. */
interface Unseen {
  /** By budget. */
  readonly costs: Map<string, number>;
  /** Its records are among the first so many of the journal. */
  recordsBefore: number;
}

/** More are not kept where no ledger sees anything: some 10 s of a busy pod. */
const unseenMax = 10_000;

const nothing: BudgetReading = { spent: 0, held: 0 };

export class OwnBudgets {
  private readonly budgets = new Map<string, BudgetState>();
  /** In the order in which they were spent. */
  private readonly unseen: Unseen[] = [];

  /** Budgets of which anything is known. */
  get size(): number {
    return this.budgets.size;
  }

  /** Entries that wait for the ledger; bounded, however long it is away. */
  get unseenSize(): number {
    return this.unseen.length;
  }

  read(key: string): BudgetReading {
    const state = this.budgets.get(key);
    return state === undefined ? nothing : { spent: state.spent, held: state.held };
  }

  hold({ key, amount, hold = amount, endMs }: BudgetClaim): void {
    const state = this.budgets.get(key) ?? { spent: 0, held: 0, endMs };
    state.held += hold;
    this.budgets.set(key, state);
  }

  /**
   * Ends what was held.
   *
   * @param recordsBefore Records of the journal by now; undefined where no ledger tells of them.
   */
  settle({ key, amount, hold = amount }: BudgetClaim, cost: number, recordsBefore: number | undefined): void {
    const state = this.budgets.get(key);
    if (state === undefined) return;
    state.held -= hold;
    state.spent += cost;
    if (recordsBefore !== undefined && cost > 0) this.awaitLedger(key, cost, recordsBefore);
  }

  /** The sums of the ledger hold the first so many records of the journal: what was spent on those is among them. */
  see(records: number): void {
    const end = this.unseen.findIndex(({ recordsBefore }) => recordsBefore > records);
    for (const { costs } of this.unseen.splice(0, end === -1 ? this.unseen.length : end)) {
      for (const [key, cost] of costs) {
        const state = this.budgets.get(key);
        if (state !== undefined) state.spent -= cost;
      }
    }
  }

  /** Forgets periods that are over, and budgets of which nothing is spent or held. */
  sweep(wallMs: number): void {
    for (const [key, { spent, held, endMs = Number.POSITIVE_INFINITY }] of this.budgets) {
      if (held === 0 && (spent === 0 || endMs <= wallMs)) this.budgets.delete(key);
    }
  }

  /** What was spent last. */
  private awaitLedger(key: string, cost: number, recordsBefore: number): void {
    const last = this.unseen.at(-1);
    // Where there are too many, the newest become one: it counts as seen later than some of it was, never earlier.
    if (last !== undefined && (last.recordsBefore === recordsBefore || this.unseen.length === unseenMax)) {
      last.costs.set(key, (last.costs.get(key) ?? 0) + cost);
      last.recordsBefore = recordsBefore;
    } else {
      this.unseen.push({ costs: new Map([[key, cost]]), recordsBefore });
    }
  }
}
