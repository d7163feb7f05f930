// What does a check send to an upstream, and what does the answer say? Pure.

import { DIALECTS, isUpstreamOnly, UPSTREAM_DIALECTS } from '../../core/catalog/dialects.ts';
import { smallestRequest } from '../../core/catalog/smallest-request.ts';
import { refusesKey } from '../../core/contract/refused-key.ts';
import type { ProviderEntry } from '../../core/contract/routing-table.ts';
import type { OneAnswer, OneCall } from '../../core/egress/send-once.ts';
import type { CheckRequest } from '../compile/health-check.ts';
import { readWords } from './read-words.ts';

export type CheckCall = OneCall;

/** Finds the value of a credential of the table. */
export type RevealCredential = (id: string) => string | undefined;

/** @param credential of the key that is checked; undefined where the upstream takes none. */
export function buildCheck(
  request: CheckRequest,
  entry: ProviderEntry,
  credential: string | undefined,
  reveal: RevealCredential,
): CheckCall {
  const own = entry.headers.map(({ name, value, credential: id }): [string, string] => [
    name.toLowerCase(),
    (id === undefined ? value : reveal(id)) ?? '',
  ]);
  const value = credential === undefined ? undefined : reveal(credential);
  const headers = {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'penstock-operator',
    ...Object.fromEntries(entry.dialects.flatMap((dialect) => UPSTREAM_DIALECTS[dialect].headers)),
    ...Object.fromEntries(own),
    ...(entry.auth === undefined || value === undefined
      ? {}
      : { [entry.auth.header.toLowerCase()]: entry.auth.prefix + value }),
  };
  switch (request.type) {
    case 'ListModels':
      return { method: 'GET', url: `${entry.baseUrl}/models`, headers };
    case 'HTTPGet':
      return { method: 'GET', url: new URL(entry.baseUrl).origin + request.path, headers };
    case 'Completion': {
      const { path, body } = smallestCall(entry, request.model);
      return {
        method: 'POST',
        url: entry.baseUrl + path,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      };
    }
  }
}

function smallestCall({ dialects, chatNames }: ProviderEntry, model: string): { path: string; body: object } {
  const dialect = dialects.find((name) => !isUpstreamOnly(name)) ?? 'openai-chat';
  const { path, bound, unstored } = DIALECTS[dialect];
  const limit = chatNames === 'current' ? (bound.current ?? bound.member) : bound.member;
  return { path, body: { model, ...smallestRequest(dialect, 'ping'), [limit]: bound.min, ...unstored } };
}

export type CheckAnswer = OneAnswer;

export type CheckOutcome =
  | { readonly type: 'works' }
  /** The upstream answers, but refuses this key. */
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'fails'; readonly message: string };

export function judgeCheck(
  request: CheckRequest,
  { method, url }: CheckCall,
  answer: CheckAnswer,
): CheckOutcome {
  if (answer.type === 'none') return { type: 'fails', message: answer.reason };
  const { status, body = '' } = answer;
  const message = `${method} ${url} was answered with ${status}`;
  // A key that may call a model need not be allowed to list models: there, that it is not says nothing against it.
  const mayNotCall = request.type === 'Completion' && (status === 401 || status === 403);
  if (mayNotCall || refusesKey(status, readWords(body))) return { type: 'refused', message };
  return isGood(request, status) ? { type: 'works' } : { type: 'fails', message };
}

function isGood({ type }: CheckRequest, status: number): boolean {
  if (status === 429) return true;
  switch (type) {
    case 'HTTPGet':
      // The same rule as the kubelet's.
      return status >= 200 && status < 400;
    case 'Completion':
      return status >= 200 && status < 300;
    case 'ListModels':
      // Many servers list no models; that they say so is all that was to be known.
      return status < 500;
  }
}
