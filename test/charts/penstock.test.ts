// Does the chart render what Kubernetes takes, and give its processes what they read?

import { cp, lstat, mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { limitMembers } from '../../core/catalog/limits.ts';
import { INSTANCE_LABEL } from '../../core/contract/manifest.ts';
import { parseAddressRules } from '../../core/egress/address-rules.ts';
import { readSettings as readGatewaySettings } from '../../gateway/process/settings.ts';
import { readSettings as readLedgerSettings } from '../../ledger/settings.ts';
import { applyPolicies } from '../../operator/compile/apply-policies.ts';
import { createPolicyJudge } from '../../operator/compile/judge-policies.ts';
import { readPolicies } from '../../operator/read-policies.ts';
import { readSettings as readOperatorSettings } from '../../operator/settings.ts';
import type { PlatformSettings } from '../../operator/watch/snapshot.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { podFlags, podMemoryMib } from '../../tools/bench/targets/pod-flags.ts';
import { image } from '../../tools/pack/contents.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { oldestApiServer } from '../cluster/nodes/programs.ts';
import { compileOnce } from '../operator/compile/support.ts';
import { snapshotOf } from '../operator/make.ts';
import { buildWaitMs } from '../support/go-build.ts';
import { goTool } from '../support/go-tool.ts';
import {
  CHART,
  CRDS_CHART,
  deploymentOf,
  helm,
  RELEASE_NAMESPACE,
  type Rendered,
  render,
  type Values,
} from './helm.ts';
import { demoObjects, podsOf, policyObjects } from './parts.ts';
import { judgeBySchemas, kubeconform, quickstart, writeSchemas } from './schemas.ts';
import { DIGEST, ONLY_TENANTS, OPENED, TENANTS, VALUE_SETS } from './value-sets.ts';

/** What the operator takes for the platform's word before there is any TenantPolicy. */
async function platformIn(objects: readonly Rendered[]): Promise<PlatformSettings> {
  const { platform } = readOperatorSettings(deploymentOf(objects, 'penstock-operator').env);
  await using folder = await mkdtempDisposable(join(tmpdir(), 'penstock-charts-'));
  const file = join(folder.path, 'objects.json');
  await writeFile(file, JSON.stringify(policyObjects(objects)));
  const judged = createPolicyJudge(platform)(await readPolicies(file));
  return applyPolicies(
    platform,
    judged.flatMap(({ spec }) => spec ?? []),
    [],
  );
}

const ROOT = join(CHART, '../..');
const PARTS = ['gateway', 'operator'] as const;

const plane = useControlPlane({ hasControllers: false });

/** What each set of values renders, by its name. */
const renderedBy = new Map<string, Rendered[]>();
/** Every object that any of them renders, once. */
let everything: Rendered[];

/** Of kinds that other projects bring: taken here as they are, judged by their own schemas in `npm run e2e`. */
const FOREIGN_KINDS = {
  'autoscaling.k8s.io/v1': ['VerticalPodAutoscaler'],
  'cilium.io/v2': ['CiliumNetworkPolicy'],
  'monitoring.coreos.com/v1': ['PodMonitor', 'ServiceMonitor', 'PrometheusRule'],
  'keda.sh/v1alpha1': ['ScaledObject'],
  'gateway.networking.k8s.io/v1': ['HTTPRoute'],
};

beforeAll(async () => {
  const names = [
    RELEASE_NAMESPACE,
    'penstock-tables',
    'own-tables',
    'penstock-demo',
    'playground',
    ...TENANTS,
  ];
  const restricted = {
    'pod-security.kubernetes.io/enforce': 'restricted',
    'pod-security.kubernetes.io/warn': 'restricted',
  };
  const namespaces = [...names.map((name) => ({ name })), { name: 'restricted', labels: restricted }];
  await apply([
    ...namespaces.map((metadata) => ({ apiVersion: 'v1', kind: 'Namespace', metadata })),
    ...foreignCrds(),
    { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'gvisor' }, handler: 'runsc' },
  ]);
  await plane().mustKubectl(['wait', '--for=condition=Established', 'crd', '--all']);
  for (const [name, values] of VALUE_SETS) renderedBy.set(name, await render(plane(), values));
  const texts = [...renderedBy.values()].flat().map((object) => JSON.stringify(object));
  everything = [...new Set(texts)].map((text) => JSON.parse(text));
}, 120_000);

async function apply(objects: readonly object[], ...args: string[]): Promise<string> {
  const stdin = objects.map((object) => JSON.stringify(object)).join('\n---\n');
  const applied = await plane().kubectl(['apply', '--server-side', ...args, '-f', '-'], {
    stdin,
    timeoutMs: 120_000,
  });
  expect(applied).toMatchObject({ code: 0, stderr: '' });
  return applied.stdout;
}

function foreignCrds(): object[] {
  return Object.entries(FOREIGN_KINDS).flatMap(([apiVersion, kinds]) =>
    kinds.map((kind) => {
      const [group, version] = apiVersion.split('/');
      const plural = `${kind.toLowerCase()}s`;
      const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
      return {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: {
          name: `${plural}.${group}`,
          annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
        },
        spec: {
          group,
          scope: 'Namespaced',
          names: { kind, plural },
          versions: [{ name: version, served: true, storage: true, schema }],
        },
      };
    }),
  );
}

test('there are at least 15 sets of values', () => {
  expect(VALUE_SETS.length).toBeGreaterThanOrEqual(15);
});

/** With every set in `npm run e2e -- judges`: for each, Helm works longer than to render the set. */
const linted: readonly (readonly [string, Values])[] = [
  ['nothing said', {}],
  ['an address and opened ranges', OPENED],
];

test.each(linted)('helm lint --strict finds nothing, with %s', async (_, values) => {
  const { code, stdout } = await helm(plane(), ['lint', '--strict', CHART], values);
  expect([code, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
});

test('the API server takes every object of every set, without a warning', async () => {
  const said = await apply(everything, '--dry-run=server', '--validate=strict');
  expect(said.trim().split('\n')).toHaveLength(everything.length);
}, 150_000);

test(
  'kubeconform validates every object against the schemas of the API server and of our kinds',
  async () => {
    const program = await goTool(kubeconform);
    const folder = await writeSchemas(plane());
    const known = everything.filter(({ kind }) => !Object.values(FOREIGN_KINDS).flat().includes(kind));
    const objects = [...known, ...demoObjects(everything), ...(await quickstart())];
    const judged = await judgeBySchemas(program, folder, objects);
    expect(judged).toEqual({ valid: objects.length, faults: [] });
    // It can see a fault: one member that is no member.
    const [deployment] = known.filter(({ kind }) => kind === 'Deployment');
    const broken = await judgeBySchemas(program, folder, [{ ...deployment, spec: { replica: 2 } }]);
    expect(broken.valid).toBe(0);
  },
  buildWaitMs,
);

test('every pod meets the restricted standard', async () => {
  const pods = everything.flatMap(podsOf).map((spec, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${index}`, namespace: 'restricted' },
    spec,
  }));
  expect(pods.length).toBeGreaterThan(15);
  const said = await apply(pods, '--dry-run=server', '--validate=strict');
  expect(said.trim().split('\n')).toHaveLength(pods.length);
});

test.each(VALUE_SETS)('the processes can read their environment, with %s', (name) => {
  const objects = renderedBy.get(name) ?? [];
  const [gateway, operator] = PARTS.map((part) => deploymentOf(objects, `penstock-${part}`).environment);
  expect(readGatewaySettings(gateway)).toMatchObject({ port: 8080 });
  expect(readOperatorSettings(operator)).toMatchObject({ instance: 'penstock' });
  const { ledgerAddress } = readOperatorSettings(operator);
  expect(ledgerAddress).toBe(
    name === 'no ledger' ? undefined : `http://penstock-ledger.${RELEASE_NAMESPACE}.svc`,
  );
  if (name === 'no ledger') return;
  const ledger = deploymentOf(objects, 'penstock-ledger').environment;
  expect(readLedgerSettings(ledger)).toMatchObject({ instance: 'penstock', port: 8080, metricsPort: 9090 });
});

describe('the ledger', () => {
  const claim = (name: string) => renderedBy.get(name)?.find(({ kind }) => kind === 'PersistentVolumeClaim');
  const workload = (name: string) =>
    renderedBy
      .get(name)
      ?.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'penstock-ledger');
  const settings = (name: string) =>
    readLedgerSettings(deploymentOf(renderedBy.get(name) ?? [], 'penstock-ledger').environment);
  const volumes = (name: string) =>
    deploymentOf(renderedBy.get(name) ?? [], 'penstock-ledger').template.spec.volumes;
  const claimed = { name: 'data', persistentVolumeClaim: { claimName: 'data-penstock-ledger-0' } };
  const data = expect.objectContaining({ name: 'data' });

  test('is one pod with a volume of the default class by default', () => {
    expect(workload('nothing said')?.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
    expect(volumes('nothing said')).toContainEqual(claimed);
    expect(claim('nothing said')).toMatchObject({
      metadata: { name: 'data-penstock-ledger-0', annotations: { 'helm.sh/resource-policy': 'keep' } },
    });
    expect(claim('nothing said')?.spec).toEqual({
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '10Gi' } },
    });
    expect(settings('nothing said')).toMatchObject({
      store: { type: 'sqlite', path: '/var/lib/penstock/ledger.sqlite' },
      retentionDays: 90,
      events: undefined,
    });
  });

  test('has another class, or no volume but one that is deleted with the pod', () => {
    expect(claim('a ledger on a volume of another class')?.spec).toMatchObject({
      storageClassName: 'fast',
      resources: { requests: { storage: '1Ti' } },
    });
    expect(claim('a ledger without a volume')).toBeUndefined();
    expect(volumes('a ledger without a volume')).toContainEqual({ name: 'data', emptyDir: {} });
  });

  test('takes over the records of a file before it starts, and is backed up beside its volume', () => {
    const inPostgres = 'a ledger in Postgres with the records of a file';
    const { template } = deploymentOf(renderedBy.get(inPostgres) ?? [], 'penstock-ledger');
    // What it takes over is of one that has ended, on a volume that is on one node at a time.
    expect(workload(inPostgres)?.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
    expect(template.spec).toMatchObject({
      initContainers: [
        {
          command: ['node', 'dist/ledger.js', 'import', '--from', '/import/ledger.sqlite'],
          env: [expect.objectContaining({ name: 'PENSTOCK_LEDGER_URL' })],
        },
      ],
    });
    const backupOf = (name: string) => {
      const job = renderedBy.get(name)?.find(({ kind }) => kind === 'CronJob');
      return job === undefined ? undefined : podsOf(job)[0];
    };
    expect(backupOf('nothing said')).toBeUndefined();
    expect(backupOf('a ledger with backups')).toMatchObject({
      affinity: { podAffinity: expect.anything() },
      nodeSelector: { disk: 'ssd' },
      containers: [{ command: ['node', 'dist/ledger.js', 'backup', '--to', '/backups', '--keep', '7'] }],
      volumes: [{ persistentVolumeClaim: { claimName: 'backups' } }, claimed],
    });
    expect(backupOf(inPostgres)).not.toHaveProperty('affinity');
  });

  test('has no volume with Postgres, whose address comes from a Secret, as does the bearer for events', () => {
    const name = 'a ledger in Postgres that tells of every record';
    expect(claim(name)).toBeUndefined();
    expect(volumes(name)).not.toContainEqual(data);
    // Two, one after the other, and never none.
    expect(workload(name)?.spec).toMatchObject({
      replicas: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    const budget = renderedBy
      .get(name)
      ?.find(({ kind, metadata }) => kind === 'PodDisruptionBudget' && metadata.name === 'penstock-ledger');
    expect(budget).toMatchObject({ spec: { maxUnavailable: 1 } });
    expect(settings(name)).toMatchObject({
      store: { type: 'postgres' },
      events: { url: 'https://billing.example.com:8443/events', token: 'word' },
    });
    expect(JSON.stringify(renderedBy.get(name))).not.toContain('postgres://');
  });

  test.each([
    ['nothing said', []],
    ['a ledger in Postgres that tells of every record', [6432, 8443]],
    ['a ledger on a volume of another class', [80]],
  ] as const)('reaches the API server, the gateways, and its other peers, with %s', (name, more) => {
    const policy = renderedBy
      .get(name)
      ?.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'penstock-ledger');
    expect(policy?.spec).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      egress: [
        { ports: [{ port: 53 }, { port: 53 }] },
        { ports: [{ port: 443 }, { port: 6443 }] },
        { ports: [{ port: 'internal' }, { port: 'internal-tls' }], to: [expect.anything()] },
        ...more.map((port) => ({ ports: [{ protocol: 'TCP', port }] })),
      ],
    });
  });

  test('has no objects if it is disabled', () => {
    expect(
      JSON.stringify(renderedBy.get('no ledger')?.filter(({ kind }) => kind !== 'CustomResourceDefinition')),
    ).not.toContain('penstock-ledger');
  });
});

describe('a rendered chart', () => {
  test.each([
    { operator: { lastKnownGood: '168h' } },
    { operator: { lastKnownGood: '1h30m0.5s250ms' } },
    { gateway: { publicUrl: 'https://models.example.com:8443/v1' } },
    { gateway: { publicUrl: 'http://10.1.2.3/base/v1' } },
    { gateway: { publicUrl: 'http://[fd00::1]:8080/v1' } },
    { egress: { allow: [{ cidr: '0.0.0.0/0', namespaces: ['*'] }] } },
    {
      egress: {
        allow: ['::/0', 'fd00:1::/32', '1:2:3:4:5:6:7:8/128'].map((cidr) => ({ cidr, namespaces: ['*'] })),
      },
    },
  ])('the operator can start with %j', async (values) => {
    const { env } = deploymentOf(await render(plane(), values), 'penstock-operator');
    expect(() => readOperatorSettings(env)).not.toThrow();
  });

  test.each([
    ['256Mi', 256],
    ['2Gi', 2_048],
  ])('a gateway keeps %s of records, and is not evicted for them', async (journalSizeLimit, mebibytes) => {
    const values = mebibytes === 256 ? {} : { gateway: { journalSizeLimit } };
    const { template, environment } = deploymentOf(await render(plane(), values), 'penstock-gateway');
    expect(readGatewaySettings(environment).journalBytesMax).toBe(mebibytes * 2 ** 20);
    expect(template.spec.volumes).toContainEqual({
      name: 'journal',
      emptyDir: { sizeLimit: `${(mebibytes * 3) / 2}Mi` },
    });
  });

  test.each(['127.0.0.0/8', '::1/128', '0:0:0:0:0:0:0:1/128'])(
    'loopback can be opened, for a model server in the pod: %s',
    async (cidr) => {
      const allow = [{ cidr, namespaces: ['*'] }];
      const { egressAllow } = await platformIn(await render(plane(), { egress: { allow } }));
      expect(parseAddressRules(egressAllow).allow.map((opened) => opened.cidr)).toEqual([cidr]);
    },
  );

  test('has the settings of the values', async () => {
    const objects = await render(plane(), OPENED);
    const { env } = deploymentOf(objects, 'penstock-operator');
    expect(readOperatorSettings(env)).toMatchObject({
      instance: 'penstock',
      namespace: RELEASE_NAMESPACE,
      tableNamespace: 'penstock-tables',
      baseUrl: 'https://models.example.com/base/v1',
      tenantNamespaces: [],
      metricsPort: 9090,
    });
    expect(await platformIn(objects)).toMatchObject({
      servicePrefix: 'acme',
      keyPrefix: 'acme_',
      platformNamespaces: ['ml', 'platform'],
      egressAllow: [
        { cidr: '10.20.0.0/16', namespaces: ['*'] },
        { cidr: 'fd00::/8', namespaces: ['ml'] },
      ],
      egressDeny: ['93.184.0.0/16', '2a00:1450::/32'],
    });
  });

  test('gateways find the store of limits, with a password that only they are given, and may connect to it', async () => {
    const values = {
      limits: { store: { url: 'redis://valkey:6390', existingSecret: 'valkey' }, onStoreError: 'Deny' },
    };
    const objects = await render(plane(), values);
    const gateway = deploymentOf(objects, 'penstock-gateway');
    expect(readGatewaySettings(gateway.environment).limits).toMatchObject({
      store: {
        url: 'redis://valkey:6390',
        prefix: `${RELEASE_NAMESPACE}.penstock`,
        password: 'valkey/password',
      },
      onStoreError: 'Deny',
    });
    expect(readOperatorSettings(deploymentOf(objects, 'penstock-operator').env).platform).toMatchObject({
      hasExactLimits: true,
    });
    const policies = (some: readonly Rendered[], name: string) =>
      JSON.stringify(some.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name));
    expect(policies(objects, 'penstock-gateway')).toContain('6390');
    expect(policies(objects, 'penstock-operator')).not.toContain('6390');
    expect(JSON.stringify(await render(plane()))).not.toContain('PENSTOCK_LIMITS_STORE_URL');
  });

  test.each([
    ['the pods there are', { replicas: 3 }, 3],
    ['the most that an autoscaler makes', { autoscaling: { type: 'HPA', maxReplicas: 12 } }, 12],
    ['one where there is none yet', { replicas: 0 }, 1],
  ])(
    'a gateway without news of the number of ready gateways shares limits with %s',
    async (_, gateway, gateways) => {
      const { environment } = deploymentOf(await render(plane(), { gateway }), 'penstock-gateway');
      expect(readGatewaySettings(environment).limits).toMatchObject({ gateways });
    },
  );

  test('the operator gets the budgets of tenants, from the platform alone', async () => {
    const budget = { period: 'Month', limit: '500.00', action: 'Warn', warnPercent: 75 };
    const tenants = [{ namespace: 'team-a', budgets: [budget] }];
    const objects = await render(plane(), { tenants });
    expect((await platformIn(objects)).tenantBudgets).toEqual(tenants);
    for (const fault of [{ limit: 500 }, { action: 'Deny' }, { warnPercent: 101 }]) {
      const refused = { tenants: [{ namespace: 'team-a', budgets: [{ ...budget, ...fault }] }] };
      await expect(render(plane(), refused)).rejects.toThrow(new RegExp(String(Object.keys(fault))));
    }
  });

  test('the operator gets the prefixes that ApiKeys may use on their Secrets; none by default', async () => {
    const metadataPrefixes = ['reloader.example', 'team.example'];
    const platformOf = async (values: Values) =>
      readOperatorSettings(deploymentOf(await render(plane(), values), 'penstock-operator').env).platform;
    expect((await platformOf({})).metadataPrefixes).toEqual([]);
    expect((await platformOf({ issuedSecrets: { metadataPrefixes } })).metadataPrefixes).toEqual(
      metadataPrefixes,
    );
    for (const wrong of ['penstock.dev', 'a/b', 'Upper.example']) {
      const values = { issuedSecrets: { metadataPrefixes: [wrong] } };
      await expect(render(plane(), values)).rejects.toThrow(/metadataPrefixes/);
    }
  });

  test('the operator gets the limits of a namespace, with or without budgets', async () => {
    const budgets = [{ period: 'Month', limit: '500.00' }];
    const limits = Object.fromEntries(limitMembers.map((member, at) => [member, 50 + at]));
    const tenants = [
      { namespace: 'team-a', budgets, limits },
      { namespace: 'team-b', limits: { maxConcurrentRequests: 5 } },
      { namespace: 'team-c', budgets },
    ];
    const objects = await render(plane(), { tenants });
    const platform = await platformIn(objects);
    expect(platform.tenantLimits).toEqual([
      { namespace: 'team-a', limits },
      { namespace: 'team-b', limits: { maxConcurrentRequests: 5 } },
    ]);
    const namesOf = (list: readonly { readonly namespace: string }[] = []) =>
      list.map(({ namespace }) => namespace);
    expect(namesOf(platform.tenantBudgets)).toEqual(['team-a', 'team-c']);
    for (const fault of [
      {},
      { limits: {} },
      { limits: { requestsPerMinute: 0 } },
      { limits: { requests: 1 } },
    ]) {
      await expect(render(plane(), { tenants: [{ namespace: 'team-a', ...fault }] })).rejects.toThrow(
        /tenants/,
      );
    }
  });

  test('entries of one namespace become one TenantPolicy, and may not repeat a field', async () => {
    const budgets = [{ period: 'Month', limit: '500.00' }];
    const limits = { requestsPerMinute: 600 };
    const entries = [
      { namespace: 'team-a', budgets },
      { namespace: 'team-a', limits },
    ];
    const objects = await render(plane(), { tenants: entries });
    expect(policyObjects(objects)).toMatchObject([
      { metadata: { name: 'penstock-platform' } },
      { metadata: { name: 'penstock-tenant-team-a' }, spec: { budgets, limits } },
    ]);
    await expect(
      render(plane(), { tenants: [...entries, { namespace: 'team-a', budgets }] }),
    ).rejects.toThrow('tenants: the namespace team-a has budgets twice; put them into one entry');
  });

  test('four thousand tenants are one file; more than a ConfigMap holds are refused', async () => {
    const tenants = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        namespace: `team-${at}`,
        budgets: [{ period: 'Month', limit: '500.00' }],
      }));
    const objects = await render(plane(), { tenants: tenants(4000) });
    expect((await platformIn(objects)).tenantBudgets).toHaveLength(4000);
    await expect(render(plane(), { tenants: tenants(6000) })).rejects.toThrow(
      'tenants and egress.allow: their 6001 TenantPolicies are more than one ConfigMap holds (1 MiB)',
    );
  });

  test('other tenants make new pods of the operator, which reads them once; its own annotations stay', async () => {
    const annotationsOf = async (tenants: readonly object[]) => {
      const values = { tenants, operator: { podAnnotations: { own: 'yes' } } };
      return deploymentOf(await render(plane(), values), 'penstock-operator').template.metadata.annotations;
    };
    const [none, one] = await Promise.all([
      annotationsOf([]),
      annotationsOf([{ namespace: 'team-a', limits: { requestsPerMinute: 1 } }]),
    ]);
    expect(none).toEqual({
      own: 'yes',
      'penstock.dev/tenant-policies': expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(one).not.toEqual(none);
  });

  test('gateways ask the ledger for spend, and may connect to it; without a ledger they make no such calls', async () => {
    const objects = await render(plane());
    const settings = readGatewaySettings(deploymentOf(objects, 'penstock-gateway').environment);
    expect(settings.ledgerAddress).toBe(`http://penstock-ledger.${RELEASE_NAMESPACE}.svc`);
    expect(settings.ledgerTlsAddress).toBe(`https://penstock-ledger.${RELEASE_NAMESPACE}.svc`);
    const service = objects.find(
      ({ kind, metadata }) => kind === 'Service' && metadata.name === 'penstock-ledger',
    );
    expect(service?.spec).toMatchObject({
      ports: [
        { port: 80, targetPort: 'http' },
        { port: 443, targetPort: 'https' },
      ],
    });
    const policyOf = (name: string) =>
      objects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name)?.spec;
    const peer = (component: string) => ({
      podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': component }) },
    });
    const ports = ['http', 'https'].map((port) => ({ protocol: 'TCP', port }));
    expect(policyOf('penstock-gateway')).toMatchObject({
      egress: expect.arrayContaining([{ ports, to: [peer('ledger')] }]),
    });
    expect(policyOf('penstock-ledger')).toMatchObject({
      ingress: expect.arrayContaining([{ ports, from: [peer('operator'), peer('gateway')] }]),
    });
    const without = await render(plane(), { ledger: { enabled: false } });
    expect(
      readGatewaySettings(deploymentOf(without, 'penstock-gateway').environment).ledgerAddress,
    ).toBeUndefined();
  });

  test('the address of the Service is written beside keys, if there is no other', async () => {
    const { env } = deploymentOf(await render(plane()), 'penstock-operator');
    expect(env.PENSTOCK_BASE_URL).toBe(`http://penstock-gateway.${RELEASE_NAMESPACE}.svc/v1`);
  });

  test('the gateway uses TLS with the certificate of a Secret, and all of its callers know that', async () => {
    const values = { gateway: { tls: { secretName: 'models-tls' }, service: { port: 443 } } };
    const objects = await render(plane(), values);
    const { environment, template } = deploymentOf(objects, 'penstock-gateway');
    const { tlsFolder } = readGatewaySettings(environment);
    expect(template.spec.containers[0].volumeMounts).toContainEqual({
      name: 'tls',
      mountPath: tlsFolder,
      readOnly: true,
    });
    expect(template.spec.volumes).toContainEqual({
      name: 'tls',
      secret: { secretName: 'models-tls', defaultMode: 0o440 },
    });
    const origin = `https://penstock-gateway.${RELEASE_NAMESPACE}.svc`;
    expect(deploymentOf(objects, 'penstock-operator').env.PENSTOCK_BASE_URL).toBe(`${origin}/v1`);
    const found = objects.find(({ kind, metadata }) => kind === 'Pod' && metadata.name === 'penstock-test');
    const [tester] = found === undefined ? [] : podsOf(found);
    expect(tester?.containers[0]?.env).toContainEqual({ name: 'PENSTOCK_BASE_URL', value: `${origin}/v1` });
    expect(tester?.containers[0]?.env).toContainEqual({
      name: 'NODE_EXTRA_CA_CERTS',
      value: '/etc/penstock-tls/ca.crt',
    });
    const service = objects.find(
      ({ kind, metadata }) => kind === 'Service' && metadata.name === 'penstock-gateway',
    );
    expect(service?.spec).toMatchObject({ ports: [{ port: 443, appProtocol: 'https' }] });
  });

  test('with tenant namespaces, no other namespaces are read', async () => {
    const { env } = deploymentOf(await render(plane(), ONLY_TENANTS), 'penstock-operator');
    expect(readOperatorSettings(env).tenantNamespaces).toEqual(TENANTS);
    const ledger = deploymentOf(await render(plane(), ONLY_TENANTS), 'penstock-ledger').environment;
    expect(readLedgerSettings(ledger).tenantNamespaces).toEqual(TENANTS);
  });

  test.each([
    ['penstock-gateway', 'gateway/process/settings.ts'],
    ['penstock-operator', 'operator/settings.ts'],
    ['penstock-ledger', 'ledger/settings.ts'],
  ])('every variable of %s is read by the process', async (name, path) => {
    const source = await readFile(join(ROOT, path), 'utf8');
    const { env } = deploymentOf(await render(plane()), name);
    // Node.js itself reads the size of its pool.
    const ours = Object.keys(env).filter((variable) => variable !== 'UV_THREADPOOL_SIZE');
    expect(ours.filter((variable) => !source.includes(`${variable}:`))).toEqual([]);
  });

  test('a pod has as much time to end as its process takes', async () => {
    for (const drain of [{}, { acceptSeconds: 0, graceSeconds: 60 }]) {
      const { environment, template: pod } = deploymentOf(
        await render(plane(), { gateway: { drain } }),
        'penstock-gateway',
      );
      const { drainAcceptMs, drainGraceMs } = readGatewaySettings(environment);
      expect(pod.spec.terminationGracePeriodSeconds).toBe((drainAcceptMs + drainGraceMs) / 1000 + 20);
    }
  });

  test('the selector of the operator picks gateway pods, and no others', async () => {
    const objects = await render(plane());
    const picks = (name: string): boolean => {
      const { labels } = deploymentOf(objects, name).template.metadata;
      const selector = deploymentOf(objects, 'penstock-operator').env.PENSTOCK_GATEWAY_SELECTOR ?? '';
      return selector.split(',').every((pair) => labels[pair.split('=')[0] ?? ''] === pair.split('=')[1]);
    };
    expect([picks('penstock-gateway'), picks('penstock-operator')]).toEqual([true, false]);
  });

  test('without TLS between the pods no Secret, right, port or setting of it exists', async () => {
    const objects = await render(plane(), { internalTls: { enabled: false }, dashboard: { enabled: true } });
    const text = JSON.stringify(objects.filter(({ kind }) => kind !== 'CustomResourceDefinition'));
    expect(text).not.toMatch(/internal-ca|ledger-tls|internal-tls|TLS_PORT|TLS_ADDRESS/);
    expect(deploymentOf(objects, 'penstock-operator').env.PENSTOCK_INTERNAL_TLS).toBe('false');
  });

  test('the Services lead to the ports that the gateway listens on', async () => {
    const objects = await render(plane());
    const service = (name: string) =>
      objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === name);
    const { environment, template: pod } = deploymentOf(objects, 'penstock-gateway');
    expect(service('penstock-gateway')).toMatchObject({
      spec: { ports: [{ port: 80, targetPort: 'http' }] },
    });
    const ports = pod.spec.containers[0].ports.map(({ name, containerPort }) => [name, containerPort]);
    const settings = readGatewaySettings(environment);
    expect(Object.fromEntries(ports)).toEqual({
      http: settings.port,
      metrics: settings.metricsPort,
      internal: settings.internalPort,
      'internal-tls': settings.internalTlsPort,
    });
    // No address of its own, and no port but the pods': its name represents each gateway that is ready.
    expect(service('penstock-test')).toMatchObject({
      spec: { clusterIP: 'None', ports: [{ port: settings.metricsPort, targetPort: 'metrics' }] },
    });
    expect(service('penstock-test')?.spec).not.toHaveProperty('publishNotReadyAddresses');
  });

  test('the image is the version of the chart, another tag, or a digest', async () => {
    const image = async (values: Values) =>
      deploymentOf(await render(plane(), { image: values }), 'penstock-operator').template.spec.containers[0]
        .image;
    expect(await image({})).toBe(`penstock:${packageJson.version}`);
    expect(await image({ repository: 'registry.example/p', tag: 'x' })).toBe('registry.example/p:x');
    expect(await image({ tag: 'x', digest: DIGEST })).toBe(`penstock@${DIGEST}`);
  });

  test('every process is in the image, started in its folder, with a part of its memory for JavaScript', async () => {
    const objects = await render(plane(), { demo: { enabled: true } });
    const commands = objects.flatMap(podsOf).map(({ containers }) => containers[0]?.command);
    expect(commands).toEqual(
      expect.arrayContaining([
        ['node', ...podFlags(podMemoryMib), 'dist/gateway.js'],
        ['node', '--max-old-space-size=256', '--max-semi-space-size=8', 'dist/operator.js'],
        ['node', '--max-old-space-size=256', '--max-semi-space-size=8', 'dist/ledger.js'],
        ['node', '--max-old-space-size=96', 'dist/simulator.js'],
        ['node', 'dist/apply-objects.js'],
        ['node', 'dist/helm-test.js'],
      ]),
    );
    for (const command of commands) {
      expect(image.files).toContain(z.array(z.string()).parse(command).at(-1));
    }
  });

  test.each([
    ['1.5Gi', 1152],
    ['200M', 142],
    [536870912, 384],
    ['1048576Ki', 768],
  ])('with %s of memory, JavaScript may use %i MiB', async (memory, heap) => {
    const values = { gateway: { resources: { limits: { memory } } } };
    const { command } = deploymentOf(await render(plane(), values), 'penstock-gateway').template.spec
      .containers[0];
    expect(command).toContain(`--max-old-space-size=${heap}`);
  });

  test.each(['HPA', 'KEDA'])('where %s decides, the Deployment says no number of pods', async (type) => {
    const objects = await render(plane(), { gateway: { autoscaling: { type } } });
    const gateway = objects.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'penstock-gateway',
    );
    expect(gateway?.spec).not.toHaveProperty('replicas');
    const scalers = objects.filter(({ kind }) => ['HorizontalPodAutoscaler', 'ScaledObject'].includes(kind));
    expect(scalers).toMatchObject([
      { spec: { scaleTargetRef: { kind: 'Deployment', name: 'penstock-gateway' } } },
    ]);
  });

  test('nothing that needs other software is rendered by default', async () => {
    const own = /^(v1|[a-z0-9.]+\.k8s\.io\/.*|apps\/v1|batch\/v1|policy\/v1|autoscaling\/v2)$/;
    for (const object of await render(plane())) expect(object.apiVersion).toMatch(own);
  });

  test('no template makes a key, or reads the cluster for anything but the claim of an earlier chart', async () => {
    const folder = join(CHART, 'templates');
    for (const file of await readdir(folder, { recursive: true })) {
      // Those are generated from code, and their texts speak of many things.
      if (file.startsWith('crds') || !/\.(yaml|tpl|txt)$/.test(file)) continue;
      const text = await readFile(join(folder, file), 'utf8');
      expect([file, text.match(/\b(lookup|rand\w+|gen\w+Key|uuidv4|htpasswd)\b(?= )/g)]).toEqual([
        file,
        file === 'ledger-deployment.yaml' ? ['lookup'] : null,
      ]);
    }
  });

  describe('the place and user of pods', () => {
    const setOf = (name: string) => renderedBy.get(name) ?? [];
    const podSchema = z.looseObject({
      securityContext: z.looseObject({ runAsNonRoot: z.literal(true) }),
      imagePullSecrets: z.unknown().optional(),
    });
    const fixed = { runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532 };

    test('is a user of the image, or one that the cluster chooses, in every pod', () => {
      const contextsOf = (name: string) =>
        setOf(name)
          .flatMap(podsOf)
          .map((pod) => podSchema.parse(pod).securityContext);
      expect(contextsOf('the demo').length).toBeGreaterThan(5);
      for (const context of contextsOf('the demo')) expect(context).toMatchObject(fixed);
      const open = contextsOf('OpenShift, and a Gateway that takes no time limits');
      expect(open.length).toBeGreaterThan(6);
      for (const context of open)
        for (const name of Object.keys(fixed)) expect(context).not.toHaveProperty(name);
    });

    test("is that of the values, in place of the chart's", () => {
      const names = ['operator', 'gateway', 'ledger', 'dashboard'];
      const placed = {
        runtimeClassName: 'gvisor',
        dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
        hostAliases: [{ ip: '192.0.2.7', hostnames: ['models.internal'] }],
        affinity: { nodeAffinity: expect.anything() },
        topologySpreadConstraints: [{ whenUnsatisfiable: 'DoNotSchedule' }],
      };
      const backup = setOf('every escape hatch').find(({ kind }) => kind === 'CronJob');
      expect(JSON.stringify(backup)).toContain('"cost":"ai"');
      // Beside the ledger all the same, whose volume is on one node at a time.
      const near = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [expect.anything()] } };
      expect(backup === undefined ? [] : podsOf(backup)).toMatchObject([
        {
          ...placed,
          priorityClassName: 'system-cluster-critical',
          affinity: { ...placed.affinity, ...near },
        },
      ]);
      for (const name of names) {
        const { spec } = deploymentOf(setOf('every escape hatch'), `penstock-${name}`).template;
        expect(spec).toMatchObject(placed);
        expect(spec.affinity).not.toHaveProperty('podAntiAffinity');
        const account = setOf('every escape hatch').find(
          ({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === `penstock-${name}`,
        );
        expect(account?.metadata.annotations).toEqual({
          'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/penstock',
        });
      }
    });

    test('takes Secrets for the registry in either form', () => {
      for (const pod of setOf('OpenShift, and a Gateway that takes no time limits').flatMap(podsOf))
        expect(podSchema.parse(pod).imagePullSecrets).toEqual([{ name: 'registry' }, { name: 'other' }]);
    });
  });

  test('a Gateway that refuses time limits gets none, and the Service says which pods are near', () => {
    const specsOf = (name: string, kind: string) =>
      renderedBy.get(name)?.flatMap((object) => (object.kind === kind ? [object.spec] : []));
    const name = 'OpenShift, and a Gateway that takes no time limits';
    expect(JSON.stringify(specsOf(name, 'HTTPRoute'))).not.toContain('timeouts');
    expect(JSON.stringify(specsOf('an HTTPRoute', 'HTTPRoute'))).toContain('"timeouts":{"request":"0s"');
    expect(specsOf(name, 'Service')).toContainEqual(
      expect.objectContaining({ trafficDistribution: 'PreferSameZone' }),
    );
    expect(JSON.stringify(specsOf('nothing said', 'Service'))).not.toContain('trafficDistribution');
  });

  test('KEDA keeps pods while Prometheus is away, and a VerticalPodAutoscaler keeps the memory of a bounded heap', () => {
    const scaled = renderedBy.get('KEDA')?.find(({ kind }) => kind === 'ScaledObject');
    expect(scaled?.spec).toMatchObject({ fallback: { replicas: 4, behavior: 'currentReplicasIfHigher' } });
    const vertical = (renderedBy.get('VerticalPodAutoscalers') ?? []).flatMap(({ kind, spec }) =>
      kind === 'VerticalPodAutoscaler' ? [spec] : [],
    );
    const policy = (updateMode: string, controlledResources: readonly string[]) =>
      expect.objectContaining({
        updatePolicy: { updateMode },
        resourcePolicy: {
          containerPolicies: [expect.objectContaining({ controlledResources }), expect.anything()],
        },
      });
    expect(vertical).toEqual([policy('Off', ['cpu', 'memory']), policy('Initial', ['cpu'])]);
  });

  test('the values of each of three regions send every record to the common receiver', async () => {
    const values: Values = parseYaml(await readFile(join(ROOT, 'docs/examples/regions/values.yaml'), 'utf8'));
    const { env } = deploymentOf(await render(plane(), values), 'penstock-ledger');
    expect(readLedgerSettings({ ...env, PENSTOCK_LEDGER_EVENTS_TOKEN: 'word' })).toMatchObject({
      events: { url: 'https://billing.example.com/events' },
    });
  });

  test('the demo needs no key, and its model is in a namespace that may reach the simulator', async () => {
    const objects = await render(plane(), { demo: { enabled: true } });
    const demo = demoObjects(objects);
    expect(demo.map(({ kind }) => kind)).toEqual(['Provider', 'ModelRoute', 'ApiKey']);
    expect(demo.every(({ metadata }) => metadata.namespace === 'penstock-demo')).toBe(true);
    const service = objects.find(
      ({ kind, metadata }) => kind === 'Service' && metadata.name === 'penstock-simulator',
    );
    expect(service).toMatchObject({ spec: { ports: [{ port: 9100 }] } });
    expect(demo[0]).toMatchObject({
      spec: { auth: { type: 'None' }, baseURL: 'http://penstock-simulator.penstock-demo.svc:9100/v1' },
    });
    const platform = await platformIn(objects);
    expect(platform.egressAllow).toContainEqual({ cidr: '10.0.0.0/8', namespaces: ['penstock-demo'] });
    expect(platform.platformNamespaces).toEqual([]);
    for (const text of demo.map((object) => JSON.stringify(object))) expect(text).not.toContain('secretRef');
  });

  test('the objects of the demo are valid for its own operator, and their range is open to the demo alone', async () => {
    const objects = await render(plane(), { demo: { enabled: true } });
    const platform = await platformIn(objects);
    const compileDemo = (settings: PlatformSettings) =>
      compileOnce(snapshotOf(demoObjects(objects), settings)).verdicts.flatMap(({ kind, conditions }) =>
        conditions.map(({ type, status }) => `${kind} ${type} ${status}`),
      );
    const reported = compileDemo(platform);
    for (const kind of ['Provider', 'ModelRoute', 'ApiKey'])
      expect(reported).toContain(`${kind} Accepted True`);
    expect(reported.filter((line) => /(Accepted|ResolvedRefs|Translatable) False/.test(line))).toEqual([]);
    expect(compileDemo({ ...platform, egressAllow: [] })).toContain('Provider ResolvedRefs False');
  });

  test('if only some namespaces are served, the demo’s namespace is one of them', async () => {
    const objects = await render(plane(), { ...ONLY_TENANTS, demo: { enabled: true } });
    const { env } = deploymentOf(objects, 'penstock-operator');
    expect(readOperatorSettings(env).tenantNamespaces).toEqual([...TENANTS, 'penstock-demo']);
    const bound = objects.filter(
      ({ metadata }) => metadata.name === 'penstock-operator-tenants' && metadata.namespace,
    );
    expect(bound.map(({ metadata }) => metadata.namespace)).toEqual([...TENANTS, 'penstock-demo']);
  });

  test('the release test runs in its own pod, with its account, and asks for a completion if it has a key', async () => {
    const pod = async (values: Values) => {
      const found = (await render(plane(), values)).find(({ kind }) => kind === 'Pod');
      const [spec] = found === undefined ? [] : podsOf(found);
      // `helm test --logs` looks for it after the test, and nowhere but in the namespace of the release.
      expect(found?.metadata).toMatchObject({
        namespace: RELEASE_NAMESPACE,
        annotations: { 'helm.sh/hook': 'test', 'helm.sh/hook-delete-policy': 'before-hook-creation' },
      });
      expect(spec).toMatchObject({ serviceAccountName: 'penstock-test' });
      const [first, second, third, ...env] = spec?.containers[0]?.env ?? [];
      expect([first, second, third]).toEqual([
        { name: 'PENSTOCK_BASE_URL', value: `http://penstock-gateway.${RELEASE_NAMESPACE}.svc/v1` },
        {
          name: 'PENSTOCK_METRICS_URL',
          value: `http://penstock-test.${RELEASE_NAMESPACE}.svc:9090/metrics`,
        },
        { name: 'PENSTOCK_POD', value: `${RELEASE_NAMESPACE}/penstock-test` },
      ]);
      return { env, secrets: spec?.volumes?.filter(({ secret }) => secret !== undefined) };
    };
    const model = (value: string) => ({ name: 'PENSTOCK_MODEL', value });
    expect(await pod({})).toEqual({ env: [], secrets: [] });
    expect(await pod({ demo: { enabled: true } })).toEqual({
      env: [{ name: 'PENSTOCK_KEY_SECRET', value: 'penstock-demo/demo-key' }, model('demo')],
      secrets: [],
    });
    const items = [{ key: 'apiKey', path: 'key' }];
    expect(await pod({ helmTest: { model: 'chat', keySecret: { name: 'smoke' } } })).toEqual({
      env: [{ name: 'PENSTOCK_KEY_FILE', value: '/etc/penstock/key' }, model('chat')],
      secrets: [{ name: 'key', secret: { secretName: 'smoke', defaultMode: 0o440, items } }],
    });
  });

  test('pods of a rollout spread over nodes, whatever nodes the replaced pods are on', async () => {
    const objects = await render(plane());
    for (const name of ['penstock-operator', 'penstock-gateway']) {
      const { affinity, topologySpreadConstraints } = deploymentOf(objects, name).template.spec;
      const matchLabelKeys = ['pod-template-hash'];
      expect(topologySpreadConstraints).toEqual([
        expect.objectContaining({ topologyKey: 'topology.kubernetes.io/zone', matchLabelKeys }),
        expect.objectContaining({ topologyKey: 'kubernetes.io/hostname', matchLabelKeys }),
      ]);
      expect(affinity).toMatchObject({
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: { matchLabelKeys } }],
        },
      });
    }
  });

  test('every object is labelled as ours', async () => {
    const ours = (await render(plane())).filter(({ kind }) => kind !== 'CustomResourceDefinition');
    const unlabelled = ours.filter(
      ({ metadata }) =>
        metadata.labels?.['app.kubernetes.io/instance'] !== 'penstock' ||
        metadata.labels['app.kubernetes.io/version'] !== packageJson.version ||
        metadata.labels['app.kubernetes.io/managed-by'] !== 'Helm',
    );
    expect(unlabelled).toEqual([]);
  });

  test('the CRDs are those of crds/, and stay as configured', async () => {
    const committed = await Promise.all(
      ['api-key', 'model-route', 'provider', 'tenant-policy'].map(async (name): Promise<unknown> => {
        return parseYaml(await readFile(join(ROOT, `crds/${name}.yaml`), 'utf8'));
      }),
    );
    const crds = async (values: object) =>
      (await render(plane(), { crds: values })).filter(({ kind }) => kind === 'CustomResourceDefinition');
    const policy = 'helm.sh/resource-policy';
    expect((await crds({ keep: false })).sort(byName)).toEqual(committed);
    expect((await crds({})).map(({ metadata }) => metadata.annotations?.[policy])).toEqual(
      Array(4).fill('keep'),
    );
    expect(await crds({ install: false })).toEqual([]);
  });

  test('the chart penstock-crds has the same CRDs, with the same switch', async () => {
    for (const keep of [true, false]) {
      const values = { crds: { keep } };
      const alone = await render(plane(), values, CRDS_CHART);
      const inside = (await render(plane(), values)).filter(
        ({ kind }) => kind === 'CustomResourceDefinition',
      );
      expect(alone.sort(byName)).toEqual(inside.sort(byName));
    }
  });

  test('a copy of the charts without symbolic links, as Flux takes it from Git, renders the same', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'penstock-charts-'));
    for (const chart of [CHART, CRDS_CHART]) {
      const copy = join(folder.path, basename(chart));
      await cp(chart, copy, {
        recursive: true,
        filter: async (path) => !(await lstat(path)).isSymbolicLink(),
      });
      expect(await render(plane(), {}, copy)).toEqual(await render(plane(), {}, chart));
    }
  });

  test('no role has a wildcard', async () => {
    const roles = (await render(plane())).filter(({ kind }) => kind.endsWith('Role'));
    expect(roles.length).toBeGreaterThan(5);
    expect(JSON.stringify(roles)).not.toContain('*');
  });
});

function byName(a: { metadata: { name: string } }, b: { metadata: { name: string } }): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

test.each([CHART, CRDS_CHART])('chart and program have the same version', async (folder) => {
  const chart: unknown = parseYaml(await readFile(join(folder, 'Chart.yaml'), 'utf8'));
  expect(chart).toMatchObject({ version: packageJson.version, appVersion: packageJson.version });
});

test.each([CHART, CRDS_CHART])(
  'the chart takes no Kubernetes older than what it was seen on',
  async (folder) => {
    const chart: unknown = parseYaml(await readFile(join(folder, 'Chart.yaml'), 'utf8'));
    expect(chart).toMatchObject({ kubeVersion: `>=${oldestApiServer}.0-0` });
  },
);

test('the guide has the command, with the right label, to delete a table in a separate namespace', async () => {
  const guide = await readFile(join(ROOT, 'docs/guides/install.md'), 'utf8');
  const objects = await render(plane(), { tableNamespace: { create: false, name: 'own-tables' } });
  expect(objects.filter(({ kind }) => kind === 'Namespace')).toEqual([]);
  const { instance } = readOperatorSettings(deploymentOf(objects, 'penstock-operator').environment);
  const row = guide.split('\n').find((line) => line.startsWith('| the routing table'));
  expect(row).toContain('`tableNamespace.create` is `false`');
  expect(row).toContain(`kubectl delete secret -n <its namespace> -l ${INSTANCE_LABEL}=${instance}`);
});

test('SECURITY.md has the rights of every ServiceAccount', async () => {
  const page = await readFile(join(ROOT, 'SECURITY.md'), 'utf8');
  const accounts = everything.filter(({ kind }) => kind === 'ServiceAccount');
  const names = new Set(accounts.map(({ metadata }) => metadata.name.replace(/^penstock-/, '<release>-')));
  expect(names.size).toBeGreaterThan(2);
  expect([...names].filter((name) => !page.includes(`\n| \`${name}\``))).toEqual([]);
});

test('the install guide says whether the chart is signed', async () => {
  const guide = await readFile(join(ROOT, 'docs/guides/install.md'), 'utf8');
  const [, undone = ''] = guide.split('### Not covered');
  expect(undone).toContain('**The chart** is not signed');
});

test('documented commands wait for what they need', async () => {
  const notes = await readFile(join(CHART, 'templates/NOTES.txt'), 'utf8');
  const metrics = await readFile(join(ROOT, 'docs/metrics.md'), 'utf8');
  expect(notes).toMatch(/kubectl wait secret\/bot-key .*--for=create .*-o jsonpath/);
  for (const text of [notes, metrics]) {
    const forwarded = [...text.matchAll(/kubectl port-forward [^\n]*&([^\n]*\n[^\n]*)/g)];
    expect(forwarded).toHaveLength(1);
    for (const [, next] of forwarded) expect(next).toContain('--retry 10 --retry-connrefused');
  }
});

test(
  'the annotations for Artifact Hub about kinds and image are right',
  async () => {
    const { annotations } = chartSchema.parse(parseYaml(await readFile(join(CHART, 'Chart.yaml'), 'utf8')));
    const read = (name: string): unknown => parseYaml(annotations[`artifacthub.io/${name}`] ?? '');
    const crds = (await render(plane())).filter(({ kind }) => kind === 'CustomResourceDefinition');
    expect(read('crds')).toEqual(
      expect.arrayContaining(
        crds.map(({ metadata, spec }) =>
          expect.objectContaining({
            name: metadata.name,
            kind: Object(spec).names.kind,
            version: 'v1alpha1',
          }),
        ),
      ),
    );
    expect(read('images')).toEqual([{ name: 'penstock', image: `penstock:${packageJson.version}` }]);
    const judged = await judgeBySchemas(
      await goTool(kubeconform),
      await writeSchemas(plane()),
      z.array(z.unknown()).length(4).parse(read('crdsExamples')),
    );
    expect(judged).toEqual({ valid: 4, faults: [] });
  },
  buildWaitMs,
);

const chartSchema = z.looseObject({ annotations: z.record(z.string(), z.string()) });
