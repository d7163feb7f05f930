// Which tables does this gateway understand?

import { describe, expect, test } from 'vitest';
import {
  credentialsOf,
  neededFormat,
  parseRoutingTable,
  READER_FORMAT,
  TableRefusedError,
} from '../../../core/contract/routing-table.ts';
import { tableOf } from '../../gateway/rig.ts';

const table = tableOf([{ baseUrl: 'https://api.upstream.test/v1', keys: { main: 'sk-1' } }]);

function refusal(data: unknown): TableRefusedError {
  try {
    parseRoutingTable(data);
  } catch (error) {
    if (error instanceof TableRefusedError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

test('a table is read back unchanged', () => {
  expect(parseRoutingTable(JSON.parse(JSON.stringify(table)))).toEqual(table);
});

test('unknown members are left out', () => {
  const { routes, ...rest } = parseRoutingTable({ ...table, later: 1 });
  expect(rest).not.toHaveProperty('later');
  expect(routes).toEqual(table.routes);
});

describe('a table for a newer reader', () => {
  test('is refused as too new, with the remedy', () => {
    const error = refusal({ ...table, minReader: READER_FORMAT + 1 });
    expect(error.reason).toBe('too-new');
    expect(error.message).toContain(`format ${READER_FORMAT + 1}`);
    expect(error.message).toContain('upgrade the gateway');
  });

  test('is too new even if nothing else of it can be read', () => {
    expect(refusal({ minReader: READER_FORMAT + 1, providers: 'elsewhere' }).reason).toBe('too-new');
  });
});

describe('the first fault is named', () => {
  const [route] = table.routes;
  const [key] = table.keys;
  test.each([
    ['format', { ...table, format: 0 }, 'format'],
    ['generation', { ...table, generation: -1 }, 'generation'],
    ['a missing list', { ...table, keys: undefined }, 'keys'],
    [
      'the id of a provider',
      { ...table, providers: [{ ...table.providers[0], id: 'x' }] },
      'providers.0.id: must be namespace/name',
    ],
    ['a route without targets', { ...table, routes: [{ ...route, targets: [] }] }, 'routes.0.targets'],
    [
      'a price in fractions',
      {
        ...table,
        routes: [
          { ...route, targets: [{ ...route?.targets[0], price: { input: 0.5, output: 1, source: 'x' } }] },
        ],
      },
      'routes.0.targets.0.price.input',
    ],
    ['the second key', { ...table, keys: [key, { ...key, sha256: 'ABC' }] }, 'keys.1.sha256'],
    ['a dialect', { ...table, routes: [{ ...route, endpoints: ['smoke-signals'] }] }, 'routes.0.endpoints.0'],
  ])('%s', (_, data, path) => {
    const error = refusal(data);
    expect(error.reason).toBe('invalid');
    expect(error.message).toContain(`table field ${path}`);
  });

  test.each([[null], [[]], ['table'], [7], [undefined]])('%j is not a table', (data) => {
    expect(refusal(data).reason).toBe('invalid');
  });

  test('no error shows a credential', () => {
    const credentials = [{ ...table.credentials[0], value: 'sk-secret', hosts: [] }];
    expect(refusal({ ...table, credentials }).message).not.toContain('sk-');
  });
});

test('an entry with TLS settings or a proxy needs a reader of format 2, a cloud’s entry format 3, any other format 1', () => {
  const plain = { type: 'OpenAI', dialects: ['openai-chat'] } as const;
  const proxy = { protocol: 'http', hostname: 'proxy.example', port: 3128 } as const;
  expect(neededFormat({ ...plain, dialects: [...plain.dialects] })).toBe(1);
  expect(neededFormat({ ...plain, dialects: [...plain.dialects], tls: {} })).toBe(2);
  expect(neededFormat({ ...plain, dialects: [...plain.dialects], proxy })).toBe(2);
  expect(neededFormat({ type: 'VertexAI', dialects: ['openai-chat'] })).toBe(3);
  expect(neededFormat({ type: 'OpenAICompatible', dialects: ['bedrock-converse'] })).toBe(3);
});

test('an entry of a type that once took only plain keys needs a reader of format 4 to sign in at its cloud', () => {
  const gemini = { type: 'Gemini', dialects: ['google-generate-content' as const] };
  const account = { header: 'Authorization', prefix: 'Bearer ' };
  expect(neededFormat({ ...gemini, auth: account })).toBe(4);
  expect(neededFormat({ ...gemini, settings: { identity: 'GCP' } })).toBe(4);
  // A plain key in the same header is written in lower case.
  expect(neededFormat({ ...gemini, auth: { ...account, header: 'authorization' } })).toBe(3);
  expect(neededFormat({ ...gemini, auth: { header: 'x-goog-api-key', prefix: '' } })).toBe(3);
  expect(neededFormat({ type: 'VertexAI', dialects: ['openai-chat'], auth: account })).toBe(3);
});

test('all credentials of an entry are found, also those of its connections', () => {
  const [entry] = tableOf([{ baseUrl: 'https://api.upstream.test/v1', keys: { main: 'sk-1' } }]).providers;
  if (entry === undefined) throw new Error('there is a provider');
  const whole = {
    ...entry,
    headers: [
      { name: 'x-team', credential: 'header' },
      { name: 'x-plain', value: 'v' },
    ],
    tls: { clientCertificate: { chain: 'PEM', key: 'client' } },
    proxy: { protocol: 'socks5', hostname: 'proxy.test', port: 1080, username: 'user', password: 'pass' },
  } as const;
  expect(credentialsOf({ ...whole, headers: [...whole.headers] })).toEqual([
    ...['platform/p0/main', 'header', 'client', 'user', 'pass'],
  ]);
});
