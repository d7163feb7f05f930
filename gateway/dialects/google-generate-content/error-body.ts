// How do Google's services say that something went wrong? `{"error":{code,message,status,details}}`, some of them in a list of one
// (google/rpc/status.proto and error_details.proto).

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { noError, readErrorMember, readErrorValue } from '../answer/read-error.ts';
import type { UpstreamError } from '../dialect.ts';

export function readGoogleError(body: Buffer): UpstreamError {
  const value = parseJson(body.toString('utf8'));
  const error = readErrorValue(value);
  return error ? withDetails(error, value) : noError;
}

/** The error inside an answer or an event of status 200; undefined if it has none. */
export function readGoogleErrorMember(value: unknown): UpstreamError | undefined {
  const error = readErrorMember(value);
  return error && withDetails(error, value);
}

/** Its status is the type of an error, and the reason that one of its details names is the code. */
function withDetails(error: UpstreamError, value: unknown): UpstreamError {
  const inner = asRecord(asRecord(Array.isArray(value) ? value[0] : value)?.error);
  if (!inner) return error;
  const details = Array.isArray(inner.details) ? inner.details.filter(isRecord) : [];
  const reason = details.find(isOf('ErrorInfo'))?.reason;
  const { retryAfterMs: _, ...rest } = error;
  return {
    ...(isOfDay(details) ? rest : error),
    type: typeof inner.status === 'string' ? inner.status : error.type,
    code: typeof reason === 'string' ? reason : null,
  };
}

/** The quota of a day is used up: the few seconds that such an error says to wait do not help. */
function isOfDay(details: readonly JsonRecord[]): boolean {
  return details.filter(isOf('QuotaFailure')).some(({ violations }) => {
    const quotas = Array.isArray(violations) ? violations : [];
    return quotas.some((quota) => /PerDay/.test(String(asRecord(quota)?.quotaId)));
  });
}

function isOf(type: string): (detail: JsonRecord) => boolean {
  return (detail) => detail['@type'] === `type.googleapis.com/google.rpc.${type}`;
}
