// What stands between a process and the real API server, so that a test can act at the very moment of a write? It passes
// everything on, and says what goes by.

import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import { join } from 'node:path';
import type { ControlPlane } from './control-plane.ts';
import { freePort } from './free-port.ts';
import { tokenKubeconfig } from './kubeconfig.ts';

export interface Passing {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

export interface ApiProxyOptions {
  /** Before it is passed on. Whoever asks is kept waiting. */
  before?(passing: Passing): void | Promise<void>;
  /** The server has answered; whoever asks does not know it yet. */
  after?(passing: Passing, status: number): void | Promise<void>;
}

export interface ApiProxy {
  readonly url: string;
  /** A kubeconfig that leads through the proxy. */
  kubeconfig(name: string, token: string): Promise<string>;
  close(): Promise<void>;
}

export async function startApiProxy(plane: ControlPlane, options: ApiProxyOptions): Promise<ApiProxy> {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const files = await plane.authority.issue(`proxy-${port}`, '/CN=api-proxy', 'IP:127.0.0.1');
  const ca = await readFile(plane.caFile, 'utf8');
  const agent = new Agent({ ca, keepAlive: true });
  const server = createServer(
    { cert: await readFile(files.certFile), key: await readFile(files.keyFile) },
    (incoming, outgoing) => {
      pass(incoming, outgoing).catch(() => outgoing.destroy());
    },
  );

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url: target = '/', headers } = incoming;
    const passing = { method, path: target.split('?')[0] ?? '' };
    await options.before?.(passing);
    if (outgoing.destroyed) return;
    const asking = request(`${plane.url}${target}`, { agent, method, headers }, (answer) => {
      const status = answer.statusCode ?? 0;
      Promise.resolve(options.after?.(passing, status)).then(
        () => {
          outgoing.writeHead(status, answer.headers);
          answer.pipe(outgoing);
        },
        () => outgoing.destroy(),
      );
    });
    asking.on('error', () => outgoing.destroy());
    outgoing.on('close', () => asking.destroy());
    incoming.pipe(asking);
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url,
    async kubeconfig(name, token) {
      const path = join(plane.folder, `${name}-through-${port}.kubeconfig`);
      await writeFile(path, tokenKubeconfig({ url, ca, token }), { mode: 0o600 });
      return path;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      agent.destroy();
    },
  };
}
