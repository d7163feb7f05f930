// Has what a candidate was refused with been replaced since? A request keeps the table it began with; only for the
// credentials of a provider that refuses them does it look at the newest. Pure.

import type { KeyedEndpoint, TableView, TargetView } from '../table/view.ts';
import type { Candidate } from './plan.ts';

/**
 * The same target of the same route as the newest table has it, with the key of the same name, or with another where
 * that one is gone. Undefined if the newest table would send what has been sent already.
 *
 * @param routeId `namespace/name`.
 * @param isCoolingDown Cooldown of a key that must not be used now.
 */
export function renewCandidate(
  { target, endpoint, dialect }: Candidate,
  routeId: string,
  newest: TableView,
  isCoolingDown: (candidate: Candidate) => boolean,
): Candidate | undefined {
  const route = newest.routes.find(({ entry }) => entry.id === routeId);
  const renewed = route?.targets.find(({ entry }) => entry.name === target.entry.name);
  if (renewed === undefined || renewed.provider.entry.id !== target.provider.entry.id) return undefined;
  if (!renewed.entry.dialects.includes(dialect)) return undefined;
  const candidateOf = (other: KeyedEndpoint): Candidate => ({ target: renewed, endpoint: other, dialect });
  const same = sameKey(renewed, endpoint);
  const others = same ? [same] : renewed.endpoints.filter(({ weight }) => weight > 0);
  const next = first(others.filter((other) => !isCoolingDown(candidateOf(other))));
  if (next === undefined) return undefined;
  const isSame =
    next.healthId === endpoint.healthId &&
    renewed.provider.credentialsPrint === target.provider.credentialsPrint;
  return isSame ? undefined : candidateOf(next);
}

function sameKey({ endpoints }: TargetView, { key }: KeyedEndpoint): KeyedEndpoint | undefined {
  return endpoints.find((other) => other.weight > 0 && other.key?.name === key?.name);
}

function first(keys: readonly KeyedEndpoint[]): KeyedEndpoint | undefined {
  return keys.toSorted((a, b) => a.priority - b.priority)[0];
}
