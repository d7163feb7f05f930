// Has the caller gone away? A signal of one bit; an AbortSignal does the same at many times the cost.

export interface CancelSignal {
  readonly isCancelled: boolean;
  /** Calls back once, at once if it has happened already; gives a function that stops it. */
  onCancel(callback: () => void): () => void;
}

export class Cancellation implements CancelSignal {
  private left = false;
  private callbacks: (() => void)[] = [];

  get isCancelled(): boolean {
    return this.left;
  }

  onCancel(callback: () => void): () => void {
    if (this.left) {
      callback();
      return () => {};
    }
    this.callbacks.push(callback);
    return () => {
      this.callbacks = this.callbacks.filter((other) => other !== callback);
    };
  }

  cancel(): void {
    if (this.left) return;
    this.left = true;
    const { callbacks } = this;
    this.callbacks = [];
    for (const callback of callbacks) callback();
  }
}
