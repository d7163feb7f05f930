// Is the chart installed, what may each party do then, and what stays when it goes?

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { systemClock } from '../../core/clock.ts';
import { authoritySecretName, ledgerSecretName } from '../../core/contract/internal-tls.ts';
import { type KubeClient, KubeError } from '../../core/kube/client.ts';
import { openConfiguredClient } from '../../core/kube/config.ts';
import { mergePatch } from '../../core/kube/patch.ts';
import { keepCertificates } from '../../operator/certificates/keeper.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { type Asking, askAsAdmin } from '../cluster/crd-cases/post.ts';
import {
  serverEnvironment,
  serviceAccountToken,
  writeKubeconfig,
  writeServiceAccountFolder,
} from '../cluster/identities.ts';
import { apply, createNamespace } from '../cluster/objects.ts';
import { run } from '../cluster/run.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { CHART, mustHelm, RELEASE_NAMESPACE, type Values } from './helm.ts';

const API_KEY =
  '{apiVersion: penstock.dev/v1alpha1, kind: ApiKey, metadata: {name: bot, namespace: team-a}, spec: {}}';

const applyObjects = fileURLToPath(new URL('../../deploy/jobs/apply-objects/main.ts', import.meta.url));

const plane = useControlPlane();
let server: Asking;
/** Names of what was there between the first installation and the second. */
let leftBehind: string[];

beforeAll(async () => {
  server = await askAsAdmin(plane());
  for (const name of ['team-a', 'team-b', 'team-c', 'platform', 'team-going'])
    await createNamespace(plane().client, name);
  for (const role of ['admin', 'edit', 'view'])
    await apply(plane().client, bindingOf(role, role, `${role}-of-a`));
  await install('penstock', RELEASE_NAMESPACE, {}, '--no-hooks');
  await plane().mustKubectl(['wait', '--for=condition=Established', 'crd', '--all']);
  await plane().mustKubectl(['create', '-f', '-'], { stdin: API_KEY });
  await mustHelm(plane(), ['uninstall', 'penstock', '-n', RELEASE_NAMESPACE]);
  await plane().mustKubectl(['wait', '--for=delete', 'namespace/penstock-tables', '--timeout=30s']);
  leftBehind = await ours();
  // From before there were rules.
  await plane().mustKubectl(['create', '-f', '-'], {
    stdin: JSON.stringify(route('team-a', 'penstock/old')),
  });
  // No kubelet runs its Job here.
  await install(
    'penstock',
    RELEASE_NAMESPACE,
    { platformNamespaces: ['platform'], dashboard: { enabled: true } },
    '--no-hooks',
  );
  await apply(plane().client, bindingOf('tenant', 'penstock-tenant', 'tenant-of-a'));
  await install(
    'second',
    'second-system',
    {
      crds: { install: false },
      rbac: { scope: 'namespaces', tenantNamespaces: ['team-b'], aggregate: false },
    },
    '--no-hooks',
  );
  // What their Jobs apply: the admission policies read it.
  for (const [release, names] of [
    ['penstock', ['platform']],
    ['second', []],
  ] as const)
    await apply(plane().client, {
      apiVersion: 'penstock.dev/v1alpha1',
      kind: 'TenantPolicy',
      metadata: { name: `${release}-platform` },
      spec: { role: 'Platform', namespaces: { names } },
    });
  // Helm four times, on a machine that runs all other tests beside it.
}, 180_000);
afterAll(() => server?.close());

const bindingOf = (name: string, role: string, user: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { namespace: 'team-a', name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
});

async function install(release: string, namespace: string, values: Values = {}, ...args: string[]) {
  const where = ['--namespace', namespace, '--create-namespace', ...args];
  await mustHelm(plane(), ['install', release, CHART, ...where], values);
}

const route = (namespace: string, model: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'penstock.dev/v1alpha1',
  kind: 'ModelRoute',
  metadata: { name: 'chat', namespace, ...metadata },
  spec: { model, targets: [{ name: 'one', providerRef: { name: 'one' }, upstreamModel: 'm' }], ...spec },
});

const provider = (namespace: string, spec: object = {}) => ({
  apiVersion: 'penstock.dev/v1alpha1',
  kind: 'Provider',
  metadata: { name: 'one', namespace },
  spec: {
    type: 'OpenAICompatible',
    baseURL: 'https://models.example.com/v1',
    apis: ['ChatCompletions'],
    auth: { type: 'None' },
    ...spec,
  },
});

async function ours(): Promise<string[]> {
  const kinds =
    'crd,apikey,namespace,clusterrole,clusterrolebinding,role,rolebinding,deployment,service,serviceaccount,' +
    'networkpolicy,poddisruptionbudget,validatingadmissionpolicy,validatingadmissionpolicybinding';
  const names = await plane().mustKubectl(['get', kinds, '-A', '-o', 'name']);
  const isOurs = (name: string) => /penstock|apikey/.test(name) && name !== `namespace/${RELEASE_NAMESPACE}`;
  return names.trim().split('\n').filter(isOurs).sort();
}

test('after an uninstall only the CRDs and the objects of users stay, and it can be installed again', () => {
  expect(leftBehind).toEqual([
    'apikey.penstock.dev/bot',
    'customresourcedefinition.apiextensions.k8s.io/apikeys.penstock.dev',
    'customresourcedefinition.apiextensions.k8s.io/modelroutes.penstock.dev',
    'customresourcedefinition.apiextensions.k8s.io/providers.penstock.dev',
    'customresourcedefinition.apiextensions.k8s.io/tenantpolicies.penstock.dev',
  ]);
});

test('a ResourceQuota as in the guide refuses one object too many of each kind', async () => {
  const example = new URL('../../docs/examples/quota/quota.yaml', import.meta.url);
  const quota = z
    .object({ metadata: z.looseObject({}), spec: z.object({ hard: z.record(z.string(), z.string()) }) })
    .loose()
    .parse(parse(await readFile(example, 'utf8')));
  const hard = Object.fromEntries(Object.keys(quota.spec.hard).map((name) => [name, '1']));
  const metadata = { ...quota.metadata, namespace: 'counted' };
  await plane().mustKubectl(['create', 'namespace', 'counted']);
  const create = (object: object) =>
    plane().mustKubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) });
  await create({ ...quota, metadata, spec: { hard } });
  // The controller that counts does not run here: that there is none yet is its word, and all later counts are the API server's own.
  const none = Object.fromEntries(Object.keys(hard).map((name) => [name, '0']));
  const status = JSON.stringify({ status: { hard, used: none } });
  const ref = ['resourcequota', 'penstock', '-n', 'counted'];
  await plane().mustKubectl(['patch', ...ref, '--subresource=status', '--type=merge', '-p', status]);
  const apiKey = { apiVersion: 'penstock.dev/v1alpha1', kind: 'ApiKey', spec: {} };
  const named = (object: object, name: string) => ({ ...object, metadata: { name, namespace: 'counted' } });
  for (const object of [apiKey, route('counted', 'm'), provider('counted')]) {
    await create(named(object, 'one'));
    await expect(create(named(object, 'two'))).rejects.toThrow(/exceeded quota: penstock, .*used: .*=1/);
  }
  const used = await plane().mustKubectl(['get', ...ref, '-o', 'jsonpath={.status.used}']);
  expect(JSON.parse(used)).toEqual(hard);
  await plane().mustKubectl(['delete', 'namespace', 'counted', '--wait=false']);
}, 30_000);

test('the Deployments, the Service and the table namespace are there, and an upgrade changes them', async () => {
  const replicas = ['get', 'deployment', '-n', 'second-system', '-o', 'jsonpath={.items[*].spec.replicas}'];
  expect(await plane().mustKubectl(replicas)).toBe('2 1 2');
  await mustHelm(
    plane(),
    ['upgrade', 'second', CHART, '-n', 'second-system', '--reuse-values', '--no-hooks'],
    {
      gateway: { replicas: 3 },
    },
  );
  expect((await plane().mustKubectl(replicas)).split(' ').sort()).toEqual(['1', '2', '3']);
  await plane().mustKubectl(['get', 'service', '-n', 'second-system', 'second-gateway']);
  const namespace = await plane().mustKubectl(['get', 'namespace', 'second-tables', '-o', 'yaml']);
  expect(namespace).toContain('pod-security.kubernetes.io/enforce: restricted');
});

test('certificates that the operator writes, with its own rights, survive every way to apply the chart again', async () => {
  const namespace = 'second-system';
  const bearer = await serviceAccountToken(plane(), namespace, 'second-operator');
  const kubeconfig = await writeKubeconfig(plane(), 'second-operator', bearer);
  const { client } = await openConfiguredClient({ kubeconfig });
  onTestFinished(() => client.close());
  const said: unknown[] = [];
  const keeper = keepCertificates({
    client,
    clock: systemClock,
    ...{ instance: 'second', namespace, hasLedger: true },
    log: (...words) => void said.push(words),
  });
  onTestFinished(() => keeper.close());
  await keeper.looked;
  expect(said).toEqual([['info', expect.anything(), { made: ['authority', 'gateway', 'ledger'] }]]);
  const names = [authoritySecretName('second'), ledgerSecretName('second')];
  const stored = () =>
    plane().mustKubectl(['get', 'secret', '-n', namespace, ...names, '-o', 'jsonpath={.items[*].data}']);
  const written = await stored();
  expect(written.match(/"tls.key"/g)).toHaveLength(2);

  await mustHelm(plane(), ['upgrade', 'second', CHART, '-n', namespace, '--reuse-values', '--no-hooks']);
  expect(await stored()).toBe(written);
  const manifests = (await mustHelm(plane(), ['get', 'manifest', 'second', '-n', namespace])).split(/^---$/m);
  const stdin = manifests.filter((one) => /^kind: Secret$/m.test(one)).join('---\n');
  // As GitOps does, in both of its forms.
  for (const way of [[], [], ['--server-side', '--force-conflicts']]) {
    await plane().mustKubectl(['apply', ...way, '-n', namespace, '-f', '-'], { stdin });
    expect(await stored()).toBe(written);
  }
});

/** Verbs, resource (`group/plural/subresource`), namespace ('' for the whole cluster), and a name where one is meant. */
type Right = readonly [string, string, string, string?];

const reviewSchema = z.object({ allowed: z.boolean() });

async function may(user: string, [verb, resource, namespace, name = '']: Right): Promise<boolean> {
  const [group = '', plural, subresource = ''] = resource.split('/');
  const groups = user.startsWith('system:serviceaccount:')
    ? ['system:serviceaccounts', `system:serviceaccounts:${user.split(':')[2]}`, 'system:authenticated']
    : ['system:authenticated'];
  const { body } = await server.ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user,
      groups,
      resourceAttributes: { verb, group, resource: plural, subresource, namespace, name },
    },
  });
  return reviewSchema.parse(body.status).allowed;
}

const account = (name: string, namespace = RELEASE_NAMESPACE) => `system:serviceaccount:${namespace}:${name}`;

const PARTIES: readonly {
  readonly who: string;
  readonly user: string;
  readonly rights: readonly Right[];
  readonly none: readonly Right[];
}[] = [
  {
    who: 'the operator of the whole cluster',
    user: account('penstock-operator'),
    rights: [
      ['list,watch', 'penstock.dev/providers', ''],
      ['list,watch', 'penstock.dev/modelroutes', ''],
      ['list,watch', 'penstock.dev/apikeys', ''],
      ['patch', 'penstock.dev/apikeys/status', 'team-a'],
      ['patch', 'penstock.dev/providers/status', 'team-a'],
      ['patch', 'penstock.dev/modelroutes/status', 'team-a'],
      ['list,watch', '/namespaces', ''],
      ['get', 'apiextensions.k8s.io/customresourcedefinitions', '', 'providers.penstock.dev'],
      ['list,watch', '/secrets', ''],
      ['create', '/secrets', 'team-a'],
      ['create,patch', 'events.k8s.io/events', 'team-a'],
      ['create', 'coordination.k8s.io/leases', RELEASE_NAMESPACE],
      ['get,update', 'coordination.k8s.io/leases', RELEASE_NAMESPACE, 'penstock-operator'],
      ['list,watch', '/pods', RELEASE_NAMESPACE],
      ['get,update', '/secrets', 'penstock-tables', 'penstock-current'],
      ['delete', '/secrets', 'penstock-tables', 'penstock-k-00-0123456789abcdef'],
    ],
    none: [
      ['update', 'penstock.dev/apikeys', 'team-a'],
      ['get', 'apiextensions.k8s.io/customresourcedefinitions', '', 'others.example.com'],
      ['list', 'apiextensions.k8s.io/customresourcedefinitions', ''],
      ['patch', 'penstock.dev/providers', 'team-a'],
      ['delete', 'penstock.dev/modelroutes', 'team-a'],
      ['get', 'penstock.dev/apikeys', 'team-a'],
      ['get', '/secrets', 'team-a'],
      ['update', '/secrets', 'team-a'],
      ['update', '/secrets', 'penstock-tables', 'penstock-k-00-0123456789abcdef'],
      ['delete', '/secrets', 'team-a'],
      ['patch', '/namespaces', '', 'team-a'],
      ['update', '/configmaps', 'team-a'],
      ['get', '/pods', 'team-a'],
      ['create', '/pods', RELEASE_NAMESPACE],
      ['create', '/pods/exec', RELEASE_NAMESPACE],
      ['update', 'coordination.k8s.io/leases', RELEASE_NAMESPACE, 'another'],
      ['delete', 'coordination.k8s.io/leases', RELEASE_NAMESPACE, 'penstock-operator'],
      ['create', '/serviceaccounts/token', RELEASE_NAMESPACE],
      ['update', 'rbac.authorization.k8s.io/roles', RELEASE_NAMESPACE],
    ],
  },
  {
    who: 'the operator of some namespaces',
    user: account('second-operator', 'second-system'),
    rights: [
      ['list,watch', 'penstock.dev/providers', 'team-b'],
      ['list,watch', 'penstock.dev/modelroutes', 'team-b'],
      ['list,watch', 'penstock.dev/apikeys', 'team-b'],
      ['list,watch,create', '/secrets', 'team-b'],
      ['patch', 'penstock.dev/apikeys/status', 'team-b'],
      ['create,patch', 'events.k8s.io/events', 'team-b'],
      ['list,watch', '/namespaces', ''],
      ['get,list,watch,create,delete', '/secrets', 'second-tables'],
      ['update', '/secrets', 'second-tables', 'second-current'],
      ['create,patch', 'events.k8s.io/events', 'second-tables'],
      ['get,update', 'coordination.k8s.io/leases', 'second-system', 'second-operator'],
    ],
    none: [
      ['list', 'penstock.dev/apikeys', ''],
      ['list', 'penstock.dev/apikeys', 'team-a'],
      ['list', '/secrets', ''],
      ['get', '/secrets', 'team-a'],
      ['get', '/secrets', RELEASE_NAMESPACE],
      ['get', '/secrets', 'penstock-tables'],
      ['get', '/secrets', 'second-system'],
    ],
  },
  {
    who: 'a gateway',
    user: account('penstock-gateway'),
    rights: [
      ['get', '/secrets', 'penstock-tables', 'penstock-r-00-0123456789abcdef'],
      ['list,watch', '/secrets', 'penstock-tables', 'penstock-current'],
    ],
    none: [
      ['list', '/secrets', 'penstock-tables'],
      ['watch', '/secrets', 'penstock-tables'],
      ['update', '/secrets', 'penstock-tables', 'penstock-current'],
      ['create', '/secrets', 'penstock-tables'],
      ['get', '/secrets', RELEASE_NAMESPACE],
      ['get', '/secrets', 'team-a'],
      ['get', '/secrets', 'second-tables'],
      ['get', 'penstock.dev/apikeys', 'team-a'],
      ['get', 'coordination.k8s.io/leases', RELEASE_NAMESPACE, 'penstock-operator'],
    ],
  },
  {
    who: 'a dashboard',
    user: account('penstock-dashboard'),
    rights: [],
    none: [
      ['get,list,watch,create,update,patch,delete', 'penstock.dev/apikeys', 'team-a'],
      ['get,list,create', 'penstock.dev/providers', 'team-a'],
      ['get,list,create', 'penstock.dev/modelroutes', 'team-a'],
      ['get,list,watch,create', '/secrets', 'team-a'],
      ['get,list', '/secrets', RELEASE_NAMESPACE],
      ['get,list', '/secrets', 'penstock-tables'],
      ['list', '/namespaces', ''],
      ['list', '/pods', RELEASE_NAMESPACE],
      ['create', 'authentication.k8s.io/tokenreviews', ''],
      ['create', 'authorization.k8s.io/subjectaccessreviews', ''],
      ['impersonate', '/users', ''],
      ['create', '/serviceaccounts/token', RELEASE_NAMESPACE],
    ],
  },
  {
    who: 'a user with penstock-tenant in a namespace',
    user: 'tenant-of-a',
    rights: [
      ['get,list,watch,create,update,patch,delete', 'penstock.dev/apikeys', 'team-a'],
      ['get,list,watch,create,update,patch,delete', 'penstock.dev/providers', 'team-a'],
      ['get,list,watch,create,update,patch,delete', 'penstock.dev/modelroutes', 'team-a'],
      ['create', '/secrets', 'team-a'],
    ],
    none: [
      ['get,list,watch,update,patch,delete', '/secrets', 'team-a'],
      ['patch', 'penstock.dev/apikeys/status', 'team-a'],
      ['get', 'penstock.dev/apikeys', 'team-b'],
      ['create', '/secrets', 'team-b'],
      ['create', '/pods', 'team-a'],
    ],
  },
];

describe.each(PARTIES)('$who', ({ user, rights, none }) => {
  const named = (list: readonly Right[]) =>
    list.flatMap(([verbs, ...what]) =>
      verbs.split(',').map((verb) => [`${verb} ${what.join(' ')}`, [verb, ...what] satisfies Right] as const),
    );
  test.each(named(rights))('may %s', async (_, right) => {
    expect(await may(user, right)).toBe(true);
  });
  test.each(named(none))('may not %s', async (_, right) => {
    expect(await may(user, right)).toBe(false);
  });
});

describe('a user with a ClusterRole in a namespace', () => {
  const KINDS = ['penstock.dev/providers', 'penstock.dev/modelroutes', 'penstock.dev/apikeys'];

  // The controller of the cluster puts the rules together a moment after they are there, and tells nobody.
  beforeAll(() =>
    vi.waitFor(
      async () => {
        for (const user of ['admin-of-a', 'edit-of-a', 'view-of-a']) {
          expect(await may(user, ['get', 'penstock.dev/apikeys', 'team-a'])).toBe(true);
        }
        expect(await may('edit-of-a', ['create', 'penstock.dev/apikeys', 'team-a'])).toBe(true);
        expect(await may('admin-of-a', ['create', 'penstock.dev/apikeys', 'team-a'])).toBe(true);
      },
      { timeout: 30_000, interval: 100 },
    ),
  );

  test.each(['admin-of-a', 'edit-of-a'])(
    '%s writes all three kinds there, and nowhere else',
    async (user) => {
      for (const kind of KINDS) {
        for (const verb of ['get', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']) {
          expect([verb, kind, await may(user, [verb, kind, 'team-a'])]).toEqual([verb, kind, true]);
        }
        expect(await may(user, ['get', kind, 'team-b'])).toBe(false);
        expect(await may(user, ['patch', `${kind}/status`, 'team-a'])).toBe(false);
      }
    },
  );

  test('view-of-a reads all three kinds there, and no Secret', async () => {
    for (const kind of KINDS) {
      for (const verb of ['get', 'list', 'watch'])
        expect(await may('view-of-a', [verb, kind, 'team-a'])).toBe(true);
      for (const verb of ['create', 'update', 'patch', 'delete']) {
        expect(await may('view-of-a', [verb, kind, 'team-a'])).toBe(false);
      }
    }
    expect(await may('view-of-a', ['get', '/secrets', 'team-a'])).toBe(false);
  });

  test.each(['admin-of-a', 'edit-of-a', 'view-of-a'])('%s sees nothing of the table', async (user) => {
    expect(await may(user, ['get', '/secrets', 'penstock-tables'])).toBe(false);
  });
});

describe('admission rules at kubectl apply', () => {
  const dryRun = (object: object, ...args: string[]) =>
    plane().kubectl(['apply', '--server-side', '--dry-run=server', ...args, '-f', '-'], {
      stdin: JSON.stringify(object),
    });

  // The API server takes a policy up a moment after it is there, and tells nobody.
  beforeAll(() =>
    vi.waitFor(
      async () => {
        for (const namespace of ['team-a', 'team-b'])
          expect((await dryRun(route(namespace, 'penstock/x', {}, { name: 'x' }))).code).toBe(1);
      },
      { timeout: 30_000, interval: 200 },
    ),
  );

  const shared = { allowedNamespaces: { from: 'All' } };
  const refusals: readonly (readonly [string, object, string])[] = [
    [
      'the service prefix',
      route('team-c', 'penstock/chat'),
      'ModelRoute team-c/chat: penstock/chat: ids that begin with "penstock/" are for platform namespaces, and team-c is not one; choose another id, such as one that begins with "team-c/"',
    ],
    [
      'the service prefix in an alias, in any case',
      route('team-c', 'chat', { aliases: ['fine', 'Penstock/Chat'] }),
      'ModelRoute team-c/chat: Penstock/Chat: ids that begin',
    ],
    [
      'a ModelRoute for other namespaces',
      route('team-c', 'chat', shared),
      'ModelRoute team-c/chat: spec.allowedNamespaces.from All may only be used in platform namespaces, and team-c is not one; remove it, or ask the platform team',
    ],
    [
      'a public ModelRoute',
      route('team-c', 'chat', { ...shared, visibility: 'Public' }),
      'may only be used in platform namespaces, and team-c is not one',
    ],
    [
      'a Provider for other namespaces',
      provider('team-c', { allowedNamespaces: { from: 'Selector', selector: { matchLabels: { a: 'b' } } } }),
      'Provider team-c/one: spec.allowedNamespaces.from Selector may only be used in platform namespaces',
    ],
  ];
  test.each(refusals)('a tenant is refused %s, with the remedy', async (_, object, words) => {
    const { code, stderr } = await dryRun(object);
    expect([code, stderr.replace(/\s+/g, ' ')]).toEqual([1, expect.stringContaining(words)]);
  });

  test('a tenant is refused it in an update too, and may do everything else', async () => {
    expect(await dryRun(provider('team-c'))).toMatchObject({ code: 0 });
    const mine = route('team-c', 'penstock-like', {
      visibility: 'Hidden',
      allowedNamespaces: { from: 'Same' },
    });
    await plane().mustKubectl(['create', '-f', '-'], { stdin: JSON.stringify(mine) });
    const { code, stderr } = await plane().kubectl([
      ...['patch', 'modelroute', 'chat', '-n', 'team-c', '--type=merge'],
      ...['-p', '{"spec":{"allowedNamespaces":{"from":"All"}}}'],
    ]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('spec.allowedNamespaces.from All')]);
  });

  test('the platform may do all of these', async () => {
    const sharing = { ...shared, visibility: 'Public', aliases: ['penstock/other'] };
    for (const object of [route('platform', 'penstock/chat', sharing), provider('platform', shared)])
      expect(await dryRun(object)).toMatchObject({ code: 0, stderr: '' });
  });

  test('the five first steps in the notes work', async () => {
    const notes = await mustHelm(plane(), ['get', 'notes', 'penstock', '-n', RELEASE_NAMESPACE]);
    const [, first = ''] = notes.split('Create your first provider');
    const [steps = ''] = first.split('Check the status');
    expect(steps.match(/^ {2}kubectl /gm)).toHaveLength(5);
    const manifest = /<<'YAML'\n(.*)\n {2}YAML\n/s.exec(steps)?.[1]?.replaceAll(/^ {2}/gm, '') ?? '';
    const args = [
      'apply',
      '-n',
      'team-b',
      '--server-side',
      '--dry-run=server',
      '--validate=strict',
      '-f',
      '-',
    ];
    const { code, stdout, stderr } = await plane().kubectl(args, { stdin: manifest });
    expect([code, stderr, stdout.trim().split('\n')]).toEqual([0, '', Array(3).fill(expect.anything())]);
  });

  test('the notes show how to open the dashboard with sufficient rights', async () => {
    const notes = await mustHelm(plane(), ['get', 'notes', 'penstock', '-n', RELEASE_NAMESPACE]);
    const [, reported = ''] = notes.split('To open the dashboard from your machine');
    const [forward = '', ...commands] = [...reported.matchAll(/^ {2}kubectl (.+)$/gm)].map(([, line = '']) =>
      line.split(' '),
    );
    expect(forward.slice(0, 2)).toEqual(['port-forward', '-n']);
    for (const command of commands) await plane().mustKubectl(command);
    expect(commands).toHaveLength(3);
    expect(await may(account('me', 'team-a'), ['create', 'penstock.dev/apikeys', 'team-a'])).toBe(true);
  });

  test('the roles in the dashboard guide allow what the guide says', async () => {
    const guide = await readFile(join(CHART, '../../docs/guides/dashboard.md'), 'utf8');
    const commands = [...guide.matchAll(/^kubectl (create (?!secret).+)$/gm)].map(([, line = '']) => line);
    expect(commands).toHaveLength(8);
    for (const command of commands) await plane().mustKubectl(command.split(' '));
    const ada = account('ada', 'team-a');
    expect(await may(ada, ['patch', 'penstock.dev/apikeys', 'team-a'])).toBe(true);
    expect(await may(ada, ['create', '/secrets', 'team-a'])).toBe(true);
    expect(await may(ada, ['get', '/secrets', 'team-a'])).toBe(false);
    // Bound to view, and to keys alone.
    expect(await may('ada@example.com', ['get', 'penstock.dev/providers', 'team-a'])).toBe(true);
    expect(await may('ada@example.com', ['create', 'penstock.dev/apikeys', 'team-a'])).toBe(true);
    expect(await may('ada@example.com', ['create', 'penstock.dev/providers', 'team-a'])).toBe(false);
    expect(await may('ada@example.com', ['get', 'penstock.dev/apikeys', 'team-b'])).toBe(false);
  });

  test('policies carry the name of their release, and policies of a namespaced release ignore other namespaces', async () => {
    const names = await plane().mustKubectl(['get', 'validatingadmissionpolicybinding', '-o', 'name']);
    const prefix = 'validatingadmissionpolicybinding.admissionregistration.k8s.io/';
    expect(names.trim().split('\n').sort()).toEqual(
      ['penstock', 'second']
        .flatMap((release) =>
          ['deletion-protection', 'models', 'operator', 'providers-in-use', 'sharing'].map(
            (policy) => `${release}-${policy}`,
          ),
        )
        .map((name) => prefix + name),
    );
    // `platform` is no platform namespace of the second release, which does not serve it.
    expect(await dryRun(route('platform', 'penstock/chat', shared))).toMatchObject({ code: 0 });
  });

  test('an object that breaks them can get a new status and be deleted, also in the foreground', async () => {
    const old = ['modelroute', 'chat', '-n', 'team-a'];
    await plane().mustKubectl([
      'patch',
      ...old,
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"observedGeneration":1}}',
    ]);
    const edited = await plane().kubectl(['label', ...old, 'a=b']);
    expect(edited).toMatchObject({ code: 1, stderr: expect.stringContaining('penstock/old') });
    await plane().mustKubectl(['delete', ...old, '--cascade=foreground', '--timeout=60s'], {
      timeoutMs: 90_000,
    });
  }, 100_000);

  test('a protected object is not deleted until the annotation or its namespace is gone', async () => {
    const keep = { annotations: { 'penstock.dev/deletion-protection': 'true' } };
    for (const namespace of ['team-a', 'team-going']) {
      const stdin = JSON.stringify(route(namespace, 'kept', {}, { name: 'kept', ...keep }));
      await plane().mustKubectl(['create', '-f', '-'], { stdin });
    }
    const one = ['modelroute', 'kept', '-n', 'team-a'];
    for (const what of [one, ['modelroutes', '--all', '-n', 'team-a']]) {
      const { code, stderr } = await plane().kubectl(['delete', ...what]);
      expect([code, stderr.replace(/\s+/g, ' ')]).toEqual([
        1,
        expect.stringContaining(
          'ModelRoute team-a/kept is protected from deletion by its annotation penstock.dev/deletion-protection; remove that first',
        ),
      ]);
    }
    await plane().mustKubectl(['annotate', ...one, '--overwrite', 'penstock.dev/deletion-protection=false']);
    await plane().mustKubectl(['delete', ...one]);
    await plane().mustKubectl(['delete', 'namespace', 'team-going', '--timeout=60s'], { timeoutMs: 90_000 });
  }, 100_000);
});

describe("the Secrets that the operator's account may write", () => {
  const issued = { 'penstock.dev/api-key': 'bot' };
  const secret = (namespace: string, type: string, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'made', namespace, ...metadata },
    type,
  });
  const owned = (kind: string, apiVersion: string) => ({
    labels: issued,
    ownerReferences: [{ apiVersion, kind, name: 'bot', uid: 'b' }],
  });
  const ofApiKey = owned('ApiKey', 'penstock.dev/v1alpha1');
  const token = 'kubernetes.io/service-account-token';
  const ofAdmin = { annotations: { 'kubernetes.io/service-account.name': 'made-up-admin' } };
  let operator: KubeClient;

  beforeAll(async () => {
    const bearer = await serviceAccountToken(plane(), RELEASE_NAMESPACE, 'penstock-operator');
    const kubeconfig = await writeKubeconfig(plane(), 'operator', bearer);
    operator = (await openConfiguredClient({ kubeconfig })).client;
    const shared = { name: 'shared', labels: { 'penstock.dev/provider-credential': 'true' } };
    await createSecret(plane().client, secret('team-a', 'Opaque', shared));
    await vi.waitFor(() => expect(create(secret('team-a', 'Opaque'))).rejects.toThrow(KubeError), {
      timeout: 20_000,
    });
  });
  afterAll(() => operator?.close());

  const createSecret = (client: KubeClient, body: ReturnType<typeof secret>, query = '') =>
    client.call({
      method: 'POST',
      path: `/api/v1/namespaces/${body.metadata.namespace}/secrets${query}`,
      body,
    });
  const create = (body: ReturnType<typeof secret>) => createSecret(operator, body, '?dryRun=All');

  test('exclude tokens of other accounts, with all their rights', async () => {
    await plane().mustKubectl(['create', 'serviceaccount', 'made-up-admin', '-n', 'kube-system']);
    const binding = ['clusterrolebinding', 'made-up-admin', '--clusterrole=cluster-admin'];
    await plane().mustKubectl(['create', ...binding, '--serviceaccount=kube-system:made-up-admin']);
    await expect(createSecret(operator, secret('kube-system', token, ofAdmin))).rejects.toThrow(
      /Secret kube-system\/made: the operator writes only Opaque Secrets .* create the ApiKey in a namespace of its users/,
    );
    // So there is none for its second step.
    const made = ['get', 'secret', 'made', '-n', 'kube-system', '--ignore-not-found', '-o', 'name'];
    expect(await plane().mustKubectl(made)).toBe('');
  });

  test.each<[string, ReturnType<typeof secret>]>([
    ['a token in a namespace of a tenant', secret('team-a', token, { ...ofAdmin, labels: issued })],
    ['a Secret of no ApiKey', secret('team-a', 'Opaque')],
    ['a Secret of another owner', secret('team-a', 'Opaque', owned('Deployment', 'apps/v1'))],
    ['a key in kube-system', secret('kube-system', 'Opaque', ofApiKey)],
    ['a key beside its own pods', secret(RELEASE_NAMESPACE, 'Opaque', ofApiKey)],
    ['a key in the namespace of the table', secret('penstock-tables', 'Opaque', ofApiKey)],
    ['a shard of the table elsewhere', secret('team-a', 'penstock.dev/table-shard', { labels: issued })],
  ])('are not %s', async (_, body) => {
    await expect(create(body)).rejects.toThrow(/the operator writes only/);
    await expect(createSecret(plane().client, body, '?dryRun=All')).resolves.toBeDefined();
  });

  test('exclude Secrets of others, whatever their labels are', async () => {
    const path = '/api/v1/namespaces/team-a/secrets/shared';
    const change = { metadata: { labels: issued }, data: { key: btoa('other') } };
    await expect(mergePatch(operator, path, change)).rejects.toThrow(/the operator writes only/);
  });

  test('include the key of an ApiKey, also a retained one, and the table', async () => {
    await create(secret('team-a', 'Opaque', ofApiKey));
    await create(secret('team-a', 'Opaque', { labels: issued }));
    await create(secret('penstock-tables', 'penstock.dev/table-shard'));
  });

  test('are limited by the policy alone: without it, the rights suffice', async () => {
    await plane().mustKubectl(['delete', 'validatingadmissionpolicybinding', 'penstock-operator']);
    await vi.waitFor(() => create(secret('kube-system', token, ofAdmin)), { timeout: 20_000 });
  }, 30_000);
});

describe('a Provider in use by ModelRoutes', () => {
  const keyed = (keys: readonly object[]) => provider('team-a', { auth: { type: 'ApiKey', keys } });
  const key = (name: string, more: object = {}) => ({
    name,
    secretRef: { name: 'upstream', key: name },
    ...more,
  });
  const one = ['providers.penstock.dev', 'one', '-n', 'team-a'];
  const say = async (status: object) =>
    plane().mustKubectl([
      ...['patch', ...one, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })],
    ]);
  const apply = (object: object) => plane().kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(object) });
  const refusalOf = async (change: ReturnType<typeof apply>) => {
    const { code, stderr } = await change;
    expect(code).toBe(1);
    return stderr.replace(/\s+/g, ' ');
  };
  const allow =
    'kubectl annotate providers.penstock.dev one -n team-a --overwrite penstock.dev/deletion-protection=false';

  beforeAll(async () => {
    await plane().mustKubectl(['apply', '-f', '-'], {
      stdin: JSON.stringify(keyed([key('a'), key('b'), key('c', { disabled: true })])),
    });
    await say({ attachedRoutes: 2, keys: [{ name: 'b', state: 'Missing' }] });
  });

  test('is neither deleted nor suspended, alone or with all others, and the refusal has the remedy', async () => {
    const used = 'Provider team-a/one is used by 2 ModelRoutes';
    for (const what of [one, ['providers', '--all', '-n', 'team-a']]) {
      const refusal = await refusalOf(plane().kubectl(['delete', ...what]));
      expect(refusal).toContain(
        `${used}. Remove it from spec.targets of these ModelRoutes first, or allow this: ${allow}`,
      );
    }
    const suspended = { spec: { suspended: true } };
    const patch = ['patch', ...one, '--type=merge', '-p', JSON.stringify(suspended)];
    expect(await refusalOf(plane().kubectl(patch))).toContain(
      `${used}, and spec.suspended takes it out of service. Remove it from spec.targets of these ModelRoutes first, or allow this: ${allow}`,
    );
  });

  test.each([
    ['removes its last key that works', [key('b')]],
    ['disables it', [key('a', { disabled: true }), key('b')]],
    ['drains it', [key('a', { weight: 0 })]],
    [
      'repairs another one and disables it',
      [key('b', { secretRef: { name: 'other', key: 'b' }, disabled: true })],
    ],
  ])('keeps its last key: an edit that %s is refused', async (_, keys) => {
    expect(await refusalOf(apply(keyed(keys)))).toContain(
      `and this edit leaves it no key that works. Add another key first.`,
    );
  });

  test('accepts every other edit, also another key in place of the last', async () => {
    const repaired = key('b', { secretRef: { name: 'other', key: 'b' } });
    for (const keys of [
      [key('a')],
      [key('d'), key('b')],
      [key('a'), key('b')],
      [repaired],
      [key('a'), key('b')],
    ])
      expect(await apply(keyed(keys))).toMatchObject({ code: 0 });
    expect(await apply(provider('team-a'))).toMatchObject({ code: 0 });
    expect(await apply(keyed([key('a'), key('b')]))).toMatchObject({ code: 0 });
  });

  test('is deleted with its ModelRoute in one file if that is first and the command is given twice', async () => {
    // As `kubectl delete -f` does: the route goes, and the Provider while its status still counts it.
    await plane().mustKubectl(['create', '-f', '-'], {
      stdin: JSON.stringify(route('team-a', 'a/one', {}, { name: 'of-one' })),
    });
    const file = [route('team-a', 'a/one', {}, { name: 'of-one' }), keyed([key('a')])];
    const stdin = file.map((object) => JSON.stringify(object)).join('\n---\n');
    const args = ['delete', '--ignore-not-found', '--dry-run=none', '-f', '-'];
    expect((await plane().kubectl(args, { stdin })).code).toBe(1);
    expect((await plane().kubectl(['get', 'modelroute', 'of-one', '-n', 'team-a'])).code).toBe(1);
    await say({ attachedRoutes: 0 });
    expect(await plane().kubectl(args, { stdin })).toMatchObject({ code: 0 });
  });

  test('is deleted with the annotation, in the edit itself too, and with its namespace', async () => {
    const annotated = (name: string, namespace: string, annotations: object) => {
      const made = provider(namespace);
      return { ...made, metadata: { ...made.metadata, name, annotations } };
    };
    const off = { 'penstock.dev/deletion-protection': 'false' };
    for (const [name, namespace] of [
      ['one', 'team-a'],
      ['one', 'team-leaving'],
    ] as const) {
      if (namespace !== 'team-a') await createNamespace(plane().client, namespace);
      await plane().mustKubectl(['apply', '-f', '-'], {
        stdin: JSON.stringify(annotated(name, namespace, {})),
      });
      await plane().mustKubectl([
        ...['patch', 'providers.penstock.dev', name, '-n', namespace, '--subresource=status'],
        ...['--type=merge', '-p', '{"status":{"attachedRoutes":1}}'],
      ]);
    }
    const suspended = annotated('one', 'team-a', off);
    expect(await apply({ ...suspended, spec: { ...suspended.spec, suspended: true } })).toMatchObject({
      code: 0,
    });
    await plane().mustKubectl(['delete', ...one]);
    await plane().mustKubectl(['delete', 'namespace', 'team-leaving', '--timeout=60s'], {
      timeoutMs: 90_000,
    });
  }, 100_000);
});

describe('namespaces in the values', () => {
  // No kubelet runs its Job here: its program is run with the rights and the objects of the Job.
  const namespace = 'fourth-system';
  const base = {
    crds: { install: false },
    rbac: { aggregate: false },
    admissionPolicies: { enabled: false },
  };
  const tenant = (name: string, limit: string) => ({
    namespace: name,
    budgets: [{ period: 'Month', limit }],
    limits: { requestsPerMinute: 60 },
  });

  async function runJob(): Promise<void> {
    const map = ['get', 'configmap', 'fourth-tenant-policies', '-n', namespace];
    const objectsFile = join(plane().folder, 'policies.json');
    await writeFile(
      objectsFile,
      await plane().mustKubectl([...map, '-o', 'jsonpath={.data.objects\\.json}']),
    );
    const name = 'fourth-tenant-policies';
    const token = await serviceAccountToken(plane(), namespace, name);
    const env = {
      ...bareEnvironment(),
      ...serverEnvironment(plane()),
      PENSTOCK_SERVICE_ACCOUNT_DIR: await writeServiceAccountFolder(plane(), name, { token, namespace }),
      PENSTOCK_OBJECTS: objectsFile,
      PENSTOCK_LABELS: `app.kubernetes.io/name=penstock,app.kubernetes.io/instance=fourth,app.kubernetes.io/component=tenant-policies`,
    };
    expect(await run(process.execPath, [applyObjects], { env })).toMatchObject({ code: 0, stderr: '' });
  }

  const byHand = { namespaces: { names: ['team-a'] } };
  /** Every namespace has this label. */
  const none = {
    selector: { matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'DoesNotExist' }] },
  };

  /** Those of this release, and what somebody has written. */
  async function specs(): Promise<Record<string, unknown>> {
    const { items } = JSON.parse(await plane().mustKubectl(['get', 'tenantpolicies', '-o', 'json']));
    const isOurs = ({ metadata }: { metadata: { name: string } }) => /^(fourth|by-hand)/.test(metadata.name);
    return Object.fromEntries(
      items
        .filter(isOurs)
        .map(({ metadata, spec }: { metadata: { name: string }; spec: unknown }) => [metadata.name, spec]),
    );
  }

  test('become TenantPolicies, which follow the values and keep additions by people', async () => {
    await install(
      'fourth',
      namespace,
      {
        ...base,
        platformNamespaces: ['platform'],
        tenants: [tenant('team-a', '500'), tenant('team-b', '50')],
        egress: { allow: [{ cidr: '10.20.0.0/16', namespaces: ['*'] }] },
      },
      '--no-hooks',
    );
    await runJob();
    const budget = { period: 'Month', limit: '500', currency: 'USD', action: 'Block', warnPercent: 80 };
    expect(await specs()).toEqual({
      'fourth-platform': { role: 'Platform', namespaces: { names: ['platform'] } },
      'fourth-tenant-team-a': {
        namespaces: { names: ['team-a'] },
        budgets: [budget],
        limits: { requestsPerMinute: 60 },
      },
      'fourth-tenant-team-b': {
        namespaces: { names: ['team-b'] },
        budgets: [{ ...budget, limit: '50' }],
        limits: { requestsPerMinute: 60 },
      },
      'fourth-egress-0': { namespaces: { selector: {} }, egress: { allow: ['10.20.0.0/16'] } },
    });

    const edited = { spec: { limits: { tokensPerMinute: 1000 } } };
    await plane().mustKubectl([
      ...['patch', 'tpol', 'fourth-tenant-team-a', '--type=merge', '-p', JSON.stringify(edited)],
    ]);
    await plane().mustKubectl(['create', '-f', '-'], {
      stdin: JSON.stringify({
        apiVersion: 'penstock.dev/v1alpha1',
        kind: 'TenantPolicy',
        metadata: { name: 'by-hand' },
        spec: byHand,
      }),
    });
    await mustHelm(plane(), ['upgrade', 'fourth', CHART, '-n', namespace, '--no-hooks'], {
      ...base,
      tenants: [tenant('team-a', '400')],
    });
    await runJob();
    expect(await specs()).toEqual({
      'by-hand': byHand,
      'fourth-platform': { role: 'Platform', namespaces: none },
      'fourth-tenant-team-a': {
        namespaces: { names: ['team-a'] },
        budgets: [{ ...budget, limit: '400' }],
        limits: { requestsPerMinute: 60, tokensPerMinute: 1000 },
      },
    });
    // Of values that name nothing any more, the last object goes too; what somebody has written stays.
    await mustHelm(plane(), ['upgrade', 'fourth', CHART, '-n', namespace, '--no-hooks'], base);
    await runJob();
    expect(await specs()).toEqual({
      'by-hand': byHand,
      'fourth-platform': { role: 'Platform', namespaces: none },
    });
    await plane().mustKubectl(['delete', 'tpol', 'by-hand', 'fourth-platform']);
    await mustHelm(plane(), ['uninstall', 'fourth', '-n', namespace]);
  }, 60_000);
});

describe('the demo', () => {
  // No kubelet runs its Job here: its program is run with the rights and the objects of the Job.
  const namespace = 'third-demo';
  const values = {
    crds: { install: false },
    rbac: { aggregate: false },
    admissionPolicies: { enabled: false },
  };
  let env: Record<string, string>;
  beforeAll(async () => {
    await install('third', 'third-system', { ...values, demo: { enabled: true } }, '--no-hooks');
    const map = ['get', 'configmap', 'third-demo', '-n', namespace, '-o', 'jsonpath={.data.objects\\.json}'];
    const objectsFile = join(plane().folder, 'demo.json');
    await writeFile(objectsFile, await plane().mustKubectl(map));
    const token = await serviceAccountToken(plane(), namespace, 'third-demo');
    const folder = await writeServiceAccountFolder(plane(), 'third-demo', { token, namespace });
    env = {
      ...bareEnvironment(),
      ...serverEnvironment(plane()),
      PENSTOCK_SERVICE_ACCOUNT_DIR: folder,
      PENSTOCK_OBJECTS: objectsFile,
    };
  }, 60_000);

  const job = () => run(process.execPath, [applyObjects], { env });
  const uids = () =>
    plane().mustKubectl([
      ...['get', 'providers,modelroutes,apikeys', '-n', namespace],
      ...['-o', 'jsonpath={range .items[*]}{.kind}/{.metadata.name}/{.metadata.uid} {end}'],
    ]);

  test('is applied by its Job, and an upgrade keeps its key', async () => {
    expect(await job()).toMatchObject({ code: 0, stderr: '' });
    const first = await uids();
    expect(first.match(/\w+\/demo\/\S+/g)).toHaveLength(3);
    expect(await job()).toMatchObject({ code: 0, stderr: '' });
    expect(await uids()).toBe(first);
  });

  test('has no rights beyond that', async () => {
    const user = account('third-demo', namespace);
    for (const kind of ['providers', 'modelroutes', 'apikeys']) {
      for (const verb of ['create', 'patch'])
        expect(await may(user, [verb, `penstock.dev/${kind}`, namespace])).toBe(true);
      for (const verb of ['get', 'list', 'delete', 'update'])
        expect(await may(user, [verb, `penstock.dev/${kind}`, namespace])).toBe(false);
    }
    for (const where of [namespace, 'third-tables', 'third-system'])
      expect(await may(user, ['get', '/secrets', where])).toBe(false);
  });

  test('is removed with demo.enabled=false, with its namespace, though its route uses its Provider', async () => {
    await plane().mustKubectl([
      ...['patch', 'providers.penstock.dev', 'demo', '-n', namespace, '--subresource=status'],
      ...['--type=merge', '-p', '{"status":{"attachedRoutes":1}}'],
    ]);
    const refused = await plane().kubectl(['delete', 'providers.penstock.dev', 'demo', '-n', namespace]);
    expect(refused.code).toBe(1);
    await mustHelm(plane(), ['upgrade', 'third', CHART, '-n', 'third-system', '--no-hooks'], values);
    await plane().mustKubectl(['wait', '--for=delete', `namespace/${namespace}`, '--timeout=60s'], {
      timeoutMs: 90_000,
    });
    await mustHelm(plane(), ['uninstall', 'third', '-n', 'third-system']);
  }, 100_000);
});
