// What does an attempt cost? Integer picodollars: 1 USD = 10^12.

import type { Usage } from '../contract/ledger-record.ts';
import type { Price } from '../contract/routing-table.ts';

/**
 * Tokens of sound cost what text costs: no price of ours tells them apart, and a list price that does is not used.
 *
 * Exact as long as it is a safe integer (about 9,000 USD for one attempt).
 *
 * @throws {RangeError} above that: a price or a count is absurd, and a wrong sum would be worse.
 */
export function costPicodollars(usage: Usage, price: Price): number {
  const rates = ratesFor(usage, price);
  const cached = Math.min(usage.cachedInput, usage.input);
  const written = Math.min(usage.cacheWrite, usage.input - cached);
  const reasoning = Math.min(usage.reasoning, usage.output);
  const cost =
    (usage.input - cached - written) * rates.input +
    cached * rates.cachedInput +
    written * rates.cacheWrite +
    (usage.output - reasoning) * rates.output +
    reasoning * rates.reasoning +
    (price.perRequest ?? 0);
  if (!Number.isSafeInteger(cost))
    throw new RangeError(`a cost of ${cost} picodollars cannot be held exactly`);
  return cost;
}

interface Rates {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

/** The highest tier that the input is above replaces the rates of the whole call. */
function ratesFor(usage: Usage, price: Price): Rates {
  const tier = (price.tiers ?? [])
    .filter(({ aboveInputTokens }) => usage.input > aboveInputTokens)
    .toSorted((a, b) => b.aboveInputTokens - a.aboveInputTokens)[0];
  const input = tier?.input ?? price.input;
  const output = tier?.output ?? price.output;
  return {
    input,
    output,
    cachedInput: tier?.cachedInput ?? (tier?.input === undefined ? (price.cachedInput ?? input) : input),
    cacheWrite: tier?.cacheWrite ?? (tier?.input === undefined ? (price.cacheWrite ?? input) : input),
    reasoning: tier?.reasoning ?? (tier?.output === undefined ? (price.reasoning ?? output) : output),
  };
}
