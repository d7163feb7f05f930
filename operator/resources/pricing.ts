// How do users write what a model costs? Decimal strings, never floats.

import { z } from 'zod';
import { listMap } from './lists.ts';
import { withRules } from './rule.ts';

/**
 * A decimal amount of dollars. The table counts in whole picodollars (10^-12 dollars) per token, so an
 * amount per million tokens has room for 6 decimals and an amount per request for 12.
 */
function dollars(integerDigits: number, decimals: number) {
  const pattern = `^(0|[1-9][0-9]{0,${integerDigits - 1}})([.][0-9]{1,${decimals}})?$`;
  const expression = new RegExp(pattern);
  return withRules(z.string().max(integerDigits + 1 + decimals), [
    {
      cel: `self.matches('${pattern}')`,
      message:
        `must be dollars as a decimal string such as "2.50", at most ${integerDigits} digits before the point ` +
        `and ${decimals} after it; a finer price cannot be counted exactly`,
      check: (value) => expression.test(value),
    },
  ]);
}

const perMillion = () => dollars(6, 6);

const rates = {
  inputPerMillion: perMillion().optional().describe('Dollars per million input tokens.'),
  cachedInputPerMillion: perMillion()
    .optional()
    .describe("Dollars per million input tokens read from the provider's cache; default: as input."),
  cacheWritePerMillion: perMillion()
    .optional()
    .describe("Dollars per million input tokens written to the provider's cache; default: as input."),
  cacheWriteHourPerMillion: perMillion()
    .optional()
    .describe(
      "Dollars per million input tokens written to the provider's cache for an hour, where it tells them apart; default: as cacheWritePerMillion.",
    ),
  outputPerMillion: perMillion().optional().describe('Dollars per million output tokens.'),
  reasoningPerMillion: perMillion()
    .optional()
    .describe('Dollars per million reasoning tokens; default: as output.'),
};

const amounts = [...(Object.keys(rates) as (keyof typeof rates)[]), 'perRequest', 'tiers'] as const;

const tierSchema = z.strictObject({
  aboveInputTokens: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .describe('The tier holds for the whole call when its input has more tokens than this.'),
  ...rates,
});

/** Prices of a model. Amounts left out of a tier stay as they are outside of it. */
export const pricingSchema = withRules(
  z.strictObject({
    currency: z.enum(['USD']).default('USD').describe('Currency of every amount here.'),
    ...rates,
    perRequest: dollars(3, 12)
      .optional()
      .describe('Dollars per request, on top of its tokens; alone, it makes the tokens free.'),
    tiers: listMap(tierSchema, 'aboveInputTokens', 4)
      .optional()
      .describe('Other prices for calls with a long input.'),
    provisioned: z
      .boolean()
      .optional()
      .describe(
        'Capacity that is paid by the hour, such as provisioned throughput: calls and tokens are counted, and cost 0.',
      ),
  }),
  [
    {
      cel: `!has(self.provisioned) || !self.provisioned || (${amounts.map((name) => `!has(self.${name})`).join(' && ')})`,
      message: 'provisioned replaces all amounts; remove them',
      check: (price) => price.provisioned !== true || amounts.every((name) => price[name] === undefined),
    },
    {
      cel: 'has(self.inputPerMillion) == has(self.outputPerMillion)',
      message: 'inputPerMillion and outputPerMillion belong together; write "0" for tokens that are free',
      check: (price) => (price.inputPerMillion === undefined) === (price.outputPerMillion === undefined),
    },
    {
      cel: 'has(self.inputPerMillion) || has(self.perRequest) || (has(self.provisioned) && self.provisioned)',
      message: 'a price needs an amount: set inputPerMillion and outputPerMillion, perRequest or provisioned',
      check: (price) =>
        price.inputPerMillion !== undefined || price.perRequest !== undefined || price.provisioned === true,
    },
  ],
);
export type Pricing = z.infer<typeof pricingSchema>;
