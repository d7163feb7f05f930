// What holds for any snapshot at all? Isolation, binding of credentials, one table for one snapshot, no throw.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { REASONS } from '../../../core/catalog/conditions.ts';
import { parseRoutingTable, TABLE_FORMAT } from '../../../core/contract/routing-table.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { ISSUED_SECRET_LABEL, issuedSecretLabelValue } from '../../../operator/resources/issued-secret.ts';
import type { RawObject, SecretRecord, Snapshot } from '../../../operator/watch/snapshot.ts';
import { runs } from '../../support/runs.ts';
import { apiKey, namespace, PLATFORM, provider, route, secret, snapshot, target } from '../make.ts';
import { compileOnce, isVisible, NOW_MS, reachable } from './support.ts';

const NAMESPACES = ['platform', 'research', 'team-a', 'team-b', 'team-c'];
const IDS = ['chat', 'large', 'penstock/large', 'team-a/x'];
const HOSTS = ['a.example', 'b.example:8443', 'api.openai.com'];

const inNamespace = fc.constantFrom(...NAMESPACES);
const created = fc.constantFrom('2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z');
const consent = fc.constantFrom(
  { from: 'Same' },
  { from: 'All' },
  { from: 'Selector', selector: { matchLabels: { stage: 'prod' } } },
  { from: 'Selector', selector: { matchLabels: { 'kubernetes.io/metadata.name': 'team-b' } } },
);

const anySecret = fc
  .record({
    namespace: inNamespace,
    name: fc.constantFrom('openai', 'other'),
    isShared: fc.boolean(),
    hosts: fc.option(fc.constantFrom(...HOSTS, HOSTS.join(',')), { nil: undefined }),
  })
  .map(({ namespace: at, name, isShared, hosts }) =>
    secret({
      namespace: at,
      name,
      labels: isShared ? { 'penstock.dev/provider-credential': 'true' } : {},
      annotations: hosts === undefined ? {} : { 'penstock.dev/allowed-hosts': hosts },
      data: { key: `sk-${at}-${name}` },
    }),
  );

const anyProvider = fc
  .record({
    namespace: inNamespace,
    name: fc.constantFrom('openai', 'second'),
    secret: fc.constantFrom('openai', 'other', 'missing'),
    host: fc.option(fc.constantFrom(...HOSTS), { nil: undefined }),
    allowedNamespaces: consent,
    suspended: fc.boolean(),
  })
  .map(({ namespace: at, name, secret: of, host, allowedNamespaces, suspended }) =>
    provider(
      {
        ...(host === undefined ? {} : { baseURL: `https://${host}/v1` }),
        auth: { keys: [{ name: 'main', secretRef: { name: of, key: 'key' } }] },
        allowedNamespaces,
        suspended,
      },
      { namespace: at, name },
    ),
  );

const anyTarget = fc.record({
  provider: fc.constantFrom('openai', 'second', 'missing'),
  namespace: fc.option(inNamespace, { nil: undefined }),
  weight: fc.nat(3),
});

const anyRoute = fc
  .record({
    namespace: inNamespace,
    name: fc.constantFrom('one', 'two', 'three'),
    created,
    model: fc.constantFrom(...IDS),
    alias: fc.option(fc.constantFrom(...IDS), { nil: undefined }),
    allowedNamespaces: consent,
    targets: fc.array(anyTarget, { minLength: 1, maxLength: 3 }),
  })
  .map((wish) =>
    route(
      {
        model: wish.model,
        ...(wish.alias === undefined || wish.alias === wish.model ? {} : { aliases: [wish.alias] }),
        allowedNamespaces: wish.allowedNamespaces,
        targets: wish.targets.map((one, index) =>
          target({
            name: `t${index}`,
            weight: one.weight + (index === 0 ? 1 : 0),
            providerRef: {
              name: one.provider,
              ...(one.namespace === undefined ? {} : { namespace: one.namespace }),
            },
          }),
        ),
      },
      { namespace: wish.namespace, name: wish.name, creationTimestamp: wish.created },
    ),
  );

const anyKey = fc
  .record({
    namespace: inNamespace,
    name: fc.constantFrom('k1', 'k2', 'k3'),
    created,
    digit: fc.constantFrom('a', 'b', 'c'),
    disabled: fc.boolean(),
  })
  .map((wish) =>
    apiKey(
      { imports: [{ sha256: wish.digit.repeat(64) }], disabled: wish.disabled },
      { namespace: wish.namespace, name: wish.name, creationTimestamp: wish.created },
    ),
  );

const placeOf = ({ metadata }: RawObject) => `${metadata.namespace}/${metadata.name}`;
const unique = { minLength: 0, maxLength: 10 };

const anySnapshot: fc.Arbitrary<Snapshot> = fc
  .record({
    providers: fc.uniqueArray(anyProvider, { ...unique, selector: placeOf }),
    modelRoutes: fc.uniqueArray(anyRoute, { ...unique, selector: placeOf }),
    apiKeys: fc.uniqueArray(anyKey, { ...unique, selector: placeOf }),
    secrets: fc.uniqueArray(anySecret, { ...unique, selector: (one) => `${one.namespace}/${one.name}` }),
    labelled: fc.subarray(NAMESPACES),
  })
  .map(({ labelled, ...parts }) =>
    snapshot({
      ...parts,
      namespaces: NAMESPACES.map((name) => namespace(name, labelled.includes(name) ? { stage: 'prod' } : {})),
      platform: { ...PLATFORM, platformNamespaces: ['platform', 'research'] },
    }),
  );

/** The consent of an object, read again and naively: the second opinion. */
function consents(object: RawObject, to: string, { namespaces, platform }: Snapshot): boolean {
  const { namespace: owner } = object.metadata;
  if (owner === to) return true;
  if (!platform.platformNamespaces.includes(owner)) return false;
  const { allowedNamespaces } = object.spec as {
    allowedNamespaces: { from: string; selector?: { matchLabels: Record<string, string> } };
  };
  if (allowedNamespaces.from !== 'Selector') return allowedNamespaces.from === 'All';
  const labels = namespaces.find(({ name }) => name === to)?.labels ?? {};
  return Object.entries(allowedNamespaces.selector?.matchLabels ?? {}).every(
    ([key, value]) => labels[key] === value,
  );
}

test('every model that a namespace can reach, and its provider, is its own or shared with it', () => {
  fc.assert(
    fc.property(anySnapshot, (snap) => {
      const { table } = compileOnce(snap);
      for (const caller of NAMESPACES) {
        for (const entry of table.routes.filter((one) => isVisible(one, caller))) {
          const object = snap.modelRoutes.find((one) => placeOf(one) === entry.id);
          expect(object !== undefined && consents(object, caller, snap)).toBe(true);
          const [owner = ''] = entry.id.split('/');
          for (const { provider: id } of entry.targets) {
            const upstream = snap.providers.find((one) => placeOf(one) === id);
            expect(upstream !== undefined && consents(upstream, owner, snap)).toBe(true);
          }
        }
      }
    }),
    { numRuns: runs(500) },
  );
});

test('an id leads each namespace to one route at most', () => {
  fc.assert(
    fc.property(anySnapshot, (snap) => {
      const { table } = compileOnce(snap);
      for (const caller of NAMESPACES) {
        for (const id of IDS) expect(reachable(table, caller, id).length).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: runs(500) },
  );
});

test('a credential is only used with a provider of its own namespace, at a host that its Secret allows', () => {
  fc.assert(
    fc.property(anySnapshot, (snap) => {
      const { table } = compileOnce(snap);
      for (const { id, value, hosts } of table.credentials) {
        const holders = table.providers.filter((one) => one.keys.some(({ credential }) => credential === id));
        expect(holders).toHaveLength(1);
        const [holder] = holders;
        const [owner] = id.split('/');
        const shared = snap.secrets.find(
          (one) => one.namespace === owner && one.data.key === value && Object.keys(one.labels).length === 1,
        );
        const host = new URL(holder?.baseUrl ?? '').host;
        const allowed = shared?.annotations['penstock.dev/allowed-hosts']?.split(',') ?? ['api.openai.com'];
        expect(holder?.id.startsWith(`${owner}/`)).toBe(true);
        expect(shared).toBeDefined();
        expect(hosts).toEqual([host]);
        expect(allowed).toContain(host);
      }
    }),
    { numRuns: runs(500) },
  );
});

test('no verdict contains a value of a Secret', () => {
  fc.assert(
    fc.property(anySnapshot, (snap) => {
      const said = JSON.stringify(compileOnce(snap).verdicts);
      for (const { data } of snap.secrets) expect(said).not.toContain(data.key);
    }),
  );
});

test('the same snapshot gives the same bytes, for any order of its lists, and any memory', () => {
  const compile = createCompiler();
  fc.assert(
    fc.property(anySnapshot, fc.infiniteStream(fc.nat()), (snap, numbers) => {
      const shuffled = <T>(list: readonly T[]): T[] =>
        list
          .map((item) => ({ item, at: numbers.next().value ?? 0 }))
          .sort((a, b) => a.at - b.at)
          .map(({ item }) => item);
      const other = {
        providers: shuffled(snap.providers),
        modelRoutes: shuffled(snap.modelRoutes),
        apiKeys: shuffled(snap.apiKeys),
        secrets: shuffled(snap.secrets),
        configMaps: shuffled(snap.configMaps),
        namespaces: shuffled(snap.namespaces),
        platform: snap.platform,
      };
      const { compiled: _, ...fresh } = compileOnce(snap);
      const { compiled: __, ...remembered } = compile(other, NOW_MS);
      expect(JSON.stringify(remembered)).toBe(JSON.stringify(fresh));
    }),
    { numRuns: runs(300) },
  );
});

/** Keys that hang on a Secret, end, or are claimed by several. */
const anyLivelyKey = fc
  .record({
    namespace: fc.constantFrom('team-a', 'team-b'),
    name: fc.constantFrom('k1', 'k2'),
    created,
    spec: fc.constantFrom<object>(
      {},
      { secret: { name: 'shared' } },
      { secret: { name: 'shared' }, expiresAt: at(1) },
      { expiresAt: at(1) },
      { imports: [{ sha256: 'a'.repeat(64) }] },
      { imports: [{ sha256: 'a'.repeat(64), notAfter: at(2) }, { sha256: 'b'.repeat(64) }] },
      { imports: [{ sha256: 'b'.repeat(64) }], disabled: true },
    ),
    isDeleted: fc.boolean(),
  })
  .map(({ namespace: of, name, created: creationTimestamp, spec, isDeleted }) => {
    const leaving = isDeleted ? { deletionTimestamp: '2026-05-01T00:00:00Z' } : {};
    return { ...apiKey({}, { namespace: of, name, creationTimestamp, ...leaving }), spec };
  });

const anyKeySecret = fc
  .record({
    namespace: fc.constantFrom('team-a', 'team-b'),
    owner: fc.constantFrom('k1', 'k2'),
    name: fc.constantFrom('k1-key', 'shared', 'shared'),
    letter: fc.constantFrom('A', 'B'),
  })
  .map(({ namespace: of, owner, name, letter }) =>
    secret({
      namespace: of,
      name,
      labels: { [ISSUED_SECRET_LABEL]: issuedSecretLabelValue(owner) },
      data: { apiKey: `psk_${letter.repeat(43)}` },
    }),
  );

/** An hour this way or that from now. */
function at(hours: number): string {
  return new Date(NOW_MS + hours * 3_600_000).toISOString();
}

test('a cluster that changes piece by piece always has the verdicts of a first compile', () => {
  const lists = {
    providers: anyProvider,
    modelRoutes: anyRoute,
    apiKeys: fc.oneof({ weight: 3, arbitrary: anyLivelyKey }, anyKey),
    secrets: fc.oneof({ weight: 3, arbitrary: anyKeySecret }, anySecret),
  };
  const nameOf = (one: RawObject | SecretRecord) =>
    'metadata' in one ? placeOf(one) : `${one.namespace}/${one.name}`;
  const change = fc
    .constantFrom(
      ...(['providers', 'modelRoutes', 'apiKeys', 'apiKeys', 'apiKeys', 'secrets', 'secrets'] as const),
    )
    .chain((list) =>
      fc.record({
        list: fc.constant(list),
        one: lists[list] as fc.Arbitrary<RawObject | SecretRecord>,
        isGone: fc.boolean(),
        hours: fc.constantFrom(0, 0, 0, 1, 1.5, 2, 200, -200),
      }),
    );
  fc.assert(
    fc.property(anySnapshot, fc.array(change, { minLength: 40, maxLength: 40 }), (start, changes) => {
      const compile = createCompiler();
      let now = start;
      compile(now, NOW_MS);
      for (const { list, one, isGone, hours } of changes) {
        const others = (now[list] as readonly (RawObject | SecretRecord)[]).filter(
          (other) => nameOf(other) !== nameOf(one),
        );
        now = { ...now, [list]: isGone ? others : [...others, one] };
        const nowMs = NOW_MS + hours * 3_600_000;
        const { compiled: _, ...fresh } = compileOnce(now, nowMs);
        const { compiled: __, ...remembered } = compile(now, nowMs);
        expect(JSON.stringify(remembered)).toBe(JSON.stringify(fresh));
      }
    }),
    { numRuns: runs(50) },
  );
});

test('a gateway accepts every compiled table', () => {
  fc.assert(
    fc.property(anySnapshot, (snap) => {
      const { table } = compileOnce(snap);
      const whole = { ...table, format: TABLE_FORMAT, minReader: 1, epoch: 1, generation: 1 };
      expect(parseRoutingTable(JSON.parse(JSON.stringify(whole)))).toEqual(whole);
    }),
  );
});

test('no object makes the compile throw, and every reason is documented for its condition', () => {
  const anySpec = fc.oneof(
    fc.anything(),
    fc.dictionary(
      fc.constantFrom(
        'type',
        'model',
        'auth',
        'targets',
        'imports',
        'healthCheck',
        'timeouts',
        'baseURL',
        'expiresAt',
      ),
      fc.oneof(
        fc.anything(),
        fc.constant('OpenAI'),
        fc.constant({ passive: { openFor: 'x' }, keys: [null] }),
      ),
    ),
  );
  const valid: readonly RawObject[] = [provider(), route(), apiKey()];
  const spoiled = fc
    .tuple(fc.constantFrom(...valid), anySpec, fc.boolean())
    .map(
      ([object, spec, isPartly]): RawObject =>
        isPartly && typeof spec === 'object' && spec !== null
          ? { ...object, spec: { ...(object.spec as object), ...spec } }
          : { ...object, spec },
    );
  fc.assert(
    fc.property(spoiled, (object) => {
      const of = (kind: string) => (object.kind === kind ? [object] : []);
      const { verdicts } = compileOnce(
        snapshot({
          providers: of('Provider'),
          modelRoutes: of('ModelRoute'),
          apiKeys: of('ApiKey'),
          secrets: [secret()],
        }),
      );
      expect(verdicts).toHaveLength(1);
      for (const { type, reason } of verdicts.flatMap(({ conditions }) => conditions)) {
        const documented: readonly string[] = REASONS[reason].conditions;
        expect(documented).toContain(type);
      }
    }),
    { numRuns: runs(500) },
  );
});
