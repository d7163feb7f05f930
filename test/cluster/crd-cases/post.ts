// What does the API server say to one call, warnings included? By HTTP, so that hundreds of cases take a second.

import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { z } from 'zod';
import type { ControlPlane } from '../control-plane.ts';

const objectSchema = z.looseObject({
  /** Of a Status: why not. */
  message: z.string().optional(),
  metadata: z.looseObject({}).optional(),
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
  /** Of a list. */
  items: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) })).optional(),
});

export interface Answer {
  readonly status: number;
  readonly body: z.infer<typeof objectSchema>;
  /** The text of every `Warning` header. */
  readonly warnings: readonly string[];
}

export interface Asking {
  /** @param user in whose name it is asked, as `kubectl --as` does it; default: the admin. */
  ask(method: string, path: string, body?: unknown, contentType?: string, user?: string): Promise<Answer>;
  close(): void;
}

export async function askAsAdmin({ url, caFile, adminToken }: ControlPlane): Promise<Asking> {
  const agent = new Agent({ ca: await readFile(caFile), keepAlive: true });
  return {
    ask: (method, path, body, contentType = 'application/json', user) =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${adminToken}`,
          'content-type': contentType,
          ...(user !== undefined && { 'impersonate-user': user }),
        };
        const asking = request(`${url}${path}`, { agent, method, headers }, (answer) => {
          const pieces: Buffer[] = [];
          answer.on('data', (piece: Buffer) => pieces.push(piece));
          answer.on('error', reject);
          answer.on('end', () => {
            const text = Buffer.concat(pieces).toString();
            try {
              resolve({
                status: answer.statusCode ?? 0,
                body: objectSchema.parse(JSON.parse(text)),
                warnings: [answer.headers.warning ?? []].flat(),
              });
            } catch (cause) {
              reject(new Error(`${method} ${path} was answered ${text.slice(0, 200)}`, { cause }));
            }
          });
        });
        asking.on('error', reject);
        asking.end(body === undefined ? undefined : JSON.stringify(body));
      }),
    close: () => agent.destroy(),
  };
}
