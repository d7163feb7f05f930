// Two small real proxies: HTTP CONNECT (also over TLS) and SOCKS5. They write down whom they were asked for and by whom,
// and connect where the test says, whatever the name.

import { connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { listenKept } from './listen-kept.ts';

export interface ProxyOptions {
  readonly credentials?: { readonly username: string; readonly password: string };
  /** Where a tunnel leads, by `host:port`; undefined: it is refused. Default: to the same port of this machine. */
  readonly route?: (authority: string) => number | undefined;
  /** Certificate and key of an https proxy. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface TestProxy {
  readonly port: number;
  /** `host:port` of every tunnel that was asked for, also of those refused. */
  readonly asked: string[];
  /** `username:password` as they were given, by each that gave any. */
  readonly signedIn: string[];
  /** What went through the tunnels towards the upstreams, tunnel by tunnel. */
  readonly sent: Buffer[];
  close(): Promise<void>;
}

type Note = Pick<TestProxy, 'asked' | 'signedIn'>;

export function startConnectProxy(options: ProxyOptions = {}): Promise<TestProxy> {
  return start(options, (socket, bytes, note) => {
    const text = bytes.toString('latin1');
    if (!text.includes('\r\n\r\n')) return undefined;
    const [, authority = ''] = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(text) ?? [];
    const [, basic] = /\r\nproxy-authorization: basic (\S+)\r\n/i.exec(text) ?? [];
    note.asked.push(authority);
    const given = basic === undefined ? undefined : Buffer.from(basic, 'base64').toString();
    if (given !== undefined) note.signedIn.push(given);
    if (!isWelcome(options, given)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n');
      return 'refused';
    }
    return {
      authority,
      accept: () => socket.write('HTTP/1.1 200 Connection established\r\nvia: 1.1 test\r\n\r\n'),
      refuse: () => socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n'),
    };
  });
}

export function startSocksProxy(options: ProxyOptions = {}): Promise<TestProxy> {
  const phases = new WeakMap<Socket, 'method' | 'sign-in' | 'request'>();
  return start(options, (socket, bytes, note) => {
    switch (phases.get(socket) ?? 'method') {
      case 'method': {
        const wants = options.credentials === undefined ? 0 : 2;
        const isOffered = bytes.subarray(2).includes(wants);
        phases.set(socket, wants === 2 ? 'sign-in' : 'request');
        socket.write(Buffer.of(5, isOffered ? wants : 0xff));
        return 'next';
      }
      case 'sign-in': {
        const nameEnd = 2 + (bytes[1] ?? 0);
        const given = `${bytes.subarray(2, nameEnd)}:${bytes.subarray(nameEnd + 1)}`;
        note.signedIn.push(given);
        phases.set(socket, 'request');
        socket.write(Buffer.of(1, isWelcome(options, given) ? 0 : 1));
        return 'next';
      }
      case 'request': {
        const authority = `${hostOf(bytes)}:${bytes.readUInt16BE(bytes.length - 2)}`;
        note.asked.push(authority);
        const reply = (code: number) => Buffer.from([5, code, 0, 1, 127, 0, 0, 1, 0, 0]);
        return {
          authority,
          accept: () => socket.write(reply(0)),
          refuse: () => socket.end(reply(2)),
        };
      }
    }
  });
}

function hostOf(request: Buffer): string {
  const address = request.subarray(4, -2);
  if (request[3] === 1) return address.join('.');
  if (request[3] === 3) return address.subarray(1).toString();
  return `[${address.toString('hex').replace(/(.{4})(?=.)/g, '$1:')}]`;
}

function isWelcome({ credentials }: ProxyOptions, given: string | undefined): boolean {
  return credentials === undefined || given === `${credentials.username}:${credentials.password}`;
}

interface Tunnel {
  readonly authority: string;
  accept(): void;
  refuse(): void;
}

/** What became of the bytes so far: not enough, answered and on with new ones, refused, or a tunnel is asked for. */
type Heard = undefined | 'next' | 'refused' | Tunnel;

async function start(
  options: ProxyOptions,
  hear: (socket: Socket, bytes: Buffer, note: Note) => Heard,
): Promise<TestProxy> {
  const note = { asked: [] as string[], signedIn: [] as string[], sent: [] as Buffer[] };
  const serve = (socket: Socket): void => {
    kept.keep(socket);
    let bytes = Buffer.alloc(0);
    const take = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      const heard = hear(socket, bytes, note);
      if (heard === undefined || heard === 'refused') return;
      bytes = Buffer.alloc(0);
      if (heard === 'next') return;
      socket.off('data', take);
      socket.pause();
      lead(socket, heard);
    };
    socket.on('data', take);
  };
  const lead = (socket: Socket, { authority, accept, refuse }: Tunnel): void => {
    const route = options.route ?? ((name: string) => Number(/:(\d+)$/.exec(name)?.[1]));
    const port = route(authority);
    if (port === undefined) {
      refuse();
      return;
    }
    const place = note.sent.push(Buffer.alloc(0)) - 1;
    const upstream = connect({ host: '127.0.0.1', port });
    kept.keep(upstream);
    upstream.once('connect', () => {
      accept();
      socket.on('data', (chunk: Buffer) => {
        note.sent[place] = Buffer.concat([note.sent[place] ?? Buffer.alloc(0), chunk]);
      });
      socket.pipe(upstream).pipe(socket);
    });
    upstream.once('close', () => socket.destroy());
    socket.once('close', () => upstream.destroy());
  };
  const server: Server =
    options.tls === undefined ? createServer(serve) : createTlsServer(options.tls, serve);
  const kept = await listenKept(server);
  return { port: kept.port, ...note, close: kept.close };
}
