// What if a client does not take its answer? Whoever takes nothing of it for too long is let go, or it would hold it for ever. A stream
// that goes on is looked after by itself (stream/client-stream.ts); here is what has been written to its end.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';

interface Progress {
  taken: number;
  since: number;
}

/** To be called for each answer when its turn has come. */
export function watchUnread(clock: Clock, stallMs: number): (response: ServerResponse) => void {
  const open = new Map<ServerResponse, Progress | undefined>();
  let isLooking = false;

  const look = (response: ServerResponse, before: Progress | undefined): Progress | undefined => {
    const { socket } = response;
    if (!socket || !response.writableEnded || response.writableFinished) return undefined;
    const now = clock.now();
    const taken = takenOf(socket);
    if (before?.taken !== taken) return { taken, since: now };
    if (now - before.since >= stallMs) response.destroy();
    return before;
  };

  const lookLater = (): void => {
    isLooking = open.size > 0;
    if (!isLooking) return;
    clock.setTimer(stallMs / 4, () => {
      for (const [response, before] of open) open.set(response, look(response, before));
      lookLater();
    });
  };

  return (response) => {
    open.set(response, undefined);
    response.once('close', () => open.delete(response));
    if (!isLooking) lookLater();
  };
}

/** Bytes that the kernel has taken, also out of a large write that it has not taken whole. */
function takenOf(socket: Socket): number {
  // What else Node has of it; its own timeouts look there too.
  const handle: unknown = Reflect.get(socket, '_handle');
  const hasQueue = typeof handle === 'object' && handle !== null && 'writeQueueSize' in handle;
  const queued = hasQueue ? Number(handle.writeQueueSize) : 0;
  return socket.bytesWritten - socket.writableLength - queued;
}
