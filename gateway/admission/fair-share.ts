// How many requests has each key and each tenant in flight, and may one of them begin one more? Pure.

/** A tenant with requests in flight, now or lately. */
export interface TenantUse {
  inFlight: number;
  readonly keys: Set<KeyUse>;
}

/** A key with requests in flight, now or lately. */
export interface KeyUse {
  inFlight: number;
  /** For how long it has had none, in looks. */
  idleLooks: number;
  readonly tenant: TenantUse;
}

/** One key may hold this multiple of the free places: seven eighths of all, alone. */
const perFree = { key: 7, tenant: 15 };

/** What one tenant may have of a bound that has come down: alone the same as one key on a calm process. */
export const tenantShare = 7 / 8;

/** On a calm process: each key leaves an eighth of the places to other keys, each tenant a sixteenth to other tenants. */
export function leavesPlaces({ inFlight, tenant }: KeyUse, free: number): boolean {
  return inFlight < perFree.key * free && tenant.inFlight < perFree.tenant * free;
}

/**
 * Max-min fairness once the number of requests in flight is bounded: first between tenants, then between the keys of one tenant. A heavier
 * key or tenant counts only as much as the asker would have. So a key with few requests always gets a place, and the heaviest are refused
 * first.
 */
export function hasFairShare(asker: KeyUse, tenants: Iterable<TenantUse>, inFlightMax: number): boolean {
  const level = asker.inFlight + 1;
  let ofTenant = 1;
  for (const key of asker.tenant.keys) ofTenant += Math.min(key.inFlight, level);
  let sum = ofTenant;
  for (const tenant of tenants) {
    if (tenant !== asker.tenant) sum += Math.min(tenant.inFlight, ofTenant);
  }
  return ofTenant <= inFlightMax * tenantShare && sum <= inFlightMax;
}
