// A provider's credentials are replaced while requests are in flight, and the old ones end at that very moment: keys,
// client certificates, authorities and proxy passwords. No caller notices.

import { createHash, X509Certificate } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ProviderEntry, RoutingTable } from '../../core/contract/routing-table.ts';
import { makeCertificate } from '../core/egress/certificates.ts';
import { startRig, tableOf } from '../gateway/rig.ts';
import { startConnectProxy } from '../support/proxy.ts';
import { startTlsFront } from '../support/tls-front.ts';
import { startWall } from '../support/wall.ts';
import { ask, lineOf, textOf, wallText } from './ask.ts';
import { inHouse } from './house.ts';
import {
  callersOf,
  failoverOf,
  onlyKey,
  refusal,
  replacedUnderLoad,
  startLoad,
  strict,
  tableWith,
} from './rotated-keys.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function kept<T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const one = await starting;
  closers.push(() => one.close());
  return one;
}

const rotations = 20;

describe('a key', () => {
  test(
    `replaced ${rotations} times under load, with the old one refused at once: no request fails`,
    inHouse(async (house) => {
      expect(await replacedUnderLoad(house, callersOf(8), rotations)).toBe(rotations);
    }),
    60_000,
  );

  test('refused after it was replaced is tried again with the new one, though the route allows one attempt', async () => {
    const isReplaced = Promise.withResolvers<void>();
    const wall = await kept(
      startWall(({ headers }) =>
        headers.authorization === 'Bearer sk-old'
          ? { ...refusal, beforeHeaders: { until: isReplaced.promise } }
          : { type: 'answer' },
      ),
    );
    const rig = await startRig(tableWith(wall, 'sk-old', strict));
    closers.push(() => rig.close());
    const asked = ask(rig);
    await vi.waitFor(() => expect(wall.calls).toHaveLength(1));
    rig.offer(tableWith(wall, 'sk-new', strict));
    isReplaced.resolve();
    const seen = await asked;
    expect([seen.status, seen.headers['x-penstock-attempts']]).toEqual([200, '2']);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_401 platform', '2 t0 answered tenant']);
    expect(wall.calls.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-old',
      'Bearer sk-new',
    ]);
  });

  test('replaced by one that is refused as well is not sent again: the next key answers', async () => {
    const isReplaced = Promise.withResolvers<void>();
    const wall = await kept(
      startWall(({ headers }) => {
        if (headers.authorization === 'Bearer sk-spare') return { type: 'answer' };
        const isOld = headers.authorization === 'Bearer sk-old';
        return isOld ? { ...refusal, beforeHeaders: { until: isReplaced.promise } } : refusal;
      }),
    );
    const tableWithSpare = (main: string): RoutingTable => {
      const table = tableOf([{ baseUrl: wall.baseUrl, keys: { main, spare: 'sk-spare' } }]);
      const inOrder = table.providers.map((provider) => ({
        ...provider,
        keys: provider.keys.map((key, priority) => ({ ...key, priority })),
      }));
      return { ...table, providers: inOrder };
    };
    const rig = await startRig(tableWithSpare('sk-old'));
    closers.push(() => rig.close());
    const asked = ask(rig);
    await vi.waitFor(() => expect(wall.calls).toHaveLength(1));
    rig.offer(tableWithSpare('sk-mistyped'));
    isReplaced.resolve();
    expect((await asked).status).toBe(200);
    expect(wall.calls.map(({ headers }) => headers.authorization)).toEqual(
      ['sk-old', 'sk-mistyped', 'sk-spare'].map((key) => `Bearer ${key}`),
    );
  });

  test('removed while in use, with the other key in cooldown: another provider answers', async () => {
    const isTaken = Promise.withResolvers<void>();
    const wall = await kept(
      startWall(({ headers }) =>
        headers.authorization === 'Bearer sk-b'
          ? { type: 'status', status: 429, headers: { 'retry-after': '60' } }
          : { ...refusal, beforeHeaders: { until: isTaken.promise } },
      ),
    );
    const next = await kept(startWall());
    const tableWithKeys = (keys: Readonly<Record<string, string>>): RoutingTable =>
      tableOf([{ baseUrl: wall.baseUrl, keys }, { baseUrl: next.baseUrl }]);
    const rig = await startRig(tableWithKeys({ b: 'sk-b' }));
    closers.push(() => rig.close());
    expect((await ask(rig)).status).toBe(200);
    rig.offer(tableWithKeys({ a: 'sk-a', b: 'sk-b' }));
    const asked = ask(rig);
    await vi.waitFor(() => expect(wall.calls).toHaveLength(2));
    rig.offer(tableWithKeys({ b: 'sk-b' }));
    isTaken.resolve();
    expect((await asked).status).toBe(200);
    expect(wall.calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-b', 'Bearer sk-a']);
    expect(next.calls).toHaveLength(2);
  });

  test.each([
    ['is answered with the new one', {}, 200, ['sk-old', 'sk-new']],
    ['that is stored there is not sent again', { store: true }, 502, ['sk-old']],
  ])('replaced while it was used, and then a reset: a request %s', async (_, more, status, sent) => {
    const wall = await kept(startWall());
    const rig = await startRig(tableWith(wall, 'sk-old', strict));
    closers.push(() => rig.close());
    wall.script(({ headers }) => {
      if (headers.authorization === 'Bearer sk-new') return { type: 'answer' };
      rig.offer(tableWith(wall, 'sk-new', strict));
      return { type: 'reset' };
    });
    expect((await ask(rig, { more })).status).toBe(status);
    expect(wall.calls.map(({ headers }) => headers.authorization)).toEqual(
      sent.map((key) => `Bearer ${key}`),
    );
  });

  test('is not sent to the former address of its provider', async () => {
    const isReplaced = Promise.withResolvers<void>();
    const former = await kept(startWall({ ...refusal, beforeHeaders: { until: isReplaced.promise } }));
    const moved = await kept(startWall(onlyKey('sk-new')));
    const rig = await startRig(tableWith(former, 'sk-old', strict));
    closers.push(() => rig.close());
    const asked = ask(rig);
    await vi.waitFor(() => expect(former.calls).toHaveLength(1));
    rig.offer(tableWith(moved, 'sk-new', strict));
    isReplaced.resolve();
    expect((await asked).status).toBe(200);
    expect(former.calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-old']);
  });

  test('that is rejected and was not replaced is rejected once, then cools down until it is replaced', async () => {
    const wall = await kept(startWall(onlyKey('sk-new')));
    const rig = await startRig(tableWith(wall, 'sk-old'));
    closers.push(() => rig.close());
    for (const _ of [1, 2, 3]) expect((await ask(rig)).status).toBe(502);
    expect(wall.calls).toHaveLength(1);
    // Another table with the same key changes nothing.
    rig.offer(tableWith(wall, 'sk-old'));
    expect((await ask(rig)).status).toBe(502);
    expect(wall.calls).toHaveLength(1);
    rig.offer(tableWith(wall, 'sk-new'));
    expect((await ask(rig)).status).toBe(200);
    expect(wall.calls).toHaveLength(2);
  });

  test('of a running stream stays in use to its end', async () => {
    const mayEnd = Promise.withResolvers<void>();
    const wall = await kept(
      startWall([{ type: 'answer', betweenEvents: { until: mayEnd.promise } }, { type: 'answer' }]),
    );
    const rig = await startRig(tableWith(wall, 'sk-old'));
    closers.push(() => rig.close());
    const running = ask(rig, { isStream: true });
    await vi.waitFor(() => expect(wall.calls[0]?.eventsWritten).toBeGreaterThan(0));
    rig.offer(tableWith(wall, 'sk-new'));
    expect((await ask(rig)).status).toBe(200);
    mayEnd.resolve();
    expect(textOf(await running)).toBe(wallText);
    expect(wall.calls.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-old',
      'Bearer sk-new',
    ]);
  });
});

describe('a connection setting', () => {
  const authorities = [1, 2].map((number) => makeCertificate({ name: `authority ${number}`, isCa: true }));
  const [firstCa, secondCa] = authorities;
  if (firstCa === undefined || secondCa === undefined) throw new Error('there are two authorities');
  const serverOf = (issuer: typeof firstCa) =>
    makeCertificate({ name: 'upstream', ipv4: ['127.0.0.1'], issuer });
  const serialOf = (identity: typeof firstCa) => new X509Certificate(identity.cert).serialNumber;

  function tableTo(
    port: number,
    entry: Partial<ProviderEntry>,
    secrets: Readonly<Record<string, string>> = {},
  ) {
    const table = tableOf([{ baseUrl: `https://127.0.0.1:${port}/v1`, providerEntry: entry }], {
      failover: { ...failoverOf(), maxAttempts: 1, retryOn: [] },
    });
    const hosts = [
      `127.0.0.1:${port}`,
      ...(entry.proxy ? [`${entry.proxy.hostname}:${entry.proxy.port}`] : []),
    ];
    return {
      ...table,
      credentials: Object.entries(secrets).map(([id, value]) => ({
        id,
        value,
        fingerprint: createHash('sha256').update(value).digest('hex').slice(0, 16),
        hosts,
      })),
    };
  }

  test('another authority under load: the server has a new certificate, and no request fails', async () => {
    const wall = await kept(startWall());
    const pairs = [firstCa, secondCa].map((ca) => ({ ca, server: serverOf(ca) }));
    const [first, second] = pairs;
    if (first === undefined || second === undefined) throw new Error('there are two');
    const front = await kept(startTlsFront(wall.port, first.server));
    const rig = await startRig(tableTo(front.port, { tls: { ca: first.ca.cert } }));
    closers.push(() => rig.close());
    const load = startLoad(rig, callersOf(4));
    for (let number = 1; number <= 6; number++) {
      const { ca, server } = number % 2 === 1 ? second : first;
      await load.more(8);
      rig.offer(tableTo(front.port, { tls: { ca: ca.cert } }));
      front.renew(server);
    }
    await load.more(8);
    await load.end();
    expect(load.failures).toEqual([]);
    // Each change opened connections of its own.
    expect(front.clients.length).toBeGreaterThanOrEqual(7);
  }, 60_000);

  test('another client certificate: new requests use the new one, a running one ends with the old', async () => {
    const mayEnd = Promise.withResolvers<void>();
    const wall = await kept(
      startWall([{ type: 'answer', beforeHeaders: { until: mayEnd.promise } }, { type: 'answer' }]),
    );
    const front = await kept(
      startTlsFront(wall.port, {
        ...serverOf(firstCa),
        ca: secondCa.cert,
        requestCert: true,
        rejectUnauthorized: true,
      }),
    );
    const clients = ['old', 'new'].map((name) => makeCertificate({ name, issuer: secondCa }));
    const tableFor = (client: (typeof clients)[number] | undefined) =>
      tableTo(
        front.port,
        {
          tls: {
            ca: firstCa.cert,
            clientCertificate: { chain: client?.cert ?? '', key: 'platform/p0/tls' },
          },
        },
        { 'platform/p0/tls': client?.key ?? '' },
      );
    const rig = await startRig(tableFor(clients[0]));
    closers.push(() => rig.close());
    const running = ask(rig);
    await vi.waitFor(() => expect(wall.calls).toHaveLength(1));
    rig.offer(tableFor(clients[1]));
    expect((await ask(rig)).status).toBe(200);
    mayEnd.resolve();
    expect((await running).status).toBe(200);
    expect(front.clients).toEqual(clients.map(serialOf));

    // Without one, the server hangs up.
    rig.offer(tableTo(front.port, { tls: { ca: firstCa.cert } }));
    expect((await ask(rig)).status).toBe(502);
    expect(wall.calls).toHaveLength(2);
  });

  test('another password of the proxy: refused with the old one after it was replaced, the request goes again', async () => {
    const wall = await kept(startWall());
    const front = await kept(startTlsFront(wall.port, serverOf(firstCa)));
    const credentials = { username: 'team', password: 'first-w0rd' };
    const proxy = await kept(startConnectProxy({ credentials }));
    const tableFor = (password: string) =>
      tableTo(
        front.port,
        {
          tls: { ca: firstCa.cert },
          proxy: {
            protocol: 'http',
            hostname: '127.0.0.1',
            port: proxy.port,
            username: 'platform/p0/user',
            password: 'platform/p0/pass',
          },
        },
        { 'platform/p0/user': 'team', 'platform/p0/pass': password },
      );
    const rig = await startRig(tableFor('first-w0rd'));
    closers.push(() => rig.close());
    const load = startLoad(rig, callersOf(4));
    for (let number = 1; number <= rotations; number++) {
      await load.more(5);
      credentials.password = `w0rd-${number}`;
      rig.offer(tableFor(credentials.password));
    }
    await load.more(5);
    await load.end();
    expect(load.failures).toEqual([]);
    expect(new Set(proxy.asked)).toEqual(new Set([`127.0.0.1:${front.port}`]));
    expect(proxy.signedIn).toContain(`team:w0rd-${rotations}`);

    rig.offer(tableFor('wr0ng-word'));
    const refused = await ask(rig);
    expect(refused.status).toBe(502);
    expect(rig.records.at(-1)?.failure).toBe('proxy_failed');
    expect(JSON.stringify([refused.json, rig.records, rig.failures])).not.toMatch(/w0rd|wr0ng/);
  }, 60_000);
});
