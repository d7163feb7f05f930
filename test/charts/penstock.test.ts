// Does the chart render what Kubernetes takes, refuse what makes no sense, and give its processes what they read?

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { isMap, isScalar, parseDocument, parse as parseYaml, type YAMLMap } from 'yaml';
import { z } from 'zod';
import { readSettings as readGatewaySettings } from '../../gateway/settings.ts';
import { image } from '../../images/contents.ts';
import { readSettings as readOperatorSettings } from '../../operator/settings.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { useControlPlane } from '../cluster/control-plane.ts';
import {
  CHART,
  deploymentOf,
  helm,
  parseRendered,
  RELEASE_NAMESPACE,
  type Rendered,
  render,
  template,
  type Values,
} from './helm.ts';

const ROOT = join(CHART, '../..');
const TENANTS = ['team-a', 'team-b'];
const ONLY_TENANTS = { rbac: { scope: 'namespaces', tenantNamespaces: TENANTS } };
const DIGEST = `sha256:${'0'.repeat(64)}`;

const PARTS = ['gateway', 'operator'] as const;

const plane = useControlPlane({ hasControllers: false });

beforeAll(async () => {
  const namespaces = [RELEASE_NAMESPACE, 'penstock-tables', 'own-tables', 'restricted', ...TENANTS, 'team-c'];
  for (const name of namespaces) await plane().mustKubectl(['create', 'namespace', name]);
  await plane().mustKubectl([
    'label',
    'namespace',
    'restricted',
    'pod-security.kubernetes.io/enforce=restricted',
    'pod-security.kubernetes.io/warn=restricted',
  ]);
});

const OPENED = {
  gateway: { publicUrl: 'https://models.example.com/base/v1', showProvider: false },
  platformNamespaces: ['platform', 'ml'],
  servicePrefix: 'acme',
  keyPrefix: 'acme_',
  egress: {
    allow: [
      { cidr: '10.20.0.0/16', namespaces: ['*'] },
      { cidr: 'fd00::/8', namespaces: ['ml'] },
    ],
  },
  image: { digest: DIGEST },
  imagePullSecrets: ['registry'],
};

const VALUE_SETS: readonly (readonly [string, Values])[] = [
  ['nothing said', {}],
  ['namespaces of tenants only', ONLY_TENANTS],
  ['an address, platform namespaces, opened ranges, and an image by digest', OPENED],
  [
    'all left out that others bring',
    {
      rbac: { create: false },
      crds: { install: false },
      tableNamespace: { create: false, name: 'own-tables' },
      operator: { replicas: 0, resources: null },
      gateway: { replicas: 0, resources: null },
    },
  ],
  [
    'a parent chart, CRDs that go with the release, and other times',
    {
      global: { anything: true },
      rbac: { aggregate: false },
      crds: { keep: false },
      gateway: { drain: { acceptSeconds: 0, graceSeconds: 60 } },
    },
  ],
];

describe.each(VALUE_SETS)('with %s', (_, values) => {
  let text: string;
  let objects: Rendered[];
  beforeAll(async () => {
    ({ stdout: text } = await template(plane(), values));
    objects = parseRendered(text);
  });

  test('helm lint --strict finds nothing', async () => {
    const { code, stdout } = await helm(plane(), ['lint', '--strict', CHART], values);
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  test('the API server takes every object, without a warning', async () => {
    const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
    const applied = await plane().kubectl(args, { stdin: text });
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    expect(applied.stdout.trim().split('\n')).toHaveLength(objects.length);
  });

  test('the processes can read their environment', () => {
    const [gateway, operator] = PARTS.map((part) => deploymentOf(objects, `penstock-${part}`).environment);
    expect(readGatewaySettings(gateway)).toMatchObject({ port: 8080 });
    expect(readOperatorSettings(operator)).toMatchObject({ instance: 'penstock' });
  });

  test('the pods are such as the restricted standard asks for', async () => {
    const pods = PARTS.map((part) => {
      const { template: pod } = deploymentOf(objects, `penstock-${part}`);
      const metadata = { ...pod.metadata, name: part, namespace: 'restricted' };
      return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec: pod.spec });
    });
    const args = ['create', '--dry-run=server', '--validate=strict', '-f', '-'];
    const created = await plane().kubectl(args, { stdin: pods.join('\n---\n') });
    expect(created).toMatchObject({ code: 0, stderr: '' });
    expect(created.stdout.trim().split('\n')).toHaveLength(PARTS.length);
  });
});

describe('a value is refused, and named:', () => {
  const refused: readonly (readonly [string, Values, string])[] = [
    ['a mistyped section', { gatway: {} }, 'gatway'],
    ['a mistyped value', { gateway: { replica: 2 } }, 'replica'],
    ['replicas as text', { gateway: { replicas: '2' } }, '/gateway/replicas'],
    ['fewer than no replicas', { operator: { replicas: -1 } }, '/operator/replicas'],
    ['the tag latest', { image: { tag: 'latest' } }, '/image/tag'],
    ['a digest that is none', { image: { digest: 'abc' } }, '/image/digest'],
    ['an unknown pull policy', { image: { pullPolicy: 'Sometimes' } }, '/image/pullPolicy'],
    ['a scope that is none', { rbac: { scope: 'everything' } }, '/rbac/scope'],
    ['namespaces of nobody', { rbac: { scope: 'namespaces' } }, '/rbac/tenantNamespaces'],
    ['namespaces that would be ignored', { rbac: { tenantNamespaces: ['a'] } }, '/rbac/tenantNamespaces'],
    ['a namespace that is none', { platformNamespaces: ['Team A'] }, '/platformNamespaces/0'],
    [
      'a range for nobody',
      { egress: { allow: [{ cidr: '10.0.0.0/8', namespaces: [] }] } },
      '/egress/allow/0/namespaces',
    ],
    [
      'a range that is none',
      { egress: { allow: [{ cidr: '10.0.0.0', namespaces: ['*'] }] } },
      '/egress/allow/0/cidr',
    ],
    [
      'an address without /v1',
      { gateway: { publicUrl: 'https://models.example.com' } },
      '/gateway/publicUrl',
    ],
    [
      'an address with a slash at its end',
      { gateway: { publicUrl: 'https://a.example/v1/' } },
      '/gateway/publicUrl',
    ],
    ['a service prefix with a slash', { servicePrefix: 'a/b' }, '/servicePrefix'],
    ['a key prefix with a space', { keyPrefix: 'a b' }, '/keyPrefix'],
    [
      'memory that is none',
      { gateway: { resources: { limits: { memory: 'much' } } } },
      '/gateway/resources/limits/memory',
    ],
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
    const { stderr } = await template(plane(), {}, { kubeVersion: '1.33.9' });
    expect(stderr).toContain('>=1.34.0-0');
  });
});

describe('what is rendered', () => {
  test('the settings are those of the values', async () => {
    const { env } = deploymentOf(await render(plane(), OPENED), 'penstock-operator');
    expect(readOperatorSettings(env)).toMatchObject({
      instance: 'penstock',
      namespace: RELEASE_NAMESPACE,
      tableNamespace: 'penstock-tables',
      baseUrl: 'https://models.example.com/base/v1',
      tenantNamespaces: [],
      metricsPort: 9090,
      platform: {
        servicePrefix: 'acme',
        keyPrefix: 'acme_',
        platformNamespaces: ['platform', 'ml'],
        egressAllow: [
          { cidr: '10.20.0.0/16', namespaces: ['*'] },
          { cidr: 'fd00::/8', namespaces: ['ml'] },
        ],
      },
    });
  });

  test('the address of the Service is written beside keys, where there is no other', async () => {
    const { env } = deploymentOf(await render(plane()), 'penstock-operator');
    expect(env.PENSTOCK_BASE_URL).toBe(`http://penstock-gateway.${RELEASE_NAMESPACE}.svc/v1`);
  });

  test('only the namespaces of tenants are asked about, where there are some', async () => {
    const { env } = deploymentOf(await render(plane(), ONLY_TENANTS), 'penstock-operator');
    expect(readOperatorSettings(env).tenantNamespaces).toEqual(TENANTS);
  });

  test.each([
    ['penstock-gateway', 'gateway/settings.ts'],
    ['penstock-operator', 'operator/settings.ts'],
  ])('every variable of %s is one that is read', async (name, path) => {
    const source = await readFile(join(ROOT, path), 'utf8');
    const { env } = deploymentOf(await render(plane()), name);
    expect(Object.keys(env).filter((variable) => !source.includes(`${variable}:`))).toEqual([]);
  });

  test('a pod may take as long to leave as its process does', async () => {
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

  test('the Service leads to the port that the gateway listens on', async () => {
    const objects = await render(plane());
    const service = objects.find(({ kind }) => kind === 'Service');
    const { environment, template: pod } = deploymentOf(objects, 'penstock-gateway');
    expect(service).toMatchObject({ spec: { ports: [{ port: 80, targetPort: 'http' }] } });
    const ports = pod.spec.containers[0].ports.map(({ name, containerPort }) => [name, containerPort]);
    const settings = readGatewaySettings(environment);
    expect(Object.fromEntries(ports)).toEqual({
      http: settings.port,
      metrics: settings.metricsPort,
      internal: settings.internalPort,
    });
  });

  test('the image is the version of the chart, another tag, or a digest', async () => {
    const image = async (values: Values) =>
      deploymentOf(await render(plane(), { image: values }), 'penstock-operator').template.spec.containers[0]
        .image;
    expect(await image({})).toBe(`penstock:${packageJson.version}`);
    expect(await image({ repository: 'registry.example/p', tag: 'x' })).toBe('registry.example/p:x');
    expect(await image({ tag: 'x', digest: DIGEST })).toBe(`penstock@${DIGEST}`);
  });

  test('both processes are files of the image, seen from its folder', async () => {
    const objects = await render(plane());
    for (const part of ['operator', 'gateway'] as const) {
      const { command } = deploymentOf(objects, `penstock-${part}`).template.spec.containers[0];
      expect(command).toEqual(['node', `dist/${part}.js`]);
      expect(image.files).toContain(`dist/${part}.js`);
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

  test('the CRDs are those of crds/, and stay where they shall', async () => {
    const committed = await Promise.all(
      ['api-key', 'model-route', 'provider'].map(async (name): Promise<unknown> => {
        return parseYaml(await readFile(join(ROOT, `crds/${name}.yaml`), 'utf8'));
      }),
    );
    const crds = async (values: object) =>
      (await render(plane(), { crds: values })).filter(({ kind }) => kind === 'CustomResourceDefinition');
    const policy = 'helm.sh/resource-policy';
    expect((await crds({ keep: false })).sort(byName)).toEqual(committed);
    expect((await crds({})).map(({ metadata }) => metadata.annotations?.[policy])).toEqual(
      Array(3).fill('keep'),
    );
    expect(await crds({ install: false })).toEqual([]);
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

test('chart and program have one version', async () => {
  const chart: unknown = parseYaml(await readFile(join(CHART, 'Chart.yaml'), 'utf8'));
  expect(chart).toMatchObject({ version: packageJson.version, appVersion: packageJson.version });
});

describe('values.yaml', () => {
  const entries = async () => {
    const document = parseDocument(await readFile(join(CHART, 'values.yaml'), 'utf8'));
    if (!isMap(document.contents)) throw new Error('values.yaml is no map');
    return entriesOf(document.contents, '', document.commentBefore ?? '');
  };

  test('has a comment in front of every value', async () => {
    expect((await entries()).filter(({ comment }) => comment === '').map(({ path }) => path)).toEqual([]);
  });

  test('and its schema know the same values', async () => {
    const schema: unknown = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'));
    const known = schemaPaths(schema, schema).filter((path) => path !== '/global');
    expect((await entries()).map(({ path }) => path).sort()).toEqual(
      known
        .filter(
          (path) => path !== '/operator/resources/limits/cpu' && path !== '/gateway/resources/limits/cpu',
        )
        .sort(),
    );
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
