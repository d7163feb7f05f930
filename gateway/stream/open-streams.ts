// Which requests are in flight? Counted for the drain, which breaks off the last of them.

import type { GatewayError } from '../request/errors.ts';
import { OpenList } from './open-list.ts';

/** A request that can be broken off when the process ends. */
export interface OpenRequest {
  /** Its position in the list; kept by the list. */
  place: number;
  breakOff(error: GatewayError): void;
}

export class OpenStreams {
  private readonly open = new OpenList<OpenRequest>();
  private readonly waiters: (() => void)[] = [];

  get size(): number {
    return this.open.items.length;
  }

  add(request: OpenRequest): void {
    this.open.add(request);
  }

  remove(request: OpenRequest): void {
    this.open.remove(request);
    if (this.size > 0) return;
    for (const resolve of this.waiters.splice(0)) resolve();
  }

  /** Resolves when nothing is in flight. */
  empty(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiters.push(resolve);
    });
  }

  breakOff(error: GatewayError): void {
    for (const request of [...this.open.items]) request.breakOff(error);
  }
}
