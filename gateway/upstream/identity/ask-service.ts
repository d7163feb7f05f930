// How is a service asked that gives credentials? One small request, one small answer; never at an address that a Secret or a request names.

import type { Pool } from 'undici';
import { EgressError, systemCode } from '../../../core/egress/egress-error.ts';
import { codeInWords, ExchangeError } from './exchange-error.ts';

interface ServiceRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly text: string;
  /** @param name In lower case. */
  header(name: string): string | undefined;
}

export type AskService = (url: URL, request: ServiceRequest) => Promise<ServiceAnswer>;

const timeoutMs = 10_000;
const bytesMax = 64 * 1024;

/** @throws {ExchangeError} without an answer. */
export async function askService(
  pool: Pool,
  url: URL,
  { method, headers, body }: ServiceRequest,
): Promise<ServiceAnswer> {
  try {
    const answer = await pool.request({
      method,
      path: url.pathname + url.search,
      headers,
      body: body ?? null,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of answer.body) {
      const piece: unknown = chunk;
      if (!Buffer.isBuffer(piece)) continue;
      bytes += piece.length;
      if (bytes > bytesMax)
        throw new ExchangeError(
          `${url.host} sent more than ${bytesMax / 1024} KiB. Check that it is the service.`,
          false,
        );
      chunks.push(piece);
    }
    const header = (name: string): string | undefined => {
      const value = answer.headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    return { status: answer.statusCode, text: Buffer.concat(chunks).toString('utf8'), header };
  } catch (error) {
    throw error instanceof ExchangeError ? error : unanswered(url, error);
  }
}

function unanswered(url: URL, error: unknown): ExchangeError {
  for (let at = error; at instanceof Error; at = at.cause)
    if (at instanceof EgressError)
      // An egress error already names its own remedy.
      return new ExchangeError(at.code === 'egress_denied' ? at.message : `${at.message} ${remedy}`, false);
  const isLate = error instanceof Error && error.name === 'TimeoutError';
  const fact = isLate ? `did not answer within ${timeoutMs / 1000} s` : 'broke the connection';
  return new ExchangeError(`${url.host} ${fact}${codeInWords(systemCode(error))}. ${remedy}`, false);
}

const remedy = 'Check that gateways can reach the service.';

/** As services of OAuth 2 want it. */
export function formOf(members: Readonly<Record<string, string>>): ServiceRequest {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(members).toString(),
  };
}
