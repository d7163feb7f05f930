// The client-facing HTTP server, built out of given parts. Nothing listens until the caller says so.

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Admission } from '../admission/admission.ts';
import { Refusals, slowPace } from '../admission/refusals.ts';
import type { FailureLimiter } from '../auth/failure-limiter.ts';
import type { RequestBody } from '../json/request-body.ts';
import type { OperationEndpoint } from '../operations/operation.ts';
import { operationEndpoints } from '../operations/registry.ts';
import { logFailure } from '../pipeline/log-failure.ts';
import type { Exchange, PipelineParts } from '../pipeline/parts.ts';
import { admit, admitAnyone, findCaller } from '../pipeline.ts';
import { answerHeaders, keepAliveHint } from '../request/answer-headers.ts';
import type { Caller } from '../request/caller.ts';
import { GatewayError, shorten, statusOf } from '../request/errors.ts';
import { createRequestIds } from '../request/request-id.ts';
import { ReadingTurns } from '../stream/reading-turns.ts';
import type { TableHolder } from '../table/holder.ts';
import type { TableView } from '../table/view.ts';
import { type Begin, type ClientConnections, type NotServed, onAnswerClosed } from './client-connection.ts';
import { refuseTunnels, watchClientErrors } from './client-errors.ts';
import type { CrossOrigin } from './cross-origin.ts';
import { isLargeBody, LargeBodies } from './large-bodies.ts';
import { describeOneModel, openModelList, readModelPage } from './models.ts';
import { explainNotFound } from './not-found.ts';
import { parseBody } from './parse-body.ts';
import { checkBodyHeaders, readBody, requestBytesMax } from './read-body.ts';
import { sendError } from './send-error.ts';

interface ServerParts extends PipelineParts {
  readonly holder: TableHolder;
  readonly admission: Admission;
  readonly failures: FailureLimiter;
  readonly connections: ClientConnections;
  /** Addresses of proxies whose word is taken for where a request came from. */
  readonly proxies: readonly string[];
  /** Undefined: pages of other addresses may ask nothing. */
  readonly crossOrigin?: CrossOrigin | undefined;
  /** While true, answers ask their connections to close: the process is being drained. */
  isDraining(): boolean;
  /** While true, nothing new is served any more, not even on a connection that is still open. */
  isOver(): boolean;
  /** For tests; those of the gateway's operations where left out. */
  readonly endpoints?: readonly OperationEndpoint[] | undefined;
  /** For tests; the gateway's own where left out. */
  readonly patience?: SenderPatience | undefined;
}

/** How long a client may take to send a request. */
export interface SenderPatience {
  readonly headersMs: number;
  /** Headers and body together. */
  readonly requestMs: number;
  /** How often slow senders are looked for: what many of them cost comes in as many pieces. */
  readonly checkEveryMs: number;
}

const defaultPatience: SenderPatience = { headersMs: 10_000, requestMs: 30_000, checkEveryMs: 100 };

/** Above the idle time of common load balancers, so that they close first. */
const keepAliveTimeoutMs = 75_000;

export function buildServer(parts: ServerParts): FastifyInstance {
  const patience = parts.patience ?? defaultPatience;
  const door = openDoor(parts);
  const { connections } = parts;
  const slowRefusals = new Refusals(
    parts.clock,
    slowPace(() => connections.size / (app.server.maxConnections ?? Infinity)),
  );
  const onClientError = watchClientErrors(parts.clock, door.newRequestId, slowRefusals, patience.requestMs);
  const app = Fastify({
    logger: false,
    bodyLimit: requestBytesMax,
    trustProxy: parts.proxies.length > 0 ? [...parts.proxies] : false,
    serverFactory: (handle) =>
      createServer(
        {
          headersTimeout: patience.headersMs,
          requestTimeout: patience.requestMs,
          keepAliveTimeout: keepAliveTimeoutMs,
          connectionsCheckingInterval: patience.checkEveryMs,
          // Node refuses such requests without a word; `checkRequest` says what is wrong.
          requireHostHeader: false,
        },
        connections.oneByOne(admitted(parts, door, handle)),
      ),
    clientErrorHandler: onClientError,
    frameworkErrors: (error, request, reply) => answer(parts, request, reply, fromFramework(error)),
    routerOptions: { maxParamLength: 600 },
    genReqId: door.newRequestId,
    // A connection that an old stream kept open may bring a request behind it, and its caller heard of nothing: it is served.
    return503OnClosing: false,
  });
  app.server.on('connection', (socket) => void connections.onConnection(socket));
  // `generate` asks for the body, once the headers have passed.
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', refuseTunnels(onClientError));
  // Nobody sends expectations other than 100-continue; they may be ignored (RFC 9110, section 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  for (const endpoint of parts.endpoints ?? operationEndpoints()) addPost(app, parts, door, endpoint);
  addUpgradeRefusal(app);
  addModels(app, parts);
  parts.crossOrigin?.addPreflight(app);
  app.addHook('onRequest', (request, reply, done) => {
    if (parts.isDraining()) reply.raw.setHeader('connection', 'close');
    else reply.raw.setHeader('keep-alive', keepAliveHint);
    const refusal = parts.isOver() ? shuttingDown() : checkRequest(request);
    if (refusal) answer(parts, request, reply, refusal);
    else done();
  });
  app.setErrorHandler((error: unknown, request, reply) => {
    const told = fromFramework(error);
    if (!(told instanceof GatewayError))
      logFailure(parts, { requestId: request.id, request: request.raw }, error);
    answer(parts, request, reply, told);
  });
  return app;
}

/** In front of everything else: a request that is one too many must cost next to nothing. */
function admitted(parts: ServerParts, door: Door, handle: RequestListener): Begin {
  return (request, response, notServed) => {
    parts.crossOrigin?.onAnswer(request, response);
    if (notServed) tell(parts, request, response, sentTooEarly(notServed), door.newRequestId());
    else if (mayCome(parts, request)) handle(request, response);
    else door.refuse(request, response, door.newRequestId());
  };
}

/** While the event loop is late the heaviest callers are refused first, and so who asks is looked at here already. */
function mayCome(parts: ServerParts, { rawHeaders }: IncomingMessage): boolean {
  const { admission } = parts;
  return admission.mayEnter() && (!admission.isCrowded || admission.mayTake(findCaller(parts, rawHeaders)));
}

/** What all requests of a server have in common before they are served. */
interface Door {
  readonly largeBodies: LargeBodies;
  newRequestId(): string;
  /** Tells that there is too much to do, now or in a moment. */
  refuse(request: IncomingMessage, response: ServerResponse, requestId: string): void;
}

function openDoor(parts: ServerParts): Door {
  const refusals = new Refusals(parts.clock);
  return {
    largeBodies: new LargeBodies({
      ...parts,
      turns: parts.turns ?? new ReadingTurns({ now: parts.clock.now, nextTurn: setImmediate }),
    }),
    newRequestId: createRequestIds(),
    refuse(request, response, requestId) {
      const giveUp = refusals.add(() => {
        // Whoever has left meanwhile need not be told.
        if (response.destroyed || request.socket.destroyed) return;
        if (parts.isDraining()) response.setHeader('connection', 'close');
        tell(parts, request, response, tooBusy(), requestId);
      });
      response.once('close', giveUp);
    },
  };
}

function tooBusy(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway has as much work as it can do; send the request again.',
    {
      retryAfterSeconds: 1,
    },
  );
}

function sentTooEarly(why: NotServed): GatewayError {
  return new GatewayError(
    'overloaded',
    why === 'too-large'
      ? 'This request came before the answer to the one before it on its connection, and is too large to wait for that; send it again.'
      : 'This request came while five others on its connection had no answer yet. Send it again, and all that came after it.',
    { retryAfterSeconds: 1, headers: { connection: 'close' } },
  );
}

/** The connection was kept by an answer that has just been broken off; the balancer has others. */
function shuttingDown(): GatewayError {
  return new GatewayError('overloaded', 'The gateway is shutting down; send the request again.', {
    retryAfterSeconds: 1,
    headers: { connection: 'close' },
  });
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
  // The parser refuses all others by itself, right behind this: an answer from here would be cut by its own.
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

/** What Fastify refuses by itself is the caller's mistake too, and is told in our words. */
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
  app.route({
    method: 'POST',
    url: `/v1${endpoint.path}`,
    onRequest: (request, reply, _done) => {
      try {
        const admittance = admit(parts, request.raw.rawHeaders);
        reply.hijack();
        void receive(parts, door, endpoint, admittance, request.raw, reply.raw, request.id);
      } catch (error) {
        if (!(error instanceof GatewayError))
          logFailure(parts, { requestId: request.id, request: request.raw }, error);
        countRefusal(parts, endpoint, answer(parts, request, reply, error));
      }
    },
    handler: () => {
      throw new Error('a hijacked request came back');
    },
  });
}

/** Of a request that does not come to be served. */
function countRefusal(
  { metrics }: ServerParts,
  { operation, path }: OperationEndpoint,
  error: unknown,
): void {
  if (operation.countsRefusals) metrics.onRefused(path, statusOf(error));
}

async function receive(
  parts: ServerParts,
  door: Door,
  endpoint: OperationEndpoint,
  { view, caller }: ReturnType<typeof admit>,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): Promise<void> {
  const { operation, dialect } = endpoint;
  const arrivedAt = parts.clock.now();
  const { generation: tableGeneration } = view;
  const trace = parts.tracer?.begin(request.rawHeaders, {
    requestId,
    route: `/v1${endpoint.path}`,
    operation: operation.conventionName,
    arrivedAt,
    tableGeneration,
    namespace: caller.namespace,
  });
  let isRefused = false;
  let isServed = false;
  const room = parts.admission.openBody(caller.key.id);
  try {
    checkBodyHeaders(request, room);
    if (expectsContinue(request)) response.writeContinue();
    const bytes = await readBody(request, room);
    // What runs by now was broken off, and it would be cut without a word.
    if (parts.isOver()) throw shuttingDown();
    // Only now is there work to do: whoever sends slowly, or is only told a mistake, takes up no place.
    const place = parts.admission.enter(caller);
    if (!place) {
      isRefused = true;
      door.refuse(request, response, requestId);
      return;
    }
    if (response.closed) parts.admission.leave(place);
    else onAnswerClosed(request, { onClosed: () => parts.admission.leave(place) });
    let body: RequestBody | undefined;
    if (isLargeBody(bytes)) {
      const mustParse = (large: RequestBody): boolean =>
        operation.mustParse(parts, { dialect, view, caller, body: large });
      body = await door.largeBodies.read(place, bytes, mustParse, () => !response.destroyed);
      if (!body) return;
      // It may have waited for long.
      if (parts.isOver()) {
        throw shuttingDown();
      }
    } else body = parseBody(bytes);
    // The drain may have begun while the body came.
    const isClosing = parts.isDraining();
    if (isClosing) response.setHeader('connection', 'close').removeHeader('keep-alive');
    const { url = '', rawHeaders } = request;
    isServed = true;
    const exchange: Exchange = {
      dialect,
      view,
      caller,
      body,
      room,
      place,
      requestId,
      request: { url, rawHeaders },
      response,
      isClosing,
      arrivedAt,
      trace,
    };
    await new Promise<void>((resolve, reject) =>
      operation.serve(parts, exchange, { onServed: resolve, onFailed: reject }),
    );
  } catch (error) {
    if (!(error instanceof GatewayError)) logFailure(parts, { requestId, request }, error);
    if (!isServed) countRefusal(parts, endpoint, error);
    tell(parts, request, response, error, requestId);
  } finally {
    // A refusal is told a little later.
    trace?.end(isRefused ? 503 : response.statusCode);
    room.close();
  }
}

/** A client of HTTP/1.0 would take the 100 for its answer, and waits for none (RFC 9110, section 10.1.1). */
function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion !== '1.0' && headers.expect?.toLowerCase() === '100-continue';
}

/** Codex asks for a WebSocket first, and goes on with HTTP at once where it is answered 426. */
function addUpgradeRefusal(app: FastifyInstance): void {
  app.get('/v1/responses', (request) => {
    if (request.headers.upgrade === undefined) throw explainNotFound(request.method, request.url);
    throw new GatewayError(
      'upgrade_not_supported',
      'This route does not speak WebSocket; send POST /v1/responses.',
    );
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
    const { view, caller } = admitAnyone(parts, request.raw.rawHeaders);
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

/** @returns What is told. */
function answer(parts: ServerParts, request: FastifyRequest, reply: FastifyReply, error: unknown): unknown {
  reply.hijack();
  const isBadKey = error instanceof GatewayError && error.code === 'invalid_api_key';
  const told = isBadKey ? (parts.failures.judge(request.ip) ?? error) : error;
  tell(parts, request.raw, reply.raw, told, request.id);
  return told;
}

function tell(
  { clock, holder }: ServerParts,
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  requestId: string,
): void {
  sendError(request, response, error, { requestId, generation: holder.current()?.generation, clock });
}
