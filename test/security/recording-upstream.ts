// A provider that writes down every request and on which connection it came, and answers as it is reported.

import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { listenKept } from '../support/listen-kept.ts';

export interface UpstreamRequest {
  /** Method and target. */
  readonly line: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly connection: Socket;
}

export interface UpstreamAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface RecordingUpstream {
  readonly port: number;
  readonly requests: UpstreamRequest[];
  /** Connections so far. */
  connections(): number;
  close(): Promise<void>;
}

export async function startRecordingUpstream(
  answer: (request: UpstreamRequest) => UpstreamAnswer,
  host = '127.0.0.1',
  wantedPort = 0,
): Promise<RecordingUpstream> {
  const requests: UpstreamRequest[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received: UpstreamRequest = {
        line: `${request.method} ${request.url}`,
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        body: Buffer.concat(chunks).toString(),
        connection: request.socket,
      };
      requests.push(received);
      const { status = 200, headers = {}, body = '' } = answer(received);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(body);
    });
  });
  server.on('connection', () => {
    connections++;
  });
  const { port, close } = await listenKept(server, host, wantedPort);
  return { port, requests, connections: () => connections, close };
}

const item = {
  type: 'message',
  id: 'i',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'a', annotations: [] }],
};

/** The smallest whole answer of each dialect. */
export const plainAnswers = {
  'openai-chat': {
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
  },
  'openai-completions': {
    object: 'text_completion',
    choices: [{ index: 0, text: 'a', finish_reason: 'stop' }],
  },
  'openai-responses': { object: 'response', id: 'r', status: 'completed', output: [item] },
  'anthropic-messages': {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'a' }],
    stop_reason: 'end_turn',
  },
} as const;

const messages = [{ role: 'user', content: 'x' }];

/** The smallest request of each dialect, without its model. */
export const plainAsks = {
  'openai-chat': { messages },
  'openai-completions': { prompt: 'x' },
  'openai-responses': { input: 'x' },
  'anthropic-messages': { messages, max_tokens: 9 },
} as const;
