// What is written down about a request that the gateway refused without an upstream attempt? Exact counts of ten seconds, and a row
// for each of the first ones. Lines of the journal, beside those of records; a ledger that knows neither kind skips them.

import { z } from 'zod';
import { dialectNameSchema } from './routing-table.ts';

/** Names have the ledger's length; texts that callers wrote are cut by the gateway. */
const name = z.string().min(1).max(400);
const count = z.int().min(1).max(1_000_000_000);

/** The caller and the reason of a refusal. */
const reasons = {
  /** The tenant: the namespace of the ApiKey. Absent: the key was not known, so that the refusal is the platform's alone. */
  namespace: name.optional(),
  apiKey: name.optional(),
  /** The model's own id; of a known key also a name that no model has, cut. */
  model: name.optional(),
  status: z.int().min(100).max(599),
  /** A name of `ERROR_CODES`; a newer gateway may have more. */
  code: z.string().min(1).max(100),
};

export const refusalSchema = z.object({
  kind: z.literal('refusal'),
  /** The id of the request. */
  id: z.string().min(1).max(200),
  /** RFC 3339, UTC, milliseconds. */
  at: z.iso.datetime(),
  ...reasons,
  owner: z
    .object({ name: z.string().optional(), email: z.string().optional(), team: z.string().optional() })
    .optional(),
  route: name.optional(),
  clientDialect: dialectNameSchema.optional(),
  /** The gateway's own sentence, without anything that the caller wrote. */
  message: z.string().min(1).max(200).optional(),
});
export type Refusal = z.infer<typeof refusalSchema>;

export const refusalSumsSchema = z.object({
  kind: z.literal('refusal-sums'),
  /** Process and window: the de-duplication key. */
  id: z.string().min(1).max(200),
  /** RFC 3339, UTC: the start of the window. */
  at: z.iso.datetime(),
  windowMs: z.int().min(1),
  /** All refusals of the window, those with a line of their own too. */
  counts: z.array(z.object({ ...reasons, count })).min(1),
});
export type RefusalSums = z.infer<typeof refusalSumsSchema>;

export const REFUSAL_WINDOW_MS = 10_000;
