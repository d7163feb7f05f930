// What do the simulator's tests share? A call per dialect, a reader of event streams, and a raw socket.

import { once } from 'node:events';
import { connect } from 'node:net';
import { createParser } from 'eventsource-parser';

export type Dialect = 'chat' | 'completions' | 'messages' | 'responses';

export const dialects: readonly Dialect[] = ['chat', 'completions', 'messages', 'responses'];

export const paths: Record<Dialect, string> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** The smallest request of a dialect, and what differs. */
export function request(dialect: Dialect, differs: Record<string, unknown> = {}): Record<string, unknown> {
  const hello = [{ role: 'user', content: 'Hello there' }];
  const smallest: Record<Dialect, Record<string, unknown>> = {
    chat: { model: 'sim-small', messages: hello },
    completions: { model: 'sim-small', prompt: 'Hello there', max_tokens: 100 },
    messages: { model: 'sim-small', max_tokens: 100, messages: hello },
    responses: { model: 'sim-small', input: 'Hello there' },
  };
  return { ...smallest[dialect], ...differs };
}

export async function post(
  url: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

export type Event = { event: string | undefined; data: unknown };

/** All events of a finished stream; `[DONE]` stays a string. */
export function parseEvents(text: string): Event[] {
  const events: Event[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      events.push({ event, data: data === '[DONE]' ? data : (JSON.parse(data) as unknown) });
    },
  });
  parser.feed(text);
  return events;
}

/** Sends one request over a plain socket and gathers what comes until the connection is over. */
export async function rawCall(
  port: number,
  path: string,
  body: unknown,
): Promise<{ text: string; ending: 'fin' | 'reset' }> {
  const socket = rawSocket(port, path, body);
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (piece: string) => {
    text += piece;
  });
  const ending = new Promise<'fin' | 'reset'>((resolve) => {
    socket.on('error', () => resolve('reset'));
    socket.on('end', () => resolve('fin'));
  });
  const how = await ending;
  socket.destroy();
  return { text, ending: how };
}

/** A plain socket that has sent one request and asks for the connection to be closed after the answer. */
export function rawSocket(port: number, path: string, body: unknown) {
  const text = JSON.stringify(body);
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: simulator\r\nconnection: close\r\nanthropic-version: 2023-06-01\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return socket;
}

/** Reads from a socket until the text fits; what was read so far is the answer. */
export async function readUntil(
  socket: ReturnType<typeof rawSocket>,
  fits: (text: string) => boolean,
): Promise<string> {
  let text = '';
  while (!fits(text)) {
    const [piece] = (await once(socket, 'data')) as [Buffer];
    text += piece.toString();
  }
  return text;
}

/** The text of the answer in a plain body, whatever the dialect. Throws when it is not there. */
export function textOf(dialect: Dialect, body: unknown): string {
  const found = textPaths[dialect].reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined),
    body,
  );
  if (typeof found !== 'string') throw new Error(`no text in ${JSON.stringify(body)}`);
  return found;
}

const textPaths: Record<Dialect, (string | number)[]> = {
  chat: ['choices', 0, 'message', 'content'],
  completions: ['choices', 0, 'text'],
  messages: ['content', 0, 'text'],
  responses: ['output', 0, 'content', 0, 'text'],
};
