// What does the ledger tell operator and gateways of the spending of ApiKeys? All of them with their sums, and then those that have
// changed since: GET with `?after=<sequence>`, and the token of the exchange as bearer.

import { z } from 'zod';

/** On the read API of the ledger. */
export const SPEND_PATH = '/internal/v1/spend';

/**
 * The gateway's own date, `YYYY-MM-DD`, UTC: the answer covers the periods of that date, whatever the clock of the
 * ledger says. A header, since earlier ledgers refuse unknown parameters.
 */
export const SPEND_DAY_HEADER = 'x-penstock-day';

/** Whole numbers as text: numbers hold them exactly up to nine thousand dollars only. */
const picodollars = z.string().regex(/^\d{1,30}$/);
const sum = z.object({ costPicodollars: picodollars });
/**
 * `since`: the first day of the gateway's period, `YYYY-MM-DD`, UTC; of the ledger's own, if the question has no date. The sum has no
 * upper bound in time, so it includes records that pods with a fast clock have put into the next period.
 */
const sumSince = sum.extend({ since: z.string().regex(/^\d{4}-\d\d-\d\d$/) });

/** Readers know what they need; there is more in it. */
export const spendPageSchema = z.object({
  /**
   * The next question's `after`. If it is lower than the `after` of this question, the ledger is another one or was restored to an older
   * state, and the gateway reads everything again.
   */
  sequence: z.int().min(0),
  /** More entries follow already. */
  hasMore: z.boolean(),
  /** A key that was used on a later day than the asked one comes a second time, with the periods of the next day. */
  keys: z.array(
    z.object({ apiKey: z.string().min(1), day: sumSince, week: sumSince, month: sumSince, total: sum }),
  ),
});
export type SpendPage = z.infer<typeof spendPageSchema>;

const count = z.int().min(0);
const use = sum.extend({
  requests: count,
  tokens: z.object({ input: count, cachedInput: count.default(0), output: count }),
});
/** Use that the tenant pays; attempts that the platform pays are left out. */
export type SpendUse = z.infer<typeof use>;

const useSince = use.extend({ since: sumSince.shape.since });
const spent = z.object({
  /** Start of the last attempt. */
  lastUsedAt: z.iso.datetime(),
  day: useSince,
  /** From Monday. */
  week: useSince,
  month: useSince,
  total: use,
});
export type Spent = z.infer<typeof spent>;

/** Entries of each list. */
export const SPEND_KEYS_MAX = 1_000;

/** The same page as the operator reads it: with what was used, and of namespaces too. */
export const spendReportSchema = spendPageSchema.extend({
  /** Created with the ledger's tables: a new ledger has a new id. The gateway then reads everything again. */
  ledger: z.string().min(1).max(100),
  keys: z.array(spent.extend({ apiKey: z.string().min(1) })).max(SPEND_KEYS_MAX),
  /** All of their keys together. */
  namespaces: z.array(spent.extend({ namespace: z.string().min(1) })).max(SPEND_KEYS_MAX),
});
export type SpendReport = z.infer<typeof spendReportSchema>;
