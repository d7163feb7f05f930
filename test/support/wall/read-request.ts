// Which request came over a connection? A minimal HTTP/1.1 reader over raw bytes (RFC 9112), for tests only.

import type { Socket } from 'node:net';
import type { RequestJson } from './voice.ts';

export interface Received {
  method: string;
  /** The request target as sent, with its query. */
  path: string;
  /** Lower-case names; a repeated header is joined by a comma. */
  headers: Readonly<Record<string, string>>;
  /** As sent, one pair per line. */
  rawHeaders: readonly (readonly [name: string, value: string])[];
  bodyText: string;
  /** The parsed body, or undefined where it is not JSON. */
  json: unknown;
}

export interface RequestReader {
  /** The next request, or undefined when the caller has closed. Throws on bytes that are no HTTP/1.1 request. */
  next(): Promise<Received | undefined>;
}

/** Takes over the reading of a socket; the socket keeps flowing, so that a close is seen at once. */
export function readRequests(socket: Socket): RequestReader {
  // Kept apart until they are needed: a large body is joined once, not once per arrival.
  let parts: Buffer[] = [];
  let length = 0;
  let isClosed = false;
  let wake = (): void => {};
  socket.on('data', (bytes: Buffer) => {
    parts.push(bytes);
    length += bytes.length;
    wake();
  });
  for (const event of ['end', 'error', 'close']) {
    socket.on(event, () => {
      isClosed = true;
      wake();
    });
  }

  async function more(): Promise<boolean> {
    const before = length;
    while (length === before && !isClosed) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return length > before;
  }

  function join(): Buffer {
    const joined = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    parts = [joined];
    return joined;
  }

  function take(bytes: number): Buffer {
    const joined = join();
    parts = [joined.subarray(bytes)];
    length -= bytes;
    return joined.subarray(0, bytes);
  }

  async function takeLine(): Promise<string | undefined> {
    for (;;) {
      const end = join().indexOf('\r\n');
      if (end >= 0)
        return take(end + 2)
          .toString('latin1')
          .slice(0, -2);
      if (!(await more())) return undefined;
    }
  }

  async function takeBytes(bytes: number): Promise<Buffer | undefined> {
    while (length < bytes) if (!(await more())) return undefined;
    return take(bytes);
  }

  async function takeHeaders(): Promise<[string, string][] | undefined> {
    const headers: [string, string][] = [];
    for (;;) {
      const line = await takeLine();
      if (line === undefined) return undefined;
      if (line === '') return headers;
      const colon = line.indexOf(':');
      if (colon < 1) throw new Error(`Not a header line: ${JSON.stringify(line.slice(0, 80))}`);
      headers.push([line.slice(0, colon), line.slice(colon + 1).trim()]);
    }
  }

  async function takeChunks(): Promise<Buffer | undefined> {
    const chunks: Buffer[] = [];
    for (;;) {
      const line = await takeLine();
      if (line === undefined) return undefined;
      const size = Number.parseInt(line, 16);
      if (!Number.isInteger(size) || size < 0)
        throw new Error(`Not a chunk size: ${JSON.stringify(line.slice(0, 80))}`);
      if (size === 0) return (await takeHeaders()) && Buffer.concat(chunks);
      const chunk = await takeBytes(size + 2);
      if (chunk === undefined) return undefined;
      chunks.push(chunk.subarray(0, size));
    }
  }

  async function takeBody(headers: Readonly<Record<string, string>>): Promise<Buffer | undefined> {
    if (headers['transfer-encoding']?.toLowerCase() === 'chunked') return takeChunks();
    return takeBytes(Number(headers['content-length'] ?? 0));
  }

  return {
    async next() {
      const line = await takeLine();
      if (line === undefined) return undefined;
      const [method, path, version, ...rest] = line.split(' ');
      if (!method || !path || !/^HTTP\/1\.[01]$/.test(version ?? '') || rest.length > 0) {
        throw new Error(`Not a request line: ${JSON.stringify(line.slice(0, 80))}`);
      }
      const rawHeaders = await takeHeaders();
      if (rawHeaders === undefined) return undefined;
      const headers = joinHeaders(rawHeaders);
      if (headers.expect?.toLowerCase() === '100-continue') socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      const body = await takeBody(headers);
      if (body === undefined) return undefined;
      const bodyText = body.toString('utf8');
      return { method, path, headers, rawHeaders, bodyText, json: parseJson(bodyText) };
    },
  };
}

function joinHeaders(rawHeaders: readonly (readonly [string, string])[]): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [rawName, value] of rawHeaders) {
    const name = rawName.toLowerCase();
    const before = joined[name];
    joined[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return joined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not a fault of the reader: the log shows the text, and a test can ask what was sent.
    return undefined;
  }
}

/** The body as a JSON object, or an empty one. */
export function asRequestJson(json: unknown): RequestJson {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : {};
}
