// Which requests are under way? Counted for the drain, and reachable for its last word.

import type { GatewayError } from '../request/errors.ts';

/** A request that can be told that the process is going. */
export interface OpenRequest {
  /** Where it stands in the list; kept by the list. */
  place: number;
  breakOff(error: GatewayError): void;
}

/**
 * An array, not a Set: tables that a Set has outgrown keep what they held until a full collection,
 * and with every request all it refers to (measured: 7 KB a request).
 */
export class OpenStreams {
  private readonly open: OpenRequest[] = [];
  private readonly waiters: (() => void)[] = [];

  get size(): number {
    return this.open.length;
  }

  add(request: OpenRequest): void {
    request.place = this.open.push(request) - 1;
  }

  remove(request: OpenRequest): void {
    const last = this.open.pop();
    if (last && last !== request) {
      this.open[request.place] = last;
      last.place = request.place;
    }
    if (this.open.length > 0) return;
    for (const resolve of this.waiters.splice(0)) resolve();
  }

  /** Resolves when nothing is under way. */
  empty(): Promise<void> {
    if (this.open.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiters.push(resolve);
    });
  }

  breakOff(error: GatewayError): void {
    for (const request of [...this.open]) request.breakOff(error);
  }
}
