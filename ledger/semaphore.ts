// How are many kept from doing the same at once? Each holds a permit while it does; permits are given in the order in which they were
// asked for.

interface Permit extends Disposable {
  /** Resolves when a permit is free. Rejects if the semaphore is disposed of. */
  acquire(): Promise<void>;
}

export class Semaphore {
  private free: number;
  private readonly waiting = new Set<() => void>();

  constructor(permits: number) {
    this.free = permits;
  }

  /** Disposed of, it is given back, or its place in the queue is. */
  open(): Permit {
    let giveBack = (): void => {};
    const release = (): void => {
      const [next] = this.waiting;
      if (next === undefined) this.free++;
      else next();
    };
    return {
      acquire: async () => {
        if (this.free > 0) {
          this.free--;
          giveBack = release;
          return;
        }
        await new Promise<void>((resolve, reject) => {
          const onTurn = (): void => {
            this.waiting.delete(onTurn);
            giveBack = release;
            resolve();
          };
          this.waiting.add(onTurn);
          giveBack = () => {
            this.waiting.delete(onTurn);
            reject(new Error('it no longer waits'));
          };
        });
      },
      [Symbol.dispose]: () => {
        giveBack();
        giveBack = () => {};
      },
    };
  }

  /** Runs one of them, in its turn. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    using permit = this.open();
    await permit.acquire();
    return await work();
  }
}
