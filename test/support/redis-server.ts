// Where do limits live that all gateways share? A real Redis of a test's own, which it can kill, stop, flush and start again.

import { tmpdir } from 'node:os';
import { openStore } from '../../gateway/limits/store.ts';
import { freePort } from '../cluster/free-port.ts';
import { bareEnvironment } from './bare-environment.ts';
import { neededProgram } from './needed-program.ts';
import { type RunningProcess, startProcess } from './process.ts';

export interface RedisServer {
  readonly port: number;
  /** `redis://127.0.0.1:<port>` */
  readonly url: string;
  /** Answers nothing and keeps its connections, until it goes on. */
  pause(): void;
  resume(): void;
  /** At once, with all that it held. */
  kill(): Promise<void>;
  /** On the same port, empty. */
  startAgain(): Promise<void>;
  flush(): Promise<void>;
  /** What it answers to one command: `command('KEYS', '*')`. */
  command(name: string, ...args: readonly string[]): Promise<unknown>;
  close(): Promise<void>;
}

/** @param password asked for where it is given. */
export async function startRedis(password?: string): Promise<RedisServer> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server = await launch(port, password);
  const { Redis } = await import('iovalkey');
  const command = async (name: string, ...args: readonly string[]): Promise<unknown> => {
    const client = new Redis(url, { ...(password === undefined ? {} : { password }), lazyConnect: true });
    try {
      return await client.call(name, ...args);
    } finally {
      client.disconnect();
    }
  };
  const end = async (): Promise<void> => {
    // One that is stopped hears of nothing else.
    server.signal('SIGKILL');
    await server.exit;
  };
  return {
    port,
    url,
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    kill: end,
    async startAgain() {
      server = await launch(port, password);
    },
    async flush() {
      await command('FLUSHALL');
    },
    command,
    close: end,
  };
}

/** A client of it, as gateways have it. */
export async function openStoreAt({ url }: Pick<RedisServer, 'url'>, prefix = 'test') {
  const store = await openStore({ url, password: undefined, prefix });
  await store.connect();
  return store;
}

async function launch(port: number, password: string | undefined): Promise<RunningProcess> {
  const options = {
    port,
    bind: '127.0.0.1',
    dir: tmpdir(),
    save: '',
    appendonly: 'no',
    ...(password === undefined ? {} : { requirepass: password }),
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const [first = '', ...rest] = args;
  const command = await neededProgram('redis-server');
  const server = await startProcess(first, { command, args: rest, env: bareEnvironment() });
  await server.line(/Ready to accept connections/);
  return server;
}
