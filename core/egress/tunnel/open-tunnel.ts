// How does a connection to a proxy become one to the upstream? Drives a handshake over the socket. Afterwards the
// caller owns the socket, with no byte lost and no listener left but the one for errors.

import type { Socket } from 'node:net';
import { EgressError } from '../egress-error.ts';
import type { Handshake } from './handshake.ts';

/**
 * @param endpoint For errors: the upstream, and through which proxy.
 * @throws EgressError `proxy_failed` or `connect_timeout`; the socket is destroyed then.
 */
export function openTunnel(
  socket: Socket,
  handshake: Handshake,
  endpoint: string,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      signal.removeEventListener('abort', timeOut);
      socket.off('data', take);
      socket.off('close', closed);
    };
    const fail = (error: EgressError) => {
      settle();
      socket.destroy();
      reject(error);
    };
    const timeOut = () =>
      fail(new EgressError('connect_timeout', endpoint, 'the proxy did not open the tunnel in time.'));
    const closed = () =>
      fail(
        new EgressError(
          'proxy_failed',
          endpoint,
          'the proxy closed the connection before the tunnel was open.',
        ),
      );
    const take = (chunk: Buffer) => {
      const step = handshake.take(chunk);
      switch (step.type) {
        case 'more':
          return;
        case 'send':
          socket.write(step.bytes);
          return;
        case 'refused':
          return fail(new EgressError('proxy_failed', endpoint, `the proxy: ${step.fact}`));
        case 'open':
          // Later bytes wait for their reader.
          socket.pause();
          settle();
          return resolve();
      }
    };
    socket.on('data', take);
    // Errors end in 'close', and were given a taker when the socket was opened.
    socket.once('close', closed);
    if (signal.aborted) timeOut();
    else signal.addEventListener('abort', timeOut, { once: true });
    if (!signal.aborted) socket.write(handshake.opening);
  });
}
