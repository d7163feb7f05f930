// Which session does each caller get, where an upstream is to know callers apart? Its first request exchanges a token for the session,
// later requests renew the session before its end. An unused session is not renewed, and ends.

import type { Caller } from '../request/caller.ts';
import type { CallerSessions, Credential, CredentialPerCaller, ExchangeCredential } from './credential.ts';
import { ExchangeError, exchangeInWords, SessionError } from './identity/exchange-error.ts';
import type { RenewedCredential } from './renewed-credential.ts';

/** Of one key of a Provider; beyond it the oldest is forgotten, and exchanged again when its caller comes back. */
const sessionsMax = 10_000;

interface Parts {
  /** Of the Provider itself: it is exchanged when a table names it, and proves that sessions can be had. */
  readonly own: RenewedCredential;
  readonly sessions: CallerSessions;
  readonly open: (exchange: ExchangeCredential) => RenewedCredential;
  /** No request waits for it. */
  readonly renewAhead: (session: RenewedCredential) => void;
  readonly nowMs: () => number;
}

export class CallerCredentials implements CredentialPerCaller {
  private readonly parts: Parts;
  private readonly byName = new Map<string, RenewedCredential>();

  constructor(parts: Parts) {
    this.parts = parts;
  }

  forCaller(caller: Caller): Credential {
    const { sessions, own, nowMs, renewAhead } = this.parts;
    const name = sessions.nameOf(caller);
    if (name === undefined) return own;
    const session = this.byName.get(name) ?? this.begin(name, caller);
    if (session.lease && session.renewAtMs <= nowMs()) renewAhead(session);
    return session;
  }

  private begin(name: string, caller: Caller): RenewedCredential {
    const exchange = this.parts.sessions.exchangeFor(caller);
    const session = this.parts.open(() => exchange().catch(failSession));
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
