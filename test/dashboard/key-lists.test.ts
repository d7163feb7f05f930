// Is a list of keys the truth at the version that it names? A page asks again until that is as new as what it has heard, so a list that
// names a later one lacks a change for as long as it is kept.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Cluster } from '../../dashboard/cluster.ts';
import { openKeyLists } from '../../dashboard/rows/key-lists.ts';
import { makeFakeClock } from '../support/fake-clock.ts';

const ada = { id: 'ada', token: 'ada' };

interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly name: string;
  readonly owner: string;
}

const objectOf = ({ version, name, owner }: Change) => ({
  metadata: { namespace: 'team-a', name, resourceVersion: String(version) },
  spec: { owner: { name: owner } },
});

/** An API server whose answers are of the moment of the question, and come when they are let through: two keys in each. */
function openCluster() {
  const history: Change[] = [];
  const waiting: (() => void)[] = [];
  let version = 10;
  const keysAt = (at: number): readonly Change[] => {
    const keys = new Map<string, Change>();
    for (const change of history) {
      if (change.version > at) break;
      if (change.type === 'DELETED') keys.delete(change.name);
      else keys.set(change.name, change);
    }
    return [...keys.values()];
  };
  const cluster: Cluster = {
    async call({ query }) {
      const [at = version, from = 0] = query?.continue?.split(':').map(Number) ?? [];
      await new Promise<void>((resolve) => waiting.push(resolve));
      const keys = keysAt(at);
      const metadata = {
        resourceVersion: String(at),
        ...(from + 2 < keys.length ? { continue: `${at}:${from + 2}` } : {}),
      };
      return { status: 200, body: { metadata, items: keys.slice(from, from + 2).map(objectOf) } };
    },
    watch: () => expect.fail('the test tells what is heard'),
  };
  return {
    cluster,
    version: () => version,
    keysAt,
    after: (at: number) => history.find((change) => change.version > at),
    write(name: string, isDeleted = false): void {
      const before = keysAt(version).find((key) => key.name === name);
      if (isDeleted && before === undefined) return;
      version += 1;
      const type = isDeleted ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
      history.push({ version, type, name, owner: `owner ${version}` });
    },
    /** Of another kind. */
    writeElsewhere(): void {
      version += 3;
    },
    letThrough: (at: number) => waiting.splice(at % Math.max(1, waiting.length), 1)[0]?.(),
    isAsked: () => waiting.length > 0,
  };
}

/** What has been answered has arrived. */
const arrive = () => new Promise<void>((resolve) => setImmediate(resolve));

function openHouse() {
  const clock = makeFakeClock();
  const world = openCluster();
  const lists = openKeyLists({ clock, clusterOf: () => world.cluster, ledger: undefined });
  const read = async () => {
    const { keys, resourceVersion } = await lists.read(ada, 'team-a');
    return { at: resourceVersion, keys: keys.map(({ row }) => `${row.name} ${row.owner}`).sort() };
  };
  const truthAt = (at: number) => ({
    at,
    keys: world
      .keysAt(at)
      .map(({ name, owner }) => `${name} ${owner}`)
      .sort(),
  });
  const reset = (at: number) => lists.change(ada, 'team-a', { type: 'RESET', resourceVersion: String(at) });
  const hear = (change: Change) =>
    lists.change(ada, 'team-a', { type: change.type, object: objectOf(change) });
  return { clock, world, lists, read, truthAt, reset, hear };
}

test('a list read that began before a watch gets no event of the watch, and is repeated', async () => {
  const { world, read, truthAt, reset, hear } = openHouse();
  world.write('bot');
  const first = read();
  await arrive();
  const listed = world.version();
  world.write('bot');
  reset(world.version());
  world.write('web');
  const heard = world.after(world.version() - 1);
  if (heard !== undefined) hear(heard);
  const second = read();
  world.letThrough(0);
  expect([await first, await second]).toEqual([truthAt(listed), truthAt(listed)]);
  const third = read();
  await arrive();
  world.letThrough(0);
  expect(await third).toEqual(truthAt(world.version()));
});

test('a list is exact at its version, under any order of writes, events, gaps and requests', async () => {
  const step = fc.tuple(
    fc.constantFrom(
      ...(['write', 'write', 'delete', 'write elsewhere', 'read', 'let through', 'let through'] as const),
      ...(['watch', 'watch again', 'hear', 'hear', 'hear', 'stop', 'wait', 'forget'] as const),
    ),
    fc.nat(5),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 80, size: 'max' }), async (steps) => {
      const { clock, world, lists, read, truthAt, reset, hear } = openHouse();
      const answers: ReturnType<typeof read>[] = [];
      const watches: { at: number }[] = [];
      for (const [what, n] of steps) {
        const watch = watches[n % Math.max(1, watches.length)];
        if (what === 'write') world.write(`key-${n}`);
        if (what === 'delete') world.write(`key-${n}`, true);
        if (what === 'write elsewhere') world.writeElsewhere();
        if (what === 'read') answers.push(read());
        if (what === 'let through') world.letThrough(n);
        if (what === 'watch')
          void lists.position(ada, 'team-a').then((position) => {
            const at = Number(position ?? world.version());
            watches.push({ at });
            reset(at);
          });
        // Kubernetes no longer knows what there was from there on.
        if (what === 'watch again' && watch) {
          watch.at = world.version();
          reset(watch.at);
        }
        const change = watch && world.after(watch.at);
        if (what === 'hear' && change) {
          watch.at = change.version;
          hear(change);
        }
        if (what === 'stop' && watch) watches.splice(watches.indexOf(watch), 1);
        if (what === 'wait') clock.advance(1_000 * (1 + n));
        if (what === 'forget') lists.forget(ada);
        await arrive();
      }
      while (world.isAsked()) {
        world.letThrough(0);
        await arrive();
      }
      for (const answer of await Promise.all(answers)) expect(answer).toEqual(truthAt(answer.at));
    }),
    { numRuns: 300 },
  );
});
