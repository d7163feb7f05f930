// Pinned to a table from before: what of it goes out, what does not come back with it, and whose present form waits?

import { describe, expect, test } from 'vitest';
import type { TableContent } from '../../../core/contract/routing-table.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { pinContent } from '../../../operator/hold/pin-content.ts';
import type { Snapshot } from '../../../operator/watch/snapshot.ts';
import { apiKey, namespace, provider, route, secret, snapshot, target } from '../make.ts';

const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const digest = (digit: string) => digit.repeat(64);
const keyOf = (digit: string, spec: object = {}) =>
  apiKey({ imports: [{ sha256: digest(digit) }], ...spec }, { name: `key-${digit}` });

const THEN: Snapshot = snapshot({
  providers: [
    provider({}),
    provider({ allowedNamespaces: { from: 'All' } }, { namespace: 'platform', name: 'shared' }),
  ],
  modelRoutes: [
    route({}),
    route({ model: 'penstock/x', allowedNamespaces: { from: 'All' } }, { namespace: 'platform', name: 'x' }),
    route(
      {
        model: 'far',
        targets: [target({ providerRef: { name: 'shared', namespace: 'platform' } })],
      },
      { name: 'far' },
    ),
  ].map((one) =>
    one.metadata.name === 'x'
      ? { ...one, spec: { ...(one.spec as object), targets: [target({ providerRef: { name: 'shared' } })] } }
      : one,
  ),
  apiKeys: [keyOf('a'), keyOf('b')],
  secrets: [secret(), secret({ namespace: 'platform' })],
  namespaces: ['team-a', 'team-b', 'platform'].map((name) => namespace(name)),
});

const tableOf = (one: Snapshot): TableContent => createCompiler()(one, NOW_MS).table;
const then = tableOf(THEN);

/** What goes out, where the cluster is as it was but for this. */
function pinned(changes: Partial<Snapshot>) {
  const now = { ...THEN, ...changes };
  return pinContent(then, tableOf(now), now);
}

test('without changes the content is the same', () => {
  expect(then.routes).toHaveLength(3);
  expect(pinned({})).toEqual({ content: then, differing: new Set() });
});

test('routes and Providers are as pinned: edited, deleted and new ones alike', () => {
  const { content, differing } = pinned({
    providers: [provider({ suspended: true }), ...THEN.providers.slice(1)],
    modelRoutes: [
      route({ model: 'other' }),
      route({ model: 'new' }, { name: 'new' }),
      ...THEN.modelRoutes.slice(2),
    ],
  });
  expect(content).toEqual(then);
  expect(differing).toEqual(
    new Set(['Provider/team-a/openai', 'ModelRoute/team-a/chat', 'ModelRoute/platform/x']),
  );
});

describe('a pinned table does not bring back', () => {
  test('a key that was disabled, deleted or expired since, and it has no key that is newer', () => {
    const { content, differing } = pinned({ apiKeys: [keyOf('a', { disabled: true }), keyOf('c')] });
    expect(content.keys).toEqual([]);
    expect(differing).toEqual(new Set(['ApiKey/team-a/key-c']));
  });

  test('a rotated key: its ApiKey continues with the new one', () => {
    const rotated = apiKey({ imports: [{ sha256: digest('d') }] }, { name: 'key-a' });
    const { content, differing } = pinned({ apiKeys: [rotated, keyOf('b')] });
    expect(content.keys.map(({ sha256 }) => sha256)).toEqual([digest('b'), digest('d')]);
    expect(differing).toEqual(new Set());
  });

  test('rights that a key has lost', () => {
    const narrow = { expiresAt: '2026-07-01T00:00:00Z', models: { allow: ['chat'] } };
    const { content } = pinned({ apiKeys: [keyOf('a', narrow), keyOf('b')] });
    expect(content.keys.find(({ sha256 }) => sha256 === digest('a'))).toMatchObject({
      notAfterMs: Date.parse(narrow.expiresAt),
      models: { allow: ['chat'], deny: [] },
    });
  });

  test('the earlier value of a Secret', () => {
    const { content } = pinned({
      providers: [provider({ displayName: 'Another' }), ...THEN.providers.slice(1)],
      secrets: [secret({ data: { key: 'sk-rotated' } }), ...THEN.secrets.slice(1)],
    });
    expect(content.credentials.map(({ value }) => value)).toContain('sk-rotated');
    expect(content.providers).toEqual(then.providers);
  });

  test('a Provider whose Secret is no longer shared, and with it its route', () => {
    const { content } = pinned({ secrets: [secret({ labels: {} }), ...THEN.secrets.slice(1)] });
    expect(content.providers.map(({ id }) => id)).toEqual(['platform/shared']);
    expect(content.credentials.map(({ id }) => id)).toEqual(['platform/shared/main']);
    expect(content.routes.map(({ id }) => id)).toEqual(['platform/x', 'team-a/far']);
  });

  test('a target whose Provider withdrew its permission, and permissions that a route withdrew', () => {
    const same = { allowedNamespaces: { from: 'Same' } };
    const edited = (one: Snapshot['providers'][number] | undefined) =>
      one === undefined ? [] : [{ ...one, spec: { ...(one.spec as object), ...same } }];
    const { content } = pinned({
      providers: [...THEN.providers.slice(0, 1), ...edited(THEN.providers[1])],
      modelRoutes: [
        ...THEN.modelRoutes.slice(0, 1),
        ...edited(THEN.modelRoutes[1]),
        ...THEN.modelRoutes.slice(2),
      ],
    });
    expect(content.routes.map(({ id, sharedWith }) => [id, sharedWith])).toEqual([
      ['platform/x', []],
      ['team-a/chat', []],
    ]);
  });

  test('rights of platform namespaces in a namespace that is no longer one', () => {
    const { content } = pinned({ platform: { ...THEN.platform, platformNamespaces: [] } });
    expect(content.routes.map(({ id }) => id)).toEqual(['team-a/chat']);
  });
});
