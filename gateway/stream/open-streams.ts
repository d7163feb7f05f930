// Which requests are under way? Counted for the drain, and reachable for its last word.

import type { GatewayError } from '../errors.ts';

/** A request that can be told that the process is going. */
export interface OpenRequest {
  breakOff(error: GatewayError): void;
}

export class OpenStreams {
  private readonly open = new Set<OpenRequest>();
  private waiters: (() => void)[] = [];

  get size(): number {
    return this.open.size;
  }

  add(request: OpenRequest): void {
    this.open.add(request);
  }

  remove(request: OpenRequest): void {
    this.open.delete(request);
    if (this.open.size > 0) return;
    for (const waiter of this.waiters.splice(0)) waiter();
  }

  /** Resolves when nothing is under way. */
  empty(): Promise<void> {
    if (this.open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiters.push(resolve);
    });
  }

  breakOff(error: GatewayError): void {
    for (const request of [...this.open]) request.breakOff(error);
  }
}
