// Which other prices are meant? A JSON object of model to prices, each as `pricing` of a ModelRoute has them.

import { z } from 'zod';
import type { Price } from '../../core/contract/routing-table.ts';
import { picodollarsOf, picodollarsPerToken } from '../money.ts';

function amount(read: (text: string) => bigint | undefined, message: string) {
  return z.string(message).transform((text, context) => {
    const picodollars = read(text);
    if (picodollars !== undefined && picodollars <= Number.MAX_SAFE_INTEGER) return Number(picodollars);
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}
const perMillion = amount(picodollarsPerToken, 'must be dollars per million tokens, such as "0.25"');
const perRequest = amount(picodollarsOf, 'must be dollars, such as "0.01", up to 9,000');

const rates = {
  inputPerMillion: perMillion.optional(),
  cachedInputPerMillion: perMillion.optional(),
  cacheWritePerMillion: perMillion.optional(),
  cacheWriteHourPerMillion: perMillion.optional(),
  outputPerMillion: perMillion.optional(),
  reasoningPerMillion: perMillion.optional(),
};
const tierSchema = z.strictObject({ ...rates, aboveInputTokens: z.int().min(1) });

/** By the rules of a ModelRoute. */
const priceSchema = z
  .strictObject({
    ...rates,
    currency: z.literal('USD').optional(),
    perRequest: perRequest.optional(),
    tiers: z.array(tierSchema).optional(),
  })
  .refine(
    (price) => (price.inputPerMillion === undefined) === (price.outputPerMillion === undefined),
    'inputPerMillion and outputPerMillion belong together; write "0" for tokens that are free',
  )
  .refine(
    (price) => price.inputPerMillion !== undefined || price.perRequest !== undefined,
    'a price needs an amount: set inputPerMillion and outputPerMillion, or perRequest',
  );

const pricesSchema = z.record(z.string(), priceSchema);

type Written = z.infer<z.ZodObject<typeof rates>>;

/** By model id, as callers write it. @throws {Error} that names the model and the field. */
export function readPrices(text: string): ReadonlyMap<string, Price> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error(
      'the prices are not JSON; write {"<model>": {"inputPerMillion": "0.25", "outputPerMillion": "2"}}',
    );
  }
  const parsed = pricesSchema.safeParse(data);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`the prices are not valid: ${issue?.path.join('.') || 'root'}: ${issue?.message}`);
  }
  return new Map(
    Object.entries(parsed.data).map(([model, { perRequest: request, tiers = [], ...base }]) => {
      const prices: Price = {
        ...ratesOf(base),
        source: 'given',
        perRequest: request ?? 0,
        // A kind that a tier leaves out keeps the price outside the tier.
        tiers: tiers.map(({ aboveInputTokens, ...own }) => ({
          aboveInputTokens,
          ...ratesOf({ ...base, ...withoutUndefined(own) }),
        })),
      };
      return [model, prices];
    }),
  );
}

function ratesOf(written: Written) {
  // With perRequest alone tokens are free.
  const { inputPerMillion: input = 0, outputPerMillion: output = 0 } = written;
  return {
    input,
    cachedInput: written.cachedInputPerMillion ?? input,
    cacheWrite: written.cacheWritePerMillion ?? input,
    cacheWriteHour: written.cacheWriteHourPerMillion ?? written.cacheWritePerMillion ?? input,
    output,
    reasoning: written.reasoningPerMillion ?? output,
  };
}

function withoutUndefined(own: { readonly [name in keyof Written]?: number | undefined }): Partial<Written> {
  return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
}
