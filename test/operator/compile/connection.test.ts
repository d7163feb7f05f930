// Authorities, client certificates and proxies of Providers: what reaches the table, and what keeps a Provider out of it.

import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { ConfigMapRecord, SecretRecord, Snapshot } from '../../../operator/watch/snapshot.ts';
import { type CertificateOptions, type Identity, makeCertificate } from '../../core/egress/certificates.ts';
import { provider, secret, snapshot } from '../make.ts';
import { compileOnce, condition, NOW_MS } from './support.ts';

const dayMs = 86_400_000;
/** Valid around the time of the compile, which is not that of the test. */
function certificate(options: Partial<CertificateOptions> = {}): Identity {
  return makeCertificate({
    name: 'test',
    notBefore: new Date(NOW_MS - dayMs),
    notAfter: new Date(NOW_MS + 30 * dayMs),
    ...options,
  });
}

const ca = certificate({ name: 'authority', isCa: true });
const client = certificate({ name: 'penstock', issuer: ca });
const expired = { notBefore: new Date(NOW_MS - 9 * dayMs), notAfter: new Date(NOW_MS - dayMs) };
const later = { notBefore: new Date(NOW_MS + dayMs), notAfter: new Date(NOW_MS + 9 * dayMs) };

const HOSTS = 'penstock.dev/allowed-hosts';
const baseURL = 'https://models.example:8443/v1';
const bound = (...hosts: string[]) => ({ [HOSTS]: hosts.join(', ') });

const caMap: ConfigMapRecord = { namespace: 'team-a', name: 'internal-ca', data: { 'ca.crt': ca.cert } };
const clientSecret = (fields: Partial<SecretRecord> = {}): SecretRecord =>
  secret({
    name: 'client-tls',
    type: 'kubernetes.io/tls',
    annotations: bound('models.example:8443'),
    data: { 'tls.crt': client.cert, 'tls.key': client.key },
    ...fields,
  });
const proxySecret = (fields: Partial<SecretRecord> = {}): SecretRecord =>
  secret({
    name: 'proxy-auth',
    annotations: bound('http://proxy.example:3128'),
    data: { username: 'team', password: 'pass-w0rd\n' },
    ...fields,
  });

interface Parts {
  readonly spec?: object;
  readonly secrets?: readonly SecretRecord[];
  readonly configMaps?: readonly ConfigMapRecord[];
  /** Hosts of the key. */
  readonly hosts?: readonly string[];
  readonly egressAllow?: Snapshot['platform']['egressAllow'];
}

function worldOf({ spec = {}, secrets = [], configMaps = [], hosts, egressAllow = [] }: Parts): Snapshot {
  const base = snapshot();
  return {
    ...base,
    platform: { ...base.platform, egressAllow },
    providers: [
      provider({ type: 'OpenAICompatible', apis: ['ChatCompletions'], baseURL, ...spec }, { generation: 1 }),
    ],
    secrets: [secret({ annotations: bound(...(hosts ?? ['models.example:8443'])) }), ...secrets],
    configMaps,
  };
}

function judge(parts: Parts, nowMs = NOW_MS) {
  const result = compileOnce(worldOf(parts), nowMs);
  const [entry] = result.table.providers;
  return { result, entry, ...condition(result, 'Provider', 'team-a/openai', 'ResolvedRefs') };
}

const caRef = (fields: object = {}) => ({ tls: { caRef: { name: 'internal-ca', ...fields } } });
const clientRef = { tls: { clientCertificateRef: { name: 'client-tls' } } };
const proxyOf = (fields: object = {}) => ({
  proxy: { url: 'http://proxy.example:3128', credentialsRef: { name: 'proxy-auth' }, ...fields },
});

describe('the authority', () => {
  test('from a ConfigMap is in the entry, each certificate once and nothing else of the text', () => {
    const other = certificate({ name: 'other', isCa: true });
    const text = `# bundle\n${ca.cert}${ca.key}\n${other.cert}\n${ca.cert}`;
    const { entry } = judge({
      spec: caRef({ key: 'bundle.pem' }),
      configMaps: [{ ...caMap, data: { 'bundle.pem': text } }],
    });
    expect(entry?.tls).toEqual({
      ca: [ca, other].map(({ cert }) => new X509Certificate(cert).toString()).join(''),
    });
  });

  test.each(['Opaque', 'kubernetes.io/tls'])(
    'from a Secret of type %s, shared and bound to no host',
    (type) => {
      const secrets = [secret({ name: 'internal-ca', type, data: { 'ca.crt': ca.cert } })];
      const { entry, status } = judge({ spec: caRef({ kind: 'Secret' }), secrets });
      expect(status).toBe('True');
      expect(entry?.tls?.ca).toContain('BEGIN CERTIFICATE');
    },
  );

  test.each<[string, Parts, string, RegExp]>([
    ['that does not exist', { spec: caRef() }, 'CANotFound', /ConfigMap internal-ca, which does not exist/],
    [
      'of a Secret that does not exist',
      { spec: caRef({ kind: 'Secret' }) },
      'CANotFound',
      /Secret internal-ca, which does not exist/,
    ],
    [
      'of another namespace',
      { spec: caRef(), configMaps: [{ ...caMap, namespace: 'team-b' }] },
      'CANotFound',
      /namespace team-a/,
    ],
    [
      'under another key',
      { spec: caRef({ key: 'other.crt' }), configMaps: [caMap] },
      'CANotFound',
      /the key other.crt of ConfigMap internal-ca, which it has not/,
    ],
    [
      'that is empty',
      { spec: caRef(), configMaps: [{ ...caMap, data: { 'ca.crt': '' } }] },
      'CANotFound',
      /is empty/,
    ],
    [
      'in a Secret that is not shared',
      {
        spec: caRef({ kind: 'Secret' }),
        secrets: [secret({ name: 'internal-ca', labels: {}, data: { 'ca.crt': ca.cert } })],
      },
      'SecretNotOptedIn',
      /label secret internal-ca/,
    ],
    [
      'that is no certificate',
      { spec: caRef(), configMaps: [{ ...caMap, data: { 'ca.crt': 'sk-not-a-certificate' } }] },
      'InvalidCertificate',
      /ca.crt in ConfigMap internal-ca holds no PEM certificate/,
    ],
    [
      'of which one block is broken',
      {
        spec: caRef(),
        configMaps: [
          {
            ...caMap,
            data: { 'ca.crt': `${ca.cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----` },
          },
        ],
      },
      'InvalidCertificate',
      /\(number 2\) that cannot be read/,
    ],
    [
      'that is expired',
      { spec: caRef(), configMaps: [{ ...caMap, data: { 'ca.crt': certificate(expired).cert } }] },
      'InvalidCertificate',
      /expired at 2026-05-31T00:00:00.000Z; renew it/,
    ],
    [
      'that is not valid yet',
      { spec: caRef(), configMaps: [{ ...caMap, data: { 'ca.crt': certificate(later).cert } }] },
      'InvalidCertificate',
      /not valid before 2026-06-02/,
    ],
  ])('%s keeps the Provider out of service', (_, parts, reason, message) => {
    const judged = judge(parts);
    expect([judged.status, judged.reason, judged.message]).toEqual([
      'False',
      reason,
      expect.stringMatching(message),
    ]);
    expect(judged.entry).toBeUndefined();
    expect(JSON.stringify(judged.result.verdicts)).not.toContain('sk-not-a-certificate');
  });

  test('of a bundle with one expired certificate is used', () => {
    const text = certificate(expired).cert + ca.cert;
    expect(judge({ spec: caRef(), configMaps: [{ ...caMap, data: { 'ca.crt': text } }] }).status).toBe(
      'True',
    );
  });

  test('expires at its time, which the compile announces', () => {
    const compile = createCompiler();
    const world = worldOf({ spec: caRef(), configMaps: [caMap] });
    const first = compile(world, NOW_MS);
    const endMs = NOW_MS + 30 * dayMs;
    expect([first.table.providers.length, first.staleAtMs]).toEqual([1, endMs + 1]);
    expect(compile(world, endMs).table.providers).toHaveLength(1);
    expect(compile(world, endMs).compiled.providers).toBe(0);
    const after = compile(world, endMs + 1);
    expect([after.table.providers.length, after.staleAtMs]).toEqual([0, undefined]);
    expect(condition(after, 'Provider', 'team-a/openai', 'ResolvedRefs').reason).toBe('InvalidCertificate');
  });

  test('that changes has its Provider compiled again, and no other', () => {
    const compile = createCompiler();
    const world = worldOf({ spec: caRef(), configMaps: [caMap] });
    const other = provider({}, { name: 'other', generation: 1 });
    const providers = [...world.providers, other];
    expect(compile({ ...world, providers }, NOW_MS).compiled.providers).toBe(2);
    const next = { ...caMap, data: { 'ca.crt': certificate({ name: 'next', isCa: true }).cert } };
    expect(compile({ ...world, providers, configMaps: [next] }, NOW_MS).compiled.providers).toBe(1);
  });
});

describe('the client certificate', () => {
  test('is in the entry, its key among the credentials, bound to the host', () => {
    const { entry, result } = judge({ spec: clientRef, secrets: [clientSecret()] });
    expect(entry?.tls?.clientCertificate).toEqual({
      chain: new X509Certificate(client.cert).toString(),
      key: 'team-a/openai/tls:key',
    });
    const credential = result.table.credentials.find(({ id }) => id === 'team-a/openai/tls:key');
    expect(credential).toMatchObject({ value: client.key.trimEnd(), hosts: ['models.example:8443'] });
    const { credentials: _, ...rest } = result.table;
    expect(JSON.stringify([rest, result.verdicts])).not.toContain('PRIVATE KEY');
  });

  test.each<[string, Partial<SecretRecord> | undefined, string, RegExp]>([
    [
      'in a Secret that does not exist',
      undefined,
      'SecretNotFound',
      /clientCertificateRef names Secret client-tls/,
    ],
    ['that is not shared', { labels: {} }, 'SecretNotOptedIn', /label secret client-tls/],
    ['of another type', { type: 'Opaque' }, 'SecretTypeNotAllowed', /the type kubernetes.io\/tls is used/],
    [
      'bound to another host',
      { annotations: bound('other.example') },
      'HostNotAllowed',
      /models.example:8443/,
    ],
    ['without a key', { data: { 'tls.crt': client.cert } }, 'KeyNotFound', /tls.key/],
    [
      'without a certificate',
      { data: { 'tls.key': client.key } },
      'InvalidCertificate',
      /no PEM certificate/,
    ],
    [
      'with another key',
      { data: { 'tls.crt': client.cert, 'tls.key': ca.key } },
      'InvalidCertificate',
      /does not match the key/,
    ],
    [
      'with an invalid key',
      { data: { 'tls.crt': client.cert, 'tls.key': 'no-key-at-all' } },
      'InvalidCertificate',
      /the key under tls.key cannot be read/,
    ],
    [
      'that is expired',
      (() => {
        const old = certificate({ name: 'old', issuer: ca, ...expired });
        return { data: { 'tls.crt': old.cert, 'tls.key': old.key } };
      })(),
      'InvalidCertificate',
      /expired at/,
    ],
  ])('%s keeps the Provider out of service', (_, fields, reason, message) => {
    const secrets = fields === undefined ? [] : [clientSecret(fields)];
    const judged = judge({ spec: clientRef, secrets });
    expect([judged.reason, judged.message]).toEqual([reason, expect.stringMatching(message)]);
    expect(judged.entry).toBeUndefined();
    expect(JSON.stringify(judged.result.verdicts)).not.toMatch(/PRIVATE KEY|no-key-at-all/);
  });
});

describe('other TLS settings', () => {
  test('are in the entry if they are set', () => {
    const tls = { serverName: 'api.internal', minVersion: 'TLS13', insecureSkipVerify: true };
    expect(judge({ spec: { tls } }).entry?.tls).toEqual({
      serverName: 'api.internal',
      minVersion: 'TLSv1.3',
      insecureSkipVerify: true,
    });
    expect(judge({ spec: { tls: { minVersion: 'TLS12' } } }).entry?.tls).toEqual({});
  });

  test('without verification: accepted, served, and shown as degraded', () => {
    const { result, entry, status } = judge({ spec: { tls: { insecureSkipVerify: true } } });
    expect([status, entry === undefined]).toEqual(['True', false]);
    const of = (type: 'Accepted' | 'Degraded') => condition(result, 'Provider', 'team-a/openai', type);
    expect(of('Accepted').status).toBe('True');
    expect(of('Degraded')).toMatchObject({
      status: 'True',
      reason: 'CertificateNotVerified',
      message: expect.stringContaining('spec.tls.caRef'),
    });
  });

  test('on plain http are refused, since they would have no effect', () => {
    const result = compileOnce(
      worldOf({ spec: { baseURL: 'http://models.example/v1', tls: {} }, hosts: ['http://models.example'] }),
    );
    const { reason, message } = condition(result, 'Provider', 'team-a/openai', 'Accepted');
    expect([reason, message]).toEqual(['Invalid', expect.stringContaining('spec.tls has no effect')]);
  });
});

describe('the proxy', () => {
  test('is in the entry, its credentials among the others, bound to it', () => {
    const { entry, result } = judge({ spec: proxyOf(), secrets: [proxySecret()] });
    expect(entry?.proxy).toEqual({
      protocol: 'http',
      hostname: 'proxy.example',
      port: 3128,
      username: 'team-a/openai/proxy:username',
      password: 'team-a/openai/proxy:password',
    });
    const ofProxy = result.table.credentials.filter(({ id }) => id.includes('/proxy:'));
    expect(ofProxy.map(({ value, hosts }) => [value, hosts])).toEqual([
      ['pass-w0rd', ['proxy.example:3128']],
      ['team', ['proxy.example:3128']],
    ]);
    const { credentials: _, ...rest } = result.table;
    expect(JSON.stringify([rest, result.verdicts])).not.toContain('w0rd');
  });

  test.each([
    ['http://Proxy.Example', 'http', 'proxy.example', 80],
    ['https://proxy.example', 'https', 'proxy.example', 443],
    ['https://proxy.example:80', 'https', 'proxy.example', 80],
    ['socks5://Proxy.Example', 'socks5', 'proxy.example', 1080],
    ['socks5://proxy.example:80', 'socks5', 'proxy.example', 80],
    ['socks5://[2606:4700:0::1]:1080', 'socks5', '[2606:4700::1]', 1080],
  ])('%s is read with its default port', (url, protocol, hostname, port) => {
    expect(judge({ spec: { proxy: { url } } }).entry?.proxy).toEqual({ protocol, hostname, port });
  });

  test.each([
    ['http://proxy.example', 'http://proxy.example', true],
    ['http://proxy.example', 'http://proxy.example:80', true],
    ['http://proxy.example', 'proxy.example', false],
    ['http://proxy.example', 'proxy.example:80', false],
    ['https://proxy.example', 'proxy.example', true],
    ['https://proxy.example:3128', 'proxy.example:3128', true],
    ['socks5://proxy.example:1080', 'socks5://PROXY.example', true],
    ['socks5://proxy.example', 'socks5://proxy.example:1080', true],
    ['socks5://proxy.example', 'socks5://proxy.example:80', false],
    ['socks5://proxy.example', 'proxy.example:1080', false],
    ['http://proxy.example:3128', 'http://proxy.example', false],
    ['http://proxy.example:3128', 'proxy.example:3128', false],
    ['http://proxy.example:3128', '*', false],
  ])('%s with credentials bound to %s: %s', (url, host, isAllowed) => {
    const secrets = [proxySecret({ annotations: bound(host) })];
    const { reason } = judge({ spec: proxyOf({ url }), secrets });
    expect(reason).toBe(isAllowed ? 'ResolvedRefs' : 'HostNotAllowed');
  });

  test.each<[string, Partial<SecretRecord> | undefined, string, RegExp]>([
    ['that do not exist', undefined, 'SecretNotFound', /spec.proxy.credentialsRef names Secret proxy-auth/],
    ['that are not shared', { labels: {} }, 'SecretNotOptedIn', /label secret proxy-auth/],
    [
      'of another type',
      { type: 'kubernetes.io/ssh-auth' },
      'SecretTypeNotAllowed',
      /kubernetes.io\/basic-auth/,
    ],
    ['bound to no host', { annotations: {} }, 'HostNotAllowed', /proxy.example:3128/],
    ['without a password', { data: { username: 'team' } }, 'KeyNotFound', /password/],
    [
      'with a colon in the user name',
      { data: { username: 'te:am', password: 'x' } },
      'SecretValueInvalid',
      /without a colon/,
    ],
    [
      'with a line break in the password',
      { data: { username: 'team', password: 'pass\r\nw0rd' } },
      'SecretValueInvalid',
      /value of password/,
    ],
    [
      'that are too long for SOCKS',
      { data: { username: 'team', password: 'w0rd'.repeat(64) } },
      'SecretValueInvalid',
      /255/,
    ],
  ])('credentials %s keep the Provider out of service', (_, fields, reason, message) => {
    const secrets = fields === undefined ? [] : [proxySecret(fields)];
    const judged = judge({ spec: proxyOf(), secrets });
    expect([judged.reason, judged.message]).toEqual([reason, expect.stringMatching(message)]);
    expect(judged.entry).toBeUndefined();
    expect(JSON.stringify(judged.result.verdicts)).not.toMatch(/w0rd/);
  });

  test('at a closed address is refused, and opened by the platform like any other', () => {
    const parts = { spec: { proxy: { url: 'http://10.1.2.3:3128' } } };
    expect(judge(parts)).toMatchObject({
      reason: 'EndpointNotAllowed',
      message: expect.stringContaining('spec.proxy.url http://10.1.2.3:3128: 10.1.2.3 is a private address'),
    });
    const egressAllow = [{ cidr: '10.1.2.0/24', namespaces: ['team-a'] }];
    expect(judge({ ...parts, egressAllow }).status).toBe('True');
  });
});

describe('a key that the proxy could read', () => {
  const proxy = { url: 'http://proxy.example:3128' };
  const configMaps = [caMap];
  test.each<[string, object, Partial<Parts>]>([
    ['plain http', { baseURL: 'http://models.example:8443/v1' }, { hosts: ['http://models.example:8443'] }],
    ['an authority of the Provider', caRef(), { configMaps }],
    ['a name of the Provider', { tls: { serverName: 'proxy.example' } }, {}],
    ['verification switched off', { tls: { insecureSkipVerify: true } }, {}],
  ])('by %s must be bound to the proxy too', (_, spec, parts) => {
    const refused = judge({ spec: { ...spec, proxy }, ...parts });
    expect([refused.reason, refused.message]).toEqual([
      'HostNotAllowed',
      expect.stringMatching(
        /does not list http:..proxy.example:3128, the proxy, which .*allowed-hosts=.*'http:..proxy.example:3128'/,
      ),
    ]);
    const hosts = [...(parts.hosts ?? ['models.example:8443']), 'http://proxy.example:3128'];
    expect(judge({ spec: { ...spec, proxy }, ...parts, hosts }).status).toBe('True');
  });

  test('by nothing, with public authorities: the binding to the upstream is enough', () => {
    expect(judge({ spec: { proxy, tls: { minVersion: 'TLS13' } } }).status).toBe('True');
  });

  test('counts for headers from Secrets as well', () => {
    const headers = [{ name: 'x-team', valueFrom: { secretKeyRef: { name: 'openai', key: 'key' } } }];
    const spec = { auth: { type: 'None' }, headers, tls: { insecureSkipVerify: true }, proxy };
    expect(judge({ spec }).reason).toBe('HostNotAllowed');
  });
});
