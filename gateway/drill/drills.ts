// Which drills does this pod run, and with which outcomes? An outcome is kept until its order disappears.

import { DRILL_ORDERS_MAX, type DrillOrder, type DrillOutcome } from '../../core/contract/exchange.ts';

export class Drills {
  private readonly run: (order: DrillOrder) => Promise<DrillOutcome>;
  /** By id of the order; undefined while it runs. */
  private readonly known = new Map<string, DrillOutcome | undefined>();
  private readonly listeners = new Set<() => void>();
  private ended: readonly DrillOutcome[] = [];
  private wanted: readonly DrillOrder[] = [];
  private running = 0;

  /** @param run Must not reject. */
  constructor(run: (order: DrillOrder) => Promise<DrillOutcome>) {
    this.run = run;
  }

  /** All orders that stand: new ones begin, and of those that are not among them nothing is remembered. */
  order(orders: readonly DrillOrder[]): void {
    this.wanted = orders;
    const wanted = new Set(orders.map(({ id }) => id));
    for (const id of this.known.keys()) if (!wanted.has(id)) this.known.delete(id);
    this.gather();
    this.begin();
  }

  /** The same value until another drill is over, or forgotten. */
  outcomes(): readonly DrillOutcome[] {
    return this.ended;
  }

  /** Called after every drill. @returns A function that removes the listener. */
  onEnd(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** No more at once than one request can order: those that are forgotten run to their end too. */
  private begin(): void {
    for (const order of this.wanted) {
      if (this.running >= DRILL_ORDERS_MAX) return;
      if (this.known.has(order.id)) continue;
      this.known.set(order.id, undefined);
      this.running += 1;
      void this.run(order).then((outcome) => {
        this.running -= 1;
        this.end(outcome);
        this.begin();
      });
    }
  }

  private end(outcome: DrillOutcome): void {
    if (!this.known.has(outcome.id)) return;
    this.known.set(outcome.id, outcome);
    this.gather();
    for (const listener of [...this.listeners]) listener();
  }

  private gather(): void {
    const outcomes = [...this.known.values()].filter((outcome) => outcome !== undefined);
    const isSame =
      outcomes.length === this.ended.length && outcomes.every((one, index) => one === this.ended[index]);
    if (!isSame) this.ended = outcomes;
  }
}
