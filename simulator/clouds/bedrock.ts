// What does Bedrock want that its dialects do not? A front before a simulator: it refuses what Bedrock refuses, and passes the rest on.

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BlockedBy, ConverseStream, converseOf, messagesOf } from './bedrock-converse.ts';
import { unknownBetas } from './claude-betas.ts';
import { faultOfSchemas, faultOfSources } from './claude-refusals.ts';
import { exceptionFrame } from './event-stream.ts';
import { accessKeyOf, faultOfSignature, faultOfTime, type SigningKey } from './signature.ts';

interface BedrockOptions {
  /** A key of Bedrock, as its console makes them. */
  readonly key: string;
  /** Access keys that are taken as well. */
  readonly signing?: SigningKey;
  /** Temporary access keys, by their id: as the token service gave them, or ended. */
  sessionOf?(accessKeyId: string): SigningKey | 'ended' | undefined;
  /** Its clock, in Unix milliseconds; the machine's where left out. */
  nowMs?(): number;
  /** Ids of models, each with the simulator's model behind it, or with what its calls are refused with. */
  readonly models: Readonly<Record<string, string | BedrockError>>;
  /** Base URL of the simulator, without `/v1`. */
  readonly upstream: string;
}

interface BedrockError {
  readonly status: number;
  /** `ThrottlingException`, … */
  readonly type: string;
  readonly message: string;
}

interface BedrockCall {
  /** Path with its query, as it came. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Bedrock extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123`: the host of a region. */
  readonly url: string;
  readonly calls: BedrockCall[];
}

export async function startBedrock(options: BedrockOptions): Promise<Bedrock> {
  const calls: BedrockCall[] = [];
  const server = createServer((incoming, response) => {
    void receive(incoming).then((body) => {
      const call = { url: incoming.url ?? '', headers: incoming.headers, body };
      calls.push(call);
      answer(options, call, response);
    });
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

function answer(options: BedrockOptions, call: BedrockCall, response: ServerResponse) {
  const { url, headers, body } = call;
  const nowMs = options.nowMs?.() ?? Date.now();
  response.setHeader('date', new Date(nowMs).toUTCString());
  const accessKeyId = accessKeyOf(headers);
  if (accessKeyId !== undefined) {
    const signing = options.sessionOf?.(accessKeyId) ?? options.signing;
    if (signing === 'ended') return refuse(response, endedToken);
    if (signing?.accessKeyId !== accessKeyId) return refuse(response, unknownToken);
    const fault = faultOfTime(headers, nowMs) ?? faultOfSignature(url, headers, body, signing);
    if (fault !== undefined) return refuse(response, { ...badSignature, message: fault });
  } else if (headers.authorization !== `Bearer ${options.key}` || headers['x-api-key'] !== undefined) {
    return refuse(response, badKey);
  }
  const converse = /^\/model\/([^/]+)\/converse(-stream)?$/.exec(url);
  if (converse)
    return answerConverse(options, call, response, decodeURIComponent(converse[1] ?? ''), !!converse[2]);
  // The beta API of Anthropic's SDK says so wherever it asks.
  const asked = url.startsWith('/anthropic/') ? url.replace(/\?beta=true$/, '') : url;
  if (asked === '/anthropic/v1/messages/count_tokens') return answerUnknown(response);
  const path = /^(?:\/openai|\/anthropic)(\/v1\/(?:chat\/completions|responses|messages))$/.exec(asked)?.[1];
  if (path === undefined || url.startsWith('/anthropic') !== path.endsWith('/messages')) {
    return refuse(response, noOperation);
  }
  const named = JSON.parse(body.toString()) as Asked;
  const model = options.models[named.model ?? ''];
  if (model === undefined) return refuse(response, noModel);
  if (typeof model !== 'string') return refuse(response, model);
  if (path.endsWith('/messages') && headers['anthropic-version'] !== '2023-06-01')
    return refuse(response, badVersion);
  if (path.endsWith('/messages') && !takesUser(named.metadata?.user_id)) return refuse(response, badUser);
  if (unknownBetas('bedrock', named.model ?? '', headers).length > 0) return refuse(response, badBeta);
  const fault = path.endsWith('/messages') ? faultOfClaude(named) : undefined;
  if (fault !== undefined)
    return refuse(response, { status: 400, type: 'ValidationException', message: fault });
  const sent = Buffer.from(JSON.stringify({ ...named, model }));
  const passed = { ...headers, 'content-length': String(sent.length) };
  const onward = request(options.upstream + path, { method: 'POST', headers: passed }, (came) => {
    response.writeHead(came.statusCode ?? 500, { ...came.headers, 'x-amzn-requestid': 'bedrock' });
    came.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  onward.end(sent);
}

interface Asked extends Record<string, unknown> {
  readonly model?: string;
  readonly metadata?: { readonly user_id?: unknown };
}

/** Older models take schemas. */
function faultOfClaude(asked: Asked): string | undefined {
  const refusesSchemas = /claude-(opus-4-[78]|[a-z]+-5)/.test(asked.model ?? '');
  return (refusesSchemas ? faultOfSchemas(asked) : undefined) ?? faultOfSources(asked.messages);
}

/** The runtime counts nothing, and says so with 200. */
function answerUnknown(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const __type = 'com.amazon.coral.service#UnknownOperationException';
  response.end(JSON.stringify({ Output: { __type }, Version: '1.0' }));
}

function answerConverse(
  { models, upstream }: BedrockOptions,
  { body }: BedrockCall,
  response: ServerResponse,
  id: string,
  isStream: boolean,
) {
  const model = models[id];
  if (model === undefined) return refuse(response, noModel);
  if (typeof model !== 'string') return refuse(response, model);
  let sent: string;
  let blockedBy: BlockedBy;
  try {
    const asked = JSON.parse(body.toString()) as Record<string, unknown>;
    sent = JSON.stringify(messagesOf(asked, model, isStream));
    blockedBy = asked.guardrailConfig === undefined ? 'content_filtered' : 'guardrail_intervened';
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return refuse(response, { status: 400, type: 'ValidationException', message });
  }
  const headers = {
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    'x-api-key': 'simulated',
  };
  const onward = request(`${upstream}/v1/messages`, { method: 'POST', headers }, (came) => {
    const status = came.statusCode ?? 500;
    if (isStream && status === 200) void stream(came, response, blockedBy);
    else void receive(came).then((plain) => answerPlain(response, status, plain, blockedBy));
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  onward.end(sent);
}

function answerPlain(response: ServerResponse, status: number, plain: Buffer, blockedBy: BlockedBy) {
  const said = JSON.parse(plain.toString()) as Record<string, unknown>;
  if (status !== 200) {
    const { message } = said.error as { readonly message: string };
    return refuse(response, { status, type: typesOfStatus[status] ?? 'ValidationException', message });
  }
  response.writeHead(200, { 'content-type': 'application/json', 'x-amzn-requestid': 'bedrock' });
  response.end(JSON.stringify(converseOf(said, blockedBy)));
}

const typesOfStatus: Readonly<Record<number, string>> = {
  429: 'ThrottlingException',
  500: 'InternalServerException',
  503: 'ServiceUnavailableException',
  529: 'ServiceUnavailableException',
};

async function stream(came: IncomingMessage, response: ServerResponse, blockedBy: BlockedBy): Promise<void> {
  response.writeHead(200, {
    'content-type': 'application/vnd.amazon.eventstream',
    'x-amzn-requestid': 'bedrock',
  });
  const converted = new ConverseStream(blockedBy);
  let kept = '';
  try {
    for await (const chunk of came) {
      kept += String(chunk);
      const events = kept.split('\n\n');
      kept = events.pop() ?? '';
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data === undefined) continue;
        const value = JSON.parse(data) as Record<string, unknown>;
        if (value.type === 'error') {
          const { message } = value.error as { readonly message: string };
          response.write(exceptionFrame('serviceUnavailableException', message));
        } else for (const frame of converted.frames(value)) writeCut(response, frame);
      }
    }
    response.end();
  } catch {
    response.destroy();
  }
}

/** In two pieces, as the network cuts them. */
function writeCut(response: ServerResponse, frame: Buffer): void {
  const half = frame.length >> 1;
  response.write(frame.subarray(0, half));
  response.write(frame.subarray(half));
}

function takesUser(user: unknown): boolean {
  return user === undefined || (typeof user === 'string' && /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/.test(user));
}

const badKey: BedrockError = {
  status: 403,
  type: 'AccessDeniedException',
  message: 'Authentication failed: Please make sure your API Key is valid.',
};
const endedToken: BedrockError = {
  status: 403,
  type: 'ExpiredTokenException',
  message: 'The security token included in the request is expired',
};
const unknownToken: BedrockError = {
  status: 403,
  type: 'UnrecognizedClientException',
  message: 'The security token included in the request is invalid.',
};
const badSignature = { status: 403, type: 'InvalidSignatureException' };
const noOperation: BedrockError = {
  status: 404,
  type: 'UnknownOperationException',
  message: 'The requested operation is not recognized by the service.',
};
const noModel: BedrockError = {
  status: 400,
  type: 'ValidationException',
  message: 'The provided model identifier is invalid.',
};
const badVersion: BedrockError = {
  status: 400,
  type: 'ValidationException',
  message: 'anthropic-version: the version is not supported',
};
const badBeta: BedrockError = { status: 400, type: 'ValidationException', message: 'invalid beta flag' };
const badUser: BedrockError = {
  status: 400,
  type: 'ValidationException',
  message:
    "Value at 'metadata.user_id' failed to satisfy constraint: Member must satisfy regular expression pattern",
};

/** The front writes the type into a header, and the message with a capital where a request does not get as far as a model. */
function refuse(response: ServerResponse, { status, type, message }: BedrockError): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`,
  });
  response.end(JSON.stringify(type === 'AccessDeniedException' ? { Message: message } : { message }));
}
