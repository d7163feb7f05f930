// Targets whose calls fail, all or some, and the changes since the last look.

import type { ModelRouteVerdict } from '../compile/verdict.ts';
import type { HealthOf, ProviderHealth } from '../status/health-of.ts';
import type { TargetTrouble } from '../status/settle-targets.ts';
import { targetTroubles } from '../status/target-troubles.ts';
import type { Verdicts } from './verdicts.ts';

export interface TargetWatch {
  /** By target name, at the last look; undefined while a pod has not answered. */
  failingTargets(verdict: ModelRouteVerdict): ReadonlyMap<string, TargetTrouble> | undefined;
  /** ModelRoutes whose failing targets have changed since the last look; by `Kind/namespace/name`. */
  look(verdicts: Verdicts['routing']): string[];
  /** The object is gone. */
  forget(key: string): void;
}

export function createTargetWatch(healthOf: HealthOf): TargetWatch {
  /** By `namespace/name` of the Provider. */
  let failing: ReadonlyMap<string, Troubles> | undefined;
  /** Result of the last look: with the same result, no target has changed. */
  let last: { readonly verdicts: Verdicts['routing']; readonly words: string } | undefined;
  /** Of each ModelRoute, in words. */
  const known = new Map<string, string>();

  return {
    failingTargets,
    look(verdicts) {
      failing = failingAt(verdicts);
      const seen = { verdicts, words: describe(failing) };
      if (last?.verdicts === verdicts && last.words === seen.words) return [];
      last = seen;
      const changed: string[] = [];
      for (const [key, verdict] of verdicts) {
        if (verdict.kind !== 'ModelRoute') continue;
        const names = failingTargets(verdict);
        if (names === undefined) continue;
        const words = [...names].map(([name, { kind, calls }]) => `${name} ${kind} ${calls?.cause}`).join();
        if ((known.get(key) ?? '') !== words) changed.push(key);
        known.set(key, words);
      }
      return changed;
    },
    forget: (key) => void known.delete(key),
  };

  function failingAt(verdicts: Verdicts['routing']): typeof failing {
    const ofProviders = new Map<string, Troubles>();
    for (const verdict of verdicts.values()) {
      // Providers come first.
      if (verdict.kind !== 'Provider') break;
      const health = healthOf(verdict);
      if (health !== undefined) ofProviders.set(`${verdict.namespace}/${verdict.name}`, health);
    }
    return ofProviders.size === 0 ? undefined : ofProviders;
  }

  function failingTargets(verdict: ModelRouteVerdict): ReadonlyMap<string, TargetTrouble> | undefined {
    if (failing === undefined) return undefined;
    const known = failing;
    return targetTroubles(verdict, (provider) => known.get(provider));
  }
}

type Troubles = Pick<ProviderHealth, 'reason' | 'failing' | 'unknownModels' | 'calls'>;

function describe(failing: ReadonlyMap<string, Troubles> | undefined): string {
  return JSON.stringify(
    [...(failing ?? [])].map(([provider, { reason, failing: models, unknownModels, calls }]) => [
      provider,
      reason,
      [...models],
      [...unknownModels].sort(),
      [...calls].map(([model, { state, cause }]) => [model, state, cause]),
    ]),
  );
}
