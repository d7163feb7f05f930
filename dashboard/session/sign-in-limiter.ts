// How often may a user try to sign in? A bucket for each address and one for all, refilled over time; a success is given back. Guesses
// empty only the buckets for guesses: there are separate buckets for tokens that worked before, for tokens that look valid, and for
// sign-ins that this server began at an issuer.

import { hash } from 'node:crypto';
import { issuerOf, tokenEndMs } from './session.ts';

interface SignInAttempt {
  readonly address: string;
  /** The shown token; undefined: a return from the issuer, to a sign-in that began here. */
  readonly token: string | undefined;
}

export interface SignInLimiter {
  /** Takes one attempt. Gives the seconds to wait if the bucket is empty, else undefined. */
  attempt(attempt: SignInAttempt): number | undefined;
  /** The last such attempt was a good one. */
  succeeded(attempt: SignInAttempt): void;
}

interface SignInBounds {
  /** Also for each token that was good before. */
  readonly perAddress: number;
  readonly all: number;
  /** Addresses and tokens remembered. The longest unheard of is forgotten first: to be forgotten is to have a full bucket again. */
  readonly rememberedMax: number;
}

interface SignInLimiterParts {
  now(): number;
  wallMs(): number;
  /** The configured OpenID Connect issuer; others are learnt from tokens that were accepted. */
  readonly issuer?: string | undefined;
}

const defaultBounds: SignInBounds = { perAddress: 10, all: 300, rememberedMax: 10_000 };
const dayMs = 24 * 3_600_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

/** What an attempt is, as far as can be seen of it. */
type Look = 'guess' | 'likely' | 'returning';

/** So many may come at once, and as many in each minute that follows. */
export function openSignInLimiter(
  { now, wallMs, issuer }: SignInLimiterParts,
  bounds: SignInBounds = defaultBounds,
): SignInLimiter {
  const buckets = new Map<string, Bucket>();
  const full = (tokens: number): Bucket => ({ tokens, atMs: now() });
  const all: Record<Look, Bucket> = {
    guess: full(bounds.all),
    likely: full(bounds.all),
    returning: full(bounds.all),
  };
  /** Digests of tokens, addresses and issuers that were good, and until when that counts. */
  const good = new Map<string, number>();
  const isGood = (name: string): boolean => (good.get(name) ?? Number.NEGATIVE_INFINITY) > now();

  function fill(bucket: Bucket, perMinute: number): Bucket {
    const atMs = now();
    bucket.tokens = Math.min(perMinute, bucket.tokens + ((atMs - bucket.atMs) * perMinute) / 60_000);
    bucket.atMs = atMs;
    return bucket;
  }

  function bucketOf(name: string): Bucket {
    const bucket = fill(buckets.get(name) ?? full(bounds.perAddress), bounds.perAddress);
    putLast(buckets, name, bucket, bounds.rememberedMax);
    return bucket;
  }

  function lookOf(token: string | undefined): Look {
    if (token === undefined) return 'returning';
    const by = issuerOf(token);
    const isKnown = by !== undefined && (by === issuer || isGood(`issuer ${by}`));
    // Anybody can write such a token, so each address also has a bucket for them.
    return isKnown && (tokenEndMs(token) ?? 0) > wallMs() ? 'likely' : 'guess';
  }

  /** The buckets that an attempt takes from, each with its size. */
  function takenFrom({ address, token }: SignInAttempt): readonly (readonly [Bucket, number])[] {
    const name = token === undefined ? undefined : tokenName(token);
    if (name !== undefined && isGood(name)) return [[bucketOf(name), bounds.perAddress]];
    const look = lookOf(token);
    const source = sourceOf(address);
    const own = [bucketOf(`${look} ${source}`), bounds.perAddress] as const;
    // The bucket for all limits only addresses without an earlier sign-in.
    return isGood(`address ${source}`) ? [own] : [own, [fill(all[look], bounds.all), bounds.all]];
  }

  return {
    attempt(attempt) {
      const taken = takenFrom(attempt);
      const waitSeconds = Math.max(
        ...taken.map(([{ tokens }, perMinute]) => (tokens >= 1 ? 0 : ((1 - tokens) * 60) / perMinute)),
      );
      if (waitSeconds > 0) return Math.ceil(waitSeconds);
      for (const [bucket] of taken) bucket.tokens -= 1;
      return undefined;
    },
    succeeded(attempt) {
      for (const [bucket, max] of takenFrom(attempt)) bucket.tokens = Math.min(max, bucket.tokens + 1);
      const { address, token } = attempt;
      const by = token === undefined ? undefined : issuerOf(token);
      const names = [
        `address ${sourceOf(address)}`,
        ...(token === undefined ? [] : [tokenName(token)]),
        ...(by === undefined ? [] : [`issuer ${by}`]),
      ];
      for (const name of names) putLast(good, name, now() + dayMs, bounds.rememberedMax);
    },
  };
}

function tokenName(token: string): string {
  return `token ${hash('sha256', token, 'base64url')}`;
}

/** Behind all others: a Map keeps the order in which things were put in. */
function putLast<T>(map: Map<string, T>, name: string, value: T, max: number): void {
  map.delete(name);
  map.set(name, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

/** For IPv6 the network of 64 bits, because the holder of one address has all of them. */
function sourceOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0');
  return [...groups, ...(tail === undefined ? [] : zeros), ...rest].slice(0, 4).join(':');
}
