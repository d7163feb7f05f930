// Both ends of a request that is counted: an upstream whose stream goes on when its client has the event before, so that each event is
// a chunk of its own; and the client.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { benchKey, publicModel } from '../../../tools/bench/targets/gateway.ts';

/** 0 events: one JSON answer. */
export interface Script {
  readonly events: number;
}

export interface Upstream {
  readonly port: number;
  /** Of the stream that is open. */
  sendNext(): void;
  close(): Promise<void>;
}

const usage = { prompt_tokens: 250, completion_tokens: 20, total_tokens: 270 };
const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'unary' };
const answer = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'word '.repeat(180) }, finish_reason: 'stop' },
  ],
  usage,
});

function chunk(more: object): string {
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })}\n\n`;
}

const contentEvent = chunk({
  choices: [{ index: 0, delta: { content: 'some words of the answer' }, finish_reason: null }],
});
const lastEvents = `${chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}${chunk({ choices: [], usage })}data: [DONE]\n\n`;

export async function openUpstream(): Promise<Upstream> {
  let open: { readonly response: ServerResponse; left: number } | undefined;
  const server = createServer((request, response) => {
    request.on('data', (bytes: Buffer) => {
      const events = Number(/"user":"(\d+)"/.exec(bytes.toString('latin1'))?.[1] ?? 0);
      if (events > 0) open = { response, left: events };
    });
    request.on('end', () => {
      if (open?.response === response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        sendNext();
      } else {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
        response.end(answer);
      }
    });
  });
  const sendNext = (): void => {
    if (!open) return;
    const { response } = open;
    if (open.left-- > 0) response.write(contentEvent);
    else {
      open = undefined;
      response.end(lastEvents);
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    sendNext,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export interface Client {
  /** So many requests, one after the other. */
  send(script: Script, requests: number): Promise<void>;
  close(): void;
}

export async function openClient(port: number, upstream: Upstream): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  let onText: (text: string) => void = () => {};
  socket.setEncoding('latin1').on('data', (text: string) => onText(text));
  const sendOne = (request: string, isStream: boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      let text = '';
      let seen = 0;
      onText = (more) => {
        text += more;
        if (isStream) {
          const events = text.split('"some words').length - 1;
          for (; seen < events; seen++) upstream.sendNext();
        }
        if (!isWhole(text, isStream)) return;
        if (text.startsWith('HTTP/1.1 200 ') && text.includes(isStream ? '[DONE]' : '"total_tokens":270'))
          resolve();
        else reject(new Error(`this is no answer: ${text.slice(0, 500)}`));
      };
      socket.write(request);
    });
  return {
    async send({ events }, requests) {
      const request = requestFor(events);
      for (let count = 0; count < requests; count++) await sendOne(request, events > 0);
    },
    close: () => socket.destroy(),
  };
}

function isWhole(text: string, isStream: boolean): boolean {
  if (isStream) return text.endsWith('0\r\n\r\n');
  const end = text.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return end > 0 && length !== undefined && text.length >= end + 4 + Number(length);
}

function requestFor(events: number): string {
  const body = JSON.stringify({
    model: publicModel(events > 0 ? 'stream' : 'unary'),
    ...(events > 0 ? { stream: true, user: String(events) } : {}),
    messages: [{ role: 'user', content: 'word '.repeat(190) }],
  });
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'host: gateway.example',
    `authorization: Bearer ${benchKey}`,
    'content-type: application/json',
    'accept: */*',
    'user-agent: OpenAI/JS 7.57.0',
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
}
