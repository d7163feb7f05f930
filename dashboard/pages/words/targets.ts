// Which Provider does a target of a ModelRoute call, and do calls to it succeed? Pure.

import type { ModelRoute } from './kube.ts';

export type Target = ModelRoute['spec']['targets'][number];

/** Its Provider as `namespace/name`. */
export function providerOf({ metadata }: ModelRoute, { providerRef }: Target): string {
  return `${providerRef.namespace ?? metadata.namespace}/${providerRef.name}`;
}

/** Targets some or all of whose calls fail. */
export function troubledTargets({ spec, status }: ModelRoute): readonly Target[] {
  const inTrouble = (status?.targets ?? []).filter(
    ({ state, message }) => state === 'Unhealthy' || (state === 'Ready' && message !== undefined),
  );
  return spec.targets.filter((target) => inTrouble.some(({ name }) => name === target.name));
}

/**
 * Names of the targets that serve callers while others fail. A target that was not called yet is as its Provider is.
 *
 * @param failing Providers in trouble, as `namespace/name`.
 */
export function servingTargets(route: ModelRoute, failing: ReadonlySet<string>): readonly string[] {
  const ready = (route.status?.targets ?? []).filter(
    ({ state, message }) => state === 'Ready' && (message ?? '') === '',
  );
  return route.spec.targets.flatMap((target) =>
    ready.some(({ name }) => name === target.name) && !failing.has(providerOf(route, target))
      ? [target.name]
      : [],
  );
}
