// Do the network policies of the chart let through what its processes need, and nothing that nobody may reach?

import { readFile } from 'node:fs/promises';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { metadataAddresses, unopenableRanges } from '../../core/egress/address-ranges.ts';
import { authorityOf } from '../../gateway/upstream/identity/entra/defaults.ts';
import { readSettings as readOperatorSettings } from '../../operator/settings.ts';
import { CHART, deploymentOf, type Rendered, render, useHelm, type Values } from './helm.ts';
import { MANAGED_IDENTITIES, OPENED, TOKEN_IDENTITIES } from './value-sets.ts';

const PARTS = ['gateway', 'operator'] as const;

const plane = useHelm();

test('the operator knows which ranges the NetworkPolicies open, or that there are no policies', async () => {
  const rangesIn = async (values: Values) =>
    readOperatorSettings(deploymentOf(await render(plane(), values), 'penstock-operator').env)
      .networkPolicyRanges;
  const extraEgress = [{ to: [{ ipBlock: { cidr: '10.30.0.0/16' } }, { podSelector: {} }] }, { ports: [] }];
  const egress = { allow: [{ cidr: '10.20.0.0/16', namespaces: ['team-a'] }] };
  expect(await rangesIn({})).toEqual([]);
  expect(await rangesIn({ egress, networkPolicy: { extraEgress } })).toEqual([
    '10.20.0.0/16',
    '10.30.0.0/16',
  ]);
  expect(await rangesIn({ egress, networkPolicy: { enabled: false } })).toBeUndefined();
});

test('on Cilium the API server is an entity, since no range contains it, and upstreams can be names', async () => {
  const of = async (networkPolicy: object, more: Values = {}) => {
    const objects = await render(plane(), {
      networkPolicy: { flavor: 'Cilium', ...networkPolicy },
      ...more,
    });
    const specSchema = z.looseObject({ podSelector: z.unknown().optional(), egress: z.unknown() });
    const specOf = (kind: string, name: string) =>
      specSchema.parse(objects.find((object) => object.kind === kind && object.metadata.name === name)?.spec);
    return { specOf, cilium: objects.filter(({ kind }) => kind === 'CiliumNetworkPolicy') };
  };
  const ports = (...all: readonly string[]) => [{ ports: all.map((port) => ({ protocol: 'TCP', port })) }];
  const { specOf, cilium } = await of({});
  expect(cilium.map(({ metadata }) => metadata.name)).toEqual(['penstock-gateway', 'penstock-operator']);
  for (const name of ['penstock-gateway', 'penstock-operator']) {
    expect(specOf('CiliumNetworkPolicy', name)).toMatchObject({
      endpointSelector: specOf('NetworkPolicy', name).podSelector,
      egress: [
        { toPorts: [{ ports: [{ protocol: 'ANY', port: '53' }] }] },
        { toEntities: ['kube-apiserver'], toPorts: ports('443', '6443') },
        { toCIDRSet: [{ cidr: '0.0.0.0/0' }, { cidr: '::/0' }], toPorts: ports('443') },
      ],
    });
    // The rules add up: what a NetworkPolicy opens, no other closes.
    expect(JSON.stringify(specOf('NetworkPolicy', name).egress)).not.toContain('0.0.0.0/0');
  }
  const named = await of(
    { upstreamNames: ['api.openai.com', '*.openai.azure.com'] },
    { egress: { allow: [{ cidr: '10.0.0.0/8', namespaces: ['*'] }] } },
  );
  expect(named.specOf('CiliumNetworkPolicy', 'penstock-gateway').egress).toEqual([
    expect.objectContaining({
      toPorts: [expect.objectContaining({ rules: { dns: [{ matchPattern: '*' }] } })],
    }),
    expect.objectContaining({ toEntities: ['kube-apiserver'] }),
    {
      toFQDNs: [{ matchName: 'api.openai.com' }, { matchPattern: '*.openai.azure.com' }],
      toPorts: ports('443'),
    },
    { toEntities: ['cluster'] },
  ]);
});

test('every operator and gateway reaches its servers, and its clients reach it', async () => {
  const values = { egress: { allow: [{ cidr: '10.20.0.0/16', namespaces: ['*'] }] } };
  const policies = (await render(plane(), values)).filter(({ kind }) => kind === 'NetworkPolicy');
  const of = (part: string) => policies.find(({ metadata }) => metadata.name === `penstock-${part}`)?.spec;
  const component = (name: string) => ({
    podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': name }) },
  });
  const internal = ['internal', 'internal-tls'].map((port) => ({ protocol: 'TCP', port }));
  const ledger = ['http', 'https'].map((port) => ({ protocol: 'TCP', port }));
  const metrics = { ports: [{ protocol: 'TCP', port: 'metrics' }], from: [expect.anything()] };
  const dns = {
    ports: [
      { protocol: 'UDP', port: 53 },
      { protocol: 'TCP', port: 53 },
    ],
  };
  const world = {
    ports: [
      { protocol: 'TCP', port: 443 },
      { protocol: 'TCP', port: 6443 },
    ],
    to: [
      { ipBlock: { cidr: '0.0.0.0/0', except: expect.arrayContaining(['169.254.0.0/16']) } },
      { ipBlock: { cidr: '::/0', except: expect.arrayContaining(['fe80::/10']) } },
    ],
  };
  const opened = { to: [{ ipBlock: { cidr: '10.20.0.0/16' } }] };
  expect(of('gateway')).toMatchObject({
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      { ports: [{ port: 'http' }] },
      metrics,
      { ports: metrics.ports, from: [component('test')] },
      { ports: internal, from: [component('operator'), component('ledger')] },
    ],
    egress: [dns, world, opened, { ports: ledger, to: [component('ledger')] }],
  });
  expect(of('operator')).toMatchObject({
    policyTypes: ['Ingress', 'Egress'],
    ingress: [metrics],
    egress: [
      dns,
      world,
      opened,
      { ports: internal, to: [component('gateway')] },
      { ports: ledger, to: [component('ledger')] },
    ],
  });
  expect(of('ledger')).toMatchObject({
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ ports: ledger, from: [component('operator'), component('gateway')] }, metrics],
    egress: [dns, { ports: world.ports }, { ports: internal, to: [component('gateway')] }],
  });
  expect(of('test')).toMatchObject({
    policyTypes: ['Ingress', 'Egress'],
    ingress: [],
    egress: [
      dns,
      { ports: [{ port: 'http' }, { port: 'metrics' }], to: [component('gateway')] },
      { ports: world.ports },
    ],
  });
});

test.each([
  ['nothing', []],
  ['a range of each family', OPENED.egress.allow.map(({ cidr }) => cidr)],
  ['all of it', ['0.0.0.0/0', '::/0']],
  ['the neighbourhood of one', ['169.254.0.0/16', '169.254.169.252/30', '168.63.129.0/24', '100.64.0.0/10']],
  [
    'the same in IPv6',
    ['fd00:ec2::/32', 'fd00:ec2::250/123', 'FE80:0:0::/10', 'fd20:ce::/127', 'fd00:42::40/126'],
  ],
])('no metadata service of a cloud is reachable, with %s opened', async (_, cidrs) => {
  const allow = cidrs.map((cidr) => ({ cidr, namespaces: ['*'] }));
  const objects = await render(plane(), { egress: { allow } });
  for (const part of PARTS) {
    const blocks = ipBlocksOf(objects, `penstock-${part}`);
    expect(blocks.map(({ cidr }) => cidr)).toEqual(['0.0.0.0/0', '::/0', ...cidrs]);
    const reachable = blocks.flatMap(({ cidr, except = [] }) =>
      metadataAddresses.filter(
        (address) => isIn(address, cidr) && !except.some((range) => isIn(address, range)),
      ),
    );
    expect(reachable).toEqual([]);
    // The API server refuses what lies elsewhere, or is as wide.
    for (const { cidr, except = [] } of blocks) {
      const [, bits] = cidr.split('/');
      const wrong = except.filter((range) => {
        const [address = '', inner] = range.split('/');
        return !isIn(address, cidr) || Number(inner) <= Number(bits);
      });
      expect(wrong).toEqual([]);
    }
  }
});

test('identity services on the node are open to gateways that use one, by their port alone', async () => {
  const ways = async (values: Values) => {
    const objects = await render(plane(), values);
    return PARTS.map((part) => {
      const policy = objects.find(
        ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === `penstock-${part}`,
      );
      const { egress } = z.object({ egress: z.array(z.record(z.string(), z.unknown())) }).parse(policy?.spec);
      return egress.filter((rule) => /"cidr":"(169\.254|fd00:ec2::23)/.test(JSON.stringify(rule)));
    });
  };
  const to = (port: number, ...cidrs: readonly string[]) => ({
    ports: [{ protocol: 'TCP', port }],
    to: cidrs.map((cidr) => ({ ipBlock: { cidr } })),
  });
  expect(await ways({ gateway: { cloudIdentity: MANAGED_IDENTITIES } })).toEqual([
    [
      to(80, '169.254.170.23/32', 'fd00:ec2::23/128'),
      to(80, '169.254.169.254/32'),
      to(988, '169.254.169.252/32'),
    ],
    [],
  ]);
  expect(await ways({ gateway: { cloudIdentity: TOKEN_IDENTITIES } })).toEqual([[], []]);
});

/** Names that Cilium opens to gateways, and to the operator. */
async function namesFor(cloudIdentity: object): Promise<string[][]> {
  const objects = await render(plane(), {
    networkPolicy: { flavor: 'Cilium', upstreamNames: ['api.openai.com'] },
    gateway: { cloudIdentity },
  });
  return PARTS.map((part) => {
    const policy = objects.find(
      ({ kind, metadata }) => kind === 'CiliumNetworkPolicy' && metadata.name === `penstock-${part}`,
    );
    const found = [...JSON.stringify(policy?.spec).matchAll(/"match(?:Name|Pattern)":"([^"*]*\*?[^"*]+)"/g)];
    return found.flatMap(([, name]) => name ?? []);
  });
}

test('the names of token services are open to gateways if Cilium opens names alone', async () => {
  expect(await namesFor(TOKEN_IDENTITIES)).toEqual([
    [
      'api.openai.com',
      'sts.*.amazonaws.com',
      'sts.googleapis.com',
      'iamcredentials.googleapis.com',
      'login.microsoftonline.com',
      'login.microsoftonline.us',
      'login.chinacloudapi.cn',
    ],
    ['api.openai.com'],
  ]);
  const authorityHost = 'https://login.example.com/';
  const [ofGateway] = await namesFor({ azure: { ...TOKEN_IDENTITIES.azure, authorityHost } });
  const authorities = ['com', 'us', 'cn'].map((cloud) =>
    authorityOf(`models.openai.azure.${cloud}`, undefined),
  );
  const hosts = [authorityHost, ...authorities].map((address) => new URL(address).host);
  expect(ofGateway).toEqual(['api.openai.com', ...hosts]);
});

test.each([
  ['amazonaws.com', 'aws', 'eu-central-1'],
  ['amazonaws.com', 'aws-us-gov', 'us-gov-west-1'],
  ['amazonaws.com.cn', 'aws-cn', 'cn-north-1'],
  ['amazonaws.eu', 'aws-eusc', 'eusc-de-east-1'],
  ['c2s.ic.gov', 'aws-iso', 'us-iso-east-1'],
  ['sc2s.sgov.gov', 'aws-iso-b', 'us-isob-east-1'],
  ['csp.hci.ic.gov', 'aws-iso-f', 'us-isof-south-1'],
  ['cloud.adc-e.uk', 'aws-iso-e', 'eu-isoe-west-1'],
])(
  'the token services of AWS at %s are those of the partition %s and the region %s',
  async (suffix, partition, region) => {
    const roleARN = `arn:${partition}:iam::123456789012:role/penstock`;
    const names = [['api.openai.com', `sts.*.${suffix}`], ['api.openai.com']];
    expect(await namesFor({ aws: { source: 'IRSA', roleARN } })).toEqual(names);
    expect(await namesFor({ aws: { source: 'PodIdentity', region } })).toEqual(names);
  },
);

test('the chart and the gateway have the same list of addresses that are always refused', async () => {
  const text = await readFile(join(CHART, 'templates/_helpers.tpl'), 'utf8');
  const known = (name: string) => [
    ...(text.split(`define "penstock.${name}"`)[1]?.split('- end -')[0] ?? '').matchAll(
      /"([0-9a-f:.]+(\/\d+)?)"/g,
    ),
  ];
  expect(known('metadataCidrs').map(([, address]) => address)).toEqual(metadataAddresses);
  expect(known('unopenableCidrs').map(([, cidr]) => cidr)).toEqual(unopenableRanges.map(({ cidr }) => cidr));
});

test('an opened range is complete, without its metadata services', async () => {
  const objects = await render(plane(), OPENED);
  expect(ipBlocksOf(objects, 'penstock-gateway').slice(2)).toEqual([
    { cidr: '10.20.0.0/16' },
    {
      cidr: 'fd00::/8',
      except: metadataAddresses
        .filter((address) => address.startsWith('fd'))
        .map((address) => `${address}/128`),
    },
  ]);
});

const policySchema = z.object({
  spec: z.object({
    egress: z.array(
      z.object({
        to: z
          .array(
            z.object({
              ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()).optional() }).optional(),
            }),
          )
          .optional(),
      }),
    ),
  }),
});

/** Where the policy of this name lets pods connect to. */
function ipBlocksOf(
  objects: readonly Rendered[],
  name: string,
): { cidr: string; except?: string[] | undefined }[] {
  const policy = objects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name);
  const { egress } = policySchema.parse(policy).spec;
  return egress.flatMap(({ to = [] }) =>
    to.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [ipBlock])),
  );
}

function isIn(address: string, cidr: string): boolean {
  const [network = '', bits] = cidr.split('/');
  const family = (text: string) => (text.includes(':') ? 'ipv6' : 'ipv4');
  // A list takes IPv4 for a part of ::/0.
  if (family(address) !== family(network)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family(network));
  return list.check(address, family(address));
}
