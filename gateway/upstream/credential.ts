// Seat: with which credential is a request signed in? A key of the table has no end. A token that is exchanged for a key has one: it is
// renewed here, before the attempt that finds it ended.
//
// A new key in the table is a new credential. So the two renewals meet in one place: a renewal that fails is a failed attempt, and
// after that route/renew.ts looks for a newer key.

import type { Pool } from 'undici';
import type { Caller } from '../request/caller.ts';
import type { Secret } from '../table/secret.ts';
import type { KeyedEndpoint, ProviderView } from '../table/view.ts';
import type { IdentityEnvironment } from './identity/environment.ts';
import type { HostClocks } from './identity/host-clocks.ts';
import type { Sign } from './sign.ts';

export interface Credential {
  /** At hand now, ended or not; undefined: none yet. */
  readonly lease: Lease | undefined;
  /** Called without a valid lease. Concurrent callers share one exchange. Rejects if it fails. */
  renew(): Promise<Lease>;
  /**
   * The upstream has answered a request with this lease. After a refusal, gives the lease for the second try of that request.
   * Absent: a refused credential cannot be renewed here.
   */
  refuse?(lease: Lease, status: number, header: HeaderReader): Lease | Promise<Lease> | undefined;
}

/** Where the upstream is to know callers apart. */
export interface CredentialPerCaller {
  forCaller(caller: Caller): Credential;
}

/** @param name In lower case. */
export type HeaderReader = (name: string) => string | undefined;

/** What requests are signed in with for a time. Headers that follow from it are kept as long as it is. */
export interface Lease {
  /** Unix milliseconds: no request begins with it from then on. Infinity: it has no end. */
  readonly endsAtMs: number;
  /** Headers that are the same for every request, names and values in turn. */
  readonly headers: readonly string[];
  /** Headers that depend on the request; absent: none do. */
  readonly sign?: Sign;
  /** Secrets that the table does not hold: they are taken out of what the upstream says. */
  readonly secrets?: readonly Secret[];
}

/** Called once for every key of every table. `means` keeps the tokens that are exchanged for a key: tables change more often than keys. */
export type CredentialFor = (
  provider: ProviderView,
  endpoint: KeyedEndpoint,
  means: CredentialMeans,
) => Credential | CredentialPerCaller;

/** What provider types get credentials with. */
export interface CredentialMeans {
  readonly pools: TokenPools;
  readonly environment: IdentityEnvironment;
  readonly clocks: HostClocks;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** One that is exchanged again and again: the same for the same key of the same Provider, whichever table it is in. */
  renewed(
    provider: ProviderView,
    endpoint: KeyedEndpoint,
    exchange: ExchangeCredential,
    judge?: JudgeRefusal,
    sessions?: CallerSessions,
  ): Credential | CredentialPerCaller;
}

export interface TokenPools {
  /** Of a service at an address that is built in: by the rules and the proxy of the provider. */
  tokenPool(provider: ProviderView, origin: string): Pool;
  /** At an address that the platform has said, or that is built in; metadata too. Never at one of a Provider or a Secret. */
  platformPool(origin: string): Pool;
}

/** What a service gave. */
export interface Given extends Omit<Lease, 'endsAtMs'> {
  /** 0: unknown; then it is taken to be short. Infinity: it has no end. */
  readonly lifetimeMs: number;
  /** As whom the provider knows us: an ARN, an e-mail address, the id of an application. Never a secret. */
  readonly identity?: string;
}

/** Where the upstream is to know callers apart. */
export interface CallerSessions {
  /** Callers with one name share a session; undefined: the credential of the Provider itself. */
  nameOf(caller: Caller): string | undefined;
  exchangeFor(caller: Caller): ExchangeCredential;
}

/** @throws {ExchangeError} Whatever else it throws is not shown. */
export type ExchangeCredential = () => Promise<Given>;

/** Does an answer refuse what the request was signed in with? `ended`: another may be taken. `time`: the same, at another time. */
export type JudgeRefusal = (status: number, header: HeaderReader) => 'ended' | 'time' | undefined;

/** The key as it is in the table, or nothing if the provider takes none. */
export const staticKey = ({ entry: { auth } }: ProviderView, { key }: KeyedEndpoint): Credential =>
  new StaticKey(auth && key ? [auth.header.toLowerCase(), auth.prefix + key.secret.reveal()] : []);

class StaticKey implements Credential, Lease {
  readonly endsAtMs = Number.POSITIVE_INFINITY;
  readonly headers: readonly string[];

  constructor(headers: readonly string[]) {
    this.headers = headers;
  }

  get lease(): Lease {
    return this;
  }

  renew(): Promise<Lease> {
    return Promise.resolve(this);
  }
}
