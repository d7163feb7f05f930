// What is missing, what is there twice, and do the sums say the same as the records? Pure.

import type { LedgerSeen } from './run.ts';

export interface LedgerVerdict {
  /** Attempts of answered requests that have no record. */
  readonly lost: number;
  /** Ids that stand there twice, and sums that are higher than their records. */
  readonly doubled: number;
  /** Picodollars by which the sums differ from the records. */
  readonly offPicodollars: bigint;
}

export function judgeLedger({
  asked,
  callsMade,
  records,
  sums,
  spentPicodollars,
}: Pick<LedgerSeen, 'asked' | 'callsMade' | 'records' | 'sums' | 'spentPicodollars'>): LedgerVerdict {
  const byRequest = Map.groupBy(records, ({ request }) => request);
  let lost = Math.max(0, callsMade - records.length);
  for (const [request, attempts] of asked)
    lost += Math.max(0, attempts - (byRequest.get(request)?.length ?? 0));
  const ids = new Set(records.map(({ id }) => id));
  const attempts = sums?.attempts ?? 0;
  const cost = (payer?: string): bigint =>
    records
      .filter((record) => payer === undefined || record.payer === payer)
      .reduce((sum, { costPicodollars }) => sum + BigInt(costPicodollars ?? 0), 0n);
  return {
    lost,
    doubled:
      records.length -
      ids.size +
      Math.abs(attempts - records.length) +
      Math.max(0, records.length - callsMade),
    offPicodollars:
      absolute((sums?.costPicodollars ?? 0n) - cost()) + absolute((spentPicodollars ?? 0n) - cost('tenant')),
  };
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value);
