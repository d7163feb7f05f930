// What do operator and ledger ask a gateway? Its table and the health of its upstreams, the records that it has written, the plan for a
// request, and a test of a connection. Served on a separate port, to holders of a token that only readers of the pointer Secret know.

import { hash, timingSafeEqual } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { CHECK_PATH, checkQuestionSchema } from '../../core/contract/connection-check.ts';
import {
  EXCHANGE_PATH,
  EXCHANGE_WAIT_MS_MAX,
  exchangeRequestSchema,
  JOURNAL_CURSOR_HEADER,
  JOURNAL_PATH,
} from '../../core/contract/exchange.ts';
import {
  CATALOG_PATH,
  catalogRequestSchema,
  PLAN_BODY_BYTES_MAX,
  PLAN_PATH,
  planRequestSchema,
} from '../../core/contract/plan.ts';
import { buildTlsServer, type TlsServer } from '../../core/kube/own-server.ts';
import { serverPatience } from '../../core/kube/server-patience.ts';
import { checkConnection } from '../check/check-connection.ts';
import type { ReadableJournal } from '../meter/journal.ts';
import type { PlanParts } from '../plan/parts.ts';
import { answerCatalog, answerPlan } from '../plan/plan-request.ts';
import { GatewayError } from '../request/errors.ts';
import type { PodState } from './pod-state.ts';

export interface ExchangeParts {
  readonly clock: Clock;
  readonly state: PodState;
  readonly journal: ReadableJournal;
  /** Undefined until the pointer has been read. */
  token(): string | undefined;
  onReadyPods(count: number): void;
  /** By what requests are served with: what would happen with one. */
  readonly plan: PlanParts;
}

export interface ExchangeServer {
  /** Plain HTTP. */
  readonly server: Server;
  /** The same over TLS. */
  readonly tls: TlsServer;
  /** Answers all waiting long-polls at once, and later ones without waiting. The journal can still be read. */
  drain(): void;
}

const exchangeBytesMax = 16 * 1024;

const journalQuerySchema = z.object({
  after: z.string().min(1).max(128).optional(),
  waitMs: z.coerce.number().int().min(0).max(EXCHANGE_WAIT_MS_MAX).default(0),
});

/** An error of the client of the exchange: status and message. */
class CallError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** @param patienceMs In which a request is to have come, its body too. */
export function buildExchangeServer(parts: ExchangeParts, patienceMs = 10_000): ExchangeServer {
  const draining = new AbortController();
  const listener: RequestListener = (request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const givenUp = AbortSignal.any([gone.signal, draining.signal]);
    handle(parts, request, response, givenUp, draining.signal).catch((error: unknown) => {
      const callError = callErrorOf(error);
      const status = callError?.status ?? 500;
      const message = callError?.message ?? 'the gateway failed; ask again';
      // The rest of a refused body is not read.
      if (status === 413) response.setHeader('connection', 'close');
      answerJson(response, status, { error: message });
    });
  };
  return {
    server: createServer(serverPatience(patienceMs), listener),
    tls: buildTlsServer(listener, patienceMs),
    drain: () => draining.abort(),
  };
}

/** Undefined if it is our fault. A refusal of the caller in the question becomes a 404: a 401 is only for the exchange's own bearer. */
function callErrorOf(error: unknown): CallError | undefined {
  if (error instanceof CallError) return error;
  if (!(error instanceof GatewayError)) return undefined;
  return new CallError(error.code === 'not_ready' ? 503 : 404, error.message);
}

async function handle(
  parts: ExchangeParts,
  request: IncomingMessage,
  response: ServerResponse,
  givenUp: AbortSignal,
  draining: AbortSignal,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://pod');
  switch (pathname) {
    case EXCHANGE_PATH: {
      expectCall(parts, request, 'POST');
      if (draining.aborted) throw new CallError(503, 'this gateway is being drained');
      const wanted = parseOrTell(exchangeRequestSchema, parseJson(await readBody(request, exchangeBytesMax)));
      parts.onReadyPods(wanted.readyPods);
      const answer = await parts.state.poll(wanted, givenUp);
      if (draining.aborted) response.setHeader('connection', 'close');
      answerJson(response, 200, answer);
      return;
    }
    case JOURNAL_PATH: {
      expectCall(parts, request, 'GET');
      const query = parseOrTell(journalQuerySchema, Object.fromEntries(searchParams));
      await answerJournal(parts, response, query, givenUp);
      return;
    }
    case PLAN_PATH: {
      expectCall(parts, request, 'POST');
      const question = parseOrTell(planRequestSchema, await readQuestion(request));
      answerJson(response, 200, await answerPlan(parts.plan, question));
      return;
    }
    case CATALOG_PATH: {
      expectCall(parts, request, 'POST');
      const question = parseOrTell(catalogRequestSchema, await readQuestion(request));
      answerJson(response, 200, answerCatalog(parts.plan, question));
      return;
    }
    case CHECK_PATH: {
      expectCall(parts, request, 'POST');
      const question = parseOrTell(checkQuestionSchema, await readQuestion(request));
      const view = parts.plan.holder.current();
      if (view === undefined) throw new CallError(503, 'this gateway has no routing table yet');
      answerJson(response, 200, await checkConnection(view, parts.clock, question));
      return;
    }
    default:
      throw new CallError(404, `only ${paths.join(', ')} are here`);
  }
}

const paths = [EXCHANGE_PATH, JOURNAL_PATH, PLAN_PATH, CATALOG_PATH, CHECK_PATH];

async function readQuestion(request: IncomingMessage): Promise<unknown> {
  return parseJson(await readBody(request, PLAN_BODY_BYTES_MAX));
}

async function answerJournal(
  { journal, clock }: ExchangeParts,
  response: ServerResponse,
  { after, waitMs }: z.infer<typeof journalQuerySchema>,
  givenUp: AbortSignal,
): Promise<void> {
  // Listened to before the look: what is written in between must not be waited for.
  const written = whenWritten(journal, clock, waitMs, givenUp);
  try {
    let page = await journal.read(after);
    if (page?.bytes.length === 0 && waitMs > 0) {
      await written.promise;
      page = await journal.read(after);
    }
    if (!page) {
      throw new CallError(410, `the cursor belongs to another journal; start again without 'after'`);
    }
    response.writeHead(200, {
      'content-type': 'application/x-ndjson',
      'cache-control': 'no-store',
      'content-length': page.bytes.length,
      [JOURNAL_CURSOR_HEADER]: page.cursor,
    });
    response.end(page.bytes);
  } finally {
    written.stop();
  }
}

function whenWritten(
  journal: ReadableJournal,
  clock: Clock,
  waitMs: number,
  givenUp: AbortSignal,
): { readonly promise: Promise<void>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopListening = journal.onWritten(resolve);
  const cancel = clock.setTimer(waitMs, resolve);
  const onGivenUp = (): void => resolve();
  givenUp.addEventListener('abort', onGivenUp);
  if (givenUp.aborted) resolve();
  return {
    promise,
    stop() {
      stopListening();
      cancel();
      givenUp.removeEventListener('abort', onGivenUp);
    },
  };
}

/** @throws {CallError} if the caller may not, or asks in another way. */
function expectCall(parts: ExchangeParts, request: IncomingMessage, method: string): void {
  const token = parts.token();
  if (token === undefined) {
    throw new CallError(503, 'this gateway has not read the pointer Secret yet, and so knows no token');
  }
  // guard: exchange-token
  if (!isSame(request.headers.authorization ?? '', `Bearer ${token}`)) {
    throw new CallError(401, 'the bearer is not the exchange token of the pointer Secret');
  }
  if (request.method !== method) throw new CallError(405, `only ${method} is answered here`);
}

/** In constant time, whatever the lengths. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
}

async function readBody(request: IncomingMessage, bodyBytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new CallError(413, `the body is larger than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CallError(400, 'the body is not valid JSON');
  }
}

/** @throws {CallError} 400 that names the field. */
function parseOrTell<T>(schema: z.ZodType<T>, data: unknown): T {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CallError(400, `${issue?.path.join('.') || 'body'}: ${issue?.message}`);
}

function answerJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(status === 405 ? { allow: 'GET, POST' } : {}),
  });
  response.end(text);
}
