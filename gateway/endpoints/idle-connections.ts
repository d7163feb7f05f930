// Which connections have nothing to do, and since when? To Node an answer that is written and not yet taken is nothing to do either,
// and a connection whose stream has just ended is like one that nobody has used for a minute: what it closes as idle may be in use.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';

export class IdleConnections {
  private readonly clock: Clock;
  /** Undefined: it has something to do. Entries come and go with connections, not with requests: what a Map has outgrown lives on. */
  private readonly since = new Map<Socket, { atMs: number | undefined; bytesRead: number }>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  onConnection(socket: Socket): void {
    this.since.set(socket, { atMs: this.clock.now(), bytesRead: socket.bytesRead });
    socket.once('close', () => this.since.delete(socket));
  }

  /** To be called when the turn of a request has come. */
  onRequest(socket: Socket, response: ServerResponse): void {
    const since = this.since.get(socket);
    if (since === undefined) return;
    since.atMs = undefined;
    response.once('close', () => {
      since.atMs = this.clock.now();
      since.bytesRead = socket.bytesRead;
    });
  }

  /** Closes those that have had nothing to do for so long; others stay, and so does one that has sent the beginning of a request. */
  closeAfter(ms: number): void {
    const until = this.clock.now() - ms;
    for (const [socket, { atMs, bytesRead }] of this.since) {
      if (atMs !== undefined && atMs <= until && socket.bytesRead === bytesRead) socket.destroy();
    }
  }
}
