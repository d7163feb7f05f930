// What does Bedrock want that its dialects do not? A front before a simulator: it refuses what Bedrock refuses, and passes the rest on.

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

interface BedrockOptions {
  /** A key of Bedrock, as its console makes them. */
  readonly key: string;
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
  if (headers.authorization !== `Bearer ${options.key}` || headers['x-api-key'] !== undefined) {
    return refuse(response, badKey);
  }
  const path = /^(?:\/openai|\/anthropic)(\/v1\/(?:chat\/completions|responses|messages))$/.exec(url)?.[1];
  if (path === undefined || url.startsWith('/anthropic') !== path.endsWith('/messages')) {
    return refuse(response, noOperation);
  }
  const named = JSON.parse(body.toString()) as { model?: string; metadata?: { user_id?: unknown } };
  const model = options.models[named.model ?? ''];
  if (model === undefined) return refuse(response, noModel);
  if (typeof model !== 'string') return refuse(response, model);
  if (path.endsWith('/messages') && !takesUser(named.metadata?.user_id)) return refuse(response, badUser);
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

function takesUser(user: unknown): boolean {
  return user === undefined || (typeof user === 'string' && /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/.test(user));
}

const badKey: BedrockError = {
  status: 403,
  type: 'AccessDeniedException',
  message: 'Authentication failed: Please make sure your API Key is valid.',
};
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
