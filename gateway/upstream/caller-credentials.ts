// With which session of its own is a caller signed in, where an upstream is to know callers apart? Its first request has it exchanged, later ones
// have it renewed before its end. What nobody uses ends by itself.

import type { Caller } from '../request/caller.ts';
import type { CallerSessions, Credential, ExchangeCredential, HeaderReader, Lease } from './credential.ts';
import { ExchangeError, exchangeInWords, SessionError } from './identity/exchange-error.ts';
import type { RenewedCredential } from './renewed-credential.ts';

/** Of one key of a Provider; beyond it the oldest is forgotten, and exchanged again when its caller comes back. */
const sessionsMax = 10_000;

export class CallerCredentials implements Credential {
  private readonly own: RenewedCredential;
  private readonly sessions: CallerSessions;
  private readonly open: (exchange: ExchangeCredential) => RenewedCredential;
  private readonly nowMs: () => number;
  private readonly byName = new Map<string, RenewedCredential>();

  /** @param own Of the Provider itself: it is exchanged when a table names it, and proves that sessions can be had. */
  constructor(
    own: RenewedCredential,
    sessions: CallerSessions,
    open: (exchange: ExchangeCredential) => RenewedCredential,
    nowMs: () => number,
  ) {
    this.own = own;
    this.sessions = sessions;
    this.open = open;
    this.nowMs = nowMs;
  }

  get lease(): Lease | undefined {
    return this.own.lease;
  }

  renew(): Promise<Lease> {
    return this.own.renew();
  }

  refuse(lease: Lease, status: number, header: HeaderReader): Lease | Promise<Lease> | undefined {
    return this.own.refuse(lease, status, header);
  }

  forCaller(caller: Caller): Credential {
    const name = this.sessions.nameOf(caller);
    if (name === undefined) return this.own;
    const session = this.byName.get(name) ?? this.begin(name, caller);
    if (session.lease && session.renewAtMs <= this.nowMs()) {
      session.renew().catch(() => {
        // What there is serves to its end; the request that finds it ended learns why.
      });
    }
    return session;
  }

  private begin(name: string, caller: Caller): RenewedCredential {
    const exchange = this.sessions.exchangeFor(caller);
    const session = this.open(() => exchange().catch(failSession));
    const [oldest] = this.byName.keys();
    if (this.byName.size >= sessionsMax && oldest !== undefined) this.byName.delete(oldest);
    this.byName.set(name, session);
    return session;
  }
}

function failSession(error: unknown): never {
  const isRefusal = error instanceof ExchangeError && error.isRefusal;
  throw new SessionError(exchangeInWords(error), isRefusal);
}
