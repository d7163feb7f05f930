// Has the caller gone away? A signal of one bit; an AbortSignal does the same at many times the cost.

export interface LeaveSignal {
  readonly hasLeft: boolean;
  /** Calls back once, at once if it has happened already; gives a function that stops it. */
  onLeave(callback: () => void): () => void;
}

export class Leaving implements LeaveSignal {
  private left = false;
  private callbacks: (() => void)[] = [];

  get hasLeft(): boolean {
    return this.left;
  }

  onLeave(callback: () => void): () => void {
    if (this.left) {
      callback();
      return () => {};
    }
    this.callbacks.push(callback);
    return () => {
      this.callbacks = this.callbacks.filter((other) => other !== callback);
    };
  }

  leave(): void {
    if (this.left) return;
    this.left = true;
    const { callbacks } = this;
    this.callbacks = [];
    for (const callback of callbacks) callback();
  }
}
