// A Provider is held that has an authority, a client certificate or a proxy of its own: what of these stays, and what is taken back?

import { describe, expect, test } from 'vitest';
import type { ConfigMapRecord, SecretRecord, Snapshot } from '../../../operator/watch/snapshot.ts';
import { type Identity, makeCertificate } from '../../core/egress/certificates.ts';
import { provider, secret, snapshot } from '../make.ts';
import { NOW_MS } from './support.ts';
import { startTerm } from './term.ts';

const dayMs = 86_400_000;
const valid = { notBefore: new Date(NOW_MS - dayMs), notAfter: new Date(NOW_MS + 30 * dayMs) };
const ca = makeCertificate({ name: 'authority', isCa: true, ...valid });
const [client, another] = ['one', 'two'].map((name) => makeCertificate({ name, issuer: ca, ...valid }));
const bound = (...hosts: string[]) => ({ 'penstock.dev/allowed-hosts': hosts.join(', ') });
const upstream = 'models.example:8443';
const proxyHost = 'proxy.example:3128';
const proxyEntry = `http://${proxyHost}`;

const caMap: ConfigMapRecord = { namespace: 'team-a', name: 'internal-ca', data: { 'ca.crt': ca.cert } };
const tlsSecret = (identity: Identity | undefined, fields: Partial<SecretRecord> = {}) =>
  secret({
    name: 'client-tls',
    type: 'kubernetes.io/tls',
    annotations: bound(upstream),
    data: { 'tls.crt': identity?.cert ?? '', 'tls.key': identity?.key ?? '' },
    ...fields,
  });
const proxySecret = (fields: Partial<SecretRecord> = {}) =>
  secret({
    name: 'proxy-auth',
    annotations: bound(proxyEntry),
    data: { username: 'team', password: 'pass' },
    ...fields,
  });
/** An authority of the tenant's own: its proxy could answer in the upstream's place, so the key is for both. */
const key = (...hosts: string[]) => secret({ annotations: bound(...hosts) });

const SPEC = {
  type: 'OpenAICompatible',
  apis: ['ChatCompletions'],
  baseURL: `https://${upstream}/v1`,
  tls: { caRef: { name: 'internal-ca' }, clientCertificateRef: { name: 'client-tls' } },
  proxy: { url: `http://${proxyHost}`, credentialsRef: { name: 'proxy-auth' } },
};
const GOOD: Snapshot = {
  ...snapshot(),
  providers: [provider(SPEC, { generation: 1 })],
  secrets: [key(upstream, proxyEntry), tlsSecret(client), proxySecret()],
  configMaps: [caMap],
};
const WRONG = { providers: [provider({ ...SPEC, bogus: true }, { generation: 2 })] };

function after(changes: Partial<Snapshot>) {
  const run = startTerm();
  const good = run(GOOD);
  expect(good.table.providers).toHaveLength(1);
  return { good, later: run({ ...GOOD, ...changes }) };
}

describe('the last good form stays if', () => {
  test.each<[string, string, Partial<Snapshot>]>([
    ['the authority is gone', 'CANotFound', { configMaps: [] }],
    [
      'the authority cannot be read',
      'InvalidCertificate',
      { configMaps: [{ ...caMap, data: { 'ca.crt': 'no certificate' } }] },
    ],
    [
      'the client certificate does not belong to its key',
      'InvalidCertificate',
      {
        secrets: [
          key(upstream, proxyEntry),
          tlsSecret(client, { data: { 'tls.crt': client?.cert ?? '', 'tls.key': another?.key ?? '' } }),
          proxySecret(),
        ],
      },
    ],
    [
      'the credentials of the proxy are gone',
      'SecretNotFound',
      { secrets: [key(upstream, proxyEntry), tlsSecret(client)] },
    ],
    ['a field is unknown', 'Invalid', WRONG],
    [
      'a field is unknown, and the client certificate is a newer one: key and certificate stay together',
      'Invalid',
      { ...WRONG, secrets: [key(upstream, proxyEntry), tlsSecret(another), proxySecret()] },
    ],
  ])('%s: %s', (_, reason, changes) => {
    const { good, later } = after(changes);
    expect(later.table).toEqual(good.table);
    const [verdict] = later.verdicts;
    expect(verdict?.held).toBeDefined();
    expect(verdict?.conditions.find(({ status }) => status === 'False')?.reason).toBe(reason);
  });
});

describe('the Provider leaves service at once, despite an unknown field, if', () => {
  test.each<[string, readonly SecretRecord[]]>([
    ['the key is no longer for the host', [key(proxyEntry), tlsSecret(client), proxySecret()]],
    [
      'the key is no longer for the proxy, which can read it',
      [key(upstream), tlsSecret(client), proxySecret()],
    ],
    [
      'the client certificate is no longer shared',
      [key(upstream, proxyEntry), tlsSecret(client, { labels: {} }), proxySecret()],
    ],
    [
      'the credentials of the proxy are for another one now',
      [
        key(upstream, proxyEntry),
        tlsSecret(client),
        proxySecret({ annotations: bound('other.example:3128') }),
      ],
    ],
  ])('%s', (_, secrets) => {
    expect(after({ ...WRONG, secrets }).later.table).toMatchObject({ providers: [], credentials: [] });
  });

  test('the proxy is no longer allowed', () => {
    const proxy = { url: 'http://10.1.0.1:3128' };
    const opened = (cidr: string): Partial<Snapshot> => ({
      platform: { ...GOOD.platform, egressAllow: [{ cidr, namespaces: ['*'] }] },
    });
    const world = (spec: object): Snapshot => ({
      ...GOOD,
      providers: [provider({ ...SPEC, proxy, ...spec }, { generation: 1 })],
      secrets: [key(upstream, '10.1.0.1:3128'), tlsSecret(client)],
    });
    const run = startTerm();
    expect(run({ ...world({}), ...opened('10.1.0.0/16') }).table.providers).toHaveLength(1);
    const wrong = world({ bogus: true });
    expect(run({ ...wrong, ...opened('10.1.0.0/16') }).table.providers).toHaveLength(1);
    expect(run({ ...wrong, ...opened('10.2.0.0/16') }).table.providers).toEqual([]);
  });
});
