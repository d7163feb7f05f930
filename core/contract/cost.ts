// What does an attempt cost? Pure, and the same wherever attempts are rated: in the gateway, and in the ledger at other prices. Integer
// picodollars: 1 USD = 10^12.

import type { LedgerRecord, Usage } from './ledger-record.ts';
import type { Price } from './routing-table.ts';

/** Tokens by the rate that they are charged at. Sound counts as text: our prices do not separate them, and a list price that does is not used. */
function tokensByRate(usage: Usage): Rates {
  const cached = Math.min(usage.cachedInput, usage.input);
  const written = Math.min(usage.cacheWrite, usage.input - cached);
  const hour = Math.min(usage.cacheWriteHour ?? 0, written);
  const reasoning = Math.min(usage.reasoning, usage.output);
  return {
    input: usage.input - cached - written,
    output: usage.output - reasoning,
    cachedInput: cached,
    cacheWrite: written - hour,
    cacheWriteHour: hour,
    reasoning,
  };
}

/** What of an attempt decides on what it costs. */
export type Rated = Pick<
  LedgerRecord,
  'payer' | 'outcome' | 'usage' | 'call' | 'isStream' | 'firstContentMs'
>;

/**
 * Whether an attempt is charged what a request costs beside its tokens: where something of it was delivered. Once for a request,
 * however many attempts and calls it took. Counts say nothing of that: a message begins with one token of output.
 */
export function paysForRequest(
  { outcome, call = 0, isStream, firstContentMs }: Omit<Rated, 'usage' | 'payer'>,
  payer: Rated['payer'],
): boolean {
  const isDelivered =
    outcome === 'answered' || outcome === 'broken-off' || (isStream && firstContentMs !== undefined);
  return call === 0 && payer === 'tenant' && isDelivered; // guard: fee-once
}

/** Cost of tokens and request, without an upper bound. */
export function exactCost(usage: Usage, price: Price): bigint {
  const [tokens, rates] = [tokensByRate(usage), ratesFor(usage.input, price)];
  return rateNames.reduce(
    (sum, name) => sum + BigInt(tokens[name]) * BigInt(rates[name]),
    BigInt(price.perRequest ?? 0),
  );
}

/**
 * Of tokens and request, as records hold it: exact as long as it is a safe integer (about 9,000 USD for one attempt). Then no part of the
 * sum was rounded either: none is below zero.
 *
 * @param isCharged Whether it pays what a request costs beside its tokens.
 * @throws {RangeError} above that: a price or a count is absurd, and a wrong sum would be worse.
 */
export function costPicodollars(usage: Usage, price: Price, isCharged = true): number {
  const [tokens, rates] = [tokensByRate(usage), ratesFor(usage.input, price)];
  let cost = isCharged ? (price.perRequest ?? 0) : 0;
  for (const name of rateNames) {
    if (!Number.isInteger(tokens[name])) throw new RangeError(`${tokens[name]} is no count of tokens`);
    cost += tokens[name] * rates[name];
  }
  if (!Number.isSafeInteger(cost))
    throw new RangeError(`a cost of ${cost} picodollars cannot be held exactly`);
  return cost;
}

/** Price of each kind of token, in picodollars. */
export interface Rates {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly cacheWriteHour: number;
  readonly output: number;
  readonly reasoning: number;
}

const rateNames = ['input', 'output', 'cachedInput', 'cacheWrite', 'cacheWriteHour', 'reasoning'] as const;

const noTiers: NonNullable<Price['tiers']> = [];

/** The highest tier that the input is above replaces the rates of the whole call. */
export function ratesFor(inputTokens: number, price: Price): Rates {
  let tier: NonNullable<Price['tiers']>[number] | undefined;
  for (const other of price.tiers ?? noTiers) {
    if (inputTokens > other.aboveInputTokens && other.aboveInputTokens > (tier?.aboveInputTokens ?? 0))
      tier = other;
  }
  const input = tier?.input ?? price.input;
  const output = tier?.output ?? price.output;
  // A kind that the tier leaves out has the tier's price of its parent kind, before the price below the tier.
  const writeOfTier = tier?.cacheWrite ?? tier?.input;
  const cacheWrite = writeOfTier ?? price.cacheWrite ?? input;
  return {
    input,
    output,
    cachedInput: tier?.cachedInput ?? tier?.input ?? price.cachedInput ?? input,
    cacheWrite,
    cacheWriteHour: tier?.cacheWriteHour ?? writeOfTier ?? price.cacheWriteHour ?? cacheWrite,
    reasoning: tier?.reasoning ?? tier?.output ?? price.reasoning ?? output,
  };
}
