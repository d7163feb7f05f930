// How does the simulator serve? One HTTP server, four dialects, and a log of every call.
//
// It imports nothing of the gateway's: what checks must not share the mistakes of what is checked.

import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chat } from './chat.ts';
import { BadRequest, isBag } from './checks.ts';
import { completions } from './completions.ts';
import type { Call, Counts, Ledger } from './counts.ts';
import { makeLedger } from './counts.ts';
import type { KeyScript } from './credentials.ts';
import { invalidKey, readCredential, redactHeaders, refusalOf } from './credentials.ts';
import type { Dialect, Exchange, WireError } from './dialect.ts';
import type { Directives } from './directives.ts';
import { DirectiveError, parseDirectives, parseModelName } from './directives.ts';
import { messages } from './messages.ts';
import { answerAll, hash } from './mind.ts';
import { modelEntry, modelList } from './models.ts';
import { perform, sendError } from './perform.ts';
import type { Reply } from './reply.ts';
import { ClientGone, makeReply } from './reply.ts';
import { responses } from './responses.ts';
import type { Scripts } from './scripts.ts';
import { makeScripts } from './scripts.ts';
import type { Seal } from './seal.ts';
import { makeSeal } from './seal.ts';

export type { Call, Counts, Ending, Tally, Tokens } from './counts.ts';
export type { KeyScript } from './credentials.ts';

export type SimulatorOptions = {
  /** Default 0: a free one. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Ids that GET /v1/models lists. Any other model answers too. */
  models?: string[];
  /** Whether a model that is not listed answers 404 `model_not_found`. Default false. */
  onlyListedModels?: boolean;
  /** Scripted credentials; others are welcome. */
  keys?: Record<string, KeyScript>;
  /** Whether a call without a credential, or with one that is not in `keys`, answers 401. Default false. */
  onlyKnownKeys?: boolean;
  /** Two simulators with different keys refuse each other's opaque reasoning state, as two vendors do. */
  sealKey?: string;
  /** Largest request body; a larger one answers 413. Default 32 MiB. */
  bodyBytesMax?: number;
  /** How many calls the log keeps; the oldest go first, the tallies stay exact. Default 10,000. */
  callsMax?: number;
  now?: () => number;
};

export type Simulator = {
  /** Such as `http://127.0.0.1:40123`, without `/v1`. */
  url: string;
  port: number;
  counts(): Counts;
  /** The calls kept, oldest first, running ones included. */
  calls(): Call[];
  /** The first ended call that fits and was not handed out by nextCall before; waits for it when there is none yet. */
  nextCall(fits?: (call: Call) => boolean): Promise<Call>;
  /** The same for calls that have arrived, whether or not they have ended. */
  nextArrival(fits?: (call: Call) => boolean): Promise<Call>;
  /** Installs directives for a model's base name, an endpoint (`/v1/models`) or `*`; see scripts.ts. */
  script(target: string, directives: string | readonly string[] | null): void;
  /** Changes how a credential is treated from the next call on; null: as any other. */
  setKey(credential: string, script: KeyScript | null): void;
  /** Forgets all calls, counts, scripts and key changes. */
  reset(): void;
  /** Ends every connection and resolves when the port is free. */
  close(): Promise<void>;
};

/** Starts a simulator; resolves when it listens. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const state: State = {
    options,
    models: options.models ?? ['sim-small', 'sim-large', 'sim-reasoner'],
    keys: new Map(Object.entries(options.keys ?? {})),
    ledger: makeLedger(options.callsMax ?? 10_000),
    scripts: makeScripts(),
    seal: makeSeal(options.sealKey ?? 'penstock simulator'),
    now: options.now ?? Date.now,
    serial: 0,
    isClosing: false,
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    serve(state, request, response).catch((error: unknown) => failLoudly(response, error));
  });
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  return control(state, server);
}

type State = {
  options: SimulatorOptions;
  models: string[];
  keys: Map<string, KeyScript>;
  ledger: Ledger;
  scripts: Scripts;
  seal: Seal;
  now: () => number;
  /** Counts answers; never reset, so that no two answers share an id. */
  serial: number;
  isClosing: boolean;
};

function control(state: State, server: Server): Simulator {
  const { port, address, family } = addressOf(server);
  const any = () => true;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    port,
    counts: state.ledger.counts,
    calls: state.ledger.calls,
    nextCall: (fits = any) => state.ledger.nextCall(fits),
    nextArrival: (fits = any) => state.ledger.nextArrival(fits),
    script: state.scripts.install,
    setKey: (credential, script) => {
      if (script === null) state.keys.delete(credential);
      else state.keys.set(credential, script);
    },
    reset: () => resetAll(state),
    close: async () => {
      state.isClosing = true;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      state.ledger.close();
    },
  };
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('simulator: the server has no TCP address');
  return address;
}

function resetAll(state: State): void {
  state.ledger.reset();
  state.scripts.reset();
  state.keys = new Map(Object.entries(state.options.keys ?? {}));
}

// A bug of the simulator must not look like a scripted fault.
function failLoudly(response: ServerResponse, error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' });
  response.end(`simulator: this is a defect of the simulator\n${text}\n`);
}

/** One endpoint that answers with generated text, or counts what it would read. */
type Route = { dialect: Dialect; counts?: (tokens: number) => unknown };

const routes: Record<string, Route> = {
  '/v1/chat/completions': { dialect: chat },
  '/v1/completions': { dialect: completions },
  '/v1/messages': { dialect: messages },
  '/v1/messages/count_tokens': { dialect: messages, counts: (tokens) => ({ input_tokens: tokens }) },
  '/v1/responses': { dialect: responses },
  '/v1/responses/input_tokens': {
    dialect: responses,
    counts: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
};

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [endpoint = '', query = ''] = splitOnce(request.url ?? '', '?');
  if (endpoint.startsWith('/_simulator/')) return serveControl(state, endpoint, request, response);
  const route = Object.hasOwn(routes, endpoint) ? routes[endpoint] : undefined;
  const dialect = route?.dialect ?? (endpoint.startsWith('/v1/messages') ? messages : chat);
  const received = await receive(request, state.options.bodyBytesMax ?? 32 * 1024 * 1024);
  const visit = openVisit(state, request, response, { endpoint, query, dialect, received });
  try {
    const refusal = refusalOfVisit(state, visit, request, route, received);
    if (refusal !== undefined) return reject(visit, refusal.error, refusal.retryAfterS);
    if (route === undefined) return await serveModels(state, visit);
    await answer(state, visit, route, request);
  } catch (error) {
    if (!(error instanceof ClientGone)) throw error;
    visit.end(state.isClosing ? 'shut-down' : 'client-gone');
  }
}

type Visit = {
  call: Call;
  reply: Reply;
  dialect: Dialect;
  requestId: string;
  id: string;
  end: (ending: NonNullable<Call['ending']>) => void;
};

type Received =
  | { kind: 'json'; value: unknown }
  | { kind: 'garbage'; why: string }
  | { kind: 'none' }
  | { kind: 'too-large' };

type Arrival = { endpoint: string; query: string; dialect: Dialect; received: Received };

function openVisit(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  arrival: Arrival,
): Visit {
  const { endpoint, query, dialect, received } = arrival;
  const body = received.kind === 'json' ? received.value : undefined;
  const model = isBag(body) && typeof body.model === 'string' ? body.model : '';
  const credential = readCredential(request.headers);
  const script = credential.value === null ? undefined : state.keys.get(credential.value);
  state.serial += 1;
  const call = state.ledger.open({
    method: request.method ?? '',
    endpoint,
    query,
    model,
    baseModel: splitOnce(model, '+')[0] ?? '',
    isStream: isBag(body) && body.stream === true,
    body,
    headers: redactHeaders(request.headers),
    credentialSha256: credential.sha256,
    keyId: script?.id ?? credential.sha256?.slice(0, 12) ?? 'none',
  });
  const id = `sim${hash(`${model} ${endpoint}`).toString(16).padStart(8, '0')}${String(state.serial).padStart(8, '0')}`;
  return {
    call,
    reply: makeReply(response),
    dialect,
    requestId: `req_${id}`,
    id,
    end: (ending) => state.ledger.end(call, ending),
  };
}

type Refusal = { error: WireError; retryAfterS?: number };

// What is wrong before the body is even read as a request of its dialect.
function refusalOfVisit(
  state: State,
  visit: Visit,
  request: IncomingMessage,
  route: Route | undefined,
  received: Received,
): Refusal | undefined {
  const credential = readCredential(request.headers);
  const script = credential.value === null ? undefined : state.keys.get(credential.value);
  if (script === undefined && state.options.onlyKnownKeys) return { error: invalidKey };
  const refusal = refusalOf(script, visit.dialect.name);
  if (refusal !== undefined) return refusal;
  const { endpoint, method } = visit.call;
  if (route === undefined) {
    const isModels = endpoint === '/v1/models' || endpoint.startsWith('/v1/models/');
    if (!isModels)
      return {
        error: { status: 404, message: `There is nothing at ${method} ${endpoint}.`, code: 'not_found' },
      };
    return method === 'GET' ? undefined : { error: wrongMethod(method, endpoint) };
  }
  // A WebSocket handshake: 426 is the answer that lets clients fall back to HTTP at once.
  if (request.headers.upgrade !== undefined && method === 'GET') {
    return { error: { status: 426, message: 'This server does not speak WebSocket.' } };
  }
  if (method !== 'POST') return { error: wrongMethod(method, endpoint) };
  if (received.kind === 'too-large')
    return { error: { status: 413, message: 'The request body is too large.' } };
  const type = request.headers['content-type'] ?? '';
  if (
    !/^application\/([\w.-]+\+)?json\b/i.test(type) ||
    (request.headers['content-encoding'] ?? 'identity') !== 'identity'
  ) {
    return {
      error: { status: 415, message: `Unsupported content type '${type}'; send plain application/json.` },
    };
  }
  if (received.kind === 'json' && isBag(received.value)) return undefined;
  const why = received.kind === 'garbage' ? received.why : 'the body is not a JSON object';
  return { error: { status: 400, message: `We could not parse the JSON body of your request: ${why}.` } };
}

function wrongMethod(method: string, endpoint: string): WireError {
  return { status: 405, message: `Method ${method} is not allowed at ${endpoint}.` };
}

function reject(visit: Visit, error: WireError, retryAfterS?: number): void {
  sendError(visit.reply, visit.call, visit.dialect, error, {
    requestId: visit.requestId,
    retryAfterS,
    end: () => visit.end('rejected'),
  });
}

async function answer(state: State, visit: Visit, route: Route, request: IncomingMessage): Promise<void> {
  const { call, dialect, reply } = visit;
  const understood = understand(state, visit, request);
  if (understood.kind === 'wrong') return reject(visit, understood.error);
  const { exchange, directives } = understood;
  const prompts = exchange.prompts;
  const fault = state.scripts.dueFault(call.baseModel, directives);
  const isCounting = route.counts !== undefined;
  const answered = isCounting ? emptyAnswer : answerAll(prompts, directives);
  const inputTokens = prompts.reduce((sum, prompt) => sum + prompt.inputTokens, 0);
  const counted = route.counts;
  await perform({
    call,
    reply,
    dialect,
    // Counting is no generation: nothing is streamed and nothing is used.
    exchange:
      counted === undefined ? exchange : { ...exchange, isStream: false, plain: () => counted(inputTokens) },
    answer: answered,
    stamp: {
      id: visit.id,
      createdS: Math.floor(state.now() / 1000),
      model: call.baseModel,
      requestId: visit.requestId,
    },
    directives,
    fault,
    end: visit.end,
  });
}

const emptyAnswer = { choices: [], usage: { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 } };

type Understood =
  | { kind: 'right'; exchange: Exchange; directives: Directives }
  | { kind: 'wrong'; error: WireError };

function understand(state: State, visit: Visit, request: IncomingMessage): Understood {
  const { call, dialect } = visit;
  try {
    const directives = directivesOf(state, call, request);
    if (state.options.onlyListedModels && call.baseModel !== '' && !state.models.includes(call.baseModel)) {
      return { kind: 'wrong', error: unknownModel(call.baseModel) };
    }
    const body = isBag(call.body) ? call.body : {};
    // The dialect sees the model without directives, as the answer will name it.
    const isCounting = call.endpoint.endsWith('_tokens');
    const exchange = dialect.read(body, {
      model: call.baseModel,
      headers: request.headers,
      directives,
      seal: state.seal,
      isCounting,
    });
    return { kind: 'right', exchange, directives };
  } catch (error) {
    if (error instanceof BadRequest) return { kind: 'wrong', error: dialect.badRequest(error) };
    if (error instanceof DirectiveError)
      return { kind: 'wrong', error: { status: 400, message: error.message, code: 'directive' } };
    throw error;
  }
}

function directivesOf(state: State, call: Call, request: IncomingMessage): Directives {
  const header = request.headers['x-simulator'];
  const targets = call.baseModel === '' ? ['*', call.endpoint] : ['*', call.endpoint, call.baseModel];
  return {
    ...state.scripts.take(targets),
    ...parseModelName(call.model).directives,
    ...(header === undefined ? {} : parseDirectives(Array.isArray(header) ? header.join(',') : header)),
  };
}

function unknownModel(model: string): WireError {
  return {
    status: 404,
    message: `The model '${model}' does not exist or you do not have access to it.`,
    type: undefined,
    code: 'model_not_found',
    param: null,
  };
}

// Listing models can be scripted to fail like any call: health checks lean on it.
async function serveModels(state: State, visit: Visit): Promise<void> {
  const { call } = visit;
  const createdS = 1_767_225_600;
  const id = call.endpoint.startsWith('/v1/models/')
    ? decodeURIComponent(call.endpoint.slice('/v1/models/'.length))
    : undefined;
  const directives = state.scripts.take(['*', '/v1/models', call.endpoint]);
  const isKnown = id === undefined || state.models.includes(id);
  if (!isKnown) return reject(visit, unknownModel(id));
  await perform({
    call,
    reply: visit.reply,
    dialect: visit.dialect,
    exchange: {
      prompts: [],
      isStream: false,
      plain: () => (id === undefined ? modelList(state.models, createdS) : modelEntry(id, createdS)),
      stream: () => [],
    },
    answer: emptyAnswer,
    stamp: { id: visit.id, createdS, model: '', requestId: visit.requestId },
    directives,
    fault: state.scripts.dueFault('/v1/models', directives),
    end: visit.end,
  });
}

// For those who run the simulator as a process: its books, and scripts, over HTTP.
async function serveControl(
  state: State,
  endpoint: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = await receive(request, 1024 * 1024);
  const send = (status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  switch (`${request.method} ${endpoint}`) {
    case 'GET /_simulator/counts':
      return send(200, state.ledger.counts());
    case 'GET /_simulator/calls':
      return send(200, state.ledger.calls());
    case 'POST /_simulator/reset':
      resetAll(state);
      return send(200, {});
    case 'POST /_simulator/script': {
      const problem = installFrom(state, received.kind === 'json' ? received.value : undefined);
      return problem === undefined ? send(200, {}) : send(400, { error: { message: problem } });
    }
    default:
      return send(404, {
        error: { message: `simulator: there is nothing at ${request.method} ${endpoint}` },
      });
  }
}

function installFrom(state: State, body: unknown): string | undefined {
  if (!isBag(body) || typeof body.target !== 'string')
    return 'send {"target": "<model>", "directives": "…" | ["…"] | null}';
  const { target, directives } = body;
  try {
    if (directives === null || typeof directives === 'string') state.scripts.install(target, directives);
    else if (Array.isArray(directives)) state.scripts.install(target, directives.map(String));
    else return 'directives must be a string, a list of strings, or null';
    return undefined;
  } catch (error) {
    if (error instanceof DirectiveError) return error.message;
    throw error;
  }
}

async function receive(request: IncomingMessage, bytesMax: number): Promise<Received> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) continue;
      bytes += chunk.length;
      // The rest is read and thrown away, so that the answer arrives instead of a reset.
      if (bytes <= bytesMax) chunks.push(chunk);
    }
  } catch {
    return { kind: 'garbage', why: 'the body ended early' };
  }
  if (bytes > bytesMax) return { kind: 'too-large' };
  if (bytes === 0) return { kind: 'none' };
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return { kind: 'json', value };
  } catch (error) {
    return { kind: 'garbage', why: error instanceof Error ? error.message : 'not JSON' };
  }
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
