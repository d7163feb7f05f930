// When is a credential exchanged again? Before its end, by its keeper; by a request that finds it ended; and after a refusal. One exchange
// at a time, shared by all waiting requests. The old credential serves until a new one has come: one route of a Provider may be refused for
// a reason that no exchange changes, while others are answered.

import type { Secret } from '../table/secret.ts';
import type {
  Credential,
  ExchangeCredential,
  Given,
  HeaderReader,
  JudgeRefusal,
  Lease,
} from './credential.ts';
import { ExchangeError, exchangeInWords } from './identity/exchange-error.ts';

/** What came of the last exchange. */
interface ExchangeState {
  readonly state: 'valid' | 'failed';
  readonly identity?: string;
  readonly message?: string;
}

export function bearer(token: Secret, lifetimeMs: number, identity?: string): Given {
  const headers = ['authorization', `Bearer ${token.reveal()}`];
  return { headers, secrets: [token], lifetimeMs, ...(identity === undefined ? {} : { identity }) };
}

/** Renewed so long before its end, or in its last quarter where it is shorter: a service may be away for minutes. */
const aheadMs = 10 * 60_000;
/** Of what has an unknown lifetime. */
const shortMs = 60_000;
/** After the first failure in a row, and after what ends at once; twice as long after each further failure. */
const pauseMinMs = 1_000;
const pauseMaxMs = 60_000;
/**
 * Between exchanges because of a refusal, twice as long after each: what lacks a right is refused each time. The first again after the
 * longest without a refusal; an answer to another route is no reason.
 */
const refusalPauseMinMs = 1_000;
const refusalPauseMaxMs = 5 * 60_000;

export class RenewedCredential implements Credential {
  private readonly exchange: ExchangeCredential;
  private readonly nowMs: () => number;
  private readonly judge: JudgeRefusal;
  private current: Lease | undefined;
  private identity: string | undefined;
  private refusedAtMs = Number.NEGATIVE_INFINITY;
  /** Because of a refusal. */
  private exchangedAtMs = Number.NEGATIVE_INFINITY;
  private refusalPauseMs = 0;
  private dueAtMs = 0;
  private failures = 0;
  private failure: Error | undefined;
  private inFlight: Promise<Lease> | undefined;

  constructor(exchange: ExchangeCredential, nowMs: () => number, judge: JudgeRefusal = refusesBearer) {
    this.exchange = exchange;
    this.nowMs = nowMs;
    this.judge = judge;
  }

  get lease(): Lease | undefined {
    return this.current;
  }

  /** Unix milliseconds of the next exchange, where no request needs one before; Infinity: never, or one is in flight. */
  get renewAtMs(): number {
    return this.inFlight === undefined ? this.dueAtMs : Number.POSITIVE_INFINITY;
  }

  /** Undefined before the end of the first exchange. A service that is away is no failure until what it gave has ended. */
  get state(): ExchangeState | undefined {
    const { failure, identity } = this;
    const known = identity === undefined ? {} : { identity };
    const isServing = this.current !== undefined && this.nowMs() < this.current.endsAtMs;
    if (failure && !(isServing && !isRefusal(failure)))
      return { state: 'failed', ...known, message: exchangeInWords(failure) };
    return this.current && { state: 'valid', ...known };
  }

  /** Rejects at once after a failure of late. */
  renew(): Promise<Lease> {
    const pauseMs = this.dueAtMs - this.nowMs();
    // A longer one is that of a clock which was set back.
    if (this.failure && pauseMs > 0 && pauseMs <= pauseMaxMs) return Promise.reject(this.failure);
    this.inFlight ??= this.take().finally(() => {
      this.inFlight = undefined;
    });
    return this.inFlight;
  }

  refuse(lease: Lease, status: number, header: HeaderReader): Lease | Promise<Lease> | undefined {
    const refusal = this.judge(status, header);
    if (refusal === undefined) return undefined;
    const { current, inFlight } = this;
    const now = this.nowMs();
    // It ended before the request arrived, which is not a fault of it; or a newer one has come already.
    const isEndOrTime = refusal === 'time' || current !== lease || now >= lease.endsAtMs;
    if (isEndOrTime) return current && now < current.endsAtMs ? current : this.renew();
    return inFlight ?? this.renewRefused(now);
  }

  private renewRefused(now: number): Promise<Lease> | undefined {
    const quietMs = now - this.refusedAtMs;
    const sinceMs = now - this.exchangedAtMs;
    this.refusedAtMs = now;
    if (quietMs >= refusalPauseMaxMs) this.refusalPauseMs = 0;
    else if (sinceMs >= 0 && sinceMs < this.refusalPauseMs) return undefined;
    this.exchangedAtMs = now;
    this.refusalPauseMs = Math.min(refusalPauseMaxMs, Math.max(refusalPauseMinMs, 2 * this.refusalPauseMs));
    return this.renew();
  }

  private async take(): Promise<Lease> {
    const askedAtMs = this.nowMs();
    try {
      const { lifetimeMs, identity, ...given } = await this.exchange();
      const known = lifetimeMs > 0 ? lifetimeMs : shortMs;
      const now = this.nowMs();
      // It began at some time since then. A few seconds less than it says: a request needs some to arrive.
      const endsAtMs = askedAtMs + known - Math.min(5_000, known / 10);
      const soonMs = endsAtMs - Math.min(aheadMs, known / 4) * (1 - Math.random() / 5);
      this.dueAtMs = Math.max(soonMs, now + pauseMinMs);
      this.current = { ...given, endsAtMs };
      this.identity = identity;
      this.failures = 0;
      this.failure = undefined;
      return this.current;
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
      const pauseMs = Math.min(pauseMaxMs, pauseMinMs * 2 ** this.failures);
      this.failures += 1;
      this.dueAtMs = this.nowMs() + pauseMs * (1 - Math.random() / 5);
      throw this.failure;
    }
  }
}

const refusesBearer: JudgeRefusal = (status) => (status === 401 ? 'ended' : undefined);

function isRefusal(failure: Error): boolean {
  return failure instanceof ExchangeError && failure.isRefusal;
}
