// Did a page of ours send this? Pure: what browsers say of a request, against the address that it was sent to.

import { timingSafeEqual } from 'node:crypto';
import type { Place } from './places.ts';

export interface Sender {
  /** `Sec-Fetch-Site`: a page can neither set nor change it. */
  readonly site: string | undefined;
  readonly origin: string | undefined;
}

/** For changes: the request must be known to come from our own page. */
export function isOwnPage({ site, origin }: Sender, place: Place): boolean {
  if (site !== undefined && site !== 'same-origin') return false; // guard: cross-origin-change
  if (origin !== undefined && origin !== place.origin) return false;
  return site !== undefined || origin !== undefined;
}

/** For reads: refused only if they are known to come from another site. `none`: a person typed the address. */
export function isForeignPage({ site, origin }: Sender, place: Place): boolean {
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && origin !== place.origin;
}

/** In constant time. */
export function isSameText(given: string | undefined, expected: string): boolean {
  if (given === undefined) return false;
  const one = Buffer.from(given);
  const other = Buffer.from(expected);
  return one.length === other.length && timingSafeEqual(one, other);
}
