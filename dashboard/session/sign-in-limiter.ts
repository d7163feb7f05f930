// How often may somebody try to sign in? A bucket for each address and one for all, filled by time. What succeeds is given back, so
// whoever has a good token is not slowed by it.

export interface SignInLimiter {
  /** Takes one attempt. Gives seconds to wait where there is none left, else undefined. */
  attempt(address: string): number | undefined;
  /** The last attempt from there was a good one. */
  giveBack(address: string): void;
}

export interface SignInBounds {
  readonly perAddress: number;
  readonly all: number;
  /** Addresses remembered. The longest unheard of is forgotten first: to be forgotten is to have a full bucket again. */
  readonly addressesMax: number;
}

const defaultBounds: SignInBounds = { perAddress: 10, all: 300, addressesMax: 10_000 };

interface Bucket {
  tokens: number;
  atMs: number;
}

/** So many may come at once, and as many in each minute that follows. */
export function openSignInLimiter(now: () => number, bounds: SignInBounds = defaultBounds): SignInLimiter {
  const buckets = new Map<string, Bucket>();
  const all: Bucket = { tokens: bounds.all, atMs: now() };

  function fill(bucket: Bucket, perMinute: number): void {
    const atMs = now();
    bucket.tokens = Math.min(perMinute, bucket.tokens + ((atMs - bucket.atMs) * perMinute) / 60_000);
    bucket.atMs = atMs;
  }

  function bucketOf(address: string): Bucket {
    const source = sourceOf(address);
    const bucket = buckets.get(source) ?? { tokens: bounds.perAddress, atMs: now() };
    fill(bucket, bounds.perAddress);
    // Put behind all others: a Map keeps the order in which things were put in.
    buckets.delete(source);
    buckets.set(source, bucket);
    const [oldest] = buckets.keys();
    if (buckets.size > bounds.addressesMax && oldest !== undefined) buckets.delete(oldest);
    return bucket;
  }

  return {
    attempt(address) {
      const bucket = bucketOf(address);
      fill(all, bounds.all);
      const waits = [
        [bucket, bounds.perAddress],
        [all, bounds.all],
      ] as const;
      const waitSeconds = Math.max(
        ...waits.map(([{ tokens }, perMinute]) => (tokens >= 1 ? 0 : ((1 - tokens) * 60) / perMinute)),
      );
      if (waitSeconds > 0) return Math.ceil(waitSeconds);
      bucket.tokens -= 1;
      all.tokens -= 1;
      return undefined;
    },
    giveBack(address) {
      const bucket = bucketOf(address);
      bucket.tokens = Math.min(bounds.perAddress, bucket.tokens + 1);
      all.tokens = Math.min(bounds.all, all.tokens + 1);
    },
  };
}

/** Of IPv6 the network of 64 bits: whoever has one of its addresses has them all. */
function sourceOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0');
  return [...groups, ...(tail === undefined ? [] : zeros), ...rest].slice(0, 4).join(':');
}
