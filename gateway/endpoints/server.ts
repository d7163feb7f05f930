// The client-facing HTTP server, built out of given parts. Nothing listens until the caller says so.

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Refusals, slowPace } from '../admission/refusals.ts';
import type { OperationEndpoint } from '../operations/operation.ts';
import { operationEndpoints } from '../operations/registry.ts';
import { logFailure } from '../pipeline/log-failure.ts';
import { admit, admitAnyone, admitGood } from '../pipeline.ts';
import { answerHeaders, keepAliveHint } from '../request/answer-headers.ts';
import type { Caller } from '../request/caller.ts';
import { GatewayError, shorten, statusOf } from '../request/errors.ts';
import { readHead } from '../request/request-head.ts';
import type { TableView } from '../table/view.ts';
import type { Begin, NotServed } from './client-connection.ts';
import { refuseTunnels, watchClientErrors } from './client-errors.ts';
import { Door, type SenderPatience, type ServerParts } from './door.ts';
import { Incoming, shuttingDown } from './incoming.ts';
import { describeOneModel, openModelList, readModelPage } from './models.ts';
import { explainNotFound } from './not-found.ts';
import { requestBytesMax } from './read-body.ts';

const defaultPatience: SenderPatience = { headersMs: 10_000, requestMs: 30_000, checkEveryMs: 100 };

/** Above the idle time of common load balancers, so that they close first. */
const keepAliveTimeoutMs = 75_000;

export function buildServer(parts: ServerParts): FastifyInstance {
  const patience = parts.patience ?? defaultPatience;
  const door = new Door(parts);
  const { connections } = parts;
  const slowRefusals = new Refusals(
    parts.clock,
    slowPace(() => connections.size / (app.server.maxConnections ?? Infinity)),
  );
  const onClientError = watchClientErrors(
    parts.clock,
    (error) => door.countedId(error),
    slowRefusals,
    patience.requestMs,
  );
  const app = Fastify({
    logger: false,
    bodyLimit: requestBytesMax,
    trustProxy: parts.proxies.length > 0 ? [...parts.proxies] : false,
    serverFactory(handle) {
      const options = {
        headersTimeout: patience.headersMs,
        requestTimeout: patience.requestMs,
        keepAliveTimeout: keepAliveTimeoutMs,
        connectionsCheckingInterval: patience.checkEveryMs,
        // Node refuses such requests without a message; `checkRequest` names the fault.
        requireHostHeader: false,
      };
      const begin = connections.oneByOne(admitted(parts, door, handle));
      return parts.tls
        ? createTlsServer({ ...options, ...parts.tls, handshakeTimeout: patience.headersMs }, begin)
        : createServer(options, begin);
    },
    clientErrorHandler: onClientError,
    frameworkErrors: (error, request, reply) => answer(door, request, reply, fromFramework(error)),
    routerOptions: { maxParamLength: 600 },
    genReqId: door.newRequestId,
    // A connection that an open stream kept alive may bring one more request; its client does not know of the drain, so it is served.
    return503OnClosing: false,
  });
  const opened = parts.tls ? 'secureConnection' : 'connection';
  app.server.on(opened, (socket) => void connections.onConnection(socket));
  // `generate` asks for the body, once the headers have passed.
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', refuseTunnels(onClientError));
  // Clients send no expectations but 100-continue; others may be ignored (RFC 9110, section 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  for (const endpoint of endpointsOf(parts)) addPost(app, parts, door, endpoint);
  addUpgradeRefusal(app);
  addModels(app, parts);
  parts.crossOrigin?.addPreflight(app);
  app.addHook('onRequest', (request, reply, done) => {
    if (parts.isDraining()) reply.raw.setHeader('connection', 'close');
    else reply.raw.setHeader('keep-alive', keepAliveHint);
    const refusal = parts.isOver() ? shuttingDown() : checkRequest(request);
    if (refusal) answer(door, request, reply, refusal);
    else done();
  });
  app.setErrorHandler((error: unknown, request, reply) => {
    const refusal = fromFramework(error);
    if (!(refusal instanceof GatewayError))
      logFailure(parts, { requestId: request.id, request: request.raw }, error);
    answer(door, request, reply, refusal);
  });
  return app;
}

/** In front of everything else: a request that is one too many must cost next to nothing. */
function admitted(parts: ServerParts, door: Door, handle: RequestListener): Begin {
  const endpoints = new Map(endpointsOf(parts).map((endpoint) => [`/v1${endpoint.path}`, endpoint]));
  return (request, response, notServed) => {
    parts.crossOrigin?.onAnswer(request, response);
    if (notServed)
      door.sendError(
        request,
        response,
        sentTooEarly(notServed),
        door.newRequestId(),
        door.refusedFor(request),
      );
    else if (!mayCome(parts, request)) door.refuse(request, response, door.newRequestId());
    else if (!takeGood(parts, door, endpoints, request, response)) handle(request, response);
  };
}

/** While the event loop is late the heaviest callers are refused first, so the caller is looked up here already. */
function mayCome(parts: ServerParts, { rawHeaders }: IncomingMessage): boolean {
  const { admission } = parts;
  if (!admission.mayEnter()) return false;
  return !admission.isCrowded || admission.mayTake(admitGood(parts, readHead(rawHeaders))?.caller);
}

/**
 * Most requests: of a good key, for an operation, and nothing is odd about them. All others take Fastify's way, which finds out what is
 * wrong and says so.
 *
 * @returns Whether it was one.
 */
function takeGood(
  parts: ServerParts,
  door: Door,
  endpoints: ReadonlyMap<string, OperationEndpoint>,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const endpoint = request.method === 'POST' ? endpoints.get(pathOf(request.url ?? '')) : undefined;
  if (!endpoint || request.httpVersion !== '1.1' || parts.isOver()) return false;
  const head = readHead(request.rawHeaders);
  const { transferEncoding } = head;
  if (head.host === undefined || (transferEncoding !== undefined && transferEncoding !== 'chunked'))
    return false;
  const admittance = admitGood(parts, head);
  if (!admittance) return false;
  new Incoming(door, endpoint, admittance, head, request, response, door.newRequestId()).start();
  return true;
}

function pathOf(url: string): string {
  const at = url.indexOf('?');
  return at === -1 ? url : url.slice(0, at);
}

function endpointsOf({ endpoints }: ServerParts): readonly OperationEndpoint[] {
  return endpoints ?? operationEndpoints();
}

function sentTooEarly(why: NotServed): GatewayError {
  return new GatewayError(
    'overloaded',
    why === 'too-large'
      ? 'This pipelined request is too large to queue. Wait for the previous response on the connection, then send it again.'
      : 'Five requests on this connection have no response yet. Send this request and all later ones again.',
    { retryAfterSeconds: 1, headers: { connection: 'close' } },
  );
}

/** Before any of the body is read: a request to nowhere must not make us hold 32 MiB. */
function checkRequest(request: FastifyRequest): GatewayError | undefined {
  const { headers, httpVersion } = request.raw;
  const unreadable = checkTransferEncoding(headers['transfer-encoding'], httpVersion);
  if (unreadable) return unreadable;
  // The parser takes HTTP/0.9 and HTTP/2.0 too, and Node would answer them as HTTP/1.1.
  const isKnown = httpVersion === '1.1' || httpVersion === '1.0' || 'transfer-encoding' in headers;
  if (!isKnown) {
    return new GatewayError('invalid_parameter', `HTTP/${httpVersion} is not supported. Send HTTP/1.1.`, {
      headers: { connection: 'close' },
    });
  }
  if (request.is404) return explainNotFound(request.method, request.url);
  if (headers.host === undefined && httpVersion === '1.1') {
    return new GatewayError('invalid_parameter', "The header 'host' is missing; send it once.", {
      param: 'host',
    });
  }
  return undefined;
}

/** Node reads chunks in any version, whatever is in them; one in between may have found another end (RFC 9112, section 6.1). */
function checkTransferEncoding(encoding: string | undefined, httpVersion: string): GatewayError | undefined {
  const codings = encoding?.toLowerCase().split(',') ?? [];
  // The parser itself refuses all others right after this: its answer would cut off one from here.
  if (codings.at(-1)?.trim() !== 'chunked') return undefined;
  const refuse = (words: string): GatewayError =>
    new GatewayError('invalid_parameter', words, {
      param: 'transfer-encoding',
      headers: { connection: 'close' },
    });
  // HTTP/0.9 and HTTP/2.0 have no chunks either.
  if (httpVersion !== '1.1') {
    return refuse(
      `HTTP/${httpVersion} has no 'transfer-encoding'; send the body with a content-length, or as HTTP/1.1.`,
    );
  }
  if (codings.length === 1) return undefined;
  return refuse(
    `The transfer encoding '${encoding?.slice(0, 100)}' is not supported; send the body as 'chunked' alone, or with a content-length.`,
  );
}

/** Refusals by Fastify itself are the caller's mistakes, too, and get our own texts. */
function fromFramework(error: unknown): unknown {
  if (error instanceof GatewayError || !(error instanceof Error) || !('statusCode' in error)) return error;
  const { statusCode } = error;
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return error;
  return new GatewayError('invalid_parameter', `This request cannot be read: ${shorten(error.message)}.`, {
    cause: error,
  });
}

/** From here on Fastify has nothing more to do: the body stays as it arrives, the answer is written by us. */
function addPost(app: FastifyInstance, parts: ServerParts, door: Door, endpoint: OperationEndpoint): void {
  const { operation, path } = endpoint;
  app.route({
    method: 'POST',
    url: `/v1${path}`,
    onRequest: (request, reply, _done) => {
      try {
        const head = readHead(request.raw.rawHeaders);
        const admittance = admit(parts, head);
        reply.hijack();
        // By the end of its body it may no longer hold.
        reply.raw.removeHeader('keep-alive');
        new Incoming(door, endpoint, admittance, head, request.raw, reply.raw, request.id).start();
      } catch (error) {
        if (!(error instanceof GatewayError))
          logFailure(parts, { requestId: request.id, request: request.raw }, error);
        const sent = answer(door, request, reply, error);
        if (operation.countsRefusals) parts.metrics.onRefused(path, statusOf(sent));
      }
    },
    handler: () => {
      throw new Error('a hijacked request came back');
    },
  });
}

/** Codex asks for a WebSocket first, and continues with HTTP at once after a 426. */
function addUpgradeRefusal(app: FastifyInstance): void {
  app.get('/v1/responses', (request) => {
    if (request.headers.upgrade === undefined) throw explainNotFound(request.method, request.url);
    throw new GatewayError('upgrade_not_supported', 'WebSocket is not supported; send POST /v1/responses.');
  });
}

function addModels(app: FastifyInstance, parts: ServerParts): void {
  const secrets = 'authorization, x-api-key';
  const vary = parts.crossOrigin?.vary(secrets) ?? secrets;
  const respond = (
    request: FastifyRequest,
    reply: FastifyReply,
    describe: (view: TableView, caller: Caller | undefined) => Buffer,
  ): void => {
    const { view, caller } = admitAnyone(parts, readHead(request.raw.rawHeaders));
    void reply
      .headers(answerHeaders(request.id, view.generation))
      .header('content-type', 'application/json')
      .header('cache-control', caller ? 'private, no-store' : 'no-store')
      .header('vary', vary)
      .send(describe(view, caller));
  };
  const list = openModelList();
  app.get('/v1/models', (request, reply) =>
    respond(request, reply, (view, caller) => list(view, caller, readModelPage(request.url))),
  );
  // Model ids contain slashes; SDKs percent-encode them, people do not.
  app.get<{ Params: { '*': string } }>('/v1/models/*', (request, reply) => {
    const id = request.params['*'];
    if (id === '') throw explainNotFound(request.method, request.url);
    respond(request, reply, (view, caller) =>
      Buffer.from(JSON.stringify(describeOneModel(view, caller, id))),
    );
  });
}

/** @returns The error that was sent. */
function answer(door: Door, request: FastifyRequest, reply: FastifyReply, error: unknown): unknown {
  reply.hijack();
  const isBadKey = error instanceof GatewayError && error.code === 'invalid_api_key';
  const sent = isBadKey ? (door.parts.failures.judge(request.ip) ?? error) : error;
  door.sendError(request.raw, reply.raw, sent, request.id, door.refusedFor(request.raw));
  return sent;
}
