// What does a change cost? One changed object is looked at again, with what hangs on it, and nothing else.

import { describe, expect, test } from 'vitest';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { Snapshot } from '../../../operator/watch/snapshot.ts';
import { apiKey, namespace, PLATFORM, provider, route, secret, snapshot, target } from '../make.ts';
import { compileOnce, NOW_MS } from './support.ts';

const TEAMS = ['team-a', 'team-b', 'team-c'];
const sha = (index: number) => index.toString(16).padStart(64, '0');

function world(): Snapshot {
  return snapshot({
    providers: [
      ...TEAMS.map((team) => provider({}, { namespace: team })),
      provider({ allowedNamespaces: { from: 'Selector', selector: {} } }, { namespace: 'platform' }),
    ],
    modelRoutes: [
      ...TEAMS.map((team) => route({}, { namespace: team })),
      route(
        { model: 'two', targets: [target({ providerRef: { name: 'openai', namespace: 'platform' } })] },
        { name: 'two' },
      ),
    ],
    apiKeys: Array.from({ length: 20 }, (_, index) =>
      apiKey({ imports: [{ sha256: sha(index) }] }, { name: `key-${index}` }),
    ),
    secrets: [...TEAMS, 'platform'].map((team) => secret({ namespace: team })),
    namespaces: [...TEAMS, 'platform'].map((team) => namespace(team)),
  });
}

/** What is computed in a second run, and that its result is that of a compiler without a memory. */
function secondRun(change: (before: Snapshot) => Snapshot, laterMs = 0) {
  const compile = createCompiler();
  const before = world();
  compile(before, NOW_MS);
  const after = change(before);
  const { compiled, ...result } = compile(after, NOW_MS + laterMs);
  const { compiled: _, ...fresh } = compileOnce(after, NOW_MS + laterMs);
  expect(result).toEqual(fresh);
  return compiled;
}

const replace = <T>(list: readonly T[], index: number, item: T) =>
  list.map((old, at) => (at === index ? item : old));

describe('a second run compiles', () => {
  test('everything, if it is the first', () => {
    expect(createCompiler()(world(), NOW_MS).compiled).toEqual({ providers: 4, routes: 4, keys: 20 });
  });

  test('nothing if nothing changed', () => {
    expect(secondRun((before) => ({ ...before }))).toEqual({ providers: 0, routes: 0, keys: 0 });
  });

  test('nothing if only time passed', () => {
    expect(secondRun((before) => before, 3_600_000)).toEqual({ providers: 0, routes: 0, keys: 0 });
  });

  test('nothing if new objects have the same settings and namespaces', () => {
    const same = (before: Snapshot) => ({
      ...before,
      platform: { ...PLATFORM },
      namespaces: [...before.namespaces],
    });
    expect(secondRun(same)).toEqual({ providers: 0, routes: 0, keys: 0 });
  });

  test('one key if one key changed', () => {
    const changed = apiKey({ imports: [{ sha256: sha(999) }] }, { name: 'key-7' });
    expect(secondRun((before) => ({ ...before, apiKeys: replace(before.apiKeys, 7, changed) }))).toEqual({
      providers: 0,
      routes: 0,
      keys: 1,
    });
  });

  test('one key if one was added or removed', () => {
    const added = apiKey({ imports: [{ sha256: sha(999) }] }, { name: 'key-new' });
    expect(secondRun((before) => ({ ...before, apiKeys: [added, ...before.apiKeys] })).keys).toBe(1);
    expect(secondRun((before) => ({ ...before, apiKeys: before.apiKeys.slice(1) })).keys).toBe(0);
  });

  test('one key if it expired', () => {
    const expiring = (before: Snapshot) => ({
      ...before,
      apiKeys: replace(
        before.apiKeys,
        3,
        apiKey(
          { imports: [{ sha256: sha(3) }], expiresAt: new Date(NOW_MS + 1000).toISOString() },
          { name: 'key-3' },
        ),
      ),
    });
    const compile = createCompiler();
    const snap = expiring(world());
    expect(compile(snap, NOW_MS).table.keys).toHaveLength(20);
    const later = compile(snap, NOW_MS + 1000 + 600_000);
    expect([later.compiled.keys, later.table.keys.length]).toEqual([1, 19]);
  });

  test('a provider and its routes if its Secret changed', () => {
    const changed = secret({ namespace: 'team-b', data: { key: 'sk-new' } });
    expect(secondRun((before) => ({ ...before, secrets: replace(before.secrets, 1, changed) }))).toEqual({
      providers: 1,
      routes: 1,
      keys: 0,
    });
  });

  test('every key that waits for a Secret if that was created', () => {
    const compile = createCompiler();
    const seekers = ['one', 'two'].map((name) => ({
      ...apiKey({}, { name }),
      spec: { secret: { name: 'shared' } },
    }));
    const before = { ...world(), apiKeys: [...world().apiKeys, ...seekers] };
    compile(before, NOW_MS);
    const after = { ...before, secrets: [...before.secrets, secret({ name: 'shared' })] };
    const { compiled, ...result } = compile(after, NOW_MS);
    expect(compiled.keys).toBe(2);
    const { compiled: _, ...fresh } = compileOnce(after);
    expect(result).toEqual(fresh);
  });

  test('nothing if an unreferenced Secret changed', () => {
    const other = secret({ name: 'unrelated' });
    expect(secondRun((before) => ({ ...before, secrets: [...before.secrets, other] }))).toEqual({
      providers: 0,
      routes: 0,
      keys: 0,
    });
  });

  test('Providers that select namespaces, and their routes, if a namespace changed', () => {
    const changed = namespace('team-a', { stage: 'prod' });
    expect(
      secondRun((before) => ({ ...before, namespaces: replace(before.namespaces, 0, changed) })),
    ).toEqual({
      providers: 1,
      routes: 1,
      keys: 0,
    });
  });

  test('the loser of an id too if a winner was added', () => {
    const older = route({}, { name: 'older', creationTimestamp: '2020-01-01T00:00:00Z' });
    const withAges = (before: Snapshot) => ({ ...before, modelRoutes: [...before.modelRoutes, older] });
    const compile = createCompiler();
    const before = { ...world(), modelRoutes: [route({}, { creationTimestamp: '2026-01-01T00:00:00Z' })] };
    compile(before, NOW_MS);
    const after = withAges(before);
    const result = compile(after, NOW_MS);
    expect(result.compiled.routes).toBe(2);
    expect(result.table).toEqual(compileOnce(after).table);
  });
});
