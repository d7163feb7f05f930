// Which unusable answers are logged? The first of each cause at each upstream model in a minute:
// an upstream that sends nothing else must not fill the log.

import type { Clock } from '../../core/clock.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';

export interface UnusableAnswer
  extends Pick<LedgerRecord, 'provider' | 'upstreamModel' | 'request' | 'attempt'> {
  readonly cause: string;
  readonly clientRequestId: string | undefined;
}

const everyMs = 60_000;

/** Causes are few; upstreams may be many. Beyond this all are forgotten, and reported again. */
const knownMax = 1_000;

export function logOncePerMinute(
  clock: Clock,
  log: (answer: UnusableAnswer) => void,
): (answer: UnusableAnswer) => void {
  const reportedAt = new Map<string, number>();
  return (answer) => {
    const name = [answer.provider, answer.upstreamModel, answer.cause].join('\n');
    const now = clock.now();
    if (now - (reportedAt.get(name) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    if (reportedAt.size >= knownMax) reportedAt.clear();
    reportedAt.set(name, now);
    log(answer);
  };
}
