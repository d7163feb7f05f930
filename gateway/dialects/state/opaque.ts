// How does a provider's opaque state travel through a client of another dialect, and come back to
// that provider only? As a string of our own form, marked with where it came from.
//
//   penstock.1.<origin>.<base64url of JSON>
//
// The mark is no protection: a client that makes one up gets the provider's own refusal.

import { hash } from 'node:crypto';
import { parseJson } from '../../../core/parse-json.ts';
import { opaquePrefix } from '../../json/own-beginnings.ts';
import { asRecord } from '../../json/record.ts';

/** What a provider wants back exactly as it gave it. */
export type OpaqueState =
  /** Of a thinking block that is shown. */
  | { readonly kind: 'signature'; readonly value: string }
  /** A thinking block that is not shown. */
  | { readonly kind: 'redacted'; readonly value: string }
  /** Of a reasoning item. */
  | { readonly kind: 'encrypted'; readonly value: string; readonly id?: string }
  /** Of a chat message: one entry of `reasoning_details`. */
  | { readonly kind: 'details'; readonly value: unknown };

/** Opaque state and where it came from; without an origin it came in the client's own dialect, unmarked. */
export interface MarkedState {
  readonly origin?: string;
  readonly state: OpaqueState;
}

/**
 * A short name for a provider and a family of its models that tells nothing about them. One provider
 * may serve the models of several vendors, and none of them reads the state of another.
 */
export function originOf(providerId: string, upstreamModel: string): string {
  return hash('sha256', `origin ${providerId} ${familyOf(upstreamModel)}`, 'hex').slice(0, 16);
}

/**
 * The first word of a model's name, with its vendor's before it: `claude`, `google/gemini`, `anthropic.claude`. A geography before the
 * vendor is another place of the same model.
 */
export function familyOf(upstreamModel: string): string {
  const nameAt = upstreamModel.lastIndexOf('/') + 1;
  const name = upstreamModel.slice(nameAt).replace(/^(?:us|eu|apac|au|jp|in|us-gov|global)\.(?=\w+\.)/i, '');
  const [word = ''] = /^[a-z.]*/i.exec(name) ?? [];
  return (upstreamModel.slice(0, nameAt) + word).toLowerCase();
}

/** State of one provider as a string that clients echo. */
export function packOpaque(origin: string, state: OpaqueState): string {
  return `${opaquePrefix}${origin}.${Buffer.from(JSON.stringify(state)).toString('base64url')}`;
}

/** Undefined if the string is not in our own form: it is then native to the dialect of the request. */
export function unpackOpaque(text: string): Required<MarkedState> | 'damaged' | undefined {
  if (!text.startsWith(opaquePrefix)) return undefined;
  const [origin, payload, ...rest] = text.slice(opaquePrefix.length).split('.');
  const state = asRecord(parseJson(Buffer.from(payload ?? '', 'base64url').toString('utf8')));
  if (!origin || rest.length > 0 || !state) return 'damaged';
  const { kind, value, id } = state;
  if (kind === 'details') return { origin, state: { kind, value } };
  if (typeof value !== 'string') return 'damaged';
  if (kind === 'signature' || kind === 'redacted') return { origin, state: { kind, value } };
  if (kind !== 'encrypted') return 'damaged';
  return { origin, state: { kind, value, ...(typeof id === 'string' ? { id } : {}) } };
}
