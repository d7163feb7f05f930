// What does a model cost at a place that the catalog has no price for, but a rule? In whole picodollars, rounded.

import type { Rates } from './catalog.ts';

type Tokens = Partial<Omit<Rates, 'tiers'>>;

/**
 * @param surchargePercent What the place costs more than the catalog says.
 * @param cacheHourInputs What an hour in the cache costs in prices of input, where the catalog does not say.
 */
export function ratesThere(
  { tiers, ...rates }: Rates,
  surchargePercent: number,
  cacheHourInputs: number | undefined,
): Rates {
  const there = <One extends Tokens>(one: One): One =>
    dearer(withHour(one, cacheHourInputs), surchargePercent);
  if (tiers === undefined) return there(rates);
  return {
    ...there(rates),
    tiers: tiers.map(({ aboveInputTokens, ...tier }) => ({
      ...(there(tier as Tokens) as typeof tier),
      aboveInputTokens,
    })),
  };
}

/** Where nothing can be written to a cache, no hour in it has a price. */
function withHour<One extends Tokens>(one: One, inputs: number | undefined): One {
  const { input, cacheWrite, cacheWriteHour } = one;
  const isKnown = input === undefined || cacheWrite === undefined || cacheWriteHour !== undefined;
  return inputs === undefined || isKnown ? one : { ...one, cacheWriteHour: inputs * input };
}

function dearer<One extends Tokens>(one: One, percent: number): One {
  const rates = Object.entries(one).map(([name, rate = 0]) => [
    name,
    Math.round((rate * (100 + percent)) / 100),
  ]);
  return Object.fromEntries(rates) as One;
}
