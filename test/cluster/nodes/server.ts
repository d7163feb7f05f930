// How is a program of the cluster killed, frozen and started again, as faults and drills do it?

import type { Child } from '../child.ts';

export interface Server {
  readonly name: string;
  /** @throws while it does not run. */
  pid(): number;
  isRunning(): boolean;
  /** SIGKILL; settled when it has ended. */
  kill(): Promise<void>;
  /** After `kill`, with the same flags and files; settled when it serves. */
  start(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing is answered, until `thaw`. */
  freeze(): void;
  thaw(): void;
}

/** `open` starts it and waits until it serves. */
export function makeServer(name: string, open: () => Promise<Child>): Server {
  let child: Child | undefined;
  return {
    name,
    pid() {
      if (child?.isRunning() !== true) throw new Error(`${name} does not run`);
      return child.pid;
    },
    isRunning: () => child?.isRunning() === true,
    async kill() {
      await child?.kill();
    },
    async start() {
      if (child?.isRunning() === true) return;
      child = await open();
    },
    freeze: () => child?.signal('SIGSTOP'),
    thaw: () => child?.signal('SIGCONT'),
  };
}
