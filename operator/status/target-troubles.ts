// What is wrong with the calls of each target of a route, by the health of its Providers? Pure.

import type { ModelRouteVerdict } from '../compile/verdict.ts';
import type { ProviderHealth } from './health-of.ts';
import type { TargetTrouble } from './settle-targets.ts';

type Health = Pick<ProviderHealth, 'reason' | 'failing' | 'unknownModels' | 'calls'>;

/** @param healthOf by `namespace/name` of the Provider. @returns by name of the target; none for those whose calls are answered. */
export function targetTroubles(
  { targets }: ModelRouteVerdict,
  healthOf: (provider: string) => Health | undefined,
): ReadonlyMap<string, TargetTrouble> {
  const troubles = new Map<string, TargetTrouble>();
  for (const { name, upstream } of targets) {
    const health = upstream && healthOf(upstream.provider);
    const kind = upstream && health && kindOf(upstream.model, health);
    const calls = upstream && health?.calls.get(upstream.model);
    if (kind !== undefined) troubles.set(name, { kind, ...(calls === undefined ? {} : { calls }) });
  }
  return troubles;
}

function kindOf(
  model: string,
  { reason, failing, unknownModels, calls }: Health,
): TargetTrouble['kind'] | undefined {
  if (unknownModels.has(model)) return 'misconfigured';
  if (failing === '*' || failing.has(model))
    return reason === 'CredentialExhausted' ? 'exhausted' : 'failing';
  return calls.get(model)?.state === 'partly' ? 'partly' : undefined;
}
