// Whose key is this, and what does the script say about it?

import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { DialectName } from '../core/catalog/dialects.ts';
import type { WireError } from './dialect.ts';

/** How the simulator treats a credential. `id` names it in the counts instead of its digest. */
export type KeyScript = { id?: string } & (
  | { behaviour: 'accepted' }
  | { behaviour: 'rejected' | 'forbidden' | 'out-of-money' }
  | { behaviour: 'rate-limited'; retryAfterS?: number }
);

type Credential = { value: string | null; sha256: string | null };

/** `Authorization: Bearer` first, else `x-api-key`, else `api-key`. */
export function readCredential(headers: IncomingHttpHeaders): Credential {
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  const value = bearer ?? oneValue(headers['x-api-key']) ?? oneValue(headers['api-key']) ?? null;
  return { value, sha256: value === null ? null : sha256(value) };
}

/** The refusal of a call with this credential; undefined: the call is accepted. */
export function refusalOf(
  script: KeyScript | undefined,
  dialectName: DialectName,
): { error: WireError; retryAfterS?: number } | undefined {
  switch (script?.behaviour) {
    case undefined:
    case 'accepted':
      return undefined;
    case 'rejected':
      return { error: invalidKey };
    case 'forbidden':
      return { error: { status: 403, message: 'This key may not use this model.' } };
    case 'out-of-money':
      return { error: dialectName === 'anthropic-messages' ? emptyBalance : exceededQuota };
    case 'rate-limited':
      return {
        error: { status: 429, message: 'Rate limit reached for this key.' },
        retryAfterS: script.retryAfterS ?? 1,
      };
  }
}

export const invalidKey: WireError = { status: 401, message: 'Incorrect API key provided.' };

const exceededQuota: WireError = {
  status: 429,
  message: 'You exceeded your current quota, please check your plan and billing details.',
  type: 'insufficient_quota',
  code: 'insufficient_quota',
};

/** As Anthropic says it: nothing but the words tells it from a caller's mistake. */
const emptyBalance: WireError = {
  status: 400,
  message:
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
};

const secretHeaders = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
]);

/** Headers as the log keeps them: every credential is replaced by its digest. */
export function redactHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const redacted: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const text = Array.isArray(value) ? value.join(', ') : (value ?? '');
    redacted[name] = secretHeaders.has(name) ? `sha256:${sha256(text.replace(/^Bearer /i, ''))}` : text;
  }
  return redacted;
}

function oneValue(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
