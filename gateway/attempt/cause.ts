// What did the gateway find wrong with an answer, in words? For its caller, the log and the record: our own words alone, none of
// what the upstream sent.

import type { AttemptFailure } from './failure.ts';

/** Longer ones are cut. */
const causeLengthMax = 200;

/** Undefined if the failure has no words beside its code, or if those are the upstream's. */
export function causeOf(failure: AttemptFailure): string | undefined {
  if (failure.kind !== 'answer' || !('detail' in failure.fault)) return undefined;
  return failure.fault.detail.slice(0, causeLengthMax);
}
