// In which order are upstreams tried, and how is the load shared?

import { describe, expect, test } from 'vitest';
import type {
  DialectName,
  HealthHint,
  ProviderEntry,
  RoutingTable,
} from '../../../gateway/contract/routing-table.ts';
import { selectTargets } from '../../../gateway/route/plan.ts';
import { makeRandom } from '../../support/wall/split.ts';
import { nameOf, routeOf } from './candidates.ts';

const first = ([dialect]: readonly DialectName[]): DialectName | undefined => dialect;

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
  // Whoever is left shares by weight again.
  expect(Math.abs(share(seconds, 't1', firsts.get('t0') ?? 0) - 0.75)).toBeLessThan(0.02);
});

describe('weight 0 is drained', () => {
  test('of a target', () => expect(orderOf(routeOf([{ weight: 0 }, {}]))).toEqual(['t1']));

  test('of all targets: nobody is left', () => expect(orderOf(routeOf([{ weight: 0 }]))).toEqual([]));

  test('of a key', () => {
    const route = routeOf([
      { keys: { a: 'A', b: 'B' }, providerEntry: { keys: [key('a', 0), key('b', 1)] } },
    ]);
    expect(orderOf(route)).toEqual(['t0/b']);
  });

  test('of all keys of a target', () => {
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

test('a provider that takes a key and has none left is no candidate', () => {
  const route = routeOf([{ keys: {} }, {}]);
  expect(orderOf(route)).toEqual(['t1']);
});

test('targets that cannot serve the caller are left out, others are spoken to as they can', () => {
  const route = routeOf([{ dialects: ['anthropic-messages'] }, { dialects: ['openai-chat'] }]);
  const plan = selectTargets(route, (dialects) => dialects.find((dialect) => dialect === 'openai-chat'), {
    random: () => 0,
  });
  expect(plan.candidates.map((candidate) => [nameOf(candidate), candidate.dialect])).toEqual([
    ['t1', 'openai-chat'],
  ]);
});

describe('what the operator doubts comes last, and is never taken away', () => {
  const doubt =
    (...hints: HealthHint[]) =>
    (table: RoutingTable): RoutingTable => ({ ...table, hints });

  test('a provider that does not answer its checks', () => {
    const route = routeOf([{ priority: 0 }, { priority: 1 }], doubt({ provider: 'platform/p0' }));
    expect(orderOf(route)).toEqual(['t1', 't0']);
  });

  test('a key that is refused, before another provider is asked', () => {
    const keys = { keys: { a: 'A', b: 'B' }, providerEntry: { keys: [key('a', 1), key('b', 1, 1)] } };
    const route = routeOf([keys, { priority: 1 }], doubt({ provider: 'platform/p0', key: 'a' }));
    expect(orderOf(route)).toEqual(['t0/b', 't1', 't0/a']);
  });

  test('all of them: the order is as without a doubt', () => {
    const doubts = doubt({ provider: 'platform/p0' }, { provider: 'platform/p1' });
    expect(orderOf(routeOf([{ priority: 0 }, { priority: 1 }], doubts))).toEqual(['t0', 't1']);
  });
});
