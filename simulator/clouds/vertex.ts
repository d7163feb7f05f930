// What does Vertex AI want that the dialects of its models do not? A project and a location in the path, a token, Claude's version in the
// body. Gemini answers here; Claude and models of other vendors are a simulator's behind it.

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { isBag } from '../checks.ts';
import type { Ledger } from '../counts.ts';
import { type Directives, parseModelName } from '../directives.ts';
import { makeSeal } from '../seal.ts';
import { unexpectedBetas, unknownBetas } from './claude-betas.ts';
import { faultOfSchemas, faultOfSources } from './claude-refusals.ts';
import { type GeminiModels, startGeminiModels } from './gemini-models.ts';
import { type GoogleError, googleError, refuse, retryInfo, unauthenticated, wordOf } from './google-error.ts';

interface VertexOptions {
  readonly project: string;
  readonly location: string;
  /** @param headers Of the whole request. */
  takes(token: string, headers: IncomingHttpHeaders): boolean;
  /** Takes calls in express mode. */
  readonly apiKey?: string;
  /** Base URL of the simulator, without `/v1`. */
  readonly upstream: string;
  /** Names of models, each with the simulator's model that it is. Others are `sim`. */
  readonly models?: Readonly<Record<string, string>>;
}

export interface Vertex extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123/v1`. */
  readonly url: string;
  /** Paths with queries, as they came, and whether they were accepted. */
  readonly calls: { readonly path: string; readonly isLetIn: boolean }[];
  /** Bodies of the calls that were accepted. */
  readonly bodies: Record<string, unknown>[];
  /** Calls that were accepted to a model of Gemini. */
  readonly ledger: Ledger;
  /** What models of Gemini do; a model's own come first. */
  directives: Directives;
}

export async function startVertex(options: VertexOptions): Promise<Vertex> {
  const models = startGeminiModels('vertex', makeSeal('vertex'));
  const server = createServer((incoming, response) => {
    void receive(incoming).then((body) => answer(vertex, options, models, incoming, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const vertex: Vertex = {
    url: `http://127.0.0.1:${port}/v1`,
    calls: [],
    bodies: [],
    ledger: models.ledger,
    directives: {},
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return vertex;
}

async function receive(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answer(
  vertex: Vertex,
  options: VertexOptions,
  { generate }: GeminiModels,
  incoming: IncomingMessage,
  bytes: Buffer,
  response: ServerResponse,
) {
  const { url = '', headers } = incoming;
  const isExpress = url.startsWith('/v1/publishers/');
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
  const isLetIn = isExpress
    ? options.apiKey !== undefined && headers['x-goog-api-key'] === options.apiKey && token === ''
    : headers['x-goog-api-key'] === undefined && options.takes(token, headers);
  vertex.calls.push({ path: url, isLetIn });
  if (!isLetIn) return refuse(response, unauthenticated);
  const body = JSON.parse(bytes.toString()) as unknown;
  if (!isBag(body)) return refuse(response, { ...badArgument, message: 'The body is no object.' });
  vertex.bodies.push(body);
  const place = isExpress ? '/v1' : `/v1/projects/${options.project}/locations/${options.location}`;
  if (!url.startsWith(`${place}/`)) return refuse(response, notFound(url));
  const path = url.slice(place.length);
  const [, gemini, verb] =
    /^\/publishers\/google\/models\/([^/:]+):(generateContent|countTokens|streamGenerateContent\?alt=sse)$/.exec(
      path,
    ) ?? [];
  if (gemini !== undefined) {
    const isStream = verb === 'streamGenerateContent?alt=sse';
    const isCount = verb === 'countTokens';
    const stray = isCount && Object.keys(body).find((name) => !countedMembers.has(name));
    if (stray)
      return refuse(response, {
        ...badArgument,
        message: `Invalid JSON payload received. Unknown name "${stray}"`,
      });
    const directives = {
      ...vertex.directives,
      ...parseModelName(options.models?.[gemini] ?? 'sim').directives,
    };
    return void generate({ incoming, response, body, model: gemini, isStream, isCount, directives });
  }
  const [, claude, way] =
    /^\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/.exec(path) ?? [];
  if (claude !== undefined)
    return askClaude(options, claude, way === 'streamRawPredict', body, incoming, response);
  if (path !== '/endpoints/openapi/chat/completions') return refuse(response, notFound(url));
  if (!/^[a-z]+\/[^/]+$/.test(String(body.model)))
    return refuse(response, { ...badArgument, message: 'Malformed publisher model name.' });
  const behind = options.models?.[String(body.model)] ?? 'sim';
  forward(options, '/v1/chat/completions', { ...body, model: behind }, {}, response, inGoogleWords);
}

function askClaude(
  options: VertexOptions,
  model: string,
  isStream: boolean,
  { anthropic_version: version, ...body }: Record<string, unknown>,
  { headers }: IncomingMessage,
  response: ServerResponse,
) {
  if (version !== 'vertex-2023-10-16')
    return refuse(response, { ...badArgument, message: 'anthropic_version: Field required' });
  const stray = ['anthropic-version', 'x-api-key'].find((name) => headers[name] !== undefined);
  if (stray !== undefined)
    return refuse(response, { ...badArgument, message: `${stray} is no header of this API` });
  const unknown = unknownBetas('vertex', model, headers);
  if (unknown.length > 0) {
    response.writeHead(400, { 'content-type': 'application/json' });
    return response.end(JSON.stringify(unexpectedBetas(unknown)));
  }
  const beta = String(headers['anthropic-beta'] ?? '');
  const isCounting = model === 'count-tokens';
  if (!isCounting && body.model !== undefined)
    return refuse(response, { ...badArgument, message: 'model: Extra inputs are not permitted' });
  if (isCounting && String(body.model).includes('@')) return refuse(response, notFound(String(body.model)));
  if ((body.stream === true) !== isStream)
    return refuse(response, { ...badArgument, message: 'stream does not fit the path' });
  const fault = faultOfSchemas(body) ?? faultOfSources(body.messages);
  if (fault !== undefined) return refuse(response, { ...badArgument, message: fault });
  const sent = { ...body, model: options.models?.[model] ?? 'sim' };
  const more = { 'anthropic-version': '2023-06-01', ...(beta === '' ? {} : { 'anthropic-beta': beta }) };
  forward(options, isCounting ? '/v1/messages/count_tokens' : '/v1/messages', sent, more, response);
}

function forward(
  { upstream }: VertexOptions,
  path: string,
  body: object,
  more: Record<string, string>,
  response: ServerResponse,
  wordsOf?: (status: number, body: string, retryAfterS: string | undefined) => string,
): void {
  const sent = Buffer.from(JSON.stringify(body));
  const headers = { 'content-type': 'application/json', 'content-length': String(sent.length), ...more };
  const call = request(upstream + path, { method: 'POST', headers }, (came) => {
    const { statusCode: status = 500 } = came;
    if (status >= 400 && wordsOf)
      return void receive(came).then((text) => rewrite(status, String(text), came.headers['retry-after']));
    response.writeHead(status, came.headers);
    came.pipe(response);
  });
  const rewrite = (status: number, text: string, retryAfterS: string | undefined) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' });
    response.end(wordsOf?.(status, text, retryAfterS));
  };
  call.on('error', () => response.destroy());
  response.on('close', () => call.destroy());
  call.end(sent);
}

/** The OpenAI form wraps errors in a list, and says how long to wait in the body alone. */
function inGoogleWords(status: number, body: string, retryAfterS: string | undefined): string {
  const { message } = (JSON.parse(body) as { error: { message: string } }).error;
  return JSON.stringify([
    googleError({ status, word: wordOf(status), message, details: retryInfo(retryAfterS) }),
  ]);
}

const countedMembers = new Set(['contents', 'systemInstruction', 'tools', 'generationConfig']);

const badArgument = { status: 400, word: 'INVALID_ARGUMENT' } as const;

function notFound(what: string): GoogleError {
  return {
    status: 404,
    word: 'NOT_FOUND',
    message: `Publisher Model or endpoint \`${what}\` was not found or your project does not have access to it.`,
  };
}
