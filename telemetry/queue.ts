// What if a collector is slow or gone? What waits for it is bounded: the oldest is dropped and counted, and nobody is kept waiting.

import type { Clock } from './clock.ts';

export interface QueueOptions<Item> {
  /** Waiting; one more, and the oldest goes. */
  readonly itemsMax: number;
  /** Sent at a time. */
  readonly batchMax: number;
  /** How long an item waits for others to go with it. */
  readonly delayMs: number;
  /** How long a batch may take; then it is given up. */
  readonly sendWithinMs: number;
  readonly clock: Clock;
  /** Whether the batch was taken. Never rejects. */
  send(batch: readonly Item[]): Promise<boolean>;
  /** `full`: they came faster than they went. `failed`: they were sent, and not taken. */
  onDropped(reason: 'full' | 'failed', items: number): void;
}

export class ExportQueue<Item> {
  private readonly options: QueueOptions<Item>;
  /** A ring: the oldest stands at `first`. */
  private readonly ring: (Item | undefined)[];
  private first = 0;
  private waiting = 0;
  private cancelTimer: (() => void) | undefined;
  private sending: Promise<void> | undefined;
  private isClosed = false;

  constructor(options: QueueOptions<Item>) {
    this.options = options;
    this.ring = new Array(options.itemsMax);
  }

  get size(): number {
    return this.waiting;
  }

  add(item: Item): void {
    const { itemsMax, batchMax, delayMs, onDropped } = this.options;
    if (this.isClosed) {
      onDropped('full', 1);
      return;
    }
    if (this.waiting === itemsMax) {
      this.first = (this.first + 1) % itemsMax;
      this.waiting--;
      onDropped('full', 1);
    }
    this.ring[(this.first + this.waiting) % itemsMax] = item;
    this.waiting++;
    if (this.sending !== undefined) return;
    // Never here: whoever adds is serving a request.
    if (this.waiting === batchMax) this.sendIn(0);
    else if (!this.cancelTimer) this.sendIn(delayMs);
  }

  /** Sends what waits; what could not be sent by then is dropped. */
  async close(withinMs: number): Promise<void> {
    this.isClosed = true;
    const { clock, onDropped } = this.options;
    const over = Promise.withResolvers<'over'>();
    const cancel = clock.setTimer(withinMs, () => over.resolve('over'));
    while (this.waiting > 0 || this.sending !== undefined) {
      this.startSending();
      if ((await Promise.race([this.sending, over.promise])) === 'over') break;
    }
    cancel();
    this.cancelTimer?.();
    if (this.waiting > 0) onDropped('failed', this.waiting);
    this.waiting = 0;
  }

  private sendIn(ms: number): void {
    this.cancelTimer?.();
    this.cancelTimer = this.options.clock.setTimer(ms, () => this.startSending());
  }

  /** One batch at a time: a collector that is slow has one of them, not all. */
  private startSending(): void {
    if (this.sending !== undefined || this.waiting === 0) return;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.sending = this.sendBatch().finally(() => {
      this.sending = undefined;
      if (this.isClosed || this.waiting === 0) return;
      this.sendIn(this.waiting >= this.options.batchMax ? 0 : this.options.delayMs);
    });
  }

  private async sendBatch(): Promise<void> {
    const batch = this.take();
    const { clock, sendWithinMs, send, onDropped } = this.options;
    const late = Promise.withResolvers<boolean>();
    const cancel = clock.setTimer(sendWithinMs, () => late.resolve(false));
    const isTaken = await Promise.race([send(batch), late.promise]);
    cancel();
    if (!isTaken) onDropped('failed', batch.length);
  }

  private take(): readonly Item[] {
    const batch: Item[] = [];
    while (batch.length < this.options.batchMax && this.waiting > 0) {
      const item = this.ring[this.first];
      // What is sent must not be kept.
      this.ring[this.first] = undefined;
      this.first = (this.first + 1) % this.options.itemsMax;
      this.waiting--;
      if (item !== undefined) batch.push(item);
    }
    return batch;
  }
}
