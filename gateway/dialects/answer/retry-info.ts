// How long does an error say to wait, in its own body? Google has no `retry-after`: its 429 tells it in `error.details` alone
// (google/rpc/error_details.proto, RetryInfo; vercel/ai#18627, 2026-08).

import { asRecord } from '../../json/record.ts';

/** @param details The member of that name. In milliseconds; undefined if no entry tells a time. */
export function readRetryDelayMs(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const entry of details) {
    const { '@type': type, retryDelay } = asRecord(entry) ?? {};
    if (type !== 'type.googleapis.com/google.rpc.RetryInfo' || typeof retryDelay !== 'string') continue;
    const [, seconds] = duration.exec(retryDelay) ?? [];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000);
  }
  return undefined;
}

/** As protobuf writes a span of time in JSON: seconds, with up to nine decimal places. */
const duration = /^(\d{1,12}(?:\.\d{1,9})?)s$/;
