// In which order are upstreams tried, and how is the load shared?

import { describe, expect, test } from 'vitest';
import type {
  HealthHint,
  ProviderEntry,
  RoutingTable,
  UpstreamDialectName,
} from '../../../core/contract/routing-table.ts';
import { selectTargets } from '../../../gateway/route/plan.ts';
import { makeRandom } from '../../support/wall/split.ts';
import { nameOf, routeOf } from './candidates.ts';

const first = ([dialect]: readonly UpstreamDialectName[]): UpstreamDialectName | undefined => dialect;

function orderOf(route: ReturnType<typeof routeOf>, random: () => number = () => 0): string[] {
  return selectTargets(route, first, { random }).candidates.map(nameOf);
}

const key = (name: string, weight: number, priority = 0): ProviderEntry['keys'][number] => ({
  name,
  credential: `platform/p0/${name}`,
  weight,
  priority,
});

test('lower priorities come first, whatever the draw', () => {
  const route = routeOf([{ priority: 7 }, { priority: 0 }, { priority: 3 }]);
  const random = makeRandom(1);
  for (let n = 0; n < 50; n++) expect(orderOf(route, random)).toEqual(['t1', 't2', 't0']);
});

test('inside a tier the first place is shared by weight', () => {
  const route = routeOf([
    { priority: 0, weight: 6 },
    { priority: 0, weight: 3 },
    { priority: 0, weight: 1 },
    { priority: 1, weight: 100 },
  ]);
  const random = makeRandom(42);
  const firsts = new Map<string, number>();
  const seconds = new Map<string, number>();
  const runs = 20_000;
  for (let n = 0; n < runs; n++) {
    const [first = '', second = '', , fourth] = orderOf(route, random);
    firsts.set(first, (firsts.get(first) ?? 0) + 1);
    if (first === 't0') seconds.set(second, (seconds.get(second) ?? 0) + 1);
    expect(fourth).toBe('t3');
  }
  const share = (counts: Map<string, number>, name: string, of: number): number =>
    (counts.get(name) ?? 0) / of;
  // Four standard deviations at this many runs are below 0.015.
  expect(Math.abs(share(firsts, 't0', runs) - 0.6)).toBeLessThan(0.015);
  expect(Math.abs(share(firsts, 't1', runs) - 0.3)).toBeLessThan(0.015);
  expect(Math.abs(share(firsts, 't2', runs) - 0.1)).toBeLessThan(0.015);
  // The remaining keys share by weight again.
  expect(Math.abs(share(seconds, 't1', firsts.get('t0') ?? 0) - 0.75)).toBeLessThan(0.02);
});

describe('weight 0 drains', () => {
  test('of a target', () => expect(orderOf(routeOf([{ weight: 0 }, {}]))).toEqual(['t1']));

  test('all targets: none is left', () => expect(orderOf(routeOf([{ weight: 0 }]))).toEqual([]));

  test('of a key', () => {
    const route = routeOf([
      { keys: { a: 'A', b: 'B' }, providerEntry: { keys: [key('a', 0), key('b', 1)] } },
    ]);
    expect(orderOf(route)).toEqual(['t0/b']);
  });

  test('all keys of a target', () => {
    const route = routeOf([{ keys: { a: 'A' }, providerEntry: { keys: [key('a', 0)] } }, {}]);
    expect(orderOf(route)).toEqual(['t1']);
  });
});

test('the keys of a target follow each other, by their own priority, before the next target', () => {
  const route = routeOf([
    {
      keys: { a: 'A', b: 'B', c: 'C' },
      providerEntry: { keys: [key('a', 1, 2), key('b', 1, 0), key('c', 1, 1)] },
    },
    {},
  ]);
  expect(orderOf(route)).toEqual(['t0/b', 't0/c', 't0/a', 't1']);
});

test('keys of equal priority share by weight', () => {
  const route = routeOf([{ keys: { a: 'A', b: 'B' }, providerEntry: { keys: [key('a', 3), key('b', 1)] } }]);
  const random = makeRandom(7);
  const runs = 10_000;
  let firsts = 0;
  for (let n = 0; n < runs; n++) if (orderOf(route, random)[0] === 't0/a') firsts++;
  expect(Math.abs(firsts / runs - 0.75)).toBeLessThan(0.02);
});

test('a provider that needs a key and has none left is skipped', () => {
  const route = routeOf([{ keys: {} }, {}]);
  expect(orderOf(route)).toEqual(['t1']);
});

test('targets that cannot serve the caller are left out, the others get the fitting dialect', () => {
  const route = routeOf([{ dialects: ['anthropic-messages'] }, { dialects: ['openai-chat'] }]);
  const plan = selectTargets(route, (dialects) => dialects.find((dialect) => dialect === 'openai-chat'), {
    random: () => 0,
  });
  expect(plan.candidates.map((candidate) => [nameOf(candidate), candidate.dialect])).toEqual([
    ['t1', 'openai-chat'],
  ]);
});

describe('order by the health in this pod', () => {
  /** Targets by name that are in slow start, with their share; attempts in flight by target or key. */
  const orderUnder = (
    targets: Parameters<typeof routeOf>[0],
    load: { readonly shares?: Record<string, number>; readonly inFlight?: Record<string, number> },
    random: () => number = () => 0.5,
    affinity?: string,
  ): string[] => {
    const route = routeOf(targets);
    const ids = new Map(
      route.targets.flatMap(({ entry, healthId, endpoints }) => [
        [healthId, entry.name] as const,
        ...endpoints.map((endpoint) => [endpoint.healthId, `${entry.name}/${endpoint.key?.name}`] as const),
      ]),
    );
    return selectTargets(route, first, {
      random,
      affinity,
      load: {
        inFlight: (healthId) => load.inFlight?.[ids.get(healthId) ?? ''] ?? 0,
        shareOf: ({ entry }) => load.shares?.[entry.name] ?? 1,
      },
    }).candidates.map(nameOf);
  };

  test('a target in slow start that loses the draw comes after its peers', () => {
    const peers = [{ priority: 0 }, { priority: 0 }, { priority: 1 }];
    for (let n = 0; n < 50; n++) {
      expect(orderUnder(peers, { shares: { t0: 0 } }, makeRandom(n))).toEqual(['t1', 't0', 't2']);
    }
  });

  test('a target in slow start alone in its tier comes after the next tier, and no further', () => {
    const tiers = [{ priority: 0 }, { priority: 1 }, { priority: 2 }];
    expect(orderUnder(tiers, { shares: { t0: 0.5 } })).toEqual(['t1', 't0', 't2']);
    expect(orderUnder(tiers, { shares: { t0: 0.51 } })).toEqual(['t0', 't1', 't2']);
    expect(orderUnder(tiers, { shares: { t0: 0, t1: 0 } })).toEqual(['t2', 't0', 't1']);
  });

  test('a target in slow start is used if no other is left', () => {
    expect(orderUnder([{ priority: 0 }], { shares: { t0: 0 } })).toEqual(['t0']);
    expect(orderUnder([{ priority: 0 }, { priority: 1 }], { shares: { t0: 0, t1: 0 } })).toEqual([
      't0',
      't1',
    ]);
  });

  test('over half a minute it gets its share of the calls', () => {
    const random = makeRandom(11);
    const runs = 10_000;
    let firsts = 0;
    for (let n = 0; n < runs; n++) {
      if (orderUnder([{ priority: 0 }, { priority: 1 }], { shares: { t0: 0.1 } }, random)[0] === 't0')
        firsts++;
    }
    expect(Math.abs(firsts / runs - 0.1)).toBeLessThan(0.015);
  });

  test('calls of one conversation return to it once, and then stay', () => {
    const random = makeRandom(13);
    const texts = Array.from({ length: 1_000 }, (_, n) => `conversation ${n}`);
    const shares = [0.1, 0.3, 0.5, 0.7, 0.9, 1];
    const isThere = (text: string, share: number): boolean =>
      orderUnder([{ priority: 0 }, { priority: 1 }], { shares: { t0: share } }, random, text)[0] === 't0';
    for (const text of texts) {
      const course = shares.map((share) => isThere(text, share));
      expect(course.indexOf(true)).toBe(course.lastIndexOf(false) + 1);
    }
    for (const share of shares) {
      const came = texts.filter((text) => isThere(text, share)).length / texts.length;
      expect(Math.abs(came - share)).toBeLessThan(0.04);
    }
  });

  test('of a provider’s own conversations among peers, its share returns', () => {
    const peers = [{ priority: 0 }, { priority: 0 }];
    const own = Array.from({ length: 2_000 }, (_, n) => `conversation ${n}`).filter(
      (text) => orderUnder(peers, {}, () => 0.5, text)[0] === 't0',
    );
    const came = own.filter(
      (text) => orderUnder(peers, { shares: { t0: 0.5 } }, () => 0.5, text)[0] === 't0',
    );
    expect(Math.abs(came.length / own.length - 0.5)).toBeLessThan(0.05);
  });

  test('of two targets or keys the one with fewer requests in flight is first, within its tier', () => {
    const peers = [{ priority: 0 }, { priority: 0 }, { priority: 1 }];
    expect(orderUnder(peers, { inFlight: { t0: 3, t1: 2 } })).toEqual(['t1', 't0', 't2']);
    const keys = [{ keys: { a: 'A', b: 'B' }, providerEntry: { keys: [key('a', 1), key('b', 1)] } }];
    expect(orderUnder(keys, { inFlight: { 't0/a': 2, 't0/b': 1 } })).toEqual(['t0/b', 't0/a']);
  });

  test('calls with one text of affinity keep their target and key, whatever the draw', () => {
    const route = routeOf([
      { priority: 0, keys: { a: 'A', b: 'B' }, providerEntry: { keys: [key('a', 1), key('b', 1)] } },
      { priority: 0 },
      { priority: 0 },
    ]);
    const orderFor = (affinity: string, seed: number): string[] =>
      selectTargets(route, first, { random: makeRandom(seed), affinity }).candidates.map(nameOf);
    const firsts = new Set<string>();
    for (let n = 0; n < 60; n++) {
      const order = orderFor(`text ${n}`, 1);
      for (const seed of [2, 3]) expect(orderFor(`text ${n}`, seed)).toEqual(order);
      firsts.add(order[0] ?? '');
    }
    expect([...firsts].toSorted()).toEqual(['t0/a', 't0/b', 't1', 't2']);
  });
});

describe('targets that the operator reports as failing come last, and are never left out', () => {
  const doubt =
    (...hints: HealthHint[]) =>
    (table: RoutingTable): RoutingTable => ({ ...table, hints });

  test('a provider that fails its checks', () => {
    const route = routeOf([{ priority: 0 }, { priority: 1 }], doubt({ provider: 'platform/p0' }));
    expect(orderOf(route)).toEqual(['t1', 't0']);
  });

  test('a refused key, before another provider is asked', () => {
    const keys = { keys: { a: 'A', b: 'B' }, providerEntry: { keys: [key('a', 1), key('b', 1, 1)] } };
    const route = routeOf([keys, { priority: 1 }], doubt({ provider: 'platform/p0', key: 'a' }));
    expect(orderOf(route)).toEqual(['t0/b', 't1', 't0/a']);
  });

  test('all of them: the order does not change', () => {
    const doubts = doubt({ provider: 'platform/p0' }, { provider: 'platform/p1' });
    expect(orderOf(routeOf([{ priority: 0 }, { priority: 1 }], doubts))).toEqual(['t0', 't1']);
  });
});
