// What would an attempt have cost? The gateway's own rules, held against them by a test; in bigints, since other prices may be any.

import type { LedgerRecord, Usage } from '../../gateway/contract/ledger-record.ts';

/** Picodollars per token. */
export interface Rates {
  readonly input: bigint;
  readonly cachedInput: bigint;
  readonly cacheWrite: bigint;
  readonly output: bigint;
  readonly reasoning: bigint;
}

export interface Prices extends Rates {
  /** For a call of which something was delivered. */
  readonly perRequest: bigint;
  /** Each for a whole call whose input is longer; the highest that it is above counts. */
  readonly tiers: readonly (Rates & { readonly aboveInputTokens: number })[];
}

/** What a record would cost at these prices; what the tenant pays its provider itself stays free. */
export function rate(record: Pick<LedgerRecord, 'payer' | 'outcome' | 'usage'>, prices: Prices): bigint {
  if (record.payer === 'own-key') return 0n;
  const { outcome, usage } = record;
  const isDelivered = outcome === 'answered' || outcome === 'broken-off' || usage.output > 0;
  return costOfTokens(usage, ratesFor(usage, prices)) + (isDelivered ? prices.perRequest : 0n);
}

function ratesFor({ input }: Usage, prices: Prices): Rates {
  const above = prices.tiers.filter(({ aboveInputTokens }) => input > aboveInputTokens);
  return above.toSorted((a, b) => b.aboveInputTokens - a.aboveInputTokens)[0] ?? prices;
}

function costOfTokens(usage: Usage, rates: Rates): bigint {
  const cached = Math.min(usage.cachedInput, usage.input);
  const written = Math.min(usage.cacheWrite, usage.input - cached);
  const reasoning = Math.min(usage.reasoning, usage.output);
  return (
    BigInt(usage.input - cached - written) * rates.input +
    BigInt(cached) * rates.cachedInput +
    BigInt(written) * rates.cacheWrite +
    BigInt(usage.output - reasoning) * rates.output +
    BigInt(reasoning) * rates.reasoning
  );
}
