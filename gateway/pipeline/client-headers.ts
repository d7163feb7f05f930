// Which of a client's headers are forwarded to the upstream, and which does a translated request carry?

import type { UpstreamDialect } from '../dialects/dialect.ts';
import { ownsProvider } from '../request/caller.ts';
import type { Candidate } from '../route/plan.ts';
import type { Exchange } from './parts.ts';

/** The first header of that name; the name is in lower case. */
export function readHeader(rawHeaders: readonly string[], name: string): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) return rawHeaders[at + 1];
  }
  return undefined;
}

/** The tenant's own provider (BYOK). */
export function isOwnProvider(
  { caller }: Pick<Exchange, 'caller'>,
  { target }: Pick<Candidate, 'target'>,
): boolean {
  return ownsProvider(caller, target.provider);
}

/**
 * The dialect's headers of one upstream request, names and values in turn. Only if client and upstream speak the same dialect can
 * the client's own mean anything; what the Provider sets wins, and a client cannot set its sign-in headers.
 */
export function dialectHeaders(
  ofProvider: ReadonlySet<string>,
  exchange: Exchange,
  candidate: Candidate,
  upstream: UpstreamDialect,
  isNative: boolean,
): readonly string[] {
  const headers: string[] = [];
  if (isNative) {
    const isOwn = isOwnProvider(exchange, candidate);
    const { dialect, request } = exchange;
    const { rawHeaders } = request;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = (rawHeaders[at] ?? '').toLowerCase();
      // guard: upstream-header-list
      if (ofProvider.has(name) || !dialect.forwardsHeader(name, isOwn)) continue;
      headers.push(name, rawHeaders[at + 1] ?? '');
    }
  }
  const forwardedEnd = headers.length;
  const { traceHeaders = noHeaders } = candidate;
  for (let at = 0; at < traceHeaders.length; at += 2) {
    const name = traceHeaders[at] ?? '';
    if (!ofProvider.has(name)) headers.push(name, traceHeaders[at + 1] ?? '');
  }
  for (const [name, value] of upstream.upstreamHeaders) {
    if (!ofProvider.has(name) && !hasName(headers, name, forwardedEnd)) headers.push(name, value);
  }
  return headers;
}

const noHeaders: readonly string[] = [];

/** Whether one of the first headers, up to a place, has this name. */
function hasName(headers: readonly string[], name: string, to: number): boolean {
  for (let at = 0; at < to; at += 2) if (headers[at] === name) return true;
  return false;
}

const queryLengthMax = 1024;

/** The query of the client's address, with its `?`; invalid parts are removed. */
export function forwardedQuery({ request, dialect }: Exchange, isNative: boolean): string {
  if (!isNative || !dialect.keepsQuery) return '';
  const at = request.url.indexOf('?');
  const query = at === -1 ? '' : request.url.slice(at);
  return query.length <= queryLengthMax && /^\?[\w=&%.~+-]+$/.test(query) ? query : '';
}
