// How is a token service asked? One small form, one small JSON answer; never at an address that a Secret or a request names.

import type { Pool } from 'undici';
import { parseJson } from '../../core/parse-json.ts';
import { asRecord, type JsonRecord } from '../json/record.ts';
import type { ProviderView } from '../table/view.ts';

export interface TokenPools {
  tokenPool(provider: ProviderView, origin: string): Pool;
}

const timeoutMs = 10_000;
const bytesMax = 64 * 1024;

/**
 * The members of its answer.
 *
 * @throws {Error} where it gives none; what it said is never in the message, for it may repeat what it was sent.
 */
export async function askForToken(
  pools: TokenPools,
  provider: ProviderView,
  url: URL,
  form: Readonly<Record<string, string>>,
): Promise<JsonRecord> {
  const { statusCode, body } = await pools.tokenPool(provider, url.origin).request({
    method: 'POST',
    path: url.pathname,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const piece: unknown = chunk;
    if (!Buffer.isBuffer(piece)) continue;
    bytes += piece.length;
    if (bytes > bytesMax) throw new Error(`${url.host} sent more than ${bytesMax / 1024} KiB`);
    chunks.push(piece);
  }
  const answer = asRecord(parseJson(Buffer.concat(chunks).toString('utf8')));
  if (statusCode === 200 && answer) return answer;
  const { error } = answer ?? {};
  // The codes of RFC 6749, section 5.2, are single words.
  const word = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` ${error}` : '';
  throw new Error(`${url.host} answered ${statusCode}${word}`);
}
