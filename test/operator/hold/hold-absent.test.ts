// What stays in the table although its objects are gone? A mass of them that nobody saw deleted, and nothing else.

import { describe, expect, test } from 'vitest';
import type { TableContent } from '../../../core/contract/routing-table.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { findLostTargets, type HoldAbsentInput, holdAbsent } from '../../../operator/hold/hold-absent.ts';
import { provider, route, secret, snapshot, target as targetSpec } from '../make.ts';
import {
  keyEntry,
  makeContent,
  numbers,
  providerEntry,
  routeEntry,
  target,
  withKeys,
} from '../publish/make-content.ts';

const EMPTY = makeContent({});

/** Every object of `next` is there, nothing else is, and nobody saw anything deleted. */
function hold(last: TableContent | undefined, next: TableContent, fields: Partial<HoldAbsentInput> = {}) {
  const present = new Set([...next.providers, ...next.routes, ...next.keys].map(({ id }) => id));
  return holdAbsent({
    last,
    next,
    isPresent: (_, id) => present.has(id),
    isReadable: () => true,
    isServed: () => true,
    wasSeenDeleted: () => false,
    isTargetLost: () => false,
    isAccepted: false,
    ...fields,
  });
}

const NONE = { Provider: 0, ModelRoute: 0, ApiKey: 0 };

describe('a namespace that cannot be read', () => {
  const last = makeContent({ keys: 3, routes: 3, providers: 3 });
  const namespace = last.keys[0]?.id.split('/')[0] ?? '';

  test('keeps all that it had in the table, however little, and whatever is confirmed elsewhere', () => {
    const kept = hold(last, EMPTY, { isReadable: (name) => name !== namespace, isAccepted: true });
    const has = ({ id }: { readonly id: string }) => id.startsWith(`${namespace}/`);
    expect(kept.content.keys).toEqual(last.keys.filter(has));
    expect(kept.content.providers).toEqual(last.providers.filter(has));
    expect(kept.held.ApiKey).toBeGreaterThan(0);
  });

  test('does not keep objects of other namespaces', () => {
    const kept = hold(last, EMPTY, { isReadable: (name) => name === 'another' });
    const other = hold(last, EMPTY, { isReadable: () => true });
    expect(kept.content.keys).toEqual(last.keys);
    expect(other.content.keys).toEqual([]);
  });
});

describe('an empty list after a relist', () => {
  const last = makeContent({ keys: 30, routes: 30, providers: 30 });

  test('removes nothing from the table', () => {
    expect(hold(last, EMPTY)).toEqual({
      content: last,
      held: { Provider: 30, ModelRoute: 30, ApiKey: 30 },
    });
  });

  test('counts after a person has confirmed it', () => {
    expect(hold(last, EMPTY, { isAccepted: true })).toEqual({ content: EMPTY, held: NONE });
  });

  test('with deletion events takes effect at once, however large', () => {
    expect(hold(last, EMPTY, { wasSeenDeleted: () => true })).toEqual({ content: EMPTY, held: NONE });
  });

  test('holds one kind and not the others', () => {
    const next = withKeys(last, []);
    expect(hold(last, next)).toEqual({ content: last, held: { ...NONE, ApiKey: 30 } });
  });

  test('stays held from table to table', () => {
    const once = hold(last, EMPTY).content;
    expect(hold(once, EMPTY).content).toEqual(last);
  });
});

describe('a mass is more than half of a kind, and at least 20', () => {
  const keys = (count: number) => makeContent({ keys: count }).keys;
  const without = (count: number, absent: number) =>
    hold(withKeys(EMPTY, keys(count)), withKeys(EMPTY, keys(count).slice(absent))).held.ApiKey;

  test.each([
    [19, 19, 0],
    [20, 20, 20],
    [40, 20, 0],
    [40, 21, 21],
    [1_000, 500, 0],
    [1_000, 501, 501],
  ])('of %i keys %i are absent: %i are held', (count, absent, held) => {
    expect(without(count, absent)).toBe(held);
  });

  test('ApiKeys are counted, not their digests', () => {
    const pairs = numbers(38).map((number) => keyEntry(number, { id: `team-a/key-${number % 19}` }));
    expect(hold(withKeys(EMPTY, pairs), EMPTY).held.ApiKey).toBe(0);
    const more = numbers(40).map((number) => keyEntry(number, { id: `team-a/key-${number % 20}` }));
    expect(hold(withKeys(EMPTY, more), EMPTY)).toEqual({
      content: withKeys(EMPTY, more),
      held: { ...NONE, ApiKey: 20 },
    });
  });
});

describe('beside held objects', () => {
  test('an existing object that is out of service leaves the table', () => {
    const last = makeContent({ keys: 50 });
    const disabled = last.keys[7]?.id ?? '';
    const { content, held } = hold(last, EMPTY, { isPresent: (_, id) => id === disabled });
    expect(held.ApiKey).toBe(49);
    expect(content.keys.map(({ id }) => id)).not.toContain(disabled);
  });

  test('an object with a deletion event leaves the table', () => {
    const last = makeContent({ keys: 50 });
    const deleted = last.keys[7]?.id ?? '';
    const { content } = hold(last, EMPTY, { wasSeenDeleted: (_, id) => id === deleted });
    expect(content.keys).toHaveLength(49);
  });

  test('a digest that another ApiKey asks for stays with the held one', () => {
    const last = makeContent({ keys: 30 });
    const [first] = last.keys;
    const taken = { ...keyEntry(0), sha256: first?.sha256 ?? '', id: 'team-z/new' };
    const { content } = hold(last, withKeys(EMPTY, [taken]));
    expect(content.keys).toEqual(last.keys);
  });

  test('a model id that an existing route claims goes to that route alone', () => {
    const last = makeContent({ routes: 30 });
    const claimed = routeEntry(0, [target('team-0/provider-0')], { id: 'team-0/new' });
    const next = { ...last, routes: [claimed] };
    const { content } = hold(last, next);
    expect(content.routes).toHaveLength(30);
    expect(content.routes.filter(({ model }) => model === 'model-0').map(({ id }) => id)).toEqual([
      'team-0/new',
    ]);
  });

  test('a held route loses targets whose provider is deleted, and leaves with the last of them', () => {
    const providers = numbers(2).map((number) => providerEntry(number));
    const [gone, stays] = providers.map(({ id }) => target(id));
    if (gone === undefined || stays === undefined) throw new Error('there are two');
    const routes = numbers(40).map((number) => routeEntry(number, number % 2 === 0 ? [gone, stays] : [gone]));
    const last = { ...makeContent({ providers: 2 }), routes };
    const next = { ...last, providers: providers.slice(1), routes: [] };
    const { content } = hold(last, next, {
      wasSeenDeleted: (kind) => kind === 'Provider',
      isPresent: (kind, id) => kind === 'Provider' && id === stays.provider,
    });
    expect(content.routes).toHaveLength(20);
    expect(new Set(content.routes.flatMap(({ targets }) => targets))).toEqual(new Set([stays]));
  });

  test('a held provider keeps its credentials, and only those', () => {
    const last = makeContent({ providers: 30 });
    const { content } = hold(last, EMPTY, {
      isPresent: (kind, id) => kind === 'Provider' && id.endsWith('-7'),
    });
    expect(content.providers).toHaveLength(29);
    expect(content.credentials.map(({ id }) => id)).toEqual(content.providers.map(({ id }) => `${id}/main`));
  });
});

/** Compiled for real: the compile does not see held Providers, so routes that are there lose their targets. */
describe('existing routes while their Providers are held', () => {
  const compile = createCompiler();
  const providers = numbers(25).map((number) => provider({}, { name: `provider-${number}` }));
  const routeOf = (number: number, spec: Readonly<Record<string, unknown>> = {}) =>
    route(
      {
        model: `model-${number}`,
        targets: [targetSpec({ providerRef: { name: `provider-${number}` } })],
        ...spec,
      },
      { name: `route-${number}` },
    );
  const routes = numbers(25).map((number) => routeOf(number));
  const whole = snapshot({ providers, modelRoutes: routes, secrets: [secret()] });
  const last = compile(whole, 0).table;

  function holdRoutes(modelRoutes: typeof routes) {
    const { table, verdicts } = compile({ ...whole, providers: [], modelRoutes }, 0);
    return hold(last, table, {
      isPresent: (kind) => kind === 'ModelRoute',
      isTargetLost: findLostTargets(verdicts, modelRoutes),
    });
  }

  test('keep their targets there', () => {
    expect(last.routes).toHaveLength(25);
    expect(holdRoutes(routes)).toEqual({ content: last, held: { ...NONE, Provider: 25 } });
  });

  test('do not keep them if an edit takes the route out of service', () => {
    const { routes: left } = holdRoutes([routeOf(0, { suspended: true }), ...routes.slice(1)]).content;
    expect(left.map(({ id }) => id)).not.toContain('team-a/route-0');
    expect(left).toHaveLength(24);
  });

  test('do not keep a target that an edit has removed', () => {
    const other = routeOf(0, {
      targets: [targetSpec({ name: 'other', providerRef: { name: 'provider-1' } })],
    });
    const { routes: left } = holdRoutes([other, ...routes.slice(1)]).content;
    expect(left.map(({ id }) => id)).not.toContain('team-a/route-0');
  });
});

test('without an earlier table nothing is held', () => {
  expect(hold(undefined, EMPTY)).toEqual({ content: EMPTY, held: NONE });
});

test('if nothing is held, the content is not copied', () => {
  const next = makeContent({ keys: 3 });
  expect(hold(makeContent({ keys: 5 }), next).content).toBe(next);
});
