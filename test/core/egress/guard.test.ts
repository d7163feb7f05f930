// The guard at the socket: whatever spelling, name or resolver leads to an internal address, the server there sees nothing.
// A guard that sits in the lookup hook alone is passed by every IP literal, because literals are never looked up.

import { Socket } from 'node:net';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Dial } from '../../../core/egress/dial.ts';
import { connectTo, failureOf, loopbackOpen, makeConnector } from './connect-to.ts';
import { type Listening, listenTcp } from './listen.ts';

let server: Listening;

beforeEach(async () => {
  server = await listenTcp('0.0.0.0', (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'),
  );
});

afterEach(() => server.close());

const spellings = [
  '127.0.0.1',
  '127.0.0.1.',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0x7f000001',
  '0x7f.1',
  '0X7F.0X0.0.1',
  '127.0.0.01',
  '%31%32%37.0.0.1',
  '１２７.0.0.1',
  '127。0。0。1',
  '0',
  '0.0.0.0',
  '0x0',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:0001]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  'localhost',
  'LocalHost.',
  'a.b.localhost',
];

describe('a spelling of an internal address', () => {
  test.each(spellings)(
    'http://%s is refused through undici, and the server sees no connection',
    async (host) => {
      const agent = new Agent({ connect: makeConnector() });
      const failure = request(`http://${host}:${server.port}/`, { dispatcher: agent });
      await expect(failure).rejects.toMatchObject({ name: 'EgressError', code: 'egress_denied' });
      await agent.close();
      expect(server.connections).toBe(0);
    },
  );

  // Not every spelling survives a URL object; the connector must not depend on somebody else having parsed it.
  test.each([
    ...spellings,
    '::1',
    '::ffff:127.0.0.1',
    'fe80::1%lo',
    '127.0.0.1 ',
    '127.0.0.1\t',
    ' 127.0.0.1',
  ])('without normalisation, %j is refused and nothing is dialled', async (host) => {
    const dialled: string[] = [];
    const connector = makeConnector({ dial: spyDial(dialled) });
    const error = await failureOf(connectTo(connector, `http://${host}:${server.port}`));
    expect(error.code).toBe('egress_denied');
    expect(dialled).toEqual([]);
    expect(server.connections).toBe(0);
  });

  test('the same server is reached through the same connector where the range is open', async () => {
    const agent = new Agent({ connect: makeConnector({ allow: loopbackOpen }) });
    const answer = await request(`http://0x7f.1:${server.port}/`, { dispatcher: agent });
    expect(await answer.body.text()).toBe('ok');
    await agent.close();
    expect(server.connections).toBe(1);
  });

  test('the range is open to its own namespace only', async () => {
    const connector = makeConnector({ allow: [{ cidr: '127.0.0.0/8', namespaces: ['team-b'] }] });
    const error = await failureOf(connectTo(connector, `http://127.0.0.1:${server.port}`));
    expect(error).toMatchObject({
      code: 'egress_denied',
      reason: 'loopback',
      endpoint: `127.0.0.1:${server.port}`,
    });
    expect(error.message).toContain('namespace team-a');
    expect(server.connections).toBe(0);
  });
});

describe('names', () => {
  test.each<[string, string, string[], string]>([
    ['public, then loopback', 'api.example', ['93.184.216.34', '127.0.0.1'], 'loopback'],
    ['loopback, then public', 'api.example', ['127.0.0.1', '93.184.216.34'], 'loopback'],
    ['a mapped loopback', 'api.example', ['::ffff:127.0.0.1'], 'embedded-ipv4'],
    ['metadata', 'api.example', ['169.254.169.254'], 'metadata'],
    ['an address with a zone', 'api.example', ['fe80::1%lo'], 'zone-id'],
  ])('%s: the whole answer is refused and nothing is dialled', async (_what, name, addresses, reason) => {
    const dialled: string[] = [];
    const connector = makeConnector({ resolve: async () => addresses, dial: spyDial(dialled) });
    const error = await failureOf(connectTo(connector, `http://${name}:${server.port}`));
    expect(error).toMatchObject({ code: 'egress_denied', reason });
    expect(error.message).toContain(name);
    expect(dialled).toEqual([]);
  });

  test('an internal name is not even resolved for a namespace without a range', async () => {
    const asked: string[] = [];
    const connector = makeConnector({
      resolve: async (name) => {
        asked.push(name);
        return ['127.0.0.1'];
      },
    });
    const error = await failureOf(connectTo(connector, `http://vllm.ai.svc:${server.port}`));
    expect(error).toMatchObject({ code: 'egress_denied', reason: 'internal-name' });
    expect(asked).toEqual([]);
  });

  test('an internal name is reached if every address of it is open', async () => {
    const connector = makeConnector({ allow: loopbackOpen, resolve: async () => ['127.0.0.1'] });
    const socket = await connectTo(connector, `http://vllm.ai.svc:${server.port}`);
    expect(socket.remoteAddress).toBe('127.0.0.1');
    socket.destroy();
  });

  test('everything opened to everyone still never dials metadata', async () => {
    const dialled: string[] = [];
    const all = [
      { cidr: '0.0.0.0/0', namespaces: ['*'] },
      { cidr: '::/0', namespaces: ['*'] },
    ];
    for (const address of [
      '169.254.169.254',
      '169.254.170.2',
      '168.63.129.16',
      '100.100.100.200',
      'fd00:ec2::254',
    ]) {
      const connector = makeConnector({ allow: all, resolve: async () => [address], dial: spyDial(dialled) });
      const literal = address.includes(':') ? `[${address}]` : address;
      for (const host of [literal, 'metadata.example', 'metadata.internal']) {
        expect(await failureOf(connectTo(connector, `http://${host}`))).toMatchObject({ reason: 'metadata' });
      }
    }
    expect(dialled).toEqual([]);
  });
});

describe('rebinding', () => {
  test('a name that flips between a public address and loopback, 10,000 times: loopback is never dialled', async () => {
    const dialled = new Map<string, number>();
    let queries = 0;
    const connector = makeConnector({
      resolve: async () => {
        queries += 1;
        return [queries % 2 === 1 ? '93.184.216.34' : '127.0.0.1'];
      },
      dial: ({ host }) => {
        dialled.set(host, (dialled.get(host) ?? 0) + 1);
        return refusingSocket();
      },
    });
    const codes = new Map<string, number>();
    for (let round = 0; round < 10_000; round += 1) {
      const { code } = await failureOf(connectTo(connector, `http://flip.example:${server.port}`));
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    expect(queries).toBe(10_000);
    expect(Object.fromEntries(codes)).toEqual({ connect_refused: 5000, egress_denied: 5000 });
    expect(Object.fromEntries(dialled)).toEqual({ '93.184.216.34': 5000 });
    expect(server.connections).toBe(0);
  });

  test('the checked address is dialled, and the name is not looked up again', async () => {
    let queries = 0;
    const hosts: string[] = [];
    const connector = makeConnector({
      resolve: async () => {
        queries += 1;
        return ['93.184.216.34'];
      },
      dial: spyDial(hosts),
    });
    await failureOf(connectTo(connector, 'http://api.example'));
    expect(queries).toBe(1);
    expect(hosts).toEqual(['93.184.216.34']);
  });

  test('a connection that reaches another address is closed before a byte is sent', async () => {
    const connector = makeConnector({
      resolve: async () => ['93.184.216.34'],
      // A wrapped or hijacked dial: asked for the public address, it reaches loopback.
      dial: () => new Socket().connect(server.port, '127.0.0.1'),
    });
    const error = await failureOf(connectTo(connector, `http://api.example:${server.port}`));
    expect(error).toMatchObject({ code: 'egress_denied', reason: 'loopback' });
    expect(server.receivedBytes).toBe(0);
  });

  test('a connection that reaches another allowed address is closed too', async () => {
    const connector = makeConnector({
      allow: loopbackOpen,
      resolve: async () => ['93.184.216.34'],
      dial: () => new Socket().connect(server.port, '127.0.0.1'),
    });
    const error = await failureOf(connectTo(connector, `http://api.example:${server.port}`));
    expect(error.code).toBe('connect_failed');
    expect(error.message).toContain('dialled 93.184.216.34 and reached 127.0.0.1');
  });
});

describe('options that the connector refuses', () => {
  test.each([
    ['ftp://api.example', 'ftp: is not supported'],
    ['http://api.example:0', 'its port is not between 1 and 65535'],
    ['http://api.example:65536', 'its port is not between 1 and 65535'],
  ])('%s is refused with a message', async (origin, sentence) => {
    const error = await failureOf(connectTo(makeConnector(), origin));
    expect(error.message).toContain(sentence);
  });

  test('a socket that other code opened is not used', async () => {
    const httpSocket = new Socket();
    const { promise, resolve } = Promise.withResolvers<Error | null>();
    const target = { hostname: 'api.example', protocol: 'https:', port: '', httpSocket };
    makeConnector()(target, (...[error]) => resolve(error));
    expect(await promise).toMatchObject({ code: 'connect_failed' });
    httpSocket.destroy();
  });

  test('a connection that breaks without a listener does not end the process', async () => {
    const connector = makeConnector({ allow: loopbackOpen });
    const socket = await connectTo(connector, `http://127.0.0.1:${server.port}`);
    const { promise: closed, resolve } = Promise.withResolvers<boolean>();
    socket.once('close', resolve);
    socket.destroy(new Error('reset by a test'));
    expect(await closed).toBe(true);
  });
});

function spyDial(hosts: string[]): Dial {
  return ({ host }) => {
    hosts.push(host);
    return refusingSocket();
  };
}

function refusingSocket(): Socket {
  const socket = new Socket();
  return socket.destroy(Object.assign(new Error('refused by the test'), { code: 'ECONNREFUSED' }));
}
