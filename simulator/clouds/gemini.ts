// What does the Gemini API want? A separate simulator, because no client of the gateway speaks this API: it refuses what Google refuses,
// and answers the rest as the simulator's model would.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Bag, isBag } from '../checks.ts';
import type { Ledger } from '../counts.ts';
import { type Directives, parseModelName } from '../directives.ts';
import { makeSeal } from '../seal.ts';
import { type GeminiModels, startGeminiModels } from './gemini-models.ts';
import { type GoogleError, refuse, unauthenticated } from './google-error.ts';

interface GeminiOptions {
  readonly key: string;
  /** Whether it is a token of Google that is good here; absent: none is. */
  takes?(token: string): boolean;
  /** Their names, each with the simulator's model that it is: `sim`, with directives behind it. */
  readonly models: Readonly<Record<string, string>>;
  /** Whether calls carry ids; absent: from the third generation on. */
  readonly ids?: 'given' | 'refused';
  /** Of its signatures; two of the same key are one provider. */
  readonly sealKey?: string;
}

export interface Gemini extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123/v1beta`. */
  readonly url: string;
  /** Paths with queries, as they came. */
  readonly calls: string[];
  /** Bodies, as they came. */
  readonly bodies: Record<string, unknown>[];
  /** Calls that were accepted to a model. */
  readonly ledger: Ledger;
  /** What its models do; as in the simulator's directives. A model's own come first. */
  directives: Directives;
  /** One scripted answer that replaces the model's: a status with a body, or the chunks of a stream. */
  next: Scripted | undefined;
}

export interface Scripted {
  readonly status: number;
  /** Of a status other than 200: the whole answer. */
  readonly body?: unknown;
  /** Of 200: the one answer, or each chunk. */
  readonly chunks?: readonly unknown[];
}

export async function startGemini(options: GeminiOptions): Promise<Gemini> {
  const models = startGeminiModels('gemini', makeSeal(options.sealKey ?? 'gemini'));
  const server = createServer((incoming, response) => {
    void receive(incoming).then((body) => answer(gemini, options, models, incoming, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const gemini: Gemini = {
    url: `http://127.0.0.1:${port}/v1beta`,
    calls: [],
    bodies: [],
    ledger: models.ledger,
    directives: {},
    next: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return gemini;
}

async function receive(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answer(
  gemini: Gemini,
  { key, takes, models, ids }: GeminiOptions,
  { generate }: GeminiModels,
  incoming: IncomingMessage,
  bytes: Buffer,
  response: ServerResponse,
) {
  const { url = '', headers } = incoming;
  gemini.calls.push(url);
  const { pathname, searchParams } = new URL(url, 'http://gemini');
  const asked = /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/.exec(
    pathname,
  );
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
  const isToken = takes?.(token) === true;
  const others = ['api-key', 'x-api-key', isToken ? 'x-goog-api-key' : 'authorization'];
  const strays = others.filter((name) => headers[name] !== undefined);
  if ((!isToken && headers['x-goog-api-key'] !== key) || searchParams.has('key') || strays.length > 0)
    return refuse(response, token === '' ? badKey : unauthenticated);
  const [, name = '', verb] = asked ?? [];
  const model = decodeURIComponent(name);
  const own = Object.hasOwn(models, model) ? models[model] : undefined;
  if (!asked || own === undefined) return refuse(response, noModel(name));
  const isStream = verb === 'streamGenerateContent';
  if (isStream && searchParams.get('alt') !== 'sse')
    return refuse(response, { ...badArgument, message: 'alt=sse is missing' });
  const body = JSON.parse(bytes.toString()) as unknown;
  if (!isBag(body)) return refuse(response, badArgument);
  gemini.bodies.push(body);
  const { next } = gemini;
  gemini.next = undefined;
  if (next) return play(response, next, isStream);
  const directives = { ...gemini.directives, ...parseModelName(own).directives };
  const isCount = verb === 'countTokens';
  const request = isCount ? countedIn(body, model) : body;
  if (!request) return refuse(response, badArgument);
  void generate({ incoming, response, body: request, model, isStream, isCount, ids, directives });
}

/** The request is a member here, and names its model. */
function countedIn({ generateContentRequest: asked, ...more }: Bag, model: string): Bag | undefined {
  if (!isBag(asked) || asked.model !== `models/${model}` || Object.keys(more).length > 0) return undefined;
  const { model: _, ...request } = asked;
  return request;
}

function play(response: ServerResponse, { status, body, chunks = [] }: Scripted, isStream: boolean): void {
  const isEvents = status === 200 && isStream;
  response.writeHead(status, {
    'content-type': isEvents ? 'text/event-stream' : 'application/json; charset=UTF-8',
  });
  if (isEvents) for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\r\n\r\n`);
  response.end(isEvents ? undefined : JSON.stringify(body ?? chunks[0]));
}

const badArgument: GoogleError = {
  status: 400,
  word: 'INVALID_ARGUMENT',
  message: 'Request contains an invalid argument.',
};

/** Unlike elsewhere, no 401. */
const badKey: GoogleError = {
  ...badArgument,
  message: 'API key not valid. Please pass a valid API key.',
  details: [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
    },
  ],
};

function noModel(name: string): GoogleError {
  const message = `models/${name} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`;
  return { status: 404, word: 'NOT_FOUND', message };
}
