// Does a large installation compile, and does one change in it stay small?

import { expect, test } from 'vitest';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { warmUp } from '../../../operator/compile/warm-up.ts';
import { apiKey, namespace, provider, route, secret, snapshot } from '../make.ts';
import { NOW_MS } from './support.ts';

const NAMESPACES = Array.from({ length: 100 }, (_, index) => `team-${index}`);
const sha = (index: number) => index.toString(16).padStart(64, '0');
const keyAt = (index: number, sha256 = sha(index)) =>
  apiKey({ imports: [{ sha256 }] }, { name: `key-${index}`, namespace: NAMESPACES[index % 100] ?? '' });

const large = () =>
  snapshot({
    secrets: NAMESPACES.map((name) => secret({ namespace: name })),
    providers: NAMESPACES.map((name) => provider({}, { namespace: name })),
    modelRoutes: Array.from({ length: 500 }, (_, index) =>
      route({ model: `model-${index}` }, { name: `r-${index}`, namespace: NAMESPACES[index % 100] ?? '' }),
    ),
    apiKeys: Array.from({ length: 5000 }, (_, index) => keyAt(index)),
    namespaces: NAMESPACES.map((name) => namespace(name)),
  });

test('a first compile in pieces gives the whole, and other work runs after each piece', async () => {
  const everything = large();
  const compile = createCompiler();
  let breaths = 0;
  await warmUp(compile, everything, NOW_MS, async () => {
    breaths += 1;
  });
  expect(breaths).toBe(5 + 5);
  const { compiled, ...result } = compile(everything, NOW_MS);
  expect(compiled).toEqual({ providers: 0, routes: 0, keys: 0 });
  const { compiled: _, ...cold } = createCompiler()(everything, NOW_MS);
  expect(result).toEqual(cold);
});

test('5,000 keys and 500 routes: everything at first, then one key for one changed key', () => {
  const before = large();
  const compile = createCompiler();
  const first = compile(before, NOW_MS);
  expect(first.compiled).toEqual({ providers: 100, routes: 500, keys: 5000 });
  expect([first.table.routes.length, first.table.keys.length]).toEqual([500, 5000]);

  const changed = before.apiKeys.map((key, index) => (index === 1234 ? keyAt(1234, 'f'.repeat(64)) : key));
  const second = compile({ ...before, apiKeys: changed }, NOW_MS);
  expect(second.compiled).toEqual({ providers: 0, routes: 0, keys: 1 });
  const hashes = (keys: typeof first.table.keys) => new Set(keys.map(({ sha256 }) => sha256));
  expect(hashes(second.table.keys).difference(hashes(first.table.keys))).toEqual(new Set(['f'.repeat(64)]));
});
