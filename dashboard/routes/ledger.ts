// How do pages ask the ledger? With the user's token: the ledger asks Kubernetes whose token it is and what the user may see.

import type { FastifyInstance } from 'fastify';
import { LedgerAway, type LedgerQuestion } from '../cluster.ts';
import { type Door, sessionOf } from '../door.ts';
import { ledgerAway, noLedger } from '../errors.ts';

const questions = [
  'sums',
  'series',
  'refusals',
  'requests',
  'request-log',
  'models',
  'keys',
  'namespaces',
  'budgets',
  'health',
];
const posted = ['plan', 'catalog', 'connection-check'];

export function addLedgerRoutes(api: FastifyInstance, door: Door): void {
  const add = (method: 'GET' | 'POST', name: string): void => {
    api.route({
      method,
      url: `/ledger/v1/${name}`,
      async handler(request, reply) {
        const { token } = sessionOf(door, request);
        const mark = request.url.indexOf('?');
        const { status, text } = await askLedger(door, reply.raw, {
          method,
          path: `/v1/${name}`,
          search: mark === -1 ? '' : request.url.slice(mark),
          token,
          ...(method === 'POST' ? { body: JSON.stringify(request.body ?? {}) } : {}),
        });
        return reply.status(status).type('application/json').send(text);
      },
    });
  };
  for (const name of questions) add('GET', name);
  for (const name of posted) add('POST', name);
}

/** The same for programs on one's own machine, at the paths that the ledger of a cluster has; the token is in the header. */
export function addOpenLedgerRoutes(scope: FastifyInstance, door: Door): void {
  const add = (method: 'GET' | 'POST', name: string): void => {
    scope.route({
      method,
      url: `/v1/${name}`,
      async handler(request, reply) {
        const mark = request.url.indexOf('?');
        const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
        const { status, text } = await askLedger(door, reply.raw, {
          method,
          path: `/v1/${name}`,
          search: mark === -1 ? '' : request.url.slice(mark),
          token: token === '' ? noToken : token,
          ...(method === 'POST' ? { body: JSON.stringify(request.body ?? {}) } : {}),
        });
        return reply.status(status).type('application/json').send(text);
      },
    });
  };
  for (const name of [...questions, 'costs', 'uses']) add('GET', name);
  for (const name of posted) add('POST', name);
}

/** A token that no user has. */
const noToken = '-';

interface Closing {
  readonly writableFinished: boolean;
  once(event: 'close', listener: () => void): unknown;
}

/** Cancelled when the user's connection closes. @throws {DashboardError} 503 if the ledger does not answer, or there is no ledger. */
export async function askLedger(door: Door, raw: Closing, question: Omit<LedgerQuestion, 'signal'>) {
  const { ledger, log } = door.parts;
  if (ledger === undefined) throw noLedger();
  const gone = new AbortController();
  raw.once('close', () => gone.abort());
  try {
    return await ledger.ask({ ...question, signal: gone.signal });
  } catch (error) {
    if (!(error instanceof LedgerAway)) throw error;
    if (!gone.signal.aborted)
      log('warn', 'the ledger does not answer', { path: question.path, reason: error.message });
    throw ledgerAway('The ledger does not answer right now. Try again.');
  }
}
