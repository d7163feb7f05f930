// How do calls reach one API server? Over node's own HTTP with one pool of kept connections.

import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { readError } from './answer.ts';
import { type KubeAnswer, type KubeClient, KubeError, type KubeRequest, type KubeStream } from './client.ts';
import { makeGate } from './gate.ts';

/** Credentials of a call. */
export interface Credentials {
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: TlsCredentials;
}

/** The trusted authorities, and the certificate of the client. */
interface TlsCredentials {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  /** False: any server is trusted. Only where a kubeconfig says so. */
  readonly rejectUnauthorized?: boolean;
}

export interface Authenticator {
  /**
   * Called before every request, so an implementation caches expensive credentials and renews those that expire. People
   * see the errors that it throws, so they hold no secret.
   */
  credentials(): Promise<Credentials>;
  /** The server answered 401: drops cached credentials. The call is then tried again. */
  refused(): void;
}

export interface ConnectionOptions {
  /** Such as `https://10.0.0.1:443`; `http:` for a local proxy. */
  readonly server: string;
  readonly authenticator?: Authenticator;
  /** Calls in flight at once, default 16; further calls wait. Streams are not counted: a watch starves no call. */
  readonly callsMax?: number;
  /** Limit of an answer, default 32 MiB. A longer one ends its connection and is a KubeError `BodyTooLarge`. */
  readonly bodyBytesMax?: number;
}

/** For callers that pass on the server's answers, refusals too. */
export interface KubeConnection extends KubeClient {
  /** Any answer of JSON, a refusal too. @throws {KubeError} if none came. */
  ask(request: KubeRequest): Promise<KubeAnswer>;
}

const timeoutMsDefault = 30_000;
/** An API server closes connections after 90 s of silence. Closing earlier here makes sure that no request is lost. */
const idleMsMax = 60_000;
const probeMs = 30_000;

export function openConnection(options: ConnectionOptions): KubeConnection {
  const root = new URL(options.server);
  const isTls = root.protocol === 'https:';
  if (!isTls && root.protocol !== 'http:') {
    throw new Error(`The API server is reached over https or http, not over '${root.protocol}'`);
  }
  const callsMax = options.callsMax ?? 16;
  const bodyBytesMax = options.bodyBytesMax ?? 32 * 2 ** 20;
  const pool = { keepAlive: true, keepAliveMsecs: probeMs, maxFreeSockets: callsMax, timeout: idleMsMax };
  const agent = isTls ? new HttpsAgent(pool) : new HttpAgent(pool);
  const gate = makeGate(callsMax);
  const inFlight = new Set<Exchange>();
  let isClosed = false;

  function begin(request: KubeRequest): Exchange {
    if (isClosed) throw new KubeError(0, 'Closed', `${nameOf(request)}: this client has been closed`);
    const exchange = beginExchange(request, () => {
      inFlight.delete(exchange);
    });
    inFlight.add(exchange);
    return exchange;
  }

  /** The head of the answer of success. Everything else is thrown. */
  async function open(exchange: Exchange): Promise<IncomingMessage> {
    const { response, credentials } = await openAny(exchange);
    const { statusCode: status = 0 } = response;
    if (status >= 200 && status < 300) return response;
    const { request } = exchange;
    throw readError(nameOf(request), response, await readBody(response, exchange), [
      credentials.headers?.authorization,
      request.bearer,
    ]);
  }

  async function openAny(
    exchange: Exchange,
  ): Promise<{ readonly response: IncomingMessage; readonly credentials: Credentials }> {
    const { request, signal } = exchange;
    let isSecondKnock = false;
    let isSecondConnection = false;
    for (;;) {
      const credentials = await readCredentials(options.authenticator, exchange);
      const sent = await send(request, credentials, signal).catch(
        // A request that cannot even be put into words, such as a header that holds a line end.
        (error: unknown): Sent => ({ error: toError(error), isStale: false }),
      );
      if ('error' in sent) {
        if (signal.aborted) {
          // What lies in the pool went to the same place: a server that hangs must not cost each of them its time.
          if (isTimeout(signal.reason)) dropFree();
          throw signal.reason;
        }
        // The server closed the kept connection before it read the request.
        if (sent.isStale && request.method === 'GET' && !isSecondConnection) {
          isSecondConnection = true;
          continue;
        }
        throw new KubeError(0, 'Unreachable', `${nameOf(request)}: ${describe(sent.error)}`, {
          cause: sent.error,
        });
      }
      const { response } = sent;
      const isOwn = request.bearer === undefined;
      if (response.statusCode === 401 && isOwn && options.authenticator !== undefined && !isSecondKnock) {
        isSecondKnock = true;
        options.authenticator.refused();
        response.destroy();
        continue;
      }
      return { response, credentials };
    }
  }

  function send(request: KubeRequest, credentials: Credentials, signal: AbortSignal): Promise<Sent> {
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const outgoing = {
      method: request.method,
      hostname: root.hostname.replace(/^\[|\]$/g, ''),
      ...(root.port === '' ? {} : { port: root.port }),
      path: pathOf(root, request),
      agent,
      signal,
      headers: {
        accept: request.accept ?? 'application/json',
        'user-agent': 'penstock',
        ...(body === undefined
          ? {}
          : { 'content-type': request.contentType ?? 'application/json', 'content-length': body.length }),
        ...(request.bearer === undefined
          ? credentials.headers
          : { authorization: `Bearer ${request.bearer}` }),
      },
    };
    return new Promise((resolve) => {
      const call = isTls
        ? requestHttps({ rejectUnauthorized: true, ...tlsOf(request, credentials), ...outgoing })
        : requestHttp(outgoing);
      let bytesBefore = 0;
      call.once('socket', (socket) => {
        bytesBefore = socket.bytesRead;
      });
      call.once('response', (response) => {
        // The reader of the body gets this error; without a reader it must not end the process.
        response.on('error', () => {});
        resolve({ response });
      });
      call.on('error', (error) => {
        const isStale =
          call.reusedSocket && (call.socket?.bytesRead ?? bytesBefore) === bytesBefore && isReset(error);
        resolve({ error, isStale });
      });
      call.end(body);
    });
  }

  async function readBody(response: IncomingMessage, exchange: Exchange): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of response) {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > bodyBytesMax) break;
      }
    } catch (error) {
      if (exchange.signal.aborted) throw exchange.signal.reason;
      const message = `${nameOf(exchange.request)}: the answer was cut off: ${describe(error)}`;
      throw new KubeError(0, 'Unreachable', message, { cause: error });
    }
    if (bytes > bodyBytesMax) {
      const message = `${nameOf(exchange.request)}: the answer is longer than ${bodyBytesMax} bytes`;
      throw new KubeError(response.statusCode ?? 0, 'BodyTooLarge', message);
    }
    return Buffer.concat(chunks, bytes);
  }

  function dropFree(): void {
    for (const sockets of Object.values(agent.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }

  /** The whole answer, when there is room for one more call. */
  async function answer(request: KubeRequest, openOne: typeof open): Promise<KubeAnswer> {
    const exchange = begin(request);
    try {
      return await gate.pass(exchange.signal, async () => {
        const response = await openOne(exchange);
        const { statusCode: status = 0 } = response;
        return { status, body: parseJson(await readBody(response, exchange), request, status) };
      });
    } finally {
      exchange.end();
    }
  }

  return {
    async call(request) {
      return (await answer(request, open)).body;
    },
    ask: (request) => answer(request, async (exchange) => (await openAny(exchange)).response),
    async stream(request): Promise<KubeStream> {
      const exchange = begin(request);
      let response: IncomingMessage;
      try {
        response = await open(exchange);
      } catch (error) {
        exchange.end();
        throw error;
      }
      exchange.stopTimer();
      response.once('close', exchange.end);
      return { body: response, close: () => void response.destroy() };
    },
    close() {
      isClosed = true;
      for (const exchange of [...inFlight]) exchange.abort('Closed', 'this client was closed');
      agent.destroy();
    },
  };
}

type Sent = { readonly response: IncomingMessage } | { readonly error: Error; readonly isStale: boolean };

/** One call or stream: everything that may end it early ends one signal, whose reason is the KubeError to throw. */
interface Exchange {
  readonly request: KubeRequest;
  readonly signal: AbortSignal;
  abort(reason: string, message: string): void;
  stopTimer(): void;
  end(): void;
}

function beginExchange(request: KubeRequest, onEnd: () => void): Exchange {
  const control = new AbortController();
  const abort = (reason: string, message: string) =>
    control.abort(new KubeError(0, reason, `${nameOf(request)}: ${message}`));
  const timeoutMs = request.timeoutMs ?? timeoutMsDefault;
  const timer = setTimeout(() => abort('Timeout', `no answer in ${timeoutMs} ms`), timeoutMs);
  const onAbort = () => abort('Aborted', 'given up by the caller');
  if (request.signal?.aborted === true) onAbort();
  request.signal?.addEventListener('abort', onAbort, { once: true });
  return {
    request,
    signal: control.signal,
    abort,
    stopTimer: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', onAbort);
      onEnd();
    },
  };
}

async function readCredentials(
  authenticator: Authenticator | undefined,
  { request, signal }: Exchange,
): Promise<Credentials> {
  if (authenticator === undefined) return {};
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    // A plugin that hangs must not hold the call for longer than its time.
    return await Promise.race([authenticator.credentials(), stopped.promise]);
  } catch (error) {
    if (error instanceof KubeError) throw error;
    const message = `${nameOf(request)}: no credentials for the API server: ${describe(error)}`;
    throw new KubeError(0, 'NoCredentials', message, { cause: error });
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A request with a caller's own bearer token must not be authenticated by our client certificate. */
function tlsOf({ bearer }: KubeRequest, { tls }: Credentials): TlsCredentials {
  if (bearer === undefined) return tls ?? {};
  const { cert: _, key: __, ...judging } = tls ?? {};
  return judging;
}

function pathOf(root: URL, request: KubeRequest): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  const base = root.pathname.replace(/\/$/, '');
  return `${base}${request.path}${query.size === 0 ? '' : `?${query}`}`;
}

/** The parser's message quotes the text, which may be a Secret: the error only says that it is no JSON. */
function parseJson(body: Buffer, request: KubeRequest, status: number): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new KubeError(status, 'Garbled', `${nameOf(request)}: the answer is not JSON`);
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error('unknown error');
}

function nameOf(request: KubeRequest): string {
  return `${request.method} ${request.path}`;
}

function isTimeout(error: unknown): boolean {
  return error instanceof KubeError && error.reason === 'Timeout';
}

function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  // Where a name has several addresses, only the members of the aggregate say anything.
  if (error.message === '' && 'code' in error) return String(error.code);
  return error.message;
}
