// A tenant that takes what it can get: an upstream that streams as fast as it is read, and the clients that read it; large bodies, and the
// upstream that they go to. One process of its own, so that what it costs is not taken from the callers that are measured.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { writeRequest } from '../../support/raw-client.ts';

/** How many streams each key keeps open at the gateway; a stream that is refused or ends is opened again. */
export interface FloodOrder {
  readonly port: number;
  readonly streams: readonly { readonly key: string; readonly count: number }[];
  /** Sent one after the other on each of so many connections. */
  readonly bodies?: BodyOrder;
}

export interface BodyOrder {
  readonly key: string;
  readonly connections: number;
  readonly model: 'large' | 'large-translated';
  /** What a prompt of so many bytes is made of. */
  readonly word: string;
  readonly bytes: number;
}

export interface FloodReport {
  readonly open: number;
  readonly refused: number;
  readonly mebibytes: number;
  /** Large bodies that were answered with 200, and with anything else. */
  readonly served: number;
  readonly failed: number;
}

const event = `data: ${JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'flood',
  choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }],
})}\n\n`;
const piece = Buffer.from(event.repeat(100));

/** One piece a turn: a kernel that takes each at once would keep this process at one stream for ever. */
function pour(response: ServerResponse): void {
  if (response.destroyed) return;
  if (response.write(piece)) setImmediate(pour, response);
  else response.once('drain', () => pour(response));
}

const upstream = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  pour(response);
});

const chatAnswer = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'large',
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
const messagesAnswer = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'large',
  content: [{ type: 'text', text: 'yes' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
});
const sink = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(request.url === '/v1/messages' ? messagesAnswer : chatAnswer);
  });
});

let served = 0;
let failed = 0;

function sendBodies(port: number, { key, connections, model, word, bytes }: BodyOrder): void {
  const text = word.repeat(Math.floor(bytes / word.length));
  const body = `{"model":"${model}","messages":[{"role":"user","content":"${text}"}]}`;
  const request = writeRequest({
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
  const sendOne = (): void => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.once('data', (head: Buffer) => {
      if (head.toString('latin1', 9, 12) === '200') served++;
      else failed++;
      socket.destroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      if (!isOver) setTimeout(sendOne, 10);
    });
  };
  for (let n = 0; n < connections; n++) sendOne();
}

let open = 0;
let refused = 0;
let bytes = 0;
const sockets = new Set<Socket>();
let isOver = false;

function keepStream(port: number, request: string): void {
  if (isOver) return;
  const socket = connect(port, '127.0.0.1');
  sockets.add(socket);
  let isStream = false;
  socket.once('connect', () => socket.write(request));
  socket.once('data', (head: Buffer) => {
    isStream = head.toString('latin1', 9, 12) === '200';
    if (isStream) open++;
    else {
      refused++;
      socket.destroy();
    }
  });
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  socket.on('error', () => {});
  socket.once('close', () => {
    sockets.delete(socket);
    if (isStream) open--;
    setTimeout(() => keepStream(port, request), 1_000);
  });
}

const portOf = async (server: typeof upstream): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};
process.send?.({ port: await portOf(upstream), sinkPort: await portOf(sink) });
process.on('message', (order: FloodOrder | 'report') => {
  if (order === 'report') {
    const report: FloodReport = { open, refused, mebibytes: Math.round(bytes / 2 ** 20), served, failed };
    process.send?.(report);
    return;
  }
  if (order.bodies) sendBodies(order.port, order.bodies);
  for (const { key, count } of order.streams) {
    const request = writeRequest({
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}` },
      body: { model: 'flood', stream: true, messages: [{ role: 'user', content: 'x' }] },
    });
    for (let n = 0; n < count; n++) keepStream(order.port, request.toString());
  }
});
process.once('disconnect', () => {
  isOver = true;
  process.exit();
});
