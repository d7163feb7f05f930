// Has the other side left? One notice per connection, heard by whatever act is being played.

import type { Socket } from 'node:net';

export type DepartureReason = 'client-closed' | 'wall-closed';

export interface Departure {
  /** Undefined while everybody is there. */
  reason(): DepartureReason | undefined;
  /** Calls once, at once where it has happened. Returns the function that stops listening. */
  listen(heard: (reason: DepartureReason) => void): () => void;
  closeWall(): void;
  /** How the caller closed its side; never settled when the wall closes. */
  clientClosed: Promise<'fin' | 'reset'>;
}

/**
 * A set of listeners and not a promise: a race against one long-lived promise for each act would keep every act of a
 * long connection in memory.
 */
export function watchDeparture(socket: Socket): Departure {
  const listeners = new Set<(reason: DepartureReason) => void>();
  const clientClosed = Promise.withResolvers<'fin' | 'reset'>();
  let known: DepartureReason | undefined;

  function tell(reason: DepartureReason): void {
    if (known !== undefined) return;
    known = reason;
    for (const heard of listeners) heard(reason);
    listeners.clear();
  }

  for (const [event, how] of [
    ['end', 'fin'],
    ['error', 'reset'],
  ] as const) {
    socket.on(event, () => {
      clientClosed.resolve(how);
      tell('client-closed');
    });
  }
  return {
    reason: () => known,
    listen(heard) {
      if (known !== undefined) {
        heard(known);
        return () => {};
      }
      listeners.add(heard);
      return () => void listeners.delete(heard);
    },
    closeWall: () => tell('wall-closed'),
    clientClosed: clientClosed.promise,
  };
}
