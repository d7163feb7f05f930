// Two routes ask for one model id: whose is it? That of the one that serves it; where nobody does, the oldest one's. Whatever
// people edit, what works goes on working, in whatever order things are read, under any leader.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RouteEntry, TableContent } from '../../../core/contract/routing-table.ts';
import { type CompileResult, createCompiler } from '../../../operator/compile/compile.ts';
import { createLastForms } from '../../../operator/hold/last-forms.ts';
import type { RawObject, Snapshot } from '../../../operator/watch/snapshot.ts';
import { namespace, PLATFORM, provider, route, secret, snapshot, target } from '../make.ts';
import { NOW_MS } from './support.ts';
import { startTerm } from './term.ts';

const HOUR_MS = 3_600_000;
const all = { allowedNamespaces: { from: 'All' } };
const names = ['platform', 'team-a', 'team-b', 'team-c'];
const world = {
  providers: [provider({ allowedNamespaces: { from: 'All' } }, { namespace: 'platform', uid: 'p' })],
  secrets: [secret({ namespace: 'platform' })],
  namespaces: names.map((name) => namespace(name)),
  platform: { ...PLATFORM, platformNamespaces: ['platform', 'team-c'] },
};
const targets = [target({ providerRef: { name: 'openai', namespace: 'platform' } })];

/** A status as the last leader wrote it: of what serves, this generation was programmed. */
const programmed = (generation: number) => ({
  observedGeneration: generation,
  conditions: [
    {
      ...{ type: 'Programmed', status: 'True', reason: 'Programmed', observedGeneration: generation },
      lastTransitionTime: '2026-05-01T00:00:00Z',
    },
  ],
});

function routeOf(name: string, day: number, spec: object, meta: object = {}): RawObject {
  const creationTimestamp = `2026-01-${String(day).padStart(2, '0')}T00:00:00Z`;
  const object = route({ targets, ...spec }, { name, uid: name, generation: 1, creationTimestamp, ...meta });
  return { ...object, status: programmed(1) };
}

const older = (spec: object = {}) => routeOf('older', 1, { model: 'a', ...spec });
const younger = (spec: object = {}) => routeOf('younger', 2, { model: 'b', ...spec });
const worldWith = (...modelRoutes: RawObject[]): Snapshot => snapshot({ ...world, modelRoutes });
const idsOf = ({ table }: Pick<CompileResult, 'table'>) =>
  table.routes.map(({ id, model, aliases }) => [id, model, ...aliases].join(' '));

function reported({ verdicts }: CompileResult, name: string, type: string): string {
  const found = verdicts.find((one) => one.kind === 'ModelRoute' && one.name === name);
  const condition = found?.conditions.find((one) => one.type === type);
  return condition === undefined ? 'absent' : `${condition.status} ${condition.reason}: ${condition.message}`;
}

describe('an older route that asks for the id of a younger one in service', () => {
  const before = worldWith(older(), younger());
  const asking = worldWith(older({ aliases: ['b'] }), younger());

  test('does not get it, and its message names the holder; both keep serving', () => {
    const run = startTerm();
    const good = run(before);
    const later = run(asking);
    expect(later.table).toEqual(good.table);
    expect(reported(later, 'older', 'Conflicted')).toBe(
      'True ModelConflict: the model id "b" belongs to the ModelRoute team-a/younger, which claimed it first; spec.model cannot be edited: delete this ModelRoute and create it with another spec.model, or delete the other one',
    );
    expect(later.verdicts.find(({ name }) => name === 'older')).toMatchObject({
      isInTable: true,
      conflictsWith: { namespace: 'team-a', name: 'younger' },
    });
    expect(reported(later, 'younger', 'Accepted')).toBe('True Accepted: ');
    expect(reported(later, 'younger', 'Conflicted')).toBe('absent');
  });

  test('does not get it from another leader either, which has only the table and the statuses', () => {
    const found = startTerm()(before).table;
    expect(startTerm(HOUR_MS, found)(asking).table).toEqual(found);
    // Not even where the younger one has no status yet: it is in the table.
    const unseen = worldWith(older({ aliases: ['b'] }), { ...younger(), status: undefined });
    expect(startTerm(HOUR_MS, found)(unseen).table).toEqual(found);
  });

  test('does not get it with an earlier broken form: a form that never served has no claim', () => {
    const run = startTerm();
    const wasBroken = older({ model: 'b', bogus: true });
    expect(idsOf(run(worldWith(wasBroken, younger())))).toEqual(['team-a/younger b']);
    expect(idsOf(run(worldWith(older({ model: 'b' }), younger())))).toEqual(['team-a/younger b']);
  });

  test('leaves service when the hour of its last good form is over; the younger one stays', () => {
    const run = startTerm();
    run(before);
    run(asking);
    expect(idsOf(run(asking, NOW_MS + HOUR_MS))).toEqual(['team-a/younger b']);
  });

  test.each([
    ['is deleted', worldWith(older({ aliases: ['b'] })), ['team-a/older a b']],
    [
      'is suspended',
      worldWith(older({ aliases: ['b'] }), younger({ suspended: true })),
      ['team-a/older a b'],
    ],
  ])('gets it at once if the younger one %s', (_, then, served) => {
    const run = startTerm();
    run(before);
    run(asking);
    expect(idsOf(run(then))).toEqual(served);
  });

  test('gets it at once if the younger one gives up its alias', () => {
    const run = startTerm();
    run(worldWith(older(), younger({ aliases: ['x'] })));
    const both = worldWith(older({ aliases: ['x'] }), younger({ aliases: ['x'] }));
    expect(idsOf(run(both))).toEqual(['team-a/older a', 'team-a/younger b x']);
    expect(idsOf(run(worldWith(older({ aliases: ['x'] }), younger())))).toEqual([
      'team-a/older a x',
      'team-a/younger b',
    ]);
  });

  test('gets it in the run in which the last good form of the younger one expires', () => {
    const run = startTerm();
    run(before);
    const broken = worldWith(older(), younger({ bogus: true }));
    run(broken);
    const then = worldWith(older({ aliases: ['b'] }), younger({ bogus: true }));
    expect(idsOf(run(then, NOW_MS + HOUR_MS - 1))).toEqual(['team-a/older a', 'team-a/younger b']);
    expect(idsOf(run(then, NOW_MS + HOUR_MS))).toEqual(['team-a/older a b']);
  });
});

test('two routes that ask for each other’s id both keep their own', () => {
  const run = startTerm();
  const good = run(worldWith(older(), younger()));
  const crossed = worldWith(older({ aliases: ['b'] }), younger({ aliases: ['a'] }));
  expect(run(crossed).table).toEqual(good.table);
});

test('an older route that begins to share its id gets no callers of a younger one', () => {
  const shared = routeOf('younger', 2, { model: 'x', ...all }, { namespace: 'team-c' });
  const own = (spec: object) => routeOf('older', 1, { model: 'x', ...spec }, { namespace: 'platform' });
  const run = startTerm();
  const good = run(worldWith(own({}), shared));
  expect(idsOf(good)).toEqual(['platform/older x', 'team-c/younger x']);
  expect(run(worldWith(own(all), shared)).table).toEqual(good.table);
});

test('an id that is not yet served goes to the oldest route, also among routes that serve other ids', () => {
  const run = startTerm();
  run(worldWith(older(), younger()));
  const both = worldWith(older({ aliases: ['new'] }), younger({ aliases: ['new'] }));
  expect(idsOf(run(both))).toEqual(['team-a/older a new', 'team-a/younger b']);
  expect(idsOf(startTerm()(both))).toEqual(['team-a/older a new']);
});

// Five routes in three namespaces, of all ages; they share their ids or not, take aliases of each other, are suspended, deleted
// and made again.
const places = ['team-a', 'team-a', 'platform', 'team-c', 'team-c'];
const ids = ['v', 'w', 'x', 'y', 'z'];
const anyEdit = fc.record({
  which: fc.nat({ max: places.length - 1 }),
  what: fc.constantFrom('aliases', 'aliases', 'aliases', 'sharing', 'suspend', 'delete', 'break'),
  aliases: fc.subarray(ids, { maxLength: 3 }),
  isShared: fc.boolean(),
});

interface Wish {
  readonly aliases: readonly string[];
  readonly isShared: boolean;
  readonly isSuspended: boolean;
  readonly isBroken: boolean;
  readonly isThere: boolean;
}

/** Of each caller: which route serves the id, its own namespace's before others'. */
function served(entries: readonly RouteEntry[], caller: string, id: string): string[] {
  const having = entries.filter(({ model, aliases }) => [model, ...aliases].includes(id));
  const own = having.filter((entry) => entry.id.startsWith(`${caller}/`));
  const foreign = having.filter(
    ({ id: of, sharedWith }) =>
      !of.startsWith(`${caller}/`) && (sharedWith === '*' || sharedWith.includes(caller)),
  );
  return (own.length > 0 ? own : foreign).map((entry) => entry.id);
}

test('after any edits each id has one route for a caller, and no route loses an id that it serves and keeps', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 1, max: 28 }), { minLength: 5, maxLength: 5 }),
      fc.array(anyEdit, { minLength: 1, maxLength: 8 }),
      fc.infiniteStream(fc.nat()),
      (days, edits, dice) => {
        const wishes: Wish[] = places.map(() => ({
          aliases: [],
          isShared: false,
          isSuspended: false,
          isBroken: false,
          isThere: true,
        }));
        const generations = places.map(() => 1);
        const objectsNow = () =>
          wishes.flatMap(({ aliases, isShared, isSuspended, isBroken, isThere }, index): RawObject[] => {
            if (!isThere) return [];
            const model = ids[index] ?? '';
            const spec = {
              model,
              aliases: aliases.filter((alias) => alias !== model),
              suspended: isSuspended,
              ...(isShared ? all : {}),
              ...(isBroken ? { bogus: true } : {}),
            };
            const meta = { namespace: places[index], generation: generations[index] };
            return [routeOf(`r${index}`, days[index] ?? 1, spec, meta)];
          });
        const run = startTerm();
        let last = run(worldWith(...objectsNow())).table;
        for (const { which, what, aliases, isShared } of edits) {
          const wish = wishes[which];
          if (wish === undefined) return;
          const mayShare = places[which] !== 'team-a';
          wishes[which] = {
            ...wish,
            ...(what === 'aliases' ? { aliases } : {}),
            ...(what === 'sharing' ? { isShared: isShared && mayShare } : {}),
            ...(what === 'suspend' ? { isSuspended: !wish.isSuspended } : {}),
            ...(what === 'delete' ? { isThere: !wish.isThere } : {}),
            ...(what === 'break' ? { isBroken: !wish.isBroken } : {}),
          };
          generations[which] = (generations[which] ?? 1) + 1;
          const objects = objectsNow();
          const before = last;
          last = run(worldWith(...objects)).table;
          expectOneEach(last);
          expectNothingBroken(before, last, wishes);
          // Again: nothing moves by itself.
          expect(run(worldWith(...objects)).table).toEqual(last);
          // Read in another order, by another leader, who has the table before and the statuses.
          const keys = objects.map((object) => ({ object, key: dice.next().value }));
          const shuffled = keys.sort((a, b) => a.key - b.key).map(({ object }) => object);
          expect(compileOver(before, worldWith(...shuffled)).table).toEqual(last);
        }
      },
    ),
    { numRuns: 60 },
  );
});

function compileOver(found: TableContent, now: Snapshot): CompileResult {
  const forms = createLastForms({
    holdMs: HOUR_MS,
    objectOf: (_, ofNamespace, name) =>
      now.modelRoutes.find(({ metadata }) => metadata.namespace === ofNamespace && metadata.name === name),
  });
  return createCompiler()(now, NOW_MS, forms.of(found));
}

function expectOneEach({ routes }: TableContent): void {
  for (const caller of [...names, 'any-other']) {
    for (const id of ids)
      expect([caller, id, served(routes, caller, id).length <= 1]).toEqual([caller, id, true]);
  }
}

function expectNothingBroken(before: TableContent, after: TableContent, wishes: readonly Wish[]): void {
  for (const [index, { aliases, isShared, isSuspended, isThere, isBroken }] of wishes.entries()) {
    if (!isThere || isSuspended) continue;
    const entry = before.routes.find(({ id }) => id === `${places[index]}/r${index}`);
    if (entry === undefined) continue;
    const kept = [entry.model, ...entry.aliases].filter(
      // A form that is broken serves on as it was.
      (id) => isBroken || id === entry.model || aliases.includes(id),
    );
    const now = after.routes.find(({ id }) => id === entry.id);
    expect([now?.model, ...(now?.aliases ?? [])]).toEqual(expect.arrayContaining(kept));
    if (isShared && entry.sharedWith === '*') expect(now?.sharedWith).toBe('*');
  }
}
