// How does the process of the tests reach an address of the cluster's network, which is not the machine's? It listens, and hands
// its listener to a process inside, which connects from there.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { bareEnvironment } from '../../support/bare-environment.ts';
import type { Space } from './space.ts';

export interface Door {
  readonly pid: number;
  /** A port on 127.0.0.1, as long as the door is open; the same for the same address. Names are those the cluster's DNS knows. */
  to(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

export async function openDoor(space: Space, logFile: string): Promise<Door> {
  const script = fileURLToPath(new URL('door-inside.ts', import.meta.url));
  const [command, args] = space.entering(process.execPath, [script]);
  const log = openSync(logFile, 'a');
  const child: ChildProcess = spawn(command, args, {
    env: bareEnvironment(),
    // It ends when this channel closes, which the end of this process brings.
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const ended = once(child, 'exit');
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) throw new Error('the door was started without a process id');
  const known = new Map<string, Promise<number>>();

  async function open(host: string, port: number): Promise<number> {
    const listener = createServer();
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const address = listener.address();
    if (address === null || typeof address === 'string') throw new Error('the door has no port');
    await new Promise<void>((resolve, reject) =>
      child.send({ host, port }, listener, (error) => (error === null ? resolve() : reject(error))),
    );
    // The process inside has it now.
    listener.close();
    return address.port;
  }

  return {
    pid,
    to(host, port) {
      const key = `${host} ${port}`;
      const opening = known.get(key) ?? open(host, port);
      known.set(key, opening);
      return opening;
    },
    async close() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
