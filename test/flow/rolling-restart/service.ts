// How does a Service of Kubernetes hand out connections? New ones go to the pods that are ready, in turn; those that are open stay
// where they are. That a pod is not ready any more is known a moment later.

import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { listenKept } from '../../support/listen-kept.ts';
import type { Member } from './fleet.ts';

export interface Service {
  readonly url: string;
  /** How many connections each member was given. */
  readonly given: readonly number[];
  close(): Promise<void>;
}

/** @param everyMs How often readiness is asked for. */
export async function startService(members: readonly Member[], everyMs: number): Promise<Service> {
  const given = members.map(() => 0);
  let ready: readonly number[] = [];
  let turn = 0;
  const look = async (): Promise<void> => {
    const answers = await Promise.all(members.map(isReady));
    ready = answers.flatMap((answer, index) => (answer ? [index] : []));
  };
  await look();
  let isOver = false;
  const looking = (async () => {
    while (!isOver) {
      await look();
      await pause(everyMs);
    }
  })();

  const server = createServer((socket) => {
    const index = ready[turn++ % ready.length];
    const member = index === undefined ? undefined : members[index];
    if (index === undefined || member === undefined) {
      socket.destroy();
      return;
    }
    given[index] = (given[index] ?? 0) + 1;
    const upstream = connect({ host: '127.0.0.1', port: member.port, noDelay: true, allowHalfOpen: true });
    kept.keep(upstream);
    upstream.on('error', () => socket.resetAndDestroy());
    socket.on('error', () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  const kept = await listenKept(server);
  return {
    url: `http://127.0.0.1:${kept.port}`,
    given,
    async close() {
      isOver = true;
      await looking;
      await kept.close();
    },
  };
}

/** Only what is said counts: one that takes its time to say it stays what it was. */
async function isReady({ readyPort }: Member): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${readyPort}/readyz`);
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}
