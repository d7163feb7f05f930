// What have ApiKeys spent, as the ledger tells this person? Its word of this second, where it has one for them.

import { z } from 'zod';
import { LedgerAway } from '../cluster.ts';
import type { ServerParts } from '../door.ts';
import { type KeySpend, ledgerDays } from './key-row.ts';

const dollars = z.string();
/** Only the members that rows show, because there may be a row for every key. */
const costsSchema = z.object({
  rows: z.array(z.tuple([z.string(), z.number(), dollars, dollars, dollars, dollars])),
  next: z.number().optional(),
});
const dayMs = 86_400_000;
const pageMax = 10_000;
const pagesMax = 5;
/** Without its word the rows are there, only less exact. */
const patienceMs = 3_000;

/** The question for one page of spend, from `offset` on. */
export function spendsQuestion(nowMs: number, namespace: string | undefined, offset = 0) {
  const from = new Date(nowMs - ledgerDays * dayMs).toISOString().slice(0, 10);
  const search = new URLSearchParams({ from, limit: String(pageMax), offset: String(offset) });
  if (namespace !== undefined) search.set('namespace', namespace);
  return { path: '/v1/costs', search: `?${search}` } as const;
}

/** By `namespace/name`; those that are not in it were not used in the last month. Undefined: it does not tell, or not this person. */
export async function readSpends(
  { ledger, clock }: Pick<ServerParts, 'ledger' | 'clock'>,
  token: string,
  namespace: string | undefined,
): Promise<ReadonlyMap<string, KeySpend> | undefined> {
  if (ledger === undefined) return undefined;
  const nowMs = clock.wallMs();
  const spends = new Map<string, KeySpend>();
  const patience = new AbortController();
  const cancelTimer = clock.setTimer(patienceMs, () => patience.abort());
  try {
    let offset: number | undefined = 0;
    for (let page = 0; page < pagesMax && offset !== undefined; page += 1) {
      const { status, text } = await ledger.ask({
        method: 'GET',
        ...spendsQuestion(nowMs, namespace, offset),
        token,
        signal: patience.signal,
      });
      const answer = status === 200 ? costsSchema.safeParse(JSON.parse(text)).data : undefined;
      if (answer === undefined) return undefined;
      for (const [apiKey, lastUsedMs, day, week, month, total] of answer.rows)
        spends.set(apiKey, { lastUsedAt: new Date(lastUsedMs).toISOString(), day, week, month, total });
      offset = answer.next;
    }
    // With more spenders than that, missing ones are unknown, and would be shown as unused.
    return offset === undefined ? spends : undefined;
  } catch (error) {
    if (error instanceof LedgerAway || error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    cancelTimer();
  }
}
