// Converts decimal dollars per million tokens to whole picodollars per token.

import type { Price } from '../../core/contract/routing-table.ts';
import type { Pricing } from '../resources/pricing.ts';

type Rates = Omit<Price, 'perRequest' | 'tiers' | 'source' | 'catalog'>;

// 1 USD = 10^12 picodollars, so dollars per 10^6 tokens are 10^6 picodollars per token.
const PER_MILLION_DECIMALS = 6;
const PER_REQUEST_DECIMALS = 12;

export function compilePrice(pricing: Pricing, source: 'target' | 'route'): Price {
  if (pricing.provisioned) return { input: 0, output: 0, source: 'provisioned' };
  // With perRequest alone, the schema says that tokens are free.
  const base: Rates = { input: 0, output: 0, ...ratesOf(pricing) };
  const tiers = [...(pricing.tiers ?? [])]
    .sort((a, b) => a.aboveInputTokens - b.aboveInputTokens)
    // A tier is written out in full: what it leaves out stays as it is outside of it.
    .map((tier) => ({ ...base, ...ratesOf(tier), aboveInputTokens: tier.aboveInputTokens }));
  return {
    ...base,
    ...(pricing.perRequest === undefined
      ? {}
      : { perRequest: scaled(pricing.perRequest, PER_REQUEST_DECIMALS) }),
    ...(tiers.length === 0 ? {} : { tiers }),
    source,
  };
}

function ratesOf(
  pricing: {
    readonly [kind in keyof Pricing as kind extends `${string}PerMillion` ? kind : never]: Pricing[kind];
  },
): Partial<Rates> {
  const rates: Partial<Rates> = {};
  if (pricing.inputPerMillion !== undefined) rates.input = perToken(pricing.inputPerMillion);
  if (pricing.cachedInputPerMillion !== undefined)
    rates.cachedInput = perToken(pricing.cachedInputPerMillion);
  if (pricing.cacheWritePerMillion !== undefined) rates.cacheWrite = perToken(pricing.cacheWritePerMillion);
  if (pricing.cacheWriteHourPerMillion !== undefined)
    rates.cacheWriteHour = perToken(pricing.cacheWriteHourPerMillion);
  if (pricing.outputPerMillion !== undefined) rates.output = perToken(pricing.outputPerMillion);
  if (pricing.reasoningPerMillion !== undefined) rates.reasoning = perToken(pricing.reasoningPerMillion);
  return rates;
}

function perToken(amount: string): number {
  return scaled(amount, PER_MILLION_DECIMALS);
}

/**
 * A decimal string times 10^decimals, exactly: no float sees the fraction.
 *
 * @throws {RangeError} where the amount is finer or larger than a whole number can say: its schema has
 *   let something through.
 */
export function scaled(amount: string, decimals: number): number {
  const [whole = '', fraction = ''] = amount.split('.');
  const digits = whole + fraction.padEnd(decimals, '0');
  const result = Number(digits);
  if (
    !/^\d+$/.test(whole) ||
    !/^\d+$/.test(digits) ||
    fraction.length > decimals ||
    !Number.isSafeInteger(result)
  ) {
    throw new RangeError(`"${amount}" dollars cannot be counted exactly with ${decimals} decimals`);
  }
  return result;
}
