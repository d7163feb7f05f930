// How did the requests of a period end, and how long did they wait? Pure: out of what the ledger says of all of it.

import type { FirstContent, RequestsAnswer } from './ledger.ts';

interface RequestTotals {
  readonly requests: number;
  readonly errors: number;
  readonly refused: number;
  readonly errorRate: number;
  readonly firstContentMs: FirstContent | undefined;
}

export function requestTotals({ total }: RequestsAnswer): RequestTotals {
  const { requests, outcomes, firstContentMs } = total;
  const errors = (outcomes.failed ?? 0) + (outcomes['broken-off'] ?? 0) + (outcomes.interrupted ?? 0);
  return {
    requests,
    errors,
    refused: outcomes.refused ?? 0,
    errorRate: requests === 0 ? 0 : Math.min(1, errors / requests),
    firstContentMs,
  };
}
