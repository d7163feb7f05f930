// What came in the body of a request?

import type { IncomingMessage } from 'node:http';

export type Received =
  | { kind: 'json'; value: unknown }
  | { kind: 'garbage'; why: string }
  | { kind: 'none' }
  | { kind: 'too-large' }
  /** The client left before the body was whole. */
  | { kind: 'broken-off' };

/** Reads the body to its end. A body over `bytesMax` is read too, but not kept, so that the answer can be read. */
export async function receive(request: IncomingMessage, bytesMax: number): Promise<Received> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) continue;
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
    }
  } catch {
    return { kind: 'broken-off' };
  }
  if (bytes > bytesMax) return { kind: 'too-large' };
  if (bytes === 0) return { kind: 'none' };
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return { kind: 'json', value };
  } catch (error) {
    return { kind: 'garbage', why: error instanceof Error ? error.message : 'not JSON' };
  }
}
