// Which request was last answered by another attempt than its first, and what had been tried before? Pure: out of the lines of few requests.

import type { z } from 'zod';
import { ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { failureWords } from './failure-words.ts';

const attemptSchema = ledgerRecordSchema.pick({
  startedAt: true,
  call: true,
  target: true,
  outcome: true,
  failure: true,
  cause: true,
});
type Attempt = z.infer<typeof attemptSchema>;

/**
 * A request may stand for several calls: that the second of them was answered is no failover.
 *
 * @param requests The lines of each, in the order of its attempts, the newest request first.
 * @param seesTargets Those of a route are the business of its namespace and the platform.
 */
export function lastFailoverAnswer(requests: readonly (readonly string[])[], seesTargets: boolean) {
  const [attempts] = requests.map(attemptsOfLastCall).filter(({ length }) => length > 1);
  const last = attempts?.at(-1);
  if (attempts === undefined || last === undefined) return {};
  const shown = attempts.map(({ target, outcome, failure, cause }) => ({
    target,
    outcome,
    ...(failure === undefined ? {} : { failure, cause: failureWords(failure, cause) }),
  }));
  return { lastFailover: { at: last.startedAt, ...(seesTargets ? { attempts: shown } : {}) } };
}

function attemptsOfLastCall(lines: readonly string[]): readonly Attempt[] {
  const attempts = lines.flatMap((line) => attemptSchema.safeParse(JSON.parse(line)).data ?? []);
  return attempts.filter(({ call }) => call === attempts.at(-1)?.call);
}
