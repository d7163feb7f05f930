// What happens to one request? It is read, judged, understood, and answered, or broken as its script says.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientPathOf } from '../core/catalog/dialects.ts';
import { OPERATIONS } from '../core/catalog/operations.ts';
import { chat } from './chat.ts';
import { BadRequest, isBag } from './checks.ts';
import { completions } from './completions.ts';
import { serveControl } from './control.ts';
import type { Call, Ledger } from './counts.ts';
import type { KeyScript } from './credentials.ts';
import { invalidKey, readCredential, redactHeaders, refusalOf } from './credentials.ts';
import type { Dialect, Exchange, WireError } from './dialect.ts';
import type { Directives } from './directives.ts';
import { DirectiveError, parseDirectives, parseModelName } from './directives.ts';
import { messages } from './messages.ts';
import { answerAll, hash } from './mind.ts';
import { modelEntry, modelList } from './models.ts';
import { perform, sendError } from './perform.ts';
import type { Received } from './receive.ts';
import { receive } from './receive.ts';
import type { Reply } from './reply.ts';
import { ClientGone, makeReply } from './reply.ts';
import { responses } from './responses.ts';
import type { Scripts } from './scripts.ts';
import type { Seal } from './seal.ts';
import type { StoredResponses } from './stored-responses.ts';

export type State = {
  options: { bodyBytesMax?: number; onlyListedModels?: boolean; onlyKnownKeys?: boolean };
  models: string[];
  keys: Map<string, KeyScript>;
  ledger: Ledger;
  scripts: Scripts;
  seal: Seal;
  stored: StoredResponses;
  now: () => number;
  /** The scripted keys that hold after a reset. */
  firstKeys: Record<string, KeyScript>;
  /** Counts answers; never reset, so that no two answers share an id. */
  serial: number;
  isClosing: boolean;
};

/** Forgets all calls, counts, scripts, key changes and stored responses. */
export function resetAll(state: State): void {
  state.stored.clear();
  state.ledger.reset();
  state.scripts.reset();
  state.keys = new Map(Object.entries(state.firstKeys));
}

/** One endpoint that answers with generated text, or counts what it would read. */
type Route = { dialect: Dialect; counts?: (tokens: number) => unknown };

const routes: ReadonlyMap<string, Route> = new Map(
  [chat, completions, messages, responses].flatMap(routesOf),
);

function routesOf(dialect: Dialect): (readonly [endpoint: string, Route])[] {
  const { name, countBody } = dialect;
  const counting = OPERATIONS['count-tokens'].paths[name];
  return [
    [clientPathOf(name), { dialect }],
    ...(counting && countBody ? [[`/v1${counting}`, { dialect, counts: countBody }] as const] : []),
  ];
}

const messagesPath = clientPathOf('anthropic-messages');
const storedPath = `${clientPathOf('openai-responses')}/`;

export async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [endpoint = '', query = ''] = splitOnce(request.url ?? '', '?');
  if (endpoint.startsWith('/_simulator/'))
    return serveControl({ ...state, reset: () => resetAll(state) }, endpoint, request, response);
  const route = routes.get(endpoint);
  const dialect = route?.dialect ?? (endpoint.startsWith(messagesPath) ? messages : chat);
  // From the first byte on: a client that leaves while its body is read must not be waited for later.
  const reply = makeReply(response);
  const received = await receive(request, state.options.bodyBytesMax ?? 32 * 1024 * 1024);
  const visit = openVisit(state, request, { endpoint, query, dialect, received, reply });
  try {
    if (received.kind === 'broken-off') return visit.end('client-gone');
    const refusal = refusalOfVisit(state, visit, request, route, received);
    if (refusal !== undefined) return reject(visit, refusal.error, refusal.retryAfterS);
    if (route === undefined) {
      const id = storedIdOf(endpoint);
      return id === undefined ? await serveModels(state, visit) : await serveStored(state, visit, id);
    }
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

type Arrival = { endpoint: string; query: string; dialect: Dialect; received: Received; reply: Reply };

function openVisit(state: State, request: IncomingMessage, arrival: Arrival): Visit {
  const { endpoint, query, dialect, received, reply } = arrival;
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
    reply,
    dialect,
    requestId: `req_${id}`,
    id,
    end: (ending) => state.ledger.end(call, ending),
  };
}

type Refusal = { error: WireError; retryAfterS?: number };

// A refusal before the body is even read as a request of its dialect.
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
    const isStored = storedIdOf(endpoint) !== undefined;
    if (!isModels && !isStored)
      return {
        error: { status: 404, message: `There is nothing at ${method} ${endpoint}.`, code: 'not_found' },
      };
    const isRight = method === 'GET' || (isStored && method === 'DELETE');
    return isRight ? undefined : { error: wrongMethod(method, endpoint) };
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
      stored: state.stored,
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

// Both SDK families percent-encode the slash of an id; a plain one is taken too.
function modelIdOf(endpoint: string): string | undefined {
  if (!endpoint.startsWith('/v1/models/')) return undefined;
  const id = endpoint.slice('/v1/models/'.length);
  try {
    return decodeURIComponent(id);
  } catch {
    // Not an encoding at all: no model has such a name, and the listing will say so.
    return id;
  }
}

// `/v1/responses/{id}`.
function storedIdOf(endpoint: string): string | undefined {
  if (!endpoint.startsWith(storedPath)) return undefined;
  return /^resp_\w+$/.exec(endpoint.slice(storedPath.length))?.[0];
}

async function serveStored(state: State, visit: Visit, id: string): Promise<void> {
  const { call } = visit;
  const found = state.stored.find(id);
  if (found === undefined) {
    const message = `Response with id '${id}' not found.`;
    return reject(visit, { status: 404, message, type: 'invalid_request_error', code: 'response_not_found' });
  }
  if (call.method === 'DELETE') state.stored.remove(id);
  const body = call.method === 'DELETE' ? { id, object: 'response', deleted: true } : found.response;
  await serveDocument(state, visit, call.endpoint, body);
}

// Listing models can be scripted to fail like any call: health checks lean on it.
async function serveModels(state: State, visit: Visit): Promise<void> {
  const { call } = visit;
  const id = modelIdOf(call.endpoint);
  const isKnown = id === undefined || state.models.includes(id);
  if (!isKnown) return reject(visit, unknownModel(id));
  const body = id === undefined ? modelList(state.models, createdS) : modelEntry(id, createdS);
  await serveDocument(state, visit, '/v1/models', body);
}

/** @param target What is scripted, beside the endpoint itself. */
async function serveDocument(state: State, visit: Visit, target: string, body: unknown): Promise<void> {
  const { call } = visit;
  const directives = state.scripts.take(['*', target, call.endpoint]);
  await perform({
    call,
    reply: visit.reply,
    dialect: visit.dialect,
    exchange: { prompts: [], isStream: false, plain: () => body, stream: () => [] },
    answer: emptyAnswer,
    stamp: { id: visit.id, createdS, model: '', requestId: visit.requestId },
    directives,
    fault: state.scripts.dueFault(target, directives),
    end: visit.end,
  });
}

const createdS = 1_767_225_600;

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

// A bug of the simulator must not look like a scripted fault.
export function failLoudly(response: ServerResponse, error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' });
  response.end(`simulator: this is a defect of the simulator\n${text}\n`);
}
