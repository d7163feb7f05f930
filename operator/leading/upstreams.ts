// Health of upstreams, from the calls of the pods and the operator's own health checks: one word per Provider, and hints for the table.

import type { HealthHint, TableContent } from '../../core/contract/routing-table.ts';
import type { HealthCheck } from '../compile/health-check.ts';
import { placeOf } from '../compile/index-by-place.ts';
import type { ProviderVerdict, Verdict } from '../compile/verdict.ts';
import { createProber, type ProberParts } from '../probe/prober.ts';
import type { HealthOf, ProviderHealth } from '../status/health-of.ts';
import { withChecks } from '../status/with-checks.ts';

interface UpstreamsParts extends Pick<ProberParts, 'clock' | 'random' | 'send' | 'onChecked'> {
  /** From calls alone. */
  readonly callsOf: HealthOf;
  /** The present verdict on a Provider, by `namespace/name`. */
  verdictOf(provider: string): Verdict | undefined;
  /** Its health may be another. */
  onChange(provider: string): void;
  /** The hints are not those that were taken last. */
  onHints(): void;
}

export interface Upstreams {
  healthOf(verdict: ProviderVerdict): ProviderHealth | undefined;
  /** The checks and the content of the table in use. */
  watch(checks: readonly HealthCheck[], table: TableContent): void;
  /** From the table that this term has found. */
  recall(hints: readonly HealthHint[]): void;
  /** For the table that is about to be written. */
  takeHints(): readonly HealthHint[];
  /** The pods have reported something new. */
  onPodNews(): void;
  close(): void;
}

export function createUpstreams(parts: UpstreamsParts): Upstreams {
  let taken = '[]';
  const prober = createProber({
    ...parts,
    onChange(provider) {
      parts.onChange(provider);
      compareHints();
    },
  });

  return {
    healthOf: (verdict) =>
      withChecks(parts.callsOf(verdict), prober.findings(placeOf(verdict)), namesOfKeys(verdict)),
    watch: prober.watch,
    recall: prober.recall,
    takeHints() {
      const hints = currentHints();
      taken = JSON.stringify(hints);
      return hints;
    },
    onPodNews: compareHints,
    close: prober.close,
  };

  function compareHints(): void {
    if (JSON.stringify(currentHints()) !== taken) parts.onHints();
  }

  /** Where calls are answered, a check that fails is no reason to go elsewhere. */
  function currentHints(): readonly HealthHint[] {
    return prober.hints().filter(({ provider, key }) => {
      const verdict = parts.verdictOf(provider);
      if (verdict?.kind !== 'Provider') return true;
      const calls = parts.callsOf(verdict);
      if (calls === undefined) return true;
      return key === undefined
        ? calls.reason !== 'Healthy' && calls.reason !== 'PartiallyHealthy'
        : !calls.answeredKeys.has(key);
    });
  }
}

function namesOfKeys({ keys }: ProviderVerdict): readonly string[] {
  return keys.filter(({ state }) => state === 'Active').map(({ name }) => name);
}
