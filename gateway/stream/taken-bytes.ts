// How much of what was written has the client's connection taken?

import type { Socket } from 'node:net';

/** Bytes that the kernel has taken, also out of a large write that it has not taken whole. */
export function takenBytes(socket: Socket): number {
  // What else Node has of it; its own timeouts look there too.
  const handle: unknown = Reflect.get(socket, '_handle');
  const hasQueue = typeof handle === 'object' && handle !== null && 'writeQueueSize' in handle;
  const queued = hasQueue ? Number(handle.writeQueueSize) : 0;
  return socket.bytesWritten - socket.writableLength - queued;
}
