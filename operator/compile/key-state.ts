// Which keys does the Secret of an ApiKey hold, and until when does each work? The Secret is the source of truth: it has all that must
// survive the loss of a status.
//
//   apiKey           the present key
//   previousApiKey   the one before it, while the overlap lasts
//   nextApiKey       the one after it, until every gateway knows it

import type { ApiKey, ApiKeySpec } from '../resources/api-key.ts';
import { toMs } from '../resources/duration.ts';
import { DEFAULT_DATA_KEY, NEXT_KEY, PREVIOUS_KEY, SECRET_NOTES } from '../resources/key-secret-names.ts';
import type { SecretRecord } from '../watch/snapshot.ts';
import { isKeyFormed, keyMalformed } from './checks/key-malformed.ts';
import { secretOfNamesake } from './checks/secret-of-namesake.ts';
import { secretTaken } from './checks/secret-taken.ts';
import { TIME_MS_MAX } from './iso-time.ts';
import type { Finding } from './verdict.ts';

export interface KeyState {
  readonly present: string;
  /** Undefined: no operator has made notes on this Secret yet. */
  readonly issuedAtMs: number | undefined;
  readonly version: number | undefined;
  /** The trigger that was acted on last. */
  readonly trigger: string | undefined;
  /** Absent from the moment on from which it works nowhere, whatever clock one looks at. */
  readonly previous: { readonly key: string; readonly endMs: number } | undefined;
  readonly next: string | undefined;
}

/**
 * Clocks of operators and gateways may differ by so much. A gateway ends a key by its own clock, so nothing of a key is
 * taken away before its end is past on every clock.
 */
export const CLOCK_TOLERANCE_MS = 10 * 60_000;

/** Whether the end is past on every clock, also on the slowest. */
export function isLongPast(endMs: number, nowMs: number): boolean {
  return nowMs >= endMs + CLOCK_TOLERANCE_MS;
}

/** Why this Secret is not to be used for this ApiKey, nor to be written. */
export function findSecretFault(
  apiKey: ApiKey,
  secret: SecretRecord,
  keyPrefix: string,
): Finding | undefined {
  return (
    secretOfNamesake(apiKey, secret) ??
    secretTaken(apiKey, secret) ??
    keyMalformed(secret, dataKeyOf(apiKey.spec), keyPrefix)
  );
}

/**
 * @param secret of this ApiKey, with a key that has the form of one.
 * @param nowMs Unix milliseconds.
 */
export function readKeyState(
  spec: ApiKeySpec,
  { data, annotations }: SecretRecord,
  keyPrefix: string,
  nowMs: number,
): KeyState {
  const present = data[dataKeyOf(spec)] ?? '';
  const issuedAtMs = readTime(annotations[SECRET_NOTES.issuedAt]);
  const other = (name: string): string | undefined => {
    const key = Object.hasOwn(data, name) ? data[name] : undefined;
    return key !== undefined && key !== present && isKeyFormed(key, keyPrefix) ? key : undefined;
  };
  const previous = other(PREVIOUS_KEY);
  const endMs = previousEnd(spec, readTime(annotations[SECRET_NOTES.previousNotAfter]), issuedAtMs);
  const next = other(NEXT_KEY);
  return {
    present,
    issuedAtMs,
    version: readNumber(annotations[SECRET_NOTES.version]),
    trigger: annotations[SECRET_NOTES.trigger],
    previous:
      previous === undefined || endMs === undefined || isLongPast(endMs, nowMs)
        ? undefined
        : { key: previous, endMs },
    next: next === previous ? undefined : next,
  };
}

export function dataKeyOf({ secret }: Pick<ApiKeySpec, 'secret'>): string {
  return secret?.key ?? DEFAULT_DATA_KEY;
}

/**
 * When the next rotation is due; undefined where none is to come. A trigger is due since the present key was issued, and
 * none is before the previous key is out of use: there are never three.
 *
 * @returns Unix milliseconds.
 */
export function rotationDueMs(
  { rotation, disabled, expiresAt }: ApiKeySpec,
  { issuedAtMs, trigger, previous }: KeyState,
): number | undefined {
  if (rotation === undefined || disabled || issuedAtMs === undefined) return undefined;
  const dues = [
    ...(rotation.trigger === undefined || rotation.trigger === trigger ? [] : [issuedAtMs]),
    ...(rotation.interval === undefined ? [] : [issuedAtMs + toMs(rotation.interval)]),
  ];
  if (dues.length === 0) return undefined;
  const dueMs = Math.max(
    Math.min(...dues),
    previous === undefined ? Number.NEGATIVE_INFINITY : previous.endMs + CLOCK_TOLERANCE_MS,
  );
  return expiresAt !== undefined && dueMs >= Date.parse(expiresAt) ? undefined : dueMs;
}

/** Undefined: no end is stored, or there is no overlap any more. The previous key does not work then. */
function previousEnd(
  { rotation, expiresAt }: ApiKeySpec,
  notAfterMs: number | undefined,
  issuedAtMs: number | undefined,
): number | undefined {
  if (notAfterMs === undefined) return undefined;
  const ends = [notAfterMs, ...(expiresAt === undefined ? [] : [Date.parse(expiresAt)])];
  if (rotation !== undefined) {
    const overlapMs = toMs(rotation.overlap);
    // Now, whatever clock one looks at.
    if (overlapMs === 0) return undefined;
    if (issuedAtMs !== undefined) ends.push(issuedAtMs + overlapMs);
  }
  return Math.min(...ends);
}

/** Undefined after a hand edit: not a time, or a time out of range. */
function readTime(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return time >= 0 && time <= TIME_MS_MAX ? time : undefined;
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : undefined;
}
