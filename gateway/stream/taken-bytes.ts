// How much of what was written has the client's connection taken?

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';

/** For an answer that is whole: the largest, 32 MiB, is to be taken at 56 kB/s. */
export const takingMsMax = 600_000;

/** Bytes that the kernel has taken, also out of a large write that it has not taken whole. */
export function takenBytes(socket: Socket): number {
  // What else Node has of it; its own timeouts look there too.
  const handle: unknown = Reflect.get(socket, '_handle');
  const hasQueue = typeof handle === 'object' && handle !== null && 'writeQueueSize' in handle;
  const queued = hasQueue ? Number(handle.writeQueueSize) : 0;
  return socket.bytesWritten - socket.writableLength - queued;
}

interface Patience {
  readonly clock: Clock;
  readonly stallMs: number;
  /** Called once. */
  onStall(): void;
}

/**
 * Waits for a client that has not taken all that was written; as long as it takes something, however little, it is waited for.
 *
 * @returns Ends it.
 */
export function watchTaking(response: ServerResponse, { clock, stallMs, onStall }: Patience): () => void {
  const takenSoFar = (): number => (response.socket ? takenBytes(response.socket) : 0);
  let taken = takenSoFar();
  let since = clock.now();
  let cancel: () => void;
  const lookLater = (): void => {
    cancel = clock.setTimer(stallMs / 4, () => {
      const now = clock.now();
      const isStalled = taken === takenSoFar();
      if (isStalled && now - since >= stallMs) {
        onStall();
        return;
      }
      if (!isStalled) since = now;
      taken = takenSoFar();
      lookLater();
    });
  };
  lookLater();
  return () => cancel();
}
