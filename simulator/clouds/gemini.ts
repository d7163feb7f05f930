// What does the Gemini API want? A simulator of its own, for no client of the gateway speaks it: it refuses what Google refuses, and answers
// the rest as the simulator's model would.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BadRequest, isBag } from '../checks.ts';
import type { Directives } from '../directives.ts';
import { answerAll } from '../mind.ts';
import { makeSeal, type Seal } from '../seal.ts';
import { chunksOf, plainAnswer, type Voice } from './gemini-answer.ts';
import { type GeminiModel, modelOf, readGeminiRequest } from './gemini-request.ts';

interface GeminiOptions {
  readonly key: string;
  readonly models: readonly string[];
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
  /** What its model does; as in the simulator's directives. */
  directives: Directives;
  /** What it answers in place of its model, once: a status with a body, or the chunks of a stream. */
  next: Scripted | undefined;
}

export interface Scripted {
  readonly status: number;
  /** Of a status other than 200: the whole answer. */
  readonly body?: unknown;
  /** Of 200: the one answer, or each chunk. */
  readonly chunks?: readonly unknown[];
}

export interface GoogleError {
  readonly status: number;
  readonly word: string;
  readonly message: string;
  readonly details?: readonly unknown[];
}

export async function startGemini(options: GeminiOptions): Promise<Gemini> {
  const seal = makeSeal(options.sealKey ?? 'gemini');
  const server = createServer((incoming, response) => {
    void receive(incoming).then((body) => answer(gemini, options, seal, incoming, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const gemini: Gemini = {
    url: `http://127.0.0.1:${port}/v1beta`,
    calls: [],
    bodies: [],
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
  { key, models, ids }: GeminiOptions,
  seal: Seal,
  { url = '', headers }: IncomingMessage,
  bytes: Buffer,
  response: ServerResponse,
) {
  gemini.calls.push(url);
  const { pathname, searchParams } = new URL(url, 'http://gemini');
  const asked = /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)$/.exec(pathname);
  const strays = ['authorization', 'api-key', 'x-api-key'].filter((name) => headers[name] !== undefined);
  if (headers['x-goog-api-key'] !== key || searchParams.has('key') || strays.length > 0)
    return refuse(response, badKey);
  const [, name = '', verb] = asked ?? [];
  if (!asked || !models.includes(decodeURIComponent(name))) return refuse(response, noModel(name));
  const isStream = verb === 'streamGenerateContent';
  if (isStream && searchParams.get('alt') !== 'sse')
    return refuse(response, { ...badArgument, message: 'alt=sse is missing' });
  const body = JSON.parse(bytes.toString()) as unknown;
  if (!isBag(body)) return refuse(response, badArgument);
  gemini.bodies.push(body);
  const { next } = gemini;
  gemini.next = undefined;
  if (next) return play(response, next, isStream);
  generate({
    response,
    body,
    model: modelOf(decodeURIComponent(name)),
    host: 'gemini',
    isStream,
    seal,
    ids,
    directives: gemini.directives,
  });
}

interface Generation {
  readonly response: ServerResponse;
  readonly body: Record<string, unknown>;
  readonly model: GeminiModel;
  readonly host: 'gemini' | 'vertex';
  readonly isStream: boolean;
  readonly seal: Seal;
  readonly ids: 'given' | 'refused' | undefined;
  readonly directives: Directives;
}

/** The answer of its model to a request that is signed in; or a refusal of the request. */
export function generate({ response, body, model, host, isStream, seal, ids, directives }: Generation): void {
  const isThird = model.generation >= 3;
  const known = ids ?? (isThird ? 'given' : 'refused');
  try {
    const rules = {
      needsSignatures: isThird,
      ids: known,
      takesResultMedia: isThird,
      takesAddresses: host === 'vertex',
      seal,
    };
    const { prompt, showsThoughts, hasLogprobs } = readGeminiRequest(body, model, host, rules);
    const said = answerAll([prompt], directives);
    const voice: Voice = {
      model: model.name,
      id: 'response-of-gemini',
      showsThoughts,
      hasLogprobs,
      signs: isThird,
      givesIds: known === 'given',
      seal,
    };
    const chunks = isStream ? [...chunksOf(said, voice)] : [plainAnswer(said, voice)];
    play(response, { status: 200, chunks }, isStream);
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    const field = error.path.join('.');
    refuse(response, {
      ...badArgument,
      message: error.message,
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field, description: error.message }],
        },
      ],
    });
  }
}

function play(response: ServerResponse, { status, body, chunks = [] }: Scripted, isStream: boolean): void {
  const isEvents = status === 200 && isStream;
  response.writeHead(status, {
    'content-type': isEvents ? 'text/event-stream' : 'application/json; charset=UTF-8',
  });
  if (isEvents) for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\r\n\r\n`);
  response.end(isEvents ? undefined : JSON.stringify(body ?? chunks[0]));
}

export function refuse(response: ServerResponse, { status, word, message, details }: GoogleError): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' });
  response.end(JSON.stringify(googleError({ status, word, message, ...(details ? { details } : {}) })));
}

export function googleError({ status, word, message, details }: GoogleError): unknown {
  return { error: { code: status, message, status: word, ...(details ? { details } : {}) } };
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
