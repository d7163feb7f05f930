// What does a request find in a table, and which tables are refused?

import { describe, expect, test } from 'vitest';
import {
  type RouteEntry,
  type RoutingTable,
  TableRefusedError,
} from '../../../core/contract/routing-table.ts';
import { loadTable } from '../../../gateway/table/load.ts';
import { buildTableView, findRoute, namespaceOf, revealConnection } from '../../../gateway/table/view.ts';
import { keyEntry, tableOf } from '../rig.ts';

const baseUrl = 'https://api.upstream.test/v1';
const table = tableOf([{ baseUrl, keys: { main: 'sk-1', spare: 'sk-2' } }]);
const [template] = table.routes;

function route(id: string, more: Partial<RouteEntry> = {}): RouteEntry {
  if (!template) throw new Error('the table has no route');
  return { ...template, id, model: 'm', ...more };
}

function idFor(routes: readonly RouteEntry[], namespace: string, model = 'm'): string | undefined {
  return findRoute(buildTableView({ ...table, routes: [...routes] }).byModel, namespace, model)?.entry.id;
}

test.each(['Host', 'transfer-encoding', 'Connection', 'content-length', 'Upgrade', 'TE'])(
  'a table whose provider sets %s is refused: the upstream could read one request as two, or as one for another host',
  (name) => {
    const [provider] = table.providers;
    if (!provider) throw new Error('the table has no provider');
    const spoiled = (more: object) => ({ ...table, providers: [{ ...provider, ...more }] });
    const words = `platform/p0 sets the header ${name}, which belongs to the connection`;
    expect(() => buildTableView(spoiled({ headers: [{ name, value: 'x' }] }))).toThrow(words);
    expect(() => buildTableView(spoiled({ auth: { header: name, prefix: '' } }))).toThrow(words);
  },
);

describe('the routes that a namespace reaches', () => {
  const own = route('team/m');
  const all = route('platform/m', { sharedWith: '*' });
  const some = route('platform/m', { sharedWith: ['team', 'other'] });
  const listed = route('beta/m', { sharedWith: ['team'] });
  test.each([
    ['its own', [own], 'team', 'team/m'],
    ['not those of other namespaces', [own], 'other', undefined],
    ['its own before a shared one', [all, own], 'team', 'team/m'],
    ['its own before one that is shared with it by name', [some, own], 'team', 'team/m'],
    ['one that is shared with all', [all], 'anyone', 'platform/m'],
    ['one that is shared with it by name', [some], 'other', 'platform/m'],
    ['none that is shared with others by name', [some], 'third', undefined],
    [
      'of two shared ones the one that is for it',
      [route('alpha/m', { sharedWith: ['x'] }), listed],
      'team',
      'beta/m',
    ],
    ['its own, also one that it shares', [some], 'platform', 'platform/m'],
  ] as const)('%s', (_, routes, namespace, wanted) => {
    expect(idFor(routes, namespace)).toBe(wanted);
  });

  test('aliases work as the id, by the same rules', () => {
    const routes = [
      route('team/a', { model: 'a', aliases: ['m', 'latest'] }),
      { ...all, aliases: ['latest'] },
    ];
    expect(['a', 'm', 'latest', 'other'].map((model) => idFor(routes, 'team', model))).toEqual([
      ...['team/a', 'team/a', 'team/a', undefined],
    ]);
    expect(['a', 'm', 'latest'].map((model) => idFor(routes, 'third', model))).toEqual([
      ...[undefined, 'platform/m', 'platform/m'],
    ]);
  });

  test.each(['__proto__', 'constructor', 'toString', '', 'M', 'm '])('%j is not a model', (model) => {
    expect(idFor([own], 'team', model)).toBeUndefined();
    expect(idFor([own], model, 'm')).toBeUndefined();
  });
});

describe('a view holds', () => {
  test('one endpoint for each provider key, with its secret wrapped and its health by version', () => {
    const endpoints = buildTableView(table).routes[0]?.targets[0]?.endpoints ?? [];
    expect(endpoints.map(({ key }) => [key?.name, key?.secret.reveal()])).toEqual([
      ['main', 'sk-1'],
      ['spare', 'sk-2'],
    ]);
    const renewed = tableOf([{ baseUrl, keys: { main: 'sk-3', spare: 'sk-2' } }]);
    const ids =
      buildTableView(renewed).routes[0]?.targets[0]?.endpoints.map(({ healthId }) => healthId) ?? [];
    expect(ids[0]).not.toBe(endpoints[0]?.healthId);
    expect(ids[1]).toBe(endpoints[1]?.healthId);
    expect(JSON.stringify([...ids, ...endpoints])).not.toContain('sk-');
  });

  test('one endpoint without a key if the provider needs none', () => {
    const view = buildTableView(tableOf([{ baseUrl, provider: 'platform/open' }]));
    const { healthId } = view.providers.get('platform/open') ?? {};
    expect(view.routes[0]?.targets[0]?.endpoints).toEqual([
      { healthId, key: undefined, weight: 1, priority: 0, isSuspect: false },
    ]);
  });

  test('no endpoint if a provider needs keys and has no usable one', () => {
    const auth = { header: 'Authorization', prefix: 'Bearer ' };
    const view = buildTableView(tableOf([{ baseUrl, providerEntry: { auth } }]));
    expect(view.routes[0]?.targets[0]?.endpoints).toEqual([]);
  });

  test('extra headers with credentials filled in', () => {
    const headers = [
      { name: 'x-plain', value: 'a' },
      { name: 'x-empty' },
      { name: 'x-secret', credential: 'platform/p0/main' },
    ];
    const view = buildTableView(tableOf([{ baseUrl, keys: { main: 'sk-1' }, providerEntry: { headers } }]));
    const filled = view.providers.get('platform/p0')?.headers ?? [];
    expect(filled.map(({ name, value }) => [name, value.reveal()])).toEqual([
      ...[
        ['x-plain', 'a'],
        ['x-empty', ''],
        ['x-secret', 'sk-1'],
      ],
    ]);
  });

  test('keys by their digest', () => {
    const entry = keyEntry('psk_other', 'team/other');
    expect(buildTableView({ ...table, keys: [entry] }).keys.get(entry.sha256)).toEqual(entry);
  });

  test('no object may be replaced', () => {
    const view = buildTableView(table);
    expect(() => Object.assign(view, { generation: 99 })).toThrow(TypeError);
  });

  test('the namespace of an object is the part before the slash', () => {
    expect(namespaceOf('team/key')).toBe('team');
  });
});

describe('a table with contradictions is refused, and both sides are named', () => {
  const withProvider = (more: object): RoutingTable => ({
    ...table,
    providers: table.providers.map((provider) => ({ ...provider, ...more })),
  });
  test.each([
    ['a provider that is missing', { ...table, providers: [] }, ['route team/m', 'provider platform/p0']],
    [
      'a credential that is missing',
      { ...table, credentials: [] },
      ['provider platform/p0', 'credential platform/p0/main'],
    ],
    [
      'a credential of a header that is missing',
      withProvider({ headers: [{ name: 'x', credential: 'platform/other' }] }),
      ['provider platform/p0', 'credential platform/other'],
    ],
    [
      'a credential for another host',
      withProvider({ baseUrl: 'https://evil.test/v1' }),
      ['provider platform/p0', 'credential platform/p0/main', 'evil.test'],
    ],
    [
      'a credential for another port',
      withProvider({ baseUrl: 'https://api.upstream.test:8443/v1' }),
      ['api.upstream.test:8443'],
    ],
    [
      'a credential for a host below',
      withProvider({ baseUrl: 'https://a.api.upstream.test/v1' }),
      ['a.api.upstream.test'],
    ],
    [
      'a host in the user part',
      withProvider({ baseUrl: 'https://api.upstream.test@evil.test/v1' }),
      ['evil.test'],
    ],
    [
      'an invalid base URL',
      withProvider({ baseUrl: 'api.upstream.test' }),
      ['provider platform/p0', "'api.upstream.test'"],
    ],
  ])('%s', (_, bad, names) => {
    let message = '';
    try {
      buildTableView(bad);
    } catch (error) {
      expect(error).toBeInstanceOf(TableRefusedError);
      message = String(error);
    }
    for (const name of names) expect(message).toContain(name);
    expect(message).not.toContain('sk-');
  });

  test.each([
    'https://API.upstream.test/v1',
    'https://api.upstream.test:443/v1',
    'http://api.upstream.test/v1/',
  ])('the host of %s is the one that is bound', (url) => {
    expect(() => buildTableView(withProvider({ baseUrl: url }))).not.toThrow();
  });
});

test('5,000 keys and 500 routes are loaded, and each is found', async () => {
  const keys = Array.from({ length: 5_000 }, (_, index) => keyEntry(`psk_${index}`, `team-${index}/key`));
  const routes = Array.from({ length: 500 }, (_, index) =>
    route(`team-${index}/m`, { model: `model-${index}`, sharedWith: index % 2 === 0 ? '*' : [] }),
  );
  const view = await loadTable(JSON.stringify({ ...table, keys, routes }));
  for (const { sha256, id } of keys) expect(view.keys.get(sha256)?.id).toBe(id);
  for (const [index, { id, model }] of routes.entries()) {
    expect(findRoute(view.byModel, `team-${index}`, model)?.entry.id).toBe(id);
    expect(findRoute(view.byModel, 'elsewhere', model)?.entry.id).toBe(index % 2 === 0 ? id : undefined);
  }
});

test.each(['', 'x', '{"format":1', 'null', '[]'])('the text %j is not a table', async (text) => {
  await expect(loadTable(text)).rejects.toThrow(TableRefusedError);
});

describe('the connection settings of a provider', () => {
  const proxy = {
    protocol: 'http',
    hostname: 'proxy.test',
    port: 3128,
    username: 'platform/p0/user',
    password: 'platform/p0/pass',
  } as const;
  const tls = { clientCertificate: { chain: 'PEM', key: 'platform/p0/tls' } };
  const credential = (id: string, value: string, host: string) => ({
    id,
    value,
    fingerprint: '0123456789abcdef',
    hosts: [host],
  });
  const withConnection = (hosts: { readonly proxy?: string; readonly upstream?: string } = {}) => ({
    ...tableOf([{ baseUrl, providerEntry: { tls, proxy } }]),
    credentials: [
      credential(proxy.username, 'team', hosts.proxy ?? 'proxy.test:3128'),
      credential(proxy.password, 'pass-w0rd', hosts.proxy ?? 'proxy.test:3128'),
      credential(tls.clientCertificate.key, 'KEY', hosts.upstream ?? 'api.upstream.test'),
    ],
  });
  const viewOf = (table: RoutingTable) => buildTableView(table).providers.get('platform/p0');

  test('are revealed only to the connecting code', () => {
    const provider = viewOf(withConnection());
    expect(provider && revealConnection(provider)).toEqual({
      tls: { cert: 'PEM', key: 'KEY' },
      proxy: {
        protocol: 'http',
        hostname: 'proxy.test',
        port: 3128,
        credentials: { username: 'team', password: 'pass-w0rd' },
      },
    });
    expect(JSON.stringify(provider)).not.toMatch(/pass-w0rd|"KEY"/);
  });

  test('are refused if a credential is bound to another host, or is missing', () => {
    for (const hosts of [{ proxy: 'api.upstream.test' }, { upstream: 'proxy.test:3128' }]) {
      expect(() => viewOf(withConnection(hosts))).toThrow(/may not be sent to/);
    }
    expect(() => viewOf({ ...withConnection(), credentials: [] })).toThrow(/not in the table/);
  });

  test('change fingerprint and health with every part, and the fingerprint reveals no secret', () => {
    const table = withConnection();
    const renewed = table.credentials.map((one) => ({ ...one, fingerprint: 'fedcba9876543210' }));
    const views = [
      table,
      { ...table, credentials: renewed },
      tableOf([{ baseUrl }]),
      tableOf([{ baseUrl, providerEntry: { tls: { minVersion: 'TLSv1.3' } } }]),
    ].map(viewOf);
    for (const name of ['connectionPrint', 'healthId'] as const) {
      const [first, ...others] = views.map((view) => view?.[name]);
      expect(new Set([first, ...others]).size).toBe(views.length);
      expect(viewOf(withConnection())?.[name]).toBe(first);
    }
  });
});
