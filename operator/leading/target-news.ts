// At which targets of which routes does no gateway get an answer, and where has that changed since the last look?

import type { ModelRouteVerdict, Verdict } from '../compile/verdict.ts';
import type { HealthOf, ProviderHealth } from '../status/health-of.ts';

export interface TargetWatch {
  /** Names of those targets, as of the last look; undefined while not every pod was heard. */
  failingTargets(verdict: ModelRouteVerdict): ReadonlySet<string> | undefined;
  /** ModelRoutes where they are others than at the last look; by `Kind/namespace/name`, as `verdicts` are. */
  look(verdicts: ReadonlyMap<string, Verdict>): string[];
  /** The object is gone. */
  forget(key: string): void;
}

export function createTargetWatch(healthOf: HealthOf): TargetWatch {
  /** By `namespace/name` of the Provider. */
  let failing: ReadonlyMap<string, ProviderHealth['failing']> | undefined;
  /** Of each ModelRoute, in words. */
  const known = new Map<string, string>();

  return {
    failingTargets,
    look(verdicts) {
      const changed: string[] = [];
      failing = undefined;
      const ofProviders = new Map<string, ProviderHealth['failing']>();
      for (const [key, verdict] of verdicts) {
        // Providers come first, then ModelRoutes.
        if (verdict.kind === 'ApiKey') break;
        if (verdict.kind === 'Provider') {
          const health = healthOf(verdict);
          if (health !== undefined) {
            failing = ofProviders.set(`${verdict.namespace}/${verdict.name}`, health.failing);
          }
          continue;
        }
        const names = failingTargets(verdict);
        if (names === undefined) continue;
        const words = [...names].join();
        if ((known.get(key) ?? '') !== words) changed.push(key);
        known.set(key, words);
      }
      return changed;
    },
    forget: (key) => void known.delete(key),
  };

  function failingTargets({ targets }: ModelRouteVerdict): ReadonlySet<string> | undefined {
    if (failing === undefined) return undefined;
    const names = new Set<string>();
    for (const { name, upstream } of targets) {
      const models = upstream && failing.get(upstream.provider);
      if (models !== undefined && (models === '*' || models.has(upstream?.model ?? ''))) names.add(name);
    }
    return names;
  }
}
