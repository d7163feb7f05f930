// Does a real API server take our CRDs, judge objects as our own parse does, and explain and show them?

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyStatus } from '../../core/kube/patch.ts';
import { apiKeyResource } from '../../operator/resources/api-key.ts';
import { type CrdSchema, rootSchema, withDefaults } from '../../operator/resources/crd.ts';
import { modelRouteResource } from '../../operator/resources/model-route.ts';
import { providerResource } from '../../operator/resources/provider.ts';
import { tenantPolicyResource } from '../../operator/resources/tenant-policy.ts';
import type { RawPolicy } from '../../operator/watch/snapshot.ts';
import { apiKey, provider, route, tenantPolicy } from '../operator/make.ts';
import { ACCEPTED, COMPLETE } from '../operator/resources/accepted.ts';
import { parseObject } from '../operator/resources/parse-object.ts';
import {
  API_KEY_REFUSALS,
  MODEL_ROUTE_REFUSALS,
  PROVIDER_REFUSALS,
  type Refusal,
  TENANT_POLICY_REFUSALS,
} from '../operator/resources/refusals.ts';
import { useControlPlane } from './control-plane.ts';
import { CHANGES } from './crd-cases/changes.ts';
import { explained, publishedFields } from './crd-cases/explain.ts';
import { type Answer, type Asking, askAsAdmin } from './crd-cases/post.ts';
import { pasted } from './pasted.ts';
import { type Ran, run } from './run.ts';

const ROOT = join(import.meta.dirname, '../..');
const RESOURCES = [providerResource, modelRouteResource, apiKeyResource, tenantPolicyResource];

const plane = useControlPlane({ hasControllers: false });
let dryRun: Ran;
let server: Asking;

beforeAll(async () => {
  dryRun = await plane().kubectl([
    'create',
    '--dry-run=server',
    '--validate=strict',
    '-f',
    join(ROOT, 'crds'),
  ]);
  await plane().mustKubectl(['create', '-f', join(ROOT, 'crds')]);
  await plane().mustKubectl(['wait', '--for=condition=Established', 'crd', '--all']);
  await plane().mustKubectl(['create', 'namespace', 'team-a']);
  server = await askAsAdmin(plane());
});
afterAll(() => server?.close());

function collection(kind: unknown): string {
  const resource = RESOURCES.find((one) => one.kind === kind);
  if (resource === undefined) throw new Error(`${String(kind)} is none of our kinds`);
  const place = resource.scope === 'Cluster' ? '' : '/namespaces/team-a';
  return `/apis/penstock.dev/v1alpha1${place}/${resource.plural}`;
}

const create = (object: RawPolicy, query = 'fieldValidation=Strict') =>
  server.ask('POST', `${collection(object.kind)}?${query}`, object);
const change = (object: RawPolicy, patch: object, below = '') =>
  server.ask(
    'PATCH',
    `${collection(object.kind)}/${object.metadata.name}${below}?fieldValidation=Strict`,
    patch,
    'application/merge-patch+json',
  );
const remove = (object: RawPolicy) =>
  server.ask('DELETE', `${collection(object.kind)}/${object.metadata.name}`);

test('the CRDs are accepted as they are committed, without a warning', () => {
  expect(dryRun).toMatchObject({ code: 0, stderr: '' });
  expect(dryRun.stdout.trim().split('\n')).toHaveLength(4);
});

describe('an object is stored with the defaults that our parse fills in:', () => {
  const cases = [
    ...COMPLETE.map(([what, object]) => [`every field of ${what}`, object] as const),
    ...ACCEPTED,
  ];
  test.each(cases)('%s', async (_, object) => {
    const { status, body, warnings } = await create(object);
    expect(body.message).toBeUndefined();
    expect([status, warnings]).toEqual([201, []]);
    const stored = await server.ask('GET', `${collection(object.kind)}/${object.metadata.name}`);
    await remove(object);
    const ours = parseObject(object);
    const theirs = parseObject({ ...object, spec: stored.body.spec });
    expect(ours.ok && ours.value.spec).toMatchObject(stored.body.spec as object);
    expect(ours).toEqual(theirs);
  });

  test('except defaults of failover, timers and health checks, which the operator fills in', async () => {
    const route1 = route({ failover: { maxAttempts: 5, backoff: { max: '5s' } } });
    const provider1 = provider({ healthCheck: { active: { type: 'Completion', model: 'm' } } });
    const stored = await Promise.all(
      [provider1, route1, route({}, { name: 'bare' })].map((one) => create(one)),
    );
    await Promise.all([provider1, route1, route({}, { name: 'bare' })].map((one) => remove(one)));
    expect(stored.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(stored.map(({ body }) => body.spec)).toEqual([
      {
        ...(provider1.spec as object),
        allowedNamespaces: { from: 'Same' },
        suspended: false,
        auth: expect.anything(),
      },
      expect.objectContaining({ failover: { maxAttempts: 5, backoff: { max: '5s' } } }),
      expect.not.objectContaining({ failover: expect.anything() }),
    ]);
  });
});

// What the API server says otherwise than our parse, and why that is so.
type Otherwise = 'accepted' | 'not a case' | { readonly field: string };
const OTHERWISE = new Map<string, Otherwise>([
  // It names the entry of a list, not the member by which entries are distinguished.
  ['two keys have one name', { field: 'spec.auth.keys[1]' }],
  ['two targets have one name', { field: 'spec.targets[1]' }],
  ['two tiers begin together', { field: 'spec.pricing.tiers[1]' }],
  ['a hash is twice', { field: 'spec.imports[1]' }],
  ['a cloud is there twice', { field: 'spec.cloudIdentities[1]' }],
  // CEL cannot look into a free-form object; the condition Accepted says it.
  ["a target's parameters speak for the caller", 'accepted'],
  // Version and kind are the address that an object is sent to.
  ['the version is another', 'not a case'],
  ['the kind is another', 'not a case'],
  ['it is no object', 'not a case'],
]);

const REFUSALS: readonly Refusal[] = [
  ...PROVIDER_REFUSALS,
  ...MODEL_ROUTE_REFUSALS,
  ...API_KEY_REFUSALS,
  ...TENANT_POLICY_REFUSALS,
];

describe('the API server refuses, and names the field, where', () => {
  const cases = REFUSALS.filter(([what]) => typeof (OTHERWISE.get(what) ?? {}) === 'object');
  test.each(cases.map(([what, object, path]) => [what, path, object] as const))(
    '%s (%s)',
    async (what, path, object) => {
      const answer = await create(object as RawPolicy, 'dryRun=All&fieldValidation=Strict');
      expect([400, 422]).toContain(answer.status);
      const otherwise = OTHERWISE.get(what);
      expect(fieldsNamed(answer)).toContain(typeof otherwise === 'object' ? otherwise.field : path);
    },
  );

  test('every listed difference is a real one', async () => {
    const refused = new Map(REFUSALS.map(([what, object]) => [what, object]));
    expect([...OTHERWISE.keys()].filter((what) => !refused.has(what))).toEqual([]);
    for (const [what, otherwise] of OTHERWISE) {
      if (otherwise !== 'accepted') continue;
      const { status } = await create(refused.get(what) as RawPolicy, 'dryRun=All&fieldValidation=Strict');
      expect([what, status]).toEqual([what, 201]);
    }
  });
});

/** `spec.a: Invalid value: …` of a check, `unknown field "spec.a"` of the strict reading. */
function fieldsNamed({ body }: Answer): string[] {
  return [
    ...(body.message ?? '').matchAll(/(?:^|[ [])((?:spec|metadata)[^ :"]*): |unknown field "([^"]+)"/g),
  ].map(([, checked, unknown]) => checked ?? unknown ?? '');
}

describe('a stored object', () => {
  test.each(CHANGES.map((one) => [one.refused === undefined ? 'may' : 'may not', one.what, one] as const))(
    '%s change: %s',
    async (_, __, { before, after, refused }) => {
      expect((await create(before)).status).toBe(201);
      const answer = await server.ask('GET', `${collection(before.kind)}/${before.metadata.name}`);
      const changed = await server.ask(
        'PUT',
        `${collection(before.kind)}/${before.metadata.name}?fieldValidation=Strict`,
        { ...after, metadata: { ...after.metadata, resourceVersion: answer.body.metadata?.resourceVersion } },
      );
      await remove(before);
      if (refused === undefined) {
        expect([changed.status, changed.body.message]).toEqual([200, undefined]);
        return;
      }
      expect(changed.status).toBe(422);
      expect(fieldsNamed(changed)).toContain(refused.field);
      expect(changed.body.message).toContain(refused.says);
    },
  );
});

test('an object that was stored with the old name of a field goes on, until that field changes', async () => {
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/apikeys.penstock.dev';
  const rules =
    '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/metadata/x-kubernetes-validations';
  const setRules = (ops: readonly object[]) => server.ask('PATCH', crds, ops, 'application/json-patch+json');
  const old = apiKey({ metadata: { app: 'ci', 'a b': '"$(x)"' } }, { name: 'old-name' });
  const isTaken = async () => (await create(old, 'dryRun=All&fieldValidation=Strict')).status === 201;
  const value =
    rootSchema(apiKeyResource).properties?.spec?.properties?.metadata?.['x-kubernetes-validations'];

  expect((await setRules([{ op: 'remove', path: rules }])).status).toBe(200);
  await expect.poll(isTaken, { timeout: 20_000 }).toBe(true);
  expect((await create(old)).status).toBe(201);
  expect((await setRules([{ op: 'add', path: rules, value }])).status).toBe(200);
  await expect.poll(isTaken, { timeout: 20_000 }).toBe(false);

  const renamed = await change(old, { spec: { displayName: 'CI' } });
  const judged = await change(old, { status: { keyHint: 'psk_…9f3a' } }, '/status');
  const otherwise = await change(old, { spec: { metadata: { app: 'web' } } });
  const moved = await pasted(plane(), migration());
  const now = await server.ask('GET', `${collection('ApiKey')}/old-name`);
  await remove(old);
  expect([renamed.status, judged.status, otherwise.status]).toEqual([200, 200, 422]);
  expect(moved).toMatchObject({ code: 0, stderr: '' });
  expect(now.body.spec).toMatchObject({ displayName: 'CI', attributes: { app: 'ci', 'a b': '"$(x)"' } });
  expect(now.body.spec).not.toHaveProperty('metadata');
});

/** The command of the upgrade guide, as it is pasted. */
function migration(): string {
  const guide = readFileSync(join(ROOT, 'docs/guides/operate.md'), 'utf8');
  return guide.split('### Renamed fields')[1]?.split('```')[1]?.replace(/^sh\n/, '') ?? '';
}

test('every rule of the CRDs has spoken in some case above', async () => {
  const said: string[] = [];
  for (const [what, object] of REFUSALS) {
    if (OTHERWISE.get(what) === 'not a case') continue;
    said.push((await create(object as RawPolicy, 'dryRun=All&fieldValidation=Strict')).body.message ?? '');
  }
  said.push(...CHANGES.map(({ refused }) => refused?.says ?? ''));
  const whole = withoutNumbers(said.join('\n'));
  const silent = RESOURCES.flatMap((resource) => rulesOf(rootSchema(resource)))
    .map(({ message }) => message)
    .filter((message) => !whole.includes(withoutNumbers(message)));
  expect(silent).toEqual([]);
});

/** One rule is in many fields with other bounds: one case for all of them. */
function withoutNumbers(message: string): string {
  return message.replaceAll(/\d+(ms|s|m|h)?/g, 'N');
}

function rulesOf(schema: CrdSchema): { readonly message: string }[] {
  const below = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties];
  return [
    ...(schema['x-kubernetes-validations'] ?? []),
    ...below.flatMap((child) => (child === undefined ? [] : rulesOf(child))),
  ];
}

describe('a field that is not known', () => {
  const object = provider({ displayNmae: 'x' });

  test('is left out where the client does not ask for strictness', async () => {
    const { status, body } = await create(object, 'dryRun=All&fieldValidation=Ignore');
    expect(status).toBe(201);
    expect(body.spec).not.toHaveProperty('displayNmae');
  });

  test('is refused by kubectl without any flag, with its path', async () => {
    const { code, stderr } = await plane().kubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) });
    expect(code).toBe(1);
    expect(stderr).toContain('unknown field "spec.displayNmae"');
  });
});

describe('status', () => {
  const time = '2026-11-20T07:00:00Z';
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Programmed',
    message: '',
    lastTransitionTime: time,
  };
  const key = apiKey({}, { name: 'with-status' });

  test('is written through its own door alone, and leaves the spec as it is', async () => {
    await create(key);
    const status = { observedGeneration: 1, conditions: [condition], keyHint: 'psk_…9f3a' };
    const bySpecDoor = await change(key, { status });
    const byStatusDoor = await change(key, { status, spec: { disabled: true } }, '/status');
    await remove(key);
    const unseen = {
      state: 'Pending',
      conditions: [expect.objectContaining({ type: 'Ready', status: 'Unknown' })],
    };
    expect(bySpecDoor.body.status).toEqual(unseen);
    expect(byStatusDoor.body).toMatchObject({ status, spec: { disabled: false } });
  });

  test('that a newer operator applies is written without members that the kind does not know', async () => {
    const target = { name: 'main', state: 'Ready' };
    const known = { usableTargets: 1, targets: [target] };
    const newer = { usableTargets: 1, nextYear: { a: 1 }, targets: [{ ...target, cost: '1' }] };
    const newRoute = route({}, { name: 'newer-status' });
    await create(newRoute);
    const path = `${collection('ModelRoute')}/newer-status/status`;
    const { apiVersion, kind } = newRoute;
    const object = { apiVersion, kind, metadata: { name: 'newer-status' }, status: newer };
    await applyStatus(plane().client, path, object, { fieldManager: 'test', force: true });
    const { body } = await server.ask('GET', `${collection('ModelRoute')}/newer-status`);
    await remove(newRoute);
    expect(body.status).toMatchObject(known);
    expect(JSON.stringify(body.status)).not.toMatch(/nextYear|cost/);
  });

  test.each([
    [
      'a condition without a reason',
      { conditions: [{ ...condition, reason: '' }] },
      'status.conditions[0].reason',
    ],
    ['an invalid time', { usage: { observedAt: 'now' } }, 'status.usage.observedAt'],
    ['two conditions of one type', { conditions: [condition, condition] }, 'status.conditions[1]'],
  ])('%s is refused', async (_, status, field) => {
    await create(key);
    const answer = await change(key, { status }, '/status');
    await remove(key);
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain(`${field}: `);
  });
});

describe('kubectl', () => {
  test.each(RESOURCES.map((resource) => [resource.plural, resource] as const))(
    'explains every field of %s',
    async (plural, resource) => {
      const published = await publishedFields(plane(), resource.kind);
      // Of version, kind and metadata the API server has texts of its own.
      const ours = [...published].filter(([path]) => /^(spec|status)/.test(path));
      const written = fieldsOf(withDefaults(rootSchema(resource))).filter(([path]) =>
        /^(spec|status)/.test(path),
      );
      expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(written));
      expect(ours.filter(([, text]) => text === '')).toEqual([]);
      const ofSpec = ours.flatMap(([path, text]) =>
        path.split('.').length === 2 && path.startsWith('spec.') ? [[path.slice('spec.'.length), text]] : [],
      );
      expect(Object.fromEntries(await explained(plane(), `${plural}.spec`))).toEqual(
        Object.fromEntries(ofSpec),
      );
    },
  );

  test('applies the key of three regions as the guide makes it', async () => {
    const guide = readFileSync(join(ROOT, 'docs/guides/operate.md'), 'utf8');
    const [, make = ''] = /```sh\n(KEY=.*?)```/s.exec(guide) ?? [];
    const kubectl = 'kubectl() { shift 2; cat; echo ---; }\n';
    const made = await run('bash', ['-c', kubectl + make], { cwd: ROOT });
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const hashes = made.stdout.match(/(?<=sha256: )[0-9a-f]{64}(?= )/g) ?? [];
    expect([hashes.length, new Set(hashes).size]).toEqual([3, 1]);
    expect(hashes[0]).not.toMatch(/^9f86d081/);
    await plane().kubectl(['create', 'namespace', 'team-a']);
    const applied = await plane().kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], {
      stdin: made.stdout,
    });
    expect(applied).toMatchObject({ code: 0, stderr: '' });
  });

  test('applies the quickstart manifests unchanged', async () => {
    const folder = join(ROOT, 'docs/examples/quickstart');
    const applied = await plane().kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', folder]);
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    expect(applied.stdout.match(/created \(server dry run\)/g)?.length).toBeGreaterThanOrEqual(6);
  });

  test('applies the TenantPolicies of the guide unchanged', async () => {
    const file = join(ROOT, 'docs/examples/tenants/policies.yaml');
    const applied = await plane().kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', file]);
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    expect(applied.stdout.match(/created \(server dry run\)/g)).toHaveLength(3);
  });

  test.each([
    [
      'mprov',
      provider(),
      ['NAME', 'TYPE', 'STATE', 'READY', 'HEALTHY', 'ROUTES', 'AGE', 'MESSAGE'],
      /^openai\s+OpenAI\s+Pending\s+Unknown\s/,
    ],
    [
      'mroute',
      route(),
      ['NAME', 'MODEL', 'VISIBILITY', 'STATE', 'READY', 'USABLE', 'TARGETS', 'AGE', 'MESSAGE'],
      /^chat\s+chat\s+Listed\s+Pending\s+Unknown\s/,
    ],
    [
      'akey',
      apiKey({ owner: { name: 'Jo' } }),
      ['NAME', 'STATE', 'READY', 'HINT', 'OWNER', 'SPEND', 'LAST-USED', 'AGE', 'MESSAGE'],
      /^bot\s+Pending\s+Unknown\s+Jo\s/,
    ],
    [
      'tpol',
      tenantPolicy(),
      ['NAME', 'STATE', 'READY', 'NAMESPACES', 'USED-UP', 'AGE'],
      /^research\s+Pending\s+Unknown\s/,
    ],
  ] as const)('shows the columns of %s', async (shortName, object, columns, row) => {
    await create(object);
    const shown = await plane().mustKubectl(['get', shortName, '-n', 'team-a']);
    const wide = await plane().mustKubectl(['get', shortName, '-n', 'team-a', '-o', 'wide']);
    await remove(object);
    const [head = '', first = ''] = shown.split('\n');
    expect(head.split(/\s{2,}/).map((text) => text.trim())).toEqual(columns);
    expect(first).toMatch(row);
    expect(wide.split('\n')[0]).toMatch(/\s(PODS|UNTIL)\s+REASON\s/);
  });

  test('lists all kinds of tenants by their category', async () => {
    const all = [provider(), route(), apiKey()];
    for (const object of all) await create(object);
    const names = await plane().mustKubectl(['get', 'penstock', '-n', 'team-a', '-o', 'name']);
    for (const object of all) await remove(object);
    expect(names.trim().split('\n').sort()).toEqual([
      'apikey.penstock.dev/bot',
      'modelroute.penstock.dev/chat',
      'provider.penstock.dev/openai',
    ]);
  });
});

test.each([
  ['providers', 'spec.type=OpenAI', provider(), provider({ type: 'Mistral' }, { name: 'b' })],
  ['providers', 'spec.suspended=false', provider(), provider({ suspended: true }, { name: 'b' })],
  ['modelroutes', 'spec.model=chat', route(), route({ model: 'b' }, { name: 'b' })],
  ['modelroutes', 'spec.visibility=Listed', route(), route({ visibility: 'Hidden' }, { name: 'b' })],
  ['modelroutes', 'spec.suspended=false', route(), route({ suspended: true }, { name: 'b' })],
  ['apikeys', 'spec.disabled=false', apiKey(), apiKey({ disabled: true }, { name: 'b' })],
  ['apikeys', 'spec.owner.team=a', apiKey({ owner: { team: 'a' } }), apiKey({}, { name: 'b' })],
  [
    'tenantpolicies',
    'spec.role=Platform',
    tenantPolicy({ role: 'Platform' }),
    tenantPolicy({}, { name: 'b' }),
  ],
] as const)('the API server selects %s by %s', async (_, selector, picked, other) => {
  await create(picked);
  await create(other);
  const path = `${collection(picked.kind)}?fieldSelector=${encodeURIComponent(selector)}`;
  const { body } = await server.ask('GET', path);
  await remove(picked);
  await remove(other);
  expect(body.items?.map(({ metadata }) => metadata.name)).toEqual([picked.metadata.name]);
});

/** Every field with its text, spaces aside: kubectl breaks lines where it likes. */
function fieldsOf(schema: CrdSchema, path = ''): [string, string][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const own = path === '' ? name : `${path}.${name}`;
    return [[own, (child.description ?? '').replaceAll(' ', '')], ...fieldsOf(child.items ?? child, own)];
  });
}
