// Which values does the chart refuse, and does it say what each value is for?

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { z } from 'zod';
import { CHART, deploymentOf, RELEASE_NAMESPACE, render, template, useHelm, type Values } from './helm.ts';

const plane = useHelm();

describe('a value is refused, and named:', () => {
  const refused: readonly (readonly [string, Values, string])[] = [
    ['a label by which pods are found', { commonLabels: { 'app.kubernetes.io/name': 'x' } }, 'commonLabels'],
    [
      'a label of the chart on pods',
      { gateway: { podLabels: { 'app.kubernetes.io/component': 'x' } } },
      'podLabels',
    ],
    [
      'a copy of the table larger than the memory it is in',
      { gateway: { tableCopySizeLimit: '2Gi' } },
      'gateway.tableCopySizeLimit',
    ],
    [
      'a store of limits with its password for all to read',
      { limits: { store: { url: 'redis://:secret@valkey' } } },
      '/limits/store/url',
    ],
    ['a mistyped section', { gatway: {} }, 'gatway'],
    ['a mistyped value', { gateway: { replica: 2 } }, 'replica'],
    ['replicas as text', { gateway: { replicas: '2' } }, '/gateway/replicas'],
    ['two autoscalers', { gateway: { autoscaling: { type: 'HPA,KEDA' } } }, '/gateway/autoscaling/type'],
    [
      'KEDA without an address of Prometheus',
      { gateway: { autoscaling: { type: 'KEDA', targetInFlight: 5 } } },
      '/gateway/autoscaling/prometheusUrl',
    ],
    [
      'more pods at least than at most',
      { gateway: { autoscaling: { type: 'HPA', minReplicas: 5, maxReplicas: 3 } } },
      'gateway.autoscaling.maxReplicas',
    ],
    ['an invalid address for events', { ledger: { events: { url: 'billing' } } }, '/ledger/events/url'],
    [
      'backups that are kept nowhere',
      { ledger: { backup: { schedule: '0 3 * * *' } } },
      'ledger.backup.claimName',
    ],
    [
      'backups of a ledger that goes with its pod',
      {
        ledger: { persistence: { enabled: false }, backup: { schedule: '0 3 * * *', claimName: 'backups' } },
      },
      'ledger.backup.schedule',
    ],
    ['records of part of a day', { ledger: { retentionDays: 1.5 } }, '/ledger/retentionDays'],
    ['a collector without a scheme', { telemetry: { endpoint: 'collector:4318' } }, '/telemetry/endpoint'],
    ['more than all requests traced', { telemetry: { traces: { ratio: 2 } } }, '/telemetry/traces/ratio'],
    [
      'two pods of a dashboard with a key each',
      { dashboard: { enabled: true, replicas: 2 } },
      'dashboard.session.existingSecret',
    ],
    [
      'a dashboard whose HTTPRoute hangs on nothing',
      { dashboard: { enabled: true, httpRoute: { enabled: true, hostnames: ['a.example'] } } },
      'dashboard.httpRoute.parentRefs',
    ],
    [
      'a dashboard without a host name',
      { dashboard: { enabled: true, ingress: { enabled: true } } },
      '/dashboard/ingress/hosts',
    ],
    [
      'a dashboard at any host name',
      { dashboard: { ingress: { hosts: ['*.example.com'] } } },
      '/dashboard/ingress/hosts/0',
    ],
    ...[
      'penstock.example.com',
      'https://penstock.example.com/',
      'https://penstock.example.com/dashboard',
      'https://Penstock.example.com',
      'https://penstock.example.com:443',
      'http://penstock.example.com',
      'http://localhost:80',
    ].map(
      (url) =>
        [`a dashboard at ${url}`, { dashboard: { publicUrls: [url] } }, '/dashboard/publicUrls/0'] as const,
    ),
    ...[
      '*',
      'https://*.example.com',
      'chat.example.com',
      'https://chat.example.com/',
      'https://Chat.example.com',
      'https://chat.example.com:443',
    ].map(
      (origin) =>
        [
          `pages at ${origin}`,
          { gateway: { allowedOrigins: [origin] } },
          '/gateway/allowedOrigins/0',
        ] as const,
    ),
    ['a session of a day', { dashboard: { session: { minutes: 1440 } } }, '/dashboard/session/minutes'],
    [
      'an issuer over plain http',
      { dashboard: { oidc: { issuer: 'http://login.example.com', clientId: 'a' } } },
      '/dashboard/oidc/issuer',
    ],
    [
      'an issuer without a client',
      { dashboard: { oidc: { issuer: 'https://login.example.com' } } },
      '/dashboard/oidc/clientId',
    ],
    ['a client without an issuer', { dashboard: { oidc: { clientId: 'a' } } }, '/dashboard/oidc/clientId'],
    [
      'a sign-in that asks for no id token',
      { dashboard: { oidc: { scopes: ['profile'] } } },
      '/dashboard/oidc/scopes',
    ],
    ['an HTTPRoute that hangs on nothing', { gateway: { httpRoute: { enabled: true } } }, 'parentRefs'],
    ['an Ingress for no host', { gateway: { ingress: { enabled: true } } }, '/gateway/ingress/hosts'],
    ['a key without a model', { helmTest: { keySecret: { name: 'a' } } }, '/helmTest/model'],
    ['an unknown kind of scraping', { monitoring: { scrape: 'Annotations' } }, '/monitoring/scrape'],
    [
      'the demo beside the release',
      { demo: { enabled: true, namespace: RELEASE_NAMESPACE } },
      'demo.namespace',
    ],
    ['fewer than no replicas', { operator: { replicas: -1 } }, '/operator/replicas'],
    ['the tag latest', { image: { tag: 'latest' } }, '/image/tag'],
    ['an invalid digest', { image: { digest: 'abc' } }, '/image/digest'],
    ['an unknown pull policy', { image: { pullPolicy: 'Sometimes' } }, '/image/pullPolicy'],
    ['an unknown scope', { rbac: { scope: 'everything' } }, '/rbac/scope'],
    ['an empty list of tenant namespaces', { rbac: { scope: 'namespaces' } }, '/rbac/tenantNamespaces'],
    ['namespaces that would be ignored', { rbac: { tenantNamespaces: ['a'] } }, '/rbac/tenantNamespaces'],
    ['an invalid namespace name', { platformNamespaces: ['Team A'] }, '/platformNamespaces/0'],
    [
      'a range without namespaces',
      { egress: { allow: [{ cidr: '10.0.0.0/8', namespaces: [] }] } },
      '/egress/allow/0/namespaces',
    ],
    [
      'an invalid range',
      { egress: { allow: [{ cidr: '10.0.0.0', namespaces: ['*'] }] } },
      '/egress/allow/0/cidr',
    ],
    [
      'an address without /v1',
      { gateway: { publicUrl: 'https://models.example.com' } },
      'gateway.publicUrl: "https://models.example.com" is not an address of a gateway; begin with https:// and end with /v1',
    ],
    [
      'an address with a slash at its end',
      { gateway: { publicUrl: 'https://a.example/v1/' } },
      'gateway.publicUrl:',
    ],
    ...['https://:80/v1', 'https://a:65536/v1', 'https://256.1.1.1/v1', 'https://[1::2::3]/v1'].map(
      (publicUrl) => [`the address ${publicUrl}`, { gateway: { publicUrl } }, 'gateway.publicUrl:'] as const,
    ),
    ...['168h1ms', '169h', '10081m', '100h100h'].map(
      (lastKnownGood) =>
        [
          `${lastKnownGood} in a last good form`,
          { operator: { lastKnownGood } },
          'operator.lastKnownGood',
        ] as const,
    ),
    ...['10.0.0.0/33', '10.0.0/8', '256.0.0.0/8', 'fd00::/129', 'fd00::1::/64', '1:2:3:4:5:6:7:8:9/64'].map(
      (cidr) =>
        [
          `the range ${cidr}`,
          { egress: { allow: [{ cidr, namespaces: ['*'] }] } },
          '/egress/allow/0/cidr',
        ] as const,
    ),
    ...['169.254.169.254/32', 'fd00:ec2::254/128', '0.1.0.0/16', '64:ff9b::a00:0/104'].map(
      (cidr) =>
        [
          `the range ${cidr}, which nothing opens`,
          { egress: { allow: [{ cidr, namespaces: ['*'] }] } },
          'egress.allow',
        ] as const,
    ),
    [
      'a journal that holds next to nothing',
      { gateway: { journalSizeLimit: '1Mi' } },
      'gateway.journalSizeLimit: 1Mi is less than 16Mi',
    ],
    [
      "a tenant's namespace for the table",
      { rbac: { scope: 'namespaces', tenantNamespaces: ['a', 'b'] }, tableNamespace: { name: 'b' } },
      'rbac.tenantNamespaces',
    ],
    [
      "the platform's namespace for the table",
      { platformNamespaces: ['penstock-tables'] },
      'tableNamespace.name',
    ],
    ['a service prefix with a slash', { servicePrefix: 'a/b' }, '/servicePrefix'],
    ['a key prefix with a space', { keyPrefix: 'a b' }, '/keyPrefix'],
    [
      'an invalid amount of memory',
      { gateway: { resources: { limits: { memory: 'much' } } } },
      '/gateway/resources/limits/memory',
    ],
    [
      'memory in thousandths of a byte',
      { gateway: { resources: { limits: { memory: '800m' } } } },
      '/gateway/resources/limits/memory',
    ],
    ['no memory', { gateway: { resources: { limits: { memory: 0 } } } }, '/gateway/resources/limits/memory'],
    ...['0', 1, '1Mi', '127Mi'].map(
      (memory) =>
        [
          `${memory} of memory`,
          { operator: { resources: { limits: { memory } } } },
          'operator.resources.limits.memory',
        ] as const,
    ),
    [
      'the namespace of the release for the table',
      { tableNamespace: { name: RELEASE_NAMESPACE } },
      'tableNamespace.name',
    ],
  ];
  test.each(refused)('%s', async (_, values, field) => {
    const { code, stderr } = await template(plane(), values);
    expect(code).not.toBe(0);
    expect(stderr).toContain(field);
  });

  test.each(['a'.repeat(41), 'a.b'])('the release name %s', async (release) => {
    const { code, stderr } = await template(plane(), {}, { release });
    expect(code).not.toBe(0);
    expect(stderr).toContain('at most 40 characters and no dot');
  });

  test('a Kubernetes that is too old', async () => {
    const { stderr } = await template(plane(), {}, { kubeVersion: '1.31.9' });
    expect(stderr).toContain('>=1.32.0-0');
  });
});

describe('values.yaml', () => {
  test('says how much of the memory the heap takes', async () => {
    const objects = await render(plane());
    const text = await readFile(join(CHART, 'values.yaml'), 'utf8');
    for (const [part, memory] of [
      ['operator', 512],
      ['gateway', 768],
      ['ledger', 512],
    ] as const) {
      const [, section = ''] = text.split(`\n${part}:\n`);
      const [, percent] = /The heap takes (\d+) % of the memory limit/.exec(section) ?? [];
      const { command } = deploymentOf(objects, `penstock-${part}`).template.spec.containers[0];
      expect(command).toContain(`--max-old-space-size=${Math.floor((memory * Number(percent)) / 100)}`);
    }
  });

  test('says that the CRDs have no labels of the user', async () => {
    const objects = await render(plane(), { commonLabels: { team: 'platform' } });
    const bare = objects.filter(({ metadata }) => metadata.labels?.team === undefined);
    expect([...new Set(bare.map(({ kind }) => kind))]).toEqual(['CustomResourceDefinition']);
    const text = await readFile(join(CHART, 'values.yaml'), 'utf8');
    expect(text).toMatch(/CustomResourceDefinitions get none[^\n]*\ncommonLabels:/);
  });

  const entries = async () => {
    const document = parseDocument(await readFile(join(CHART, 'values.yaml'), 'utf8'));
    if (!isMap(document.contents)) throw new Error('values.yaml is no map');
    return entriesOf(document.contents, '', document.commentBefore ?? '');
  };

  test('has a comment in front of every value', async () => {
    expect((await entries()).filter(({ comment }) => comment === '').map(({ path }) => path)).toEqual([]);
  });

  test('marks the comments of settable values, as helm-docs reads them', async () => {
    const all = await entries();
    const settable = all.filter(({ path }) => !all.some((other) => other.path.startsWith(`${path}/`)));
    expect(settable.length).toBeGreaterThan(80);
    expect(settable.filter(({ comment }) => !comment.startsWith(' -- ')).map(({ path }) => path)).toEqual([]);
  });

  test('has the same values as its schema', async () => {
    const schema: unknown = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'));
    // What a value may also have, and has not by default.
    const more =
      /^\/(operator|dashboard)\/resources\/requests\/ephemeral-storage$|\/limits\/(cpu|ephemeral-storage)$/;
    const known = schemaPaths(schema, schema).filter((path) => !more.test(path));
    const open = '/monitoring/dashboard/labels/';
    const there = (await entries()).map(({ path }) => path).filter((path) => !path.startsWith(open));
    expect(there.sort()).toEqual(known.sort());
  });
});

interface Entry {
  readonly path: string;
  readonly comment: string;
}

function entriesOf(map: YAMLMap, prefix: string, firstComment: string): Entry[] {
  return map.items.flatMap(({ key, value }, index) => {
    if (!isScalar(key)) return [];
    const path = `${prefix}/${String(key.value)}`;
    // The comment of a first entry hangs on its map.
    const comment = key.commentBefore ?? (index === 0 ? firstComment : '');
    const below =
      isMap(value) && value.items.length > 0 ? entriesOf(value, path, value.commentBefore ?? '') : [];
    return [{ path, comment }, ...below];
  });
}

const nodeSchema = z.looseObject({
  $ref: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
});

function schemaPaths(value: unknown, root: unknown, prefix = ''): string[] {
  const node = nodeSchema.parse(value);
  if (node.$ref !== undefined) {
    const { definitions } = z.looseObject({ definitions: z.record(z.string(), z.unknown()) }).parse(root);
    return schemaPaths(definitions[node.$ref.replace('#/definitions/', '')], root, prefix);
  }
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const path = `${prefix}/${name}`;
    return [path, ...schemaPaths(child, root, path)];
  });
}
