// How does a server misbehave? A plain HTTP server on a free port whose every answer the test writes; it plays faults
// of a connection that a healthy API server does not have, and counts connections.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenKept } from '../../support/listen-kept.ts';

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

export interface FaultServer {
  readonly url: string;
  /** Method and URL of each request so far. */
  readonly asked: readonly string[];
  /** Accepted so far. */
  connections(): number;
  /** Settled when so many requests have come. */
  askedTimes(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Answers are used up in their order; the last one stays. */
export async function startFaultServer(...answers: readonly Answer[]): Promise<FaultServer> {
  const asked: string[] = [];
  const waiting = new Set<() => void>();
  let connections = 0;
  const server = createServer((request, response) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(`${request.method} ${request.url}`);
    for (const wake of waiting) wake();
    request.resume();
    answer?.(response, request);
  });
  server.on('connection', () => {
    connections += 1;
  });
  const { port, close } = await listenKept(server);
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    connections: () => connections,
    askedTimes(count) {
      return new Promise((resolve) => {
        const wake = () => {
          if (asked.length < count) return;
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
        wake();
      });
    },
    close,
  };
}

export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

export function refusal(
  code: number,
  reason: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return json(
    { kind: 'Status', apiVersion: 'v1', code, reason, message: `refused: ${reason}` },
    code,
    headers,
  );
}

/** Nothing is ever said. */
export const silence: Answer = () => {};

/** RST instead of an answer. */
export const reset: Answer = (response) => void response.socket?.resetAndDestroy();

/** Names come with their resourceVersion: `{ a: 5 }`. */
export function list(resourceVersion: number, objects: Readonly<Record<string, number>>): Answer {
  return json({
    kind: 'ConfigMapList',
    metadata: { resourceVersion: String(resourceVersion) },
    items: Object.entries(objects).map(([name, version]) => object(name, version)),
  });
}

export function object(name: string, resourceVersion: number): object {
  return {
    metadata: { namespace: 'a', name, resourceVersion: String(resourceVersion), managedFields: [{}] },
  };
}

export function line(type: string, what: unknown): string {
  return `${JSON.stringify({ type, object: what })}\n`;
}

/** A watch that says this and then stays open, or does `then`. */
export function watch(text: string, then?: (response: ServerResponse) => void): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (text === '') then?.(response);
    else response.write(text, () => then?.(response));
  };
}

/** An address where nobody listens: the port was ours a moment ago. */
export async function refusedUrl(): Promise<string> {
  const server = await startFaultServer(silence);
  await server.close();
  return server.url;
}

/** An answer that never ends and has no line end, as fast as it is taken. Settles the promise when the reader hangs up. */
export function endless(text: string): { readonly answer: Answer; readonly hungUp: Promise<void> } {
  const hungUp = Promise.withResolvers<void>();
  const piece = Buffer.alloc(2 ** 16, text);
  return {
    hungUp: hungUp.promise,
    answer(response) {
      let isOpen = true;
      response.on('close', () => {
        isOpen = false;
        hungUp.resolve();
      });
      response.writeHead(200);
      const more = () => {
        if (isOpen) response.write(piece, () => setImmediate(more));
      };
      more();
    },
  };
}
