// What is written down about one upstream attempt? One immutable record, in integer money.

import { z } from 'zod';
import { dialectNameSchema, priceSchema, upstreamDialectSchema } from './routing-table.ts';

const tokens = z.int().min(0);

/**
 * Tokens of one attempt by kind. `input` includes cached and cache-write tokens, `output` includes
 * reasoning tokens and predicted ones that were rejected, as the OpenAI usage object counts them. Cache writes are of all
 * lifetimes together.
 */
export const usageSchema = z.object({
  input: tokens,
  cachedInput: tokens,
  cacheWrite: tokens,
  /** The part of them that is kept for an hour, if the upstream reports it and it is not 0. */
  cacheWriteHour: tokens.optional(),
  output: tokens,
  reasoning: tokens,
  /** Tokens of sound among `input` and among `output`, where the upstream tells them; they cost what those cost. */
  audioInput: tokens.optional(),
  audioOutput: tokens.optional(),
});
export type Usage = z.infer<typeof usageSchema>;

export const ledgerRecordSchema = z.object({
  /** `<request>.<attempt>`: the de-duplication key. */
  id: z.string().min(1),
  request: z.string().min(1),
  /** Counts from 1 over all attempts of the request, in the order they were started. */
  attempt: z.int().min(1),
  /** Index of the upstream call among those of the request; absent: 0, the first. */
  call: z.int().min(1).optional(),
  /** RFC 3339, UTC, milliseconds. */
  startedAt: z.iso.datetime(),
  durationMs: z.int().min(0),
  /** From start to the first content event; absent if none came. */
  firstContentMs: z.int().min(0).optional(),
  tableGeneration: z.int().min(0),
  /** The tenant: the namespace of the ApiKey. */
  namespace: z.string().min(1),
  apiKey: z.string().min(1),
  route: z.string().min(1),
  /** The model's own id, whichever of its ids was asked for. An older gateway wrote that one. */
  model: z.string().min(1),
  /** The alias that the caller wrote; absent if it was the model's own id. */
  requestedModel: z.string().min(1).optional(),
  target: z.string().min(1),
  provider: z.string().min(1),
  /** Name of the provider key used; absent if the provider takes none. */
  providerKey: z.string().optional(),
  upstreamModel: z.string().min(1),
  clientDialect: dialectNameSchema,
  upstreamDialect: upstreamDialectSchema,
  isStream: z.boolean(),
  outcome: z.enum([
    /** The whole answer arrived, with its terminal marker. */
    'answered',
    /** Failed before the client saw anything of it. */
    'failed',
    /** Failed after content had reached the client. */
    'broken-off',
    /** The client went away. */
    'cancelled',
    /** The gateway ended in the middle: the record holds the part seen until then; the rest is unknown. */
    'interrupted',
  ]),
  /** HTTP status of the upstream, where it gave one. */
  status: z.int().optional(),
  /** Failure code of `gateway/request/errors.ts`'s upstream faults; absent if answered. */
  failure: z.string().optional(),
  /** The fault of an unusable answer, in the gateway's own words. An older ledger does not read it. */
  cause: z.string().min(1).max(200).optional(),
  usage: usageSchema,
  /** True if the upstream gave no usage and the numbers are ours. */
  isEstimated: z.boolean(),
  /**
   * How, where estimated: by the vocabulary of OpenAI's models, or by sizes and by events of the stream. An older gateway
   * does not say.
   */
  estimatedBy: z.enum(['tokenizer', 'characters']).optional(),
  price: priceSchema.nullable(),
  /** Integer picodollars (1 USD = 10^12); null: unpriced, or counts too absurd to make a sum of. */
  costPicodollars: z.int().min(0).nullable(),
  /**
   * Who pays: `tenant` for what was delivered, `platform` for attempts that failed before anything
   * was delivered, `own-key` for calls with the tenant's own provider (recorded, cost 0).
   */
  payer: z.enum(['tenant', 'platform', 'own-key']),
  owner: z
    .object({ name: z.string().optional(), email: z.string().optional(), team: z.string().optional() })
    .optional(),
  metadata: z.record(z.string(), z.string()).optional(),
});
export type LedgerRecord = z.infer<typeof ledgerRecordSchema>;
