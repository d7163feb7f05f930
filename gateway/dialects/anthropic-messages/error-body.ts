// How does messages say that something went wrong? Read leniently, written with our own code beside
// the vendor's members.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../json/record.ts';
import type { ErrorObject } from '../../request/errors.ts';
import { meansFailure } from '../answer/failure-reasons.ts';
import {
  noError,
  readErrorBody,
  readErrorDetails,
  readErrorEvent,
  readErrorMember,
} from '../answer/read-error.ts';
import type { UpstreamError } from '../dialect.ts';

/** The envelope differs from OpenAI's only around the error object. */
export function readMessagesError(body: Buffer): UpstreamError {
  const error = asRecord(asRecord(parseJson(body.toString('utf8')))?.error);
  const details = readErrorDetails(error?.details);
  return { ...withStatus(readErrorBody(body)), ...(details ? { details } : {}) };
}

/** From the data of an error event. */
export function readMessagesErrorEvent(data: string): UpstreamError {
  return withStatus(readErrorEvent(data));
}

/**
 * The error inside an answer or an event of status 200; undefined without one. Servers of other models in this dialect may report an
 * error only in the stop reason, of the message or of its last delta.
 */
export function readMessagesErrorMember(value: unknown): UpstreamError | undefined {
  const error = readErrorMember(value);
  if (error) return withStatus(error);
  const members = asRecord(value);
  return meansFailure(members?.stop_reason) || meansFailure(asRecord(members?.delta)?.stop_reason)
    ? noError
    : undefined;
}

/** Stream errors carry no status; their type implies one (Anthropic API reference, "Errors"). */
function withStatus(error: UpstreamError): UpstreamError {
  if (error.status !== null || error.type === null) return error;
  return { ...error, status: statuses.get(error.type) ?? null };
}

const statuses: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

/** Ends a broken stream: nothing follows it. */
export function encodeMessagesErrorFrame({ type, message, code }: ErrorObject, requestId: string): string {
  const data = { type: 'error', error: { type, message, code }, request_id: requestId };
  return `event: error\ndata: ${JSON.stringify(data)}\n\n`;
}
