// What does the ledger tell operator and gateways of what was spent? Of all ApiKeys and namespaces that were used, and then of those
// that were used since.

import { z } from 'zod';

/** On the read API of the ledger; GET with `?after=<sequence>`, `Authorization: Bearer <exchangeToken>`. */
export const SPEND_PATH = '/internal/v1/spend';
/** Keys in one answer. */
export const SPEND_KEYS_MAX = 1_000;

/** A whole number, written out: money has no room in a float. */
const picodollars = z.string().regex(/^\d{1,30}$/);
const count = z.int().min(0);

const useSchema = z.object({
  requests: count,
  tokens: z.object({ input: count, cachedInput: count.default(0), output: count }),
  /** What the tenant pays. */
  costPicodollars: picodollars,
});
/** What was used and is the tenant's to pay; attempts that the platform pays are not in it. */
export type SpendUse = z.infer<typeof useSchema>;

/** Of the period that the ledger was in when it answered. */
const periodSchema = useSchema.extend({
  /** Its first day, `YYYY-MM-DD`, UTC. */
  since: z.iso.date(),
});

const spentSchema = z.object({
  /** Start of the last attempt. */
  lastUsedAt: z.iso.datetime(),
  day: periodSchema,
  /** From Monday. */
  week: periodSchema,
  month: periodSchema,
  total: useSchema,
});
export type Spent = z.infer<typeof spentSchema>;

export const spendPageSchema = z.object({
  /** Made with its tables: one that was begun anew in the place of another is another one. Then all is asked for again. */
  ledger: z.string().min(1).max(100),
  /** To ask behind next. Below the one that was asked for: the ledger was put back to an older state, and all is asked for again. */
  sequence: count,
  /** There is more behind it already. */
  hasMore: z.boolean(),
  /** Used since, in the order of their last use. */
  keys: z.array(spentSchema.extend({ apiKey: z.string() })).max(SPEND_KEYS_MAX),
  namespaces: z.array(spentSchema.extend({ namespace: z.string() })).max(SPEND_KEYS_MAX),
});
export type SpendPage = z.infer<typeof spendPageSchema>;
