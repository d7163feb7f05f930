// Which pages of other addresses may ask, and read the answer? Those that are listed, the dashboard's among them: browsers ask before
// they send, and keep from a page what it was not given leave to read (Fetch standard, section 3.3). Programs outside a browser
// send as before; a key is needed in any case.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ERROR_SHAPES } from '../../core/catalog/error-shapes.ts';
import { rateNames } from '../../core/catalog/limits.ts';
import { explainNotFound } from './not-found.ts';

export interface CrossOrigin {
  /** Before anything of the answer is written; a refusal may be read too. */
  onAnswer(request: IncomingMessage, response: ServerResponse): void;
  /** Answers browsers that ask for leave, which they do without a key. */
  addPreflight(app: FastifyInstance): void;
  /** What an answer depends on that says so itself. */
  vary(others: string): string;
}

const requestHeaders = new Set([
  'authorization',
  'content-type',
  'x-api-key',
  'user-agent',
  'x-penstock-delivery',
]);
/** What SDKs add, each release some more. */
const ofSdks = /^(anthropic|openai|x-stainless)-[a-z0-9-]{1,60}$/;

/** Without a word on them a page sees `content-type` and little else. */
const exposedHeaders = [
  ...['x-request-id', 'request-id', 'retry-after', 'retry-after-ms', 'x-should-retry'],
  ...['generation', 'attempts', 'provider', 'dropped', 'estimated'].map((name) => `x-penstock-${name}`),
  ...rateNames.flatMap((kind) =>
    ['limit', 'remaining', 'reset'].flatMap((what) => [
      `x-ratelimit-${what}-${kind}`,
      ...Object.values(ERROR_SHAPES).flatMap(({ rateLimitPrefix }) =>
        rateLimitPrefix === undefined ? [] : [`${rateLimitPrefix}-${kind}-${what}`],
      ),
    ]),
  ),
].join(', ');

/** Browsers repeat the preflight request after this time, in seconds. */
const leaveSeconds = 600;

/** @param origins As browsers write them: `https://penstock.example.com`. @returns Undefined if there are none. */
export function openCrossOrigin(origins: readonly string[]): CrossOrigin | undefined {
  if (origins.length === 0) return undefined;
  const known = new Set(origins);
  const knownOrigin = ({ headers: { origin } }: IncomingMessage): string | undefined =>
    origin !== undefined && known.has(origin) ? origin : undefined;
  return {
    onAnswer(request, response) {
      response.setHeader('vary', 'origin');
      const origin = knownOrigin(request);
      if (origin === undefined) return;
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('access-control-expose-headers', exposedHeaders);
    },
    addPreflight(app) {
      app.route({
        method: 'OPTIONS',
        url: '/v1/*',
        // Before any body is read.
        onRequest: async ({ method, url, raw }, reply) => {
          const isAsking = raw.headers['access-control-request-method'] !== undefined;
          if (!isAsking || knownOrigin(raw) === undefined) throw explainNotFound(method, url);
          const allowed = allowedOf(raw.headers['access-control-request-headers']);
          await reply
            .code(204)
            .headers({
              'access-control-allow-methods': 'GET, POST',
              ...(allowed === '' ? {} : { 'access-control-allow-headers': allowed }),
              'access-control-max-age': String(leaveSeconds),
              vary: 'origin, access-control-request-headers',
            })
            .send();
        },
        handler: () => {
          throw new Error('a preflight that was answered came back');
        },
      });
    },
    vary: (others) => `${others}, origin`,
  };
}

/** The requested headers that a page may send. */
function allowedOf(asked = ''): string {
  return asked
    .split(',', 64)
    .map((name) => name.trim().toLowerCase())
    .filter((name) => requestHeaders.has(name) || ofSdks.test(name))
    .join(', ');
}
