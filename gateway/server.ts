// The client-facing HTTP server, built out of given parts. Nothing listens until the caller says so.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Caller } from './caller.ts';
import type { Dialect } from './dialects/dialect.ts';
import { findDialect } from './dialects/registry.ts';
import { describeModels, describeOneModel } from './endpoints/models.ts';
import { explainNotFound } from './endpoints/not-found.ts';
import { parseBody } from './endpoints/parse-body.ts';
import { checkBodyHeaders, readBody, requestBytesMax } from './endpoints/read-body.ts';
import { sendError } from './endpoints/send-error.ts';
import { encodeErrorBody, GatewayError } from './errors.ts';
import type { PipelineParts } from './pipeline/parts.ts';
import { admit, admitAnyone, serve } from './pipeline.ts';
import type { TableHolder } from './table/holder.ts';
import type { TableView } from './table/view.ts';

export interface ServerParts extends PipelineParts {
  readonly holder: TableHolder;
  /** While true, answers ask their connections to close: the process is being drained. */
  isDraining(): boolean;
  /** A failure of ours, for the log: `requestId` is what the caller was told. */
  onFailure(error: unknown, requestId: string): void;
}

/** Limits against slow senders. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
const checkIntervalMs = 1_000;

/** Above the idle time of common load balancers, so that they close first. */
const keepAliveTimeoutMs = 75_000;

export function buildServer(parts: ServerParts): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: requestBytesMax,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    trustProxy: false,
    http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: checkIntervalMs },
    clientErrorHandler: (error, socket) => answerClientError(error, socket),
    routerOptions: { maxParamLength: 600 },
    genReqId: () => `req_${randomUUID()}`,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload: IncomingMessage, done) => {
    readBody(payload, (error, chunks) => done(error, chunks));
  });

  for (const name of ['openai-chat', 'openai-completions'] as const) {
    const dialect = findDialect(name);
    if (dialect) addGeneration(app, parts, dialect);
  }
  addModels(app, parts);
  app.setNotFoundHandler((request, reply) => {
    answer(request, reply, explainNotFound(request.method, request.url));
  });
  app.setErrorHandler((error: unknown, request, reply) => {
    if (!(error instanceof GatewayError)) parts.onFailure(error, request.id);
    answer(request, reply, error);
  });
  return app;
}

/** Who is asking under which table, found out before the body is read. */
interface Admission {
  readonly view: TableView;
  readonly caller: Caller;
}

function addGeneration(app: FastifyInstance, parts: ServerParts, dialect: Dialect): void {
  const admissions = new WeakMap<FastifyRequest, Admission>();
  app.route({
    method: 'POST',
    url: `/v1${dialect.path}`,
    onRequest: (request, _reply, done) => {
      try {
        admissions.set(request, admit(parts, request.raw.rawHeaders));
        checkBodyHeaders(request.raw);
        done();
      } catch (error) {
        done(asError(error));
      }
    },
    handler: (request, reply) => {
      const admission = admissions.get(request);
      if (!admission) throw new Error('a request was not admitted');
      reply.hijack();
      void generate(parts, dialect, admission, request, reply.raw);
    },
  });
}

async function generate(
  parts: ServerParts,
  dialect: Dialect,
  { view, caller }: Admission,
  request: FastifyRequest,
  response: ServerResponse,
): Promise<void> {
  const arrivedAt = parts.clock.now();
  try {
    const chunks = Array.isArray(request.body) ? request.body : [];
    const body = parseBody(chunks);
    if (parts.isDraining()) response.setHeader('connection', 'close');
    await serve(parts, { dialect, view, caller, body, requestId: request.id, response, arrivedAt });
  } catch (error) {
    if (!(error instanceof GatewayError)) parts.onFailure(error, request.id);
    sendError(request.raw, response, error, request.id);
  }
}

function addModels(app: FastifyInstance, parts: ServerParts): void {
  const respond = (
    request: FastifyRequest,
    reply: FastifyReply,
    describe: (view: TableView, caller: Caller | undefined) => Record<string, unknown>,
  ): void => {
    const { view, caller } = admitAnyone(parts, request.raw.rawHeaders);
    void reply
      .header('content-type', 'application/json')
      .header('cache-control', caller ? 'private, no-store' : 'no-store')
      .header('vary', 'Authorization')
      .header('x-request-id', request.id)
      .header('request-id', request.id)
      .header('x-penstock-generation', String(view.generation))
      .send(JSON.stringify(describe(view, caller)));
  };
  app.get('/v1/models', (request, reply) => respond(request, reply, describeModels));
  // Model ids contain slashes; SDKs percent-encode them, people do not.
  app.get<{ Params: { '*': string } }>('/v1/models/*', (request, reply) =>
    respond(request, reply, (view, caller) => describeOneModel(view, caller, request.params['*'])),
  );
}

function answer(request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  reply.hijack();
  sendError(request.raw, reply.raw, error, request.id);
}

/** Requests that never became one: Node's own parser refused them. */
function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const told = clientError(error.code);
  const body = encodeErrorBody(told, 'openai', '');
  socket.end(
    `HTTP/1.1 ${told.status} ${told.code}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function clientError(code: string | undefined): GatewayError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('headers_too_large', 'The request headers are larger than 16 KiB; send less.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('request_timeout', 'The request did not arrive in time.');
    default:
      return new GatewayError('invalid_parameter', 'This is not a valid HTTP/1.1 request.');
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
