// A tenant that takes what it can get: an upstream that streams as fast as it is read, and the clients that read it. One process of its own,
// so that what it costs is not taken from the callers that are measured.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { writeRequest } from '../../support/raw-client.ts';

/** How many streams each key keeps open at the gateway; a stream that is refused or ends is opened again. */
export interface FloodOrder {
  readonly port: number;
  readonly streams: readonly { readonly key: string; readonly count: number }[];
}

export interface FloodReport {
  readonly open: number;
  readonly refused: number;
  readonly mebibytes: number;
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

upstream.listen(0, '127.0.0.1');
await once(upstream, 'listening');
process.send?.({ port: (upstream.address() as AddressInfo).port });
process.on('message', (order: FloodOrder | 'report') => {
  if (order === 'report') {
    const report: FloodReport = { open, refused, mebibytes: Math.round(bytes / 2 ** 20) };
    process.send?.(report);
    return;
  }
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
