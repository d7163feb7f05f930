// Providers that a tenant might write to use the platform's identity or to reach metadata, and what must hold of each table made of them.

import { BlockList, isIP } from 'node:net';
import fc from 'fast-check';
import { expect } from 'vitest';
import { metadataAddresses } from '../../../core/egress/address-ranges.ts';
import type { CloudIdentityRight, RawObject } from '../../../operator/watch/snapshot.ts';
import { PLATFORM, provider, secret, snapshot } from '../make.ts';
import { compileOnce } from './support.ts';

const TENANT = 'team-a';
const PROVIDERS_AT_ONCE = 50;

const roles = {
  AWS: ['arn:aws:iam::123456789012:role/models', 'arn:aws:iam::123456789012:role/models-admin'],
  GCP: ['models@my-project.iam.gserviceaccount.com', 'owner@my-project.iam.gserviceaccount.com'],
  Azure: ['66666666-7777-8888-9999-000000000000', '66666666-7777-8888-9999-000000000001'],
};
type Cloud = keyof typeof roles;
const clouds = ['AWS', 'GCP', 'Azure'] as const;

/** What the platform itself would write: here by hand, so that no pattern of the product is its own judge. */
const cloudHosts: Readonly<Record<Cloud, readonly string[]>> = {
  AWS: ['bedrock-runtime.us-east-1.amazonaws.com', 'bedrock-mantle.us-east-1.api.aws'],
  GCP: [
    'aiplatform.googleapis.com',
    'europe-west4-aiplatform.googleapis.com',
    'generativelanguage.googleapis.com',
  ],
  Azure: ['acme.openai.azure.com', 'acme.services.ai.azure.com'],
};
const otherHosts = [
  'evil.example',
  'bedrock-runtime.us-east-1.amazonaws.com.evil.example',
  'evil-aiplatform.googleapis.com.example',
  'acme-openai.azure.com',
  'evil.s3.amazonaws.com',
  'sts.amazonaws.com',
  'metadata.google.internal',
  'metadata',
  'localhost',
  '127.0.0.1',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '169.254.43518',
  '[fd00:ec2::23]',
  '[fd00:ec2::254]',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
];

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const anyCloud = fc.constantFrom(...clouds);
const anyRole = fc.constantFrom(...Object.values(roles).flat());
const scheme = fc.constantFrom('https', 'https', 'https', 'http');
const host = fc.oneof(fc.constantFrom(...Object.values(cloudHosts).flat()), fc.constantFrom(...otherHosts));
const path = fc.constantFrom('', '/v1', '/latest/meta-data', '/v1/credentials', '/computeMetadata/v1');
const url = fc
  .tuple(scheme, host, fc.constantFrom('', '', '', ':80', ':443'), path)
  .map(([by, at, port, to]) => `${by}://${at}${port}${to}`);
const options = fc.dictionary(
  fc.constantFrom(
    'region',
    'project',
    'identity',
    'roleArn',
    'impersonate',
    'tenantId',
    'apiVersion',
    '__proto__',
  ),
  fc.constantFrom('us-east-1', 'my-project', 'preview', ...clouds, ...Object.values(roles).flat()),
  { maxKeys: 3 },
);

/** Often of one cloud throughout, or most would be refused for something else. */
const anySpec = fc
  .record({
    cloud: anyCloud,
    isPlain: fc.boolean(),
    type: fc.constantFrom('OpenAI', 'OpenAICompatible', 'Bedrock', 'VertexAI', 'AzureOpenAI', 'Gemini'),
    authType: fc.constantFrom('ApiKey', 'None', ...clouds),
    hasKeys: fc.boolean(),
    role: some(anyRole),
    member: fc.constantFrom('aws', 'gcp', 'azure'),
    baseURL: some(url),
    options: some(options),
    proxy: some(url.map((text) => ({ url: text.replace(/^(\w+:\/\/[^/]+).*/, '$1') }))),
    tls: fc.option(
      fc.constantFrom({ insecureSkipVerify: true }, { serverName: 'acme.openai.azure.com' }, {}),
      {
        freq: 2,
        nil: undefined,
      },
    ),
    more: fc.constantFrom({}, {}, {}, { identity: 'AWS' }, { settings: { identity: 'AWS' } }),
  })
  .map(({ cloud, isPlain, ...any }): Readonly<Record<string, unknown>> => {
    const keys = [{ name: 'main', secretRef: { name: 'own', key: 'key' } }];
    if (isPlain) {
      const { proxy, tls } = any;
      const field = { AWS: 'roleARN', GCP: 'serviceAccount', Azure: 'clientID' }[cloud];
      const role = roles[cloud].find((one) => one === any.role);
      return {
        type: { AWS: 'Bedrock', GCP: 'VertexAI', Azure: 'AzureOpenAI' }[cloud],
        baseURL: any.baseURL ?? `https://${cloudHosts[cloud][0]}`,
        ...(cloud === 'GCP' ? { options: { project: 'my-project' } } : {}),
        ...(cloud === 'AWS' ? { options: { region: 'us-east-1' } } : {}),
        auth: { type: cloud, ...(role === undefined ? {} : { [cloud.toLowerCase()]: { [field]: role } }) },
        ...(proxy === undefined ? {} : { proxy }),
        ...(tls === undefined ? {} : { tls }),
      };
    }
    const { type, authType, hasKeys, role, member, more } = any;
    const field = { aws: 'roleARN', gcp: 'serviceAccount', azure: 'clientID' }[member];
    const auth = {
      type: authType,
      ...(hasKeys ? { keys } : {}),
      ...(role === undefined ? {} : { [member]: { [field]: role } }),
    };
    const rest = { baseURL: any.baseURL, options: any.options, proxy: any.proxy, tls: any.tls };
    const set = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
    return {
      type,
      auth,
      ...(type === 'OpenAICompatible' ? { apis: ['ChatCompletions'] } : {}),
      ...set,
      ...more,
    };
  });

const anyRights = fc.array(
  fc.record({ type: anyCloud, roles: some(fc.array(anyRole, { minLength: 1, maxLength: 2 })) }).map(
    ({ type, roles: through }): CloudIdentityRight => ({
      type,
      namespaces: [TENANT],
      ...(through === undefined ? {} : { roles: through }),
    }),
  ),
  { maxLength: 3 },
);

interface Counts {
  judged: number;
  byIdentity: number;
  refused: number;
}

/** @param tables Each of fifty Providers. */
export function judgeTenants(tables: number): Counts {
  const counts: Counts = { judged: 0, byIdentity: 0, refused: 0 };
  const specs = fc.array(anySpec, { minLength: PROVIDERS_AT_ONCE, maxLength: PROVIDERS_AT_ONCE });
  fc.assert(
    fc.property(specs, anyRights, (list, rights) => {
      const providers = list.map((spec, at) => provider(spec, { namespace: TENANT, name: `p-${at}` }));
      judgeTable(providers, rights, counts);
    }),
    { numRuns: tables, endOnFailure: true },
  );
  return counts;
}

function judgeTable(
  providers: readonly RawObject[],
  rights: readonly CloudIdentityRight[],
  counts: Counts,
): void {
  const secrets = [
    secret({ namespace: TENANT, name: 'own', annotations: { 'penstock.dev/allowed-hosts': 'evil.example' } }),
    secret({ namespace: 'platform', name: 'own', data: { key: 'sk-platform' } }),
  ];
  const platform = { ...PLATFORM, cloudIdentities: rights };
  const { table, verdicts } = compileOnce({ ...snapshot({ providers, secrets }), platform });
  counts.judged += providers.length;
  counts.refused += verdicts.filter(({ conditions }) =>
    conditions.some(({ reason }) => reason === 'IdentityNotAllowed'),
  ).length;
  expect(JSON.stringify(table)).not.toContain('sk-platform');
  for (const { baseUrl, proxy, tls, settings = {}, keys } of table.providers) {
    const { hostname, protocol } = new URL(baseUrl);
    for (const at of [hostname, proxy?.hostname ?? 'proxy.example']) expect(isMetadata(at)).toBe(false);
    const cloud = clouds.find((name) => name === settings.identity);
    expect(settings.identity).toBe(cloud);
    if (cloud === undefined) continue;
    counts.byIdentity += 1;
    expect(keys).toEqual([]);
    const role = { AWS: settings.roleArn, GCP: settings.impersonate, Azure: settings.clientId }[cloud];
    const isGranted = rights.some(
      ({ type, roles: through }) =>
        type === cloud && (through === undefined || through.some((one) => one === role)),
    );
    expect(isGranted).toBe(true);
    expect([protocol, cloudHosts[cloud].includes(hostname)]).toEqual(['https:', true]);
    // A proxy may carry it, and not read it.
    expect([tls?.insecureSkipVerify, tls?.serverName, tls?.ca]).toEqual([undefined, undefined, undefined]);
  }
}

const linkLocal = new BlockList();
linkLocal.addSubnet('169.254.0.0', 16, 'ipv4');
linkLocal.addSubnet('127.0.0.0', 8, 'ipv4');
linkLocal.addSubnet('fe80::', 10, 'ipv6');
for (const address of metadataAddresses) linkLocal.addAddress(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Of a host as a URL has it, or a proxy. */
function isMetadata(at: string): boolean {
  const address = at.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  if (family === 0) return ['metadata', 'metadata.google.internal', 'localhost'].includes(address);
  return linkLocal.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
