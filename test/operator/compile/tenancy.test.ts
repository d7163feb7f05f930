// Can a tenant see, list, call or reference what is another tenant's? Every pair, every way.

import { describe, expect, test } from 'vitest';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { RawObject } from '../../../operator/watch/snapshot.ts';
import { namespace, PLATFORM, provider, route, secret, snapshot, target } from '../make.ts';
import { compileOnce, condition, isVisible, NOW_MS, reachable } from './support.ts';

const TENANTS = ['team-a', 'team-b', 'team-c'];
const PAIRS = TENANTS.flatMap((owner) =>
  TENANTS.filter((other) => other !== owner).map((other) => [owner, other] as const),
);
const everywhere = ['platform', ...TENANTS];

/** Every namespace has a Secret, a Provider `openai` and a private route of its own. */
const world = {
  secrets: everywhere.map((owner) => secret({ namespace: owner, data: { key: `sk-of-${owner}` } })),
  providers: everywhere.map((owner) => provider({}, { namespace: owner })),
  modelRoutes: everywhere.map((owner) => route({ model: `of-${owner}` }, { namespace: owner })),
  namespaces: everywhere.map((owner) => namespace(owner)),
};

describe.each(PAIRS)('an object of %s, for %s', (owner, other) => {
  test('the model is neither listed nor callable', () => {
    const { table } = compileOnce(snapshot(world));
    expect(reachable(table, owner, `of-${owner}`)).toHaveLength(1);
    expect(reachable(table, other, `of-${owner}`)).toEqual([]);
  });

  test('the provider cannot be a target, and the message does not say whether it exists', () => {
    const steal = (name: string) =>
      compileOnce(
        snapshot({
          ...world,
          modelRoutes: [
            route({ targets: [target({ providerRef: { name, namespace: owner } })] }, { namespace: other }),
          ],
        }),
      );
    const there = steal('openai');
    const notThere = steal('nothing');
    expect(there.table.routes).toEqual([]);
    const refused = condition(there, 'ModelRoute', `${other}/chat`, 'ResolvedRefs');
    expect(refused).toMatchObject({ status: 'False', reason: 'RefNotPermitted' });
    expect(
      condition(notThere, 'ModelRoute', `${other}/chat`, 'ResolvedRefs').message.replace('nothing', 'openai'),
    ).toBe(refused.message);
    const attached = there.verdicts.find(({ kind, namespace: at }) => kind === 'Provider' && at === owner);
    expect(attached).toMatchObject({ attachedRoutes: 0 });
  });

  test('the Secret cannot be used under any name', () => {
    const alone = { ...world, secrets: world.secrets.filter((one) => one.namespace === owner) };
    const result = compileOnce(snapshot(alone));
    expect(condition(result, 'Provider', `${other}/openai`, 'ResolvedRefs').reason).toBe('SecretNotFound');
    const spelled = provider(
      { auth: { keys: [{ name: 'main', secretRef: { name: `${owner}/openai`, key: 'key' } }] } },
      { namespace: other },
    );
    const again = compileOnce(snapshot({ ...alone, providers: [spelled] }));
    expect(condition(again, 'Provider', `${other}/openai`, 'Accepted').reason).toBe('Invalid');
    expect(JSON.stringify(again.table)).not.toContain(`sk-of-${owner}`);
  });

  test('sharing with all namespaces is refused, so no tenant can plant a model at another', () => {
    for (const from of [{ from: 'All' }, { from: 'Selector', selector: {} }]) {
      const planted = route({ allowedNamespaces: from, model: 'planted' }, { namespace: owner });
      const result = compileOnce(snapshot({ ...world, modelRoutes: [planted] }));
      expect(condition(result, 'ModelRoute', `${owner}/chat`, 'Accepted').reason).toBe('NotPermitted');
      expect(reachable(result.table, other, 'planted')).toEqual([]);
    }
  });

  test('no verdict on one tenant names the other', () => {
    const { verdicts } = compileOnce(snapshot(world));
    const reported = JSON.stringify(verdicts.filter((verdict) => verdict.namespace === other));
    expect(reported).not.toContain(owner);
  });
});

describe('an object that the platform shares', () => {
  const shared = (allowedNamespaces: object, spec: object = {}) =>
    compileOnce(
      snapshot({
        ...world,
        namespaces: [namespace('team-a', { stage: 'prod' }), namespace('team-b', { stage: 'test' })],
        modelRoutes: [
          route({ model: 'penstock/large', allowedNamespaces, ...spec }, { namespace: 'platform' }),
        ],
      }),
    ).table;
  const seers = (table: ReturnType<typeof shared>) =>
    everywhere.filter((caller) => reachable(table, caller, 'penstock/large').length > 0);

  test.each([
    ['with the same namespace', { from: 'Same' }, ['platform']],
    ['with all', { from: 'All' }, everywhere],
    ['by label', { from: 'Selector', selector: { matchLabels: { stage: 'prod' } } }, ['platform', 'team-a']],
  ] as const)('%s', (_, allowed, expected) => {
    expect(seers(shared(allowed))).toEqual(expected);
  });

  test('a namespace that loses its label loses access at once', () => {
    const modelRoutes = [
      route(
        { allowedNamespaces: { from: 'Selector', selector: { matchLabels: { stage: 'prod' } } } },
        { namespace: 'platform' },
      ),
    ];
    const before = compileOnce(
      snapshot({ ...world, modelRoutes, namespaces: [namespace('team-a', { stage: 'prod' })] }),
    );
    const after = compileOnce(snapshot({ ...world, modelRoutes, namespaces: [namespace('team-a')] }));
    expect(before.table.routes[0]?.sharedWith).toEqual(['team-a']);
    expect(after.table.routes[0]?.sharedWith).toEqual([]);
  });

  test('a shared provider serves the tenant’s own route, and its key stays the platform’s', () => {
    const providers = [provider({ allowedNamespaces: { from: 'All' } }, { namespace: 'platform' })];
    const modelRoutes = [
      route({ targets: [target({ providerRef: { name: 'openai', namespace: 'platform' } })] }),
    ];
    const { table } = compileOnce(snapshot({ ...world, providers, modelRoutes }));
    expect(table.routes.map(({ id, targets }) => [id, targets[0]?.provider])).toEqual([
      ['team-a/chat', 'platform/openai'],
    ]);
    expect(table.credentials.map(({ id }) => id)).toEqual(['platform/openai/main']);
  });

  test('withdrawn permission ends the use', () => {
    const modelRoutes = [
      route({ targets: [target({ providerRef: { name: 'openai', namespace: 'platform' } })] }),
    ];
    const providers = [provider({ allowedNamespaces: { from: 'Same' } }, { namespace: 'platform' })];
    expect(compileOnce(snapshot({ ...world, providers, modelRoutes })).table.routes).toEqual([]);
  });

  test('errors of a shared object are not shown to its users', () => {
    const broken = provider(
      { allowedNamespaces: { from: 'All' }, suspended: true },
      { namespace: 'platform' },
    );
    const modelRoutes = [
      route({ targets: [target({ providerRef: { name: 'openai', namespace: 'platform' } })] }),
    ];
    const result = compileOnce(snapshot({ ...world, providers: [broken], modelRoutes }));
    const { reason, message } = condition(result, 'ModelRoute', 'team-a/chat', 'ResolvedRefs');
    expect(reason).toBe('ProviderNotReady');
    expect(message).not.toMatch(/suspended/i);
    expect(message).toContain('ask its owner');
  });
});

describe('the service prefix', () => {
  test.each(['penstock/large', 'PENSTOCK/large', 'Penstock/x/y'])('%s is not for tenants', (model) => {
    const result = compileOnce(snapshot({ ...world, modelRoutes: [route({ model })] }));
    expect(condition(result, 'ModelRoute', 'team-a/chat', 'Accepted').reason).toBe('ReservedPrefix');
    expect(result.table.routes).toEqual([]);
  });

  test.each(['penstock', 'penstocks/large', 'my/penstock/large'])('%s is', (model) => {
    const { table } = compileOnce(snapshot({ ...world, modelRoutes: [route({ model })] }));
    expect(table.routes).toHaveLength(1);
  });

  test('another prefix has its own rule', () => {
    const platform = { ...PLATFORM, servicePrefix: 'acme' };
    const models = ['penstock/large', 'acme/large'];
    const modelRoutes = models.map((model, index) => route({ model }, { name: `r${index}` }));
    const { table } = compileOnce(snapshot({ ...world, modelRoutes, platform }));
    expect(table.routes.map(({ model }) => model)).toEqual(['penstock/large']);
  });
});

describe('two routes with one id', () => {
  const old = { creationTimestamp: '2026-01-01T00:00:00Z' };
  const young = { creationTimestamp: '2026-02-01T00:00:00Z' };
  const two = { ...PLATFORM, platformNamespaces: ['platform', 'team-c'] };
  const all = { allowedNamespaces: { from: 'All' } };

  test('a tenant’s own route comes before a shared one of that id, without a conflict', () => {
    const modelRoutes = [route(all, { namespace: 'platform', ...old }), route({}, young)];
    const { table } = compileOnce(snapshot({ ...world, modelRoutes }));
    expect(reachable(table, 'team-a', 'chat').map(({ id }) => id)).toEqual(['team-a/chat']);
    expect(reachable(table, 'team-b', 'chat').map(({ id }) => id)).toEqual(['platform/chat']);
  });

  test('no tenant can take an id from the platform with an older route', () => {
    const modelRoutes = [route({}, old), route(all, { namespace: 'platform', ...young })];
    const { table } = compileOnce(snapshot({ ...world, modelRoutes }));
    expect(table.routes.map(({ id }) => id)).toEqual(['platform/chat', 'team-a/chat']);
  });

  test('of two that are shared with the same namespace the younger one loses, and its message names the older', () => {
    const modelRoutes = [
      route(all, { namespace: 'platform', ...old }),
      route(all, { namespace: 'team-c', ...young }),
    ];
    const result = compileOnce(snapshot({ ...world, modelRoutes, platform: two }));
    expect(result.table.routes.map(({ id }) => id)).toEqual(['platform/chat']);
    expect(condition(result, 'ModelRoute', 'team-c/chat', 'Conflicted')).toMatchObject({
      status: 'True',
      reason: 'ModelConflict',
      message: expect.stringContaining('platform/chat'),
    });
  });

  test('the message does not name an older one that the namespace cannot see', () => {
    const toB = { from: 'Selector', selector: { matchLabels: { 'kubernetes.io/metadata.name': 'team-b' } } };
    const modelRoutes = [
      route({ allowedNamespaces: toB }, { namespace: 'platform', ...old }),
      route(all, { namespace: 'team-c', ...young }),
    ];
    const result = compileOnce(snapshot({ ...world, modelRoutes, platform: two }));
    const loser = result.verdicts.find(({ kind, namespace: at }) => kind === 'ModelRoute' && at === 'team-c');
    expect(loser).not.toHaveProperty('conflictsWith');
    expect(JSON.stringify(loser)).not.toContain('platform/chat');
  });

  test('two that share with different namespaces coexist', () => {
    const to = (name: string) => ({
      allowedNamespaces: {
        from: 'Selector',
        selector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
      },
    });
    const modelRoutes = [
      route(to('team-a'), { namespace: 'platform', ...old }),
      route(to('team-b'), { namespace: 'team-c', ...young }),
    ];
    const { table } = compileOnce(snapshot({ ...world, modelRoutes, platform: two }));
    expect(table.routes.map(({ id }) => id)).toEqual(['platform/chat', 'team-c/chat']);
  });

  test('a namespace with its own route of the id is no common caller', () => {
    const toC = { from: 'Selector', selector: { matchLabels: { 'kubernetes.io/metadata.name': 'team-c' } } };
    const modelRoutes = [
      route({ allowedNamespaces: toC }, { namespace: 'platform', ...old }),
      route(all, { namespace: 'team-c', ...young }),
    ];
    const { table } = compileOnce(snapshot({ ...world, modelRoutes, platform: two }));
    expect(table.routes.map(({ id }) => id)).toEqual(['platform/chat', 'team-c/chat']);
  });

  test('a suspended route keeps its id', () => {
    const modelRoutes = [route({ suspended: true }, old), route({}, { name: 'second', ...young })];
    const result = compileOnce(snapshot({ ...world, modelRoutes }));
    expect(condition(result, 'ModelRoute', 'team-a/second', 'Accepted').reason).toBe('ModelConflict');
  });

  test('of the same age, the first by namespace and name wins, in any order of reading', () => {
    const twins = [route({}, { name: 'zebra', ...old }), route({}, { name: 'ant', ...old })];
    for (const modelRoutes of [twins, twins.toReversed()]) {
      const { table } = compileOnce(snapshot({ ...world, modelRoutes }));
      expect(table.routes.map(({ id }) => id)).toEqual(['team-a/ant']);
    }
  });

  test.each([
    ['an alias holds its id against a younger model', { model: 'big', aliases: ['chat'] }, { model: 'chat' }],
    ['a model holds its id against a younger alias', { model: 'chat' }, { model: 'big', aliases: ['chat'] }],
    [
      'an alias holds its id against a younger alias',
      { model: 'a', aliases: ['x'] },
      { model: 'b', aliases: ['x'] },
    ],
  ])('%s, and the rest of the younger one’s ids is unused', (_, older, younger) => {
    const modelRoutes = [
      route(older, { name: 'older', ...old }),
      route(younger, { name: 'younger', ...young }),
    ];
    const result = compileOnce(snapshot({ ...world, modelRoutes }));
    expect(result.table.routes.map(({ id }) => id)).toEqual(['team-a/older']);
    expect(condition(result, 'ModelRoute', 'team-a/younger', 'Conflicted').message).toContain('team-a/older');
    const loser = result.verdicts.find(({ name }) => name === 'younger');
    expect(loser).toMatchObject({ conflictsWith: { namespace: 'team-a', name: 'older' } });
    expect(() => condition(result, 'ModelRoute', 'team-a/older', 'Conflicted')).toThrow();
  });

  test('after the winner is deleted, the loser gets its ids at once, and its own rivals lose theirs', () => {
    const [first, second, third] = [
      route({ model: 'a' }, { name: 'first', ...old }),
      route({ model: 'b', aliases: ['a', 'c'] }, { name: 'second', ...young }),
      route({ model: 'c' }, { name: 'third', creationTimestamp: '2026-03-01T00:00:00Z' }),
    ];
    const compile = createCompiler();
    const served = (...modelRoutes: RawObject[]) =>
      compile(snapshot({ ...world, modelRoutes }), NOW_MS).table.routes.map(({ id }) => id);
    // The second claims nothing while it loses, so it keeps nobody out.
    expect(served(first, second, third)).toEqual(['team-a/first', 'team-a/third']);
    expect(served(second, third)).toEqual(['team-a/second']);
    expect(served(first, second, third)).toEqual(['team-a/first', 'team-a/third']);
  });

  test('a label that gives two shared routes a common namespace makes the younger one lose, until it is removed', () => {
    const to = (stage: string) => ({
      allowedNamespaces: { from: 'Selector', selector: { matchLabels: { [stage]: 'yes' } } },
    });
    const modelRoutes = [
      route(to('one'), { namespace: 'platform', ...old }),
      route(to('two'), { namespace: 'team-c', ...young }),
    ];
    const compile = createCompiler();
    const served = (labels: Record<string, string>) =>
      compile(
        snapshot({ ...world, modelRoutes, platform: two, namespaces: [namespace('team-b', labels)] }),
        NOW_MS,
      ).table.routes.map(({ id }) => id);
    expect(served({ two: 'yes' })).toEqual(['platform/chat', 'team-c/chat']);
    expect(served({ one: 'yes', two: 'yes' })).toEqual(['platform/chat']);
    expect(served({ one: 'yes' })).toEqual(['platform/chat', 'team-c/chat']);
  });

  test('a conflict at some callers removes the younger route for all, so that an id never means two models', () => {
    const toA = { from: 'Selector', selector: { matchLabels: { 'kubernetes.io/metadata.name': 'team-a' } } };
    const modelRoutes = [
      route({ allowedNamespaces: toA }, { namespace: 'platform', ...old }),
      route(all, { namespace: 'team-c', ...young }),
    ];
    const { table } = compileOnce(snapshot({ ...world, modelRoutes, platform: two }));
    expect(reachable(table, 'team-a', 'chat').map(({ id }) => id)).toEqual(['platform/chat']);
    expect(reachable(table, 'team-b', 'chat')).toEqual([]);
  });

  test('a route that is refused for another reason holds no id', () => {
    const modelRoutes = [
      route({ ...all, aliases: ['penstock/x'] }, old),
      route({}, { name: 'second', ...young }),
    ];
    const { table } = compileOnce(snapshot({ ...world, modelRoutes }));
    expect(table.routes.map(({ id }) => id)).toEqual(['team-a/second']);
  });
});

test('a public model is listed in every namespace, also future ones', () => {
  const modelRoutes = [
    route({ visibility: 'Public', allowedNamespaces: { from: 'All' } }, { namespace: 'platform' }),
  ];
  const { table } = compileOnce(snapshot({ ...world, modelRoutes }));
  const [entry] = table.routes;
  expect(entry !== undefined && isVisible(entry, 'a-namespace-of-tomorrow')).toBe(true);
});
