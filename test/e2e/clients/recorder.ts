// What does a client send? A proxy in front of the gateway that keeps every request, and passes it on as it is.

import { once } from 'node:events';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Recorded {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body; its text where it is not JSON. */
  readonly body: unknown;
  status?: number;
}

export interface Recorder {
  readonly url: string;
  readonly requests: readonly Recorded[];
  close(): void;
}

/** @param target Such as `http://127.0.0.1:8080`. */
export async function startRecorder(target: string): Promise<Recorder> {
  const requests: Recorded[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    );
    const recorded: Recorded = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers,
      body: parse(bytes.toString('utf8')),
    };
    requests.push(recorded);
    const onward = ask(target + recorded.path, { method: recorded.method, headers }, (answer) => {
      recorded.status = answer.statusCode ?? 0;
      outgoing.writeHead(recorded.status, answer.headers);
      answer.pipe(outgoing);
      // A broken answer ends as it came: without the end of its body.
      answer.on('error', () => outgoing.socket?.end());
    });
    // A client that goes away takes its request with it.
    outgoing.on('close', () => onward.destroy());
    onward.on('error', () => outgoing.destroy());
    onward.end(bytes);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
