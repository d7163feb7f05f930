// One tenant makes thousands of objects that ask for the same: is it reported who has it as anybody is, and does nobody wait for that?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Claim,
  findModelConflicts,
  type Served,
} from '../../../operator/compile/checks/model-conflict.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { SharedWith } from '../../../operator/compile/selector.ts';
import { apiKey, namespace, provider, route, secret, snapshot } from '../make.ts';
import { findConflictsSimply } from './simple-conflicts.ts';
import { NOW_MS } from './support.ts';

const places = ['a', 'b', 'c', 'd'];
const ids = ['m', 'n', 'o'];
const sharing: fc.Arbitrary<SharedWith> = fc.oneof(
  fc.constant<SharedWith>([]),
  fc.constant<SharedWith>('*'),
  fc.subarray(places),
);
const anyClaim = fc.record({
  namespace: fc.constantFrom(...places),
  createdAt: fc.constantFrom('', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
  ids: fc.subarray(ids, { minLength: 1 }),
  sharedWith: sharing,
  served: fc.option(fc.record({ ids: fc.subarray(ids), sharedWith: sharing }), { nil: undefined }),
});

test('each conflict has the same loser, winner and reason as a comparison of all pairs', () => {
  fc.assert(
    fc.property(fc.array(anyClaim, { maxLength: 12 }), (drawn) => {
      const claims = drawn.map((claim, index) => ({ ...claim, name: `r${index}` }));
      const servedBy = ({ served }: (typeof claims)[number]): Served | undefined => served;
      expect(findModelConflicts(claims, servedBy)).toEqual(findConflictsSimply(claims, servedBy));
    }),
    { numRuns: 2_000 },
  );
});

const many = 10_000;
const sixteen = Array.from({ length: 16 }, (_, alias) => `alias-${alias}`);

test('routes of one tenant that serve the same ids are not compared with each other', () => {
  let compared = 0;
  let asked = 0;
  const claims = Array.from(
    { length: 1_000 },
    (_, index): Claim => ({
      get namespace() {
        compared++;
        return 'team-a';
      },
      name: `r-${index}`,
      createdAt: '',
      ids: ['m', ...sixteen],
      sharedWith: [],
    }),
  );
  const servedBy = ({ ids }: Claim): Served => {
    asked++;
    return { ids, sharedWith: [] };
  };
  expect(findModelConflicts(claims, servedBy).size).toBe(999);
  expect(asked, 'once for each').toBe(1_000);
  expect(compared).toBeLessThan(1_000 * 10 * 17);
});

/** Far above what it takes on a machine with other work: what grows with the square of them takes minutes. */
const soonMs = 30_000;

describe('ten thousand objects of one tenant', () => {
  test('that are routes with the same ids are compiled quickly, and so are changes beside them', {
    timeout: soonMs,
  }, () => {
    const modelRoutes = Array.from({ length: many }, (_, index) =>
      route({ model: 'm', aliases: sixteen }, { name: `r-${index}` }),
    );
    const before = snapshot({
      secrets: [secret()],
      providers: [provider()],
      namespaces: ['team-a', 'team-b'].map((name) => namespace(name)),
      modelRoutes,
    });
    const compile = createCompiler();
    expect(compile(before, NOW_MS).table.routes).toHaveLength(1);
    const other = route({ model: 'other' }, { name: 'other', namespace: 'team-b' });
    const { compiled } = compile({ ...before, modelRoutes: [...modelRoutes, other] }, NOW_MS);
    expect(compiled.routes).toBe(1);
  });

  test('that are keys of one digest, or of one Secret, are added and removed quickly', {
    timeout: soonMs,
  }, () => {
    const sha256 = 'a'.repeat(64);
    const apiKeys = Array.from({ length: many }, (_, index) =>
      index % 2 === 0
        ? apiKey({ imports: [{ sha256 }] }, { name: `k-${index}` })
        : apiKey({ secretRef: { name: 'one' } }, { name: `k-${index}` }),
    );
    const before = snapshot({ namespaces: [namespace('team-a')], apiKeys });
    const compile = createCompiler();
    expect(compile(before, NOW_MS).table.keys).toHaveLength(1);
    expect(compile({ ...before, apiKeys: [] }, NOW_MS).table.keys).toEqual([]);
  });
});
