// What is between a process and the real API server, so that a test can act at the very moment of a write, or harm what is
// said? It says what goes by, and passes on all that it is not asked to change.

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
  readonly query: URLSearchParams;
  /** Who asks: a number for each token. */
  readonly caller: number;
}

export interface ApiProxyOptions {
  /** Before it is passed on. The caller is kept waiting. */
  before?(passing: Passing): void | Promise<void>;
  /** The server has answered; the caller does not know it yet. */
  after?(passing: Passing, status: number): void | Promise<void>;
  /** True: 410 is said in place of the server, which is not asked. */
  isExpired?(passing: Passing): boolean;
  /** A status to be said in place of the server, which is not asked. */
  refusal?(passing: Passing): number | undefined;
  /** What a watch reads in place of this line; or nothing more comes: the connection ends, or without a word. */
  watchLine?(passing: Passing, line: string): readonly string[] | 'cut' | 'stall';
  /** Lists come in pages of so many objects at most, as a server may have it. */
  readonly pageMax?: number;
}

export interface ApiProxy {
  readonly url: string;
  /** Every open watch ends as it does where history is gone: 410 is its last event. Gives how many there were. */
  expireWatches(): number;
  /** Cuts every connection that is open. */
  cutAll(): void;
  /** A kubeconfig that leads through the proxy. */
  kubeconfig(name: string, token: string): Promise<string>;
  close(): Promise<void>;
}

const expired = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'too old resource version',
  reason: 'Expired',
  code: 410,
};

export async function startApiProxy(plane: ControlPlane, options: ApiProxyOptions): Promise<ApiProxy> {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const files = await plane.authority.issue(`proxy-${port}`, '/CN=api-proxy', 'IP:127.0.0.1');
  const ca = await readFile(plane.caFile, 'utf8');
  const agent = new Agent({ ca, keepAlive: true });
  const callers = new Map<string, number>();
  const watches = new Set<() => void>();
  const server = createServer(
    { cert: await readFile(files.certFile), key: await readFile(files.keyFile) },
    (incoming, outgoing) => {
      pass(incoming, outgoing).catch(() => outgoing.destroy());
    },
  );

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', headers } = incoming;
    const target = new URL(incoming.url ?? '/', plane.url);
    const { pathname: path, searchParams: query } = target;
    const { authorization = '' } = headers;
    const caller = callers.get(authorization) ?? callers.size;
    callers.set(authorization, caller);
    const passing = { method, path, query, caller };
    await options.before?.(passing);
    if (outgoing.destroyed) return;
    if (options.isExpired?.(passing) === true) {
      incoming.resume();
      outgoing.writeHead(410, { 'content-type': 'application/json' }).end(JSON.stringify(expired));
      return;
    }
    const refusal = options.refusal?.(passing);
    if (refusal !== undefined) {
      incoming.resume();
      const message = { ...expired, message: 'refused on purpose', reason: 'Refused', code: refusal };
      outgoing.writeHead(refusal, { 'content-type': 'application/json', 'retry-after': '1' });
      outgoing.end(JSON.stringify(message));
      return;
    }
    const { pageMax } = options;
    if (pageMax !== undefined && Number(query.get('limit')) > pageMax) query.set('limit', String(pageMax));
    const asking = request(target, { agent, method, headers }, (answer) => {
      const status = answer.statusCode ?? 0;
      Promise.resolve(options.after?.(passing, status)).then(
        () => {
          outgoing.writeHead(status, answer.headers);
          // A watch is open when its head has come, though nothing may follow for a minute.
          outgoing.flushHeaders();
          if (query.get('watch') !== 'true' || status !== 200) answer.pipe(outgoing);
          else if (options.watchLine === undefined) passWatch(answer, outgoing);
          else passLines(answer, outgoing, (line) => options.watchLine?.(passing, line) ?? [line]);
        },
        () => outgoing.destroy(),
      );
    });
    asking.on('error', () => outgoing.destroy());
    outgoing.on('close', () => asking.destroy());
    incoming.pipe(asking);
  }

  function passLines(
    answer: IncomingMessage,
    outgoing: ServerResponse,
    change: (line: string) => readonly string[] | 'cut' | 'stall',
  ): void {
    let rest = '';
    let isOver = false;
    answer.setEncoding('utf8').on('data', (piece: string) => {
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (isOver) return;
        const reported = change(line);
        isOver = typeof reported === 'string';
        if (reported === 'cut') outgoing.destroy();
        else if (reported !== 'stall') for (const one of reported) outgoing.write(`${one}\n`);
      }
    });
    answer.on('end', () => {
      if (!isOver) outgoing.end();
    });
    answer.on('error', () => outgoing.destroy());
  }

  function passWatch(answer: IncomingMessage, outgoing: ServerResponse): void {
    const lastWord = Buffer.from(`${JSON.stringify({ type: 'ERROR', object: expired })}\n`);
    let isWithinLine = false;
    let isOver = false;
    const end = (): void => {
      isOver = true;
      watches.delete(end);
      if (isWithinLine) return;
      answer.destroy();
      outgoing.end(lastWord);
    };
    watches.add(end);
    outgoing.on('close', () => watches.delete(end));
    outgoing.on('drain', () => answer.resume());
    answer.on('data', (piece: Buffer) => {
      if (!outgoing.write(piece)) answer.pause();
      isWithinLine = piece.at(-1) !== 0x0a;
      // The event in progress comes first.
      if (isOver) end();
    });
    answer.on('end', () => outgoing.end());
    answer.on('error', () => outgoing.destroy());
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url,
    expireWatches() {
      const open = [...watches];
      for (const end of open) end();
      return open.length;
    },
    cutAll: () => server.closeAllConnections(),
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
