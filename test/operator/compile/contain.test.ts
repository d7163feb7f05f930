// Our own code fails at one object, or in the midst of all: do the others go on, and is nothing remembered that was half done?

import { expect, test } from 'vitest';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { NOTHING_GOOD } from '../../../operator/compile/last-good.ts';
import type { RawObject } from '../../../operator/watch/snapshot.ts';
import { apiKey, provider, route, secret, snapshot } from '../make.ts';
import { compileOnce, condition, NOW_MS } from './support.ts';

const CANARY = 'sk-canary';

/** What no schema lets through represents a bug: reading it throws. */
function broken(object: RawObject): RawObject {
  return {
    ...object,
    metadata: { ...object.metadata, name: 'broken' },
    get spec(): never {
      throw new RangeError(CANARY);
    },
  };
}

test.each([
  ['ApiKey', { apiKeys: [apiKey(), broken(apiKey())] }],
  ['Provider', { providers: [provider(), broken(provider())], secrets: [secret()] }],
  ['ModelRoute', { providers: [provider()], secrets: [secret()], modelRoutes: [route(), broken(route())] }],
] as const)('an error in a broken %s is reported, and every other one is in the table', (kind, parts) => {
  const result = compileOnce(snapshot(parts));
  const { status, reason, message } = condition(result, kind, 'team-a/broken', 'Accepted');
  expect([status, reason]).toEqual(['False', 'Invalid']);
  expect(message).toContain('because of a bug');
  expect(message).not.toContain(CANARY);
  const { keys, providers, routes } = result.table;
  expect({ ApiKey: keys, Provider: providers, ModelRoute: routes }[kind]).toHaveLength(1);
});

test('an aborted run leaves no state: an object that is deleted in between is missing from the next table', () => {
  const compile = createCompiler();
  const [one, two] = [apiKey({}, { name: 'one' }), apiKey({}, { name: 'two' })];
  const leaver = apiKey({ imports: [{ sha256: 'b'.repeat(64) }] }, { name: 'leaver' });
  compile(snapshot({ apiKeys: [one, leaver] }), NOW_MS);
  const breaking = {
    ...NOTHING_GOOD,
    keyHolders: () => {
      throw new Error('broken off');
    },
  };
  // Both claim one digest, so that somebody asks who holds it.
  expect(() => compile(snapshot({ apiKeys: [one, two] }), NOW_MS, breaking)).toThrow('broken off');
  const { table } = compile(snapshot({ apiKeys: [one] }), NOW_MS);
  expect(table.keys.map(({ id }) => id)).toEqual(['team-a/one']);
});
