// How does this dialect report a failure, as events and in bodies?
//
// Two events, in this order: some clients read only `response.failed`; others raise on `error` and stop
// reading there.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { ErrorObject } from '../../request/errors.ts';
import { noError, readErrorEvent, readErrorMember, readErrorValue } from '../answer/read-error.ts';
import type { UpstreamError } from '../dialect.ts';
import { buildResponse, settingsOf } from './response-object.ts';

/** Sent while there is nothing to say: other events than those of the dialect break SDKs. */
export const keepAlive = ': keep-alive\n\n';

/**
 * One event of this dialect; its data repeats its name.
 *
 * @param members JSON text of the other members, without the braces.
 */
export function frame(type: string, sequence: number, members: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},${members}}\n\n`;
}

/** JSON text without the braces. */
export function encodeMembers(members: JsonRecord): string {
  return JSON.stringify(members).slice(1, -1);
}

/**
 * The events that end a broken stream.
 *
 * @param sequence Of the first of the two.
 * @param buildFailed The response as far as it got.
 */
export function encodeFailure(
  error: ErrorObject,
  sequence: number,
  buildFailed: (state: {
    readonly status: 'failed';
    readonly error: { readonly code: string; readonly message: string };
  }) => JsonRecord,
): string {
  const { message, type, code, param } = error;
  const response = buildFailed({ status: 'failed', error: { code: failureCode(error), message } });
  // Flat as the specification has it, nested as OpenAI sends it.
  const members = { code, message, param, error: { type, code, message, param } };
  return (
    frame('response.failed', sequence, encodeMembers({ response })) +
    frame('error', sequence + 1, encodeMembers(members))
  );
}

/** The failure of a stream of which nothing was sent: SDKs want to see it begin before it fails. */
export function encodeResponsesErrorFrame(error: ErrorObject, requestId: string): string {
  const head = { id: requestId, createdAt: 0 };
  const settings = settingsOf(() => undefined);
  const content = { model: '', output: [], usage: undefined };
  const created = buildResponse(head, settings, { status: 'in_progress' }, content);
  return (
    frame('response.created', 0, encodeMembers({ response: created })) +
    encodeFailure(error, 1, (failed) => buildResponse(head, settings, failed, content))
  );
}

/** The code decides what agents do: wait, try again soon, shorten the prompt. Others try again. */
function failureCode({ code, type }: ErrorObject): string {
  if (code === 'rate_limit_exceeded' || code === 'context_length_exceeded') return code;
  const isOverload = type === 'overloaded_error' || overloads.has(code ?? '');
  return isOverload ? 'slow_down' : 'server_error';
}

const overloads: ReadonlySet<string> = new Set([
  'overloaded',
  'slow_down',
  'not_ready',
  'server_shutting_down',
  'upstream_unavailable',
]);

/** Of a response that does not say why. */
export const unnamedFailure: UpstreamError = { ...noError, message: 'the response failed' };

/** Why a response failed, as the upstream says in it. */
function readFailure(response: JsonRecord): UpstreamError {
  const error = readErrorValue({ error: response.error });
  if (error) return error;
  return response.status === 'cancelled'
    ? { ...noError, message: 'the response was cancelled' }
    : unnamedFailure;
}

/** The error that a response holds, whatever event or status it came with; undefined if it holds none. */
export function readResponseError(response: JsonRecord): UpstreamError | undefined {
  const hasFailed = response.status === 'failed' || response.status === 'cancelled';
  return hasFailed ? readFailure(response) : readErrorMember(response);
}

/** The error that the last event of a stream holds, beside its response or in it; undefined if it holds none. */
export function readEndError(event: JsonRecord): UpstreamError | undefined {
  const response = asRecord(event.response);
  return readErrorMember(event) ?? (response && readResponseError(response));
}

/** From the data of an error event. */
export function readResponsesErrorEvent(data: string): UpstreamError {
  const error = readErrorEvent(data);
  // Of a flat error it is the event's own type.
  return error.type === 'error' ? { ...error, type: null } : error;
}
