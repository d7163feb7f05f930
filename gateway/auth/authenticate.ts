// Which caller sends the request? Headers to a caller, or always the same 401.

import { hash } from 'node:crypto';
import type { Caller } from '../request/caller.ts';
import { GatewayError } from '../request/errors.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { TableView } from '../table/view.ts';

/** What the headers say, before anything is looked up. */
export type Credential =
  | { readonly type: 'none' }
  | { readonly type: 'key'; readonly value: string }
  /** Present, but not a key; `hint` says what a person would do about it. */
  | { readonly type: 'malformed'; readonly hint: string | undefined };

const keyLengthMin = 20;

const blank = 0x20;

/**
 * `Authorization: Bearer` decides; `x-api-key` counts only if there is no `Authorization`,
 * because some clients send both.
 *
 * @throws {GatewayError} `invalid_parameter` if one of the headers that must be single is repeated.
 */
export function readCredential({ authorization, apiKey, repeated }: CredentialHeaders): Credential {
  if (repeated !== undefined) {
    throw new GatewayError('invalid_parameter', `The header '${repeated}' was sent twice; send it once.`, {
      param: repeated,
    });
  }
  if (authorization !== undefined) return readBearer(authorization);
  return apiKey === undefined ? { type: 'none' } : readKey(apiKey);
}

type CredentialHeaders = Pick<RequestHead, 'authorization' | 'apiKey' | 'repeated'>;

/** What of a table says whose key is good. */
interface KeyBook {
  readonly keys: Pick<TableView['keys'], 'get'>;
  readonly settings: Pick<TableView['settings'], 'keyPrefix'>;
}

/**
 * @throws {GatewayError} `invalid_api_key`: the same body whatever is wrong with the key, and after the same work, so that the time
 * it takes says nothing either.
 */
export function authenticate(credential: Credential, view: KeyBook, nowMs: number): Caller {
  const value = credential.type === 'key' ? credential.value : noKey;
  const key = view.keys.get(digestKey(value));
  // guard: key-expiry
  const isLive = key !== undefined && (key.notAfterMs === undefined || nowMs < key.notAfterMs);
  if (isLive && credential.type === 'key' && value.startsWith(view.settings.keyPrefix)) {
    return callerOf(key);
  }
  const hint = credential.type === 'malformed' ? credential.hint : undefined;
  throw new GatewayError('invalid_api_key', hint === undefined ? rejection : `${rejection} ${hint}`);
}

/** The holder of the key, expired or not; undefined for an unknown key. Only for counters and logs: it does not admit a request. */
export function findKey(head: CredentialHeaders, { keys }: Pick<KeyBook, 'keys'>): Caller | undefined {
  if (head.repeated !== undefined) return undefined;
  const credential = readCredential(head);
  const key = credential.type === 'key' ? keys.get(digestKey(credential.value)) : undefined;
  return key && callerOf(key);
}

function callerOf(key: Caller['key']): Caller {
  let caller = callers.get(key);
  if (caller === undefined) {
    caller = { key, namespace: key.id.slice(0, key.id.indexOf('/')) };
    callers.set(key, caller);
  }
  return caller;
}

/** Kept as long as the table that their keys are of. */
const callers = new WeakMap<Caller['key'], Caller>();

/** SHA-256 in hex: a key has 256 random bits, so neither salt nor a slow hash would add anything. */
export function digestKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** As long as a key, and none: what is looked up if nothing was sent that could be one. */
const noKey = '-'.repeat(53);

const rejection =
  'The API key is missing, unknown, disabled or expired. Send a valid one as the header "Authorization: Bearer <API_KEY>".';

function readBearer(value: string): Credential {
  if (/^bearer$/i.test(value)) return { type: 'malformed', hint: undefined };
  if (!/^bearer /i.test(value)) {
    return { type: 'malformed', hint: 'The Authorization header must begin with "Bearer ".' };
  }
  let start = 'bearer '.length;
  // One or more blanks follow the scheme (RFC 9110, section 11.4).
  while (value.charCodeAt(start) === blank) start++;
  return readKey(value.slice(start));
}

function readKey(value: string): Credential {
  if (/["'`\s]/.test(value)) {
    return {
      type: 'malformed',
      hint: 'The key has quotes or spaces in it. Send the bare key.',
    };
  }
  return value.length < keyLengthMin ? { type: 'malformed', hint: undefined } : { type: 'key', value };
}
