// What does Azure want that its dialects do not? A front before a simulator: it refuses what Azure refuses, and passes the rest on.

import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { unexpectedBetas, unknownBetas } from './claude-betas.ts';

interface AzureOptions {
  readonly key: string;
  /** Whether it is a token of Entra that is good here; absent: none is. */
  takes?(token: string): boolean;
  /** Names of deployments, each with the model behind it, or with the error that its calls get. */
  readonly deployments: Readonly<
    Record<string, string | { readonly status: number; readonly error: object }>
  >;
  /** Base URL of the simulator, without `/v1`. */
  readonly upstream: string;
}

export interface Azure extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123`: the resource. */
  readonly url: string;
  /** Paths with queries, as they came. */
  readonly calls: string[];
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Where a request goes on to, or why not. `deployment`: named in the path; else the body names it. */
type Judgement = Refusal | { readonly path: string; readonly deployment?: string };

export async function startAzure(options: AzureOptions): Promise<Azure> {
  const calls: string[] = [];
  const server = createServer((incoming, response) => {
    calls.push(incoming.url ?? '');
    void receive(incoming).then((body) => answer(options, incoming, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function receive(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answer(options: AzureOptions, incoming: IncomingMessage, body: Buffer, response: ServerResponse) {
  const judged = judge(options, incoming);
  if ('status' in judged) return refuse(response, judged);
  const named = JSON.parse(body.toString()) as { model?: string };
  const deployment = judged.deployment ?? named.model ?? '';
  const model = options.deployments[deployment];
  if (model === undefined) return refuse(response, noDeployment);
  if (typeof model !== 'string') {
    response.writeHead(model.status, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ error: model.error }));
  }
  const unknown = unknownBetas('foundry', deployment, incoming.headers);
  if (unknown.length > 0) {
    response.writeHead(400, { 'content-type': 'application/json' });
    return response.end(JSON.stringify(unexpectedBetas(unknown)));
  }
  const sent = Buffer.from(JSON.stringify({ ...named, model }));
  const headers = { ...incoming.headers, 'content-length': String(sent.length) };
  const call = request(options.upstream + judged.path, { method: 'POST', headers }, (came) => {
    response.writeHead(came.statusCode ?? 500, { ...came.headers, 'apim-request-id': 'azure' });
    const isEvents = String(came.headers['content-type']).startsWith('text/event-stream');
    if (isEvents && judged.path.endsWith('/chat/completions')) void annotate(came, response);
    else came.pipe(response);
  });
  call.on('error', () => response.destroy());
  response.on('close', () => call.destroy());
  call.end(sent);
}

/** A chunk about the prompt comes first, and one about the answer after its last word: neither has a delta. */
async function annotate(came: IncomingMessage, response: ServerResponse): Promise<void> {
  const filters = { hate: { filtered: false, severity: 'safe' } };
  const about = { id: '', object: '', created: 0, model: '' };
  const write = (chunk: object): void => {
    response.write(`data: ${JSON.stringify({ ...about, ...chunk })}\n\n`);
  };
  write({ choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: filters }] });
  const offsets = { check_offset: 0, start_offset: 0, end_offset: 9 };
  const checked = {
    index: 0,
    finish_reason: null,
    content_filter_results: filters,
    content_filter_offsets: offsets,
  };
  let kept = '';
  try {
    for await (const chunk of came) {
      kept += String(chunk);
      const events = kept.split('\n\n');
      kept = events.pop() ?? '';
      for (const event of events) {
        if (event === 'data: [DONE]') write({ choices: [checked] });
        response.write(`${event}\n\n`);
      }
    }
    response.end(kept);
  } catch {
    response.destroy();
  }
}

function judge({ key, takes }: AzureOptions, { url = '', headers }: IncomingMessage): Judgement {
  const { pathname, searchParams } = new URL(url, 'http://azure');
  const version = searchParams.get('api-version');
  const isDated = version !== null && /^\d{4}-\d{2}-\d{2}(-preview)?$/.test(version);
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
  const isEntra = takes?.(token) === true;
  // A request has one credential: a second one beside the token would be another user's key.
  if (isEntra && (headers['api-key'] ?? headers['x-api-key']) !== undefined) return badKey;
  if (pathname.startsWith('/anthropic/v1/messages')) {
    if (!isEntra && (headers['x-api-key'] !== key || headers['api-key'] !== undefined)) return badKey;
    if (headers['anthropic-version'] !== '2023-06-01') return noVersion;
    return { path: pathname.replace('/anthropic', '') };
  }
  if (headers['api-key'] !== key && token !== key && !isEntra) return badKey;
  const v1 = /^\/openai(\/v1\/(?:chat\/completions|completions|responses))$/.exec(pathname)?.[1];
  if (v1 !== undefined) {
    return isDated ? { ...wrongVersion, message: datedOnV1 } : { path: v1 };
  }
  if (!isDated) return notFound;
  const legacy = /^\/openai\/deployments\/([^/]+)(\/(?:chat\/completions|completions))$/.exec(pathname);
  if (legacy) return { path: `/v1${legacy[2]}`, deployment: decodeURIComponent(legacy[1] ?? '') };
  return pathname === '/openai/responses' && version >= '2025-03-01' ? { path: '/v1/responses' } : notFound;
}

const datedOnV1 = 'api-version query parameter is not allowed when using /v1 path';
const wrongVersion = { status: 400, code: 'BadRequest' };
const noVersion: Refusal = {
  status: 400,
  code: 'invalid_request_error',
  message: 'anthropic-version: header is required',
};
const badKey: Refusal = {
  status: 401,
  code: '401',
  message:
    'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
};
const notFound: Refusal = { status: 404, code: '404', message: 'Resource not found' };
const noDeployment: Refusal = {
  status: 404,
  code: 'DeploymentNotFound',
  message:
    'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
};

function refuse(response: ServerResponse, { status, code, message }: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { code, message } }));
}
