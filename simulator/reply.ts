// How do bytes get to the client, and how does the simulator learn that the client has gone? One reply, one connection.

import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The client closed the connection before the answer was over. */
export class ClientGone extends Error {
  override name = 'ClientGone';
}

export type Reply = {
  /** Sends status and headers at once; throws ClientGone. */
  head(status: number, headers: Record<string, string>): void;
  /** Resolves when the client keeps up; throws ClientGone. */
  write(text: string): Promise<void>;
  /** Resolves when all that was written has left the process. */
  flush(): Promise<void>;
  /** Ends the answer properly. */
  end(text?: string): void;
  /** Closes the sending side without the rest that HTTP promised. */
  fin(): void;
  /** Resets the connection. */
  reset(): void;
  pause(ms: number): Promise<void>;
  /** Rejects with ClientGone when the client goes; never resolves. */
  untilGone(): Promise<never>;
};

export function makeReply(response: ServerResponse): Reply {
  let isOver = false;
  let isGone = false;
  const watchers = new Set<() => void>();
  response.on('close', () => {
    if (isOver) return;
    isGone = true;
    for (const watcher of watchers) watcher();
  });
  // A client that resets makes an error event; the close event that follows says the same.
  response.on('error', () => undefined);

  // Waits for something, but not longer than the client does.
  const wait = (start: (done: () => void) => () => void): Promise<void> => {
    if (isGone) return Promise.reject(new ClientGone('the client has gone'));
    return new Promise((resolve, reject) => {
      const gone = () => {
        watchers.delete(gone);
        stop();
        reject(new ClientGone('the client has gone'));
      };
      watchers.add(gone);
      const stop = start(() => {
        watchers.delete(gone);
        resolve();
      });
    });
  };

  return {
    head: (status, headers) => {
      if (isGone) throw new ClientGone('the client has gone');
      response.writeHead(status, headers);
      response.flushHeaders();
    },
    write: async (text) => {
      if (isGone) throw new ClientGone('the client has gone');
      if (response.write(text)) {
        // A long answer must not keep the others waiting, nor miss that its client has left.
        if (text.length >= turnBytes) await nextTurn();
        return;
      }
      await wait((done) => {
        response.once('drain', done);
        return () => response.off('drain', done);
      });
    },
    flush: () =>
      wait((done) => {
        response.write('', done);
        return () => undefined;
      }),
    end: (text) => {
      isOver = true;
      response.end(text);
    },
    fin: () => {
      isOver = true;
      response.socket?.end();
    },
    reset: () => {
      isOver = true;
      response.socket?.resetAndDestroy();
    },
    pause: (ms) =>
      wait((done) => {
        const timer = setTimeout(done, ms);
        return () => clearTimeout(timer);
      }),
    untilGone: async () => {
      await wait(() => () => undefined);
      throw new ClientGone('the client has gone');
    },
  };
}

const turnBytes = 8192;
