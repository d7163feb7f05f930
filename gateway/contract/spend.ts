// What does the ledger tell operator and gateways of the spending of ApiKeys? All of them with their sums, and then those that have
// changed since: GET with `?after=<sequence>`, and the token of the exchange as bearer.

import { z } from 'zod';

/** On the read API of the ledger. */
export const SPEND_PATH = '/internal/v1/spend';

/** Whole numbers as text: numbers hold them exactly up to nine thousand dollars only. */
const picodollars = z.string().regex(/^\d{1,30}$/);
const sum = z.object({ costPicodollars: picodollars });
/** `since`: the first day of the period that the ledger is in, `YYYY-MM-DD`, UTC. */
const sumSince = sum.extend({ since: z.string().regex(/^\d{4}-\d\d-\d\d$/) });

/** Readers know what they need; there is more in it. */
export const spendPageSchema = z.object({
  /**
   * To go on behind, as `after`. Below the one that was asked for: it is another ledger, or an older state of it, and whoever asks begins
   * anew.
   */
  sequence: z.int().min(0),
  /** There is more behind it already. */
  hasMore: z.boolean(),
  keys: z.array(
    z.object({ apiKey: z.string().min(1), day: sumSince, week: sumSince, month: sumSince, total: sum }),
  ),
});
export type SpendPage = z.infer<typeof spendPageSchema>;
