// What is the least that Node can do to relay a request? node:http in, undici's dispatch out, and no gateway work at all.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

export type FloorRelay = { server: Server; close(): Promise<void> };

/** A relay to `upstreamOrigin` (`http://host:port`), not listening yet. */
export function createFloorRelay(upstreamOrigin: string): FloorRelay {
  const pool = new Pool(upstreamOrigin, {
    connections: 4096,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      relay(pool, incoming, outgoing, chunks);
    });
  });
  return {
    server,
    async close() {
      server.close();
      server.closeAllConnections();
      await pool.destroy();
    },
  };
}

function relay(pool: Pool, incoming: IncomingMessage, outgoing: ServerResponse, chunks: Buffer[]): void {
  const headers = {
    'content-type': incoming.headers['content-type'] ?? 'application/json',
    'content-length': String(chunks.reduce((sum, { length }) => sum + length, 0)),
  };
  const [only] = chunks;
  // undici takes any iterable of buffers; its types do not say so.
  const body = chunks.length === 1 && only ? only : (chunks as unknown as Buffer);
  pool.dispatch({ path: incoming.url ?? '/', method: 'POST', headers, body }, answerHandler(outgoing));
}

function answerHandler(outgoing: ServerResponse): Dispatcher.DispatchHandler {
  const parts: Buffer[] = [];
  let isStream = false;
  return {
    onRequestStart(controller) {
      outgoing.on('close', () => {
        if (!outgoing.writableFinished) controller.abort(new Error('the client is gone'));
      });
    },
    onResponseStart(_controller, status, headers) {
      const { 'content-type': type, 'content-length': length } = headers;
      isStream = length === undefined;
      outgoing.statusCode = status;
      if (type !== undefined) outgoing.setHeader('content-type', type);
      if (length !== undefined) outgoing.setHeader('content-length', length);
      if (isStream) outgoing.flushHeaders();
    },
    onResponseData(controller, chunk) {
      if (!isStream) {
        parts.push(chunk);
      } else if (!outgoing.write(chunk)) {
        controller.pause();
        outgoing.once('drain', () => controller.resume());
      }
    },
    onResponseEnd() {
      if (isStream) outgoing.end();
      else outgoing.end(parts.length === 1 ? parts[0] : Buffer.concat(parts));
    },
    onResponseError() {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    },
  };
}
