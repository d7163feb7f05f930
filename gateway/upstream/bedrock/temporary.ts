// Are these credentials that end, and when?

import type { AwsCredentials } from '../../../core/contract/aws-credentials.ts';
import { isVisibleWord } from '../../../core/contract/visible-word.ts';

export interface Temporary {
  readonly credentials: AwsCredentials;
  /** Infinity: they have no end. */
  readonly lifetimeMs: number;
  /** ARN of the role's session, where it is said. */
  readonly identity?: string;
}

/**
 * Undefined if one is missing, or could not be sent in a header.
 *
 * @param date The header of the answer that they are in: its clock counts, not ours.
 */
export function temporaryOf(
  { accessKeyId, secretAccessKey, sessionToken, expiration }: Readonly<Record<string, unknown>>,
  date: string | undefined,
  nowMs: number,
): Temporary | undefined {
  if (!isVisibleWord(accessKeyId) || !isVisibleWord(secretAccessKey) || !isVisibleWord(sessionToken))
    return undefined;
  const endsAtMs = typeof expiration === 'string' ? Date.parse(expiration) : Number.NaN;
  const saidAtMs = Date.parse(date ?? '');
  const leftMs = endsAtMs - (Number.isNaN(saidAtMs) ? nowMs : saidAtMs);
  const lifetimeMs = leftMs > 0 ? leftMs : 0;
  return { credentials: { accessKeyId, secretAccessKey, sessionToken }, lifetimeMs };
}
