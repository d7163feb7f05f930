// Seat: with what is a request signed in? A key of the table has no end. What is exchanged for one has: it is renewed here, before
// the attempt that finds it ended.
//
// A new key in the table is a new credential. So the two renewals meet in one place: a renewal that fails is a failed attempt, and
// after that route/renew.ts looks for a newer key.

import type { Secret } from '../table/secret.ts';
import type { KeyedEndpoint, ProviderView } from '../table/view.ts';
import type { Sign } from './sign.ts';
import type { TokenPools } from './token-request.ts';

export interface Credential {
  /** At hand now, ended or not; undefined: none yet. */
  readonly lease: Lease | undefined;
  /** Called without a valid lease. Concurrent callers share one exchange. Rejects if it fails. */
  renew(): Promise<Lease>;
  /** The upstream refuses this lease: it is not at hand any more. Absent: what is refused cannot be renewed here. */
  drop?(lease: Lease): void;
}

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

/**
 * Called once for every key of every table. An implementation that exchanges keys for tokens caches them by `endpoint.healthId`, which
 * identifies provider, address and version of the key: tables change more often than those.
 */
export type CredentialFor = (
  provider: ProviderView,
  endpoint: KeyedEndpoint,
  pools: TokenPools,
) => Credential;

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
