// When is a token renewed? In the background before it ends, by the request that finds it ended, and where it was refused. One exchange at a
// time, shared by all that wait for it; one that fails leaves the token that there is, and is not repeated at once.

import type { Secret } from '../table/secret.ts';
import type { Credential, Lease } from './credential.ts';

export interface GivenToken {
  readonly token: Secret;
  /** 0: unknown; then it is taken to be short. */
  readonly lifetimeMs: number;
}

/** Renewed so long before its end, or in its last quarter where it is shorter. */
const aheadMs = 5 * 60_000;
/** Between exchanges in the background: some services give the same token until shortly before its end. */
const pauseMs = 10_000;
/** Of a token whose lifetime is unknown. */
const shortMs = 60_000;
/** Not asked for any more after its end. */
const unusedMs = 60 * 60_000;

export class TokenCredential implements Credential {
  private readonly exchange: () => Promise<GivenToken>;
  private readonly nowMs: () => number;
  private current: Lease | undefined;
  private renewAtMs = 0;
  private underWay: Promise<Lease> | undefined;

  constructor(exchange: () => Promise<GivenToken>, nowMs: () => number = Date.now) {
    this.exchange = exchange;
    this.nowMs = nowMs;
  }

  /** Asked for by every request: the one that finds its end near begins the renewal, and does not wait for it. */
  get lease(): Lease | undefined {
    const { current } = this;
    if (current !== undefined && this.nowMs() >= this.renewAtMs && this.nowMs() < current.endsAtMs) {
      this.renewAtMs = this.nowMs() + pauseMs;
      this.renew().catch(() => {
        // The token is good until its end; then a request waits for a new one, or fails.
      });
    }
    return current;
  }

  get isUnused(): boolean {
    return this.current !== undefined && this.nowMs() > this.current.endsAtMs + unusedMs;
  }

  renew(): Promise<Lease> {
    this.underWay ??= this.take().finally(() => {
      this.underWay = undefined;
    });
    return this.underWay;
  }

  drop(lease: Lease): void {
    if (this.current === lease) this.current = undefined;
  }

  private async take(): Promise<Lease> {
    const { token, lifetimeMs } = await this.exchange();
    const known = lifetimeMs > 0 ? lifetimeMs : shortMs;
    const now = this.nowMs();
    // A few seconds less than it says: a request needs some to arrive.
    const endsAtMs = now + known - Math.min(5_000, known / 10);
    this.renewAtMs = endsAtMs - Math.min(aheadMs, known / 4) * (1 - Math.random() / 5);
    this.current = { endsAtMs, headers: ['authorization', `Bearer ${token.reveal()}`], secrets: [token] };
    return this.current;
  }
}
