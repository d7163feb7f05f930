// How is a table cut? Whatever it holds: joined again it is the same, its names follow from its content, and
// one changed entry changes one shard.

import { hash } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  SHARD_BYTES_MAX,
  type ShardRef,
  shardContentSchemas,
  shardRefSchema,
} from '../../../core/contract/manifest.ts';
import type { TableContent } from '../../../core/contract/routing-table.ts';
import { chooseShardCount } from '../../../operator/publish/shard-count.ts';
import { createShardCutter, type Shard } from '../../../operator/publish/shards.ts';
import { leaveOut, UnfitEntryError } from '../../../operator/publish/unfit-entry.ts';
import { runs } from '../../support/runs.ts';
import { credential, keyEntry, makeContent, numbers, routeEntry, target, withKeys } from './make-content.ts';

const atOnce = () => Promise.resolve();
const cutOnce = (content: TableContent, earlier: readonly ShardRef[] = []) =>
  createShardCutter('penstock').cut(content, earlier, atOnce);
const refsOf = (shards: readonly Shard[]) => shards.map(({ ref }) => ref);
const namesOf = (shards: readonly Shard[]) => shards.map(({ ref }) => ref.name);

/** Read back as a gateway does, in the order of the compile. */
function join(settings: TableContent['settings'], shards: readonly Shard[]): TableContent {
  const content: TableContent = { settings, providers: [], credentials: [], routes: [], keys: [] };
  for (const { ref, compressed } of shards) {
    const plain = zstdDecompressSync(compressed());
    expect(hash('sha256', plain)).toBe(ref.sha256);
    expect(plain.length).toBe(ref.bytes);
    const data = JSON.parse(plain.toString());
    if (ref.kind === 'keys') {
      content.keys.push(...shardContentSchemas.keys.parse(data).keys);
    } else if (ref.kind === 'credentials') {
      content.credentials.push(...shardContentSchemas.credentials.parse(data).credentials);
    } else {
      const { providers, routes } = shardContentSchemas.routes.parse(data);
      content.providers.push(...providers);
      content.routes.push(...routes);
    }
  }
  const byId = (a: { readonly id: string }, b: { readonly id: string }) => (a.id < b.id ? -1 : 1);
  for (const list of [content.providers, content.credentials, content.routes]) list.sort(byId);
  return withKeys(content, content.keys);
}

const anyContent = fc
  .record({
    keys: fc.integer({ min: 0, max: 900 }),
    routes: fc.integer({ min: 0, max: 300 }),
    providers: fc.integer({ min: 1, max: 200 }),
  })
  .map(makeContent);

describe('for any table', () => {
  test('its shards joined give the same table, and each is within its bounds', async () => {
    await fc.assert(
      fc.asyncProperty(anyContent, async (content) => {
        const shards = await cutOnce(content);
        expect(join(content.settings, shards)).toEqual(content);
        for (const { ref, compressed } of shards) {
          shardRefSchema.parse(ref);
          expect(ref.count).toBeGreaterThan(0);
          expect(compressed().length).toBeLessThanOrEqual(SHARD_BYTES_MAX);
        }
      }),
      { numRuns: runs(40, 4) },
    );
  });

  test('the same content has the same names and bytes, in any process and after any history', async () => {
    await fc.assert(
      fc.asyncProperty(anyContent, anyContent, async (content, other) => {
        const cutter = createShardCutter('penstock');
        await cutter.cut(other, [], atOnce);
        const reparsed = JSON.parse(JSON.stringify(content));
        const [mine, theirs] = [await cutter.cut(content, [], atOnce), await cutOnce(reparsed)];
        expect(refsOf(mine)).toEqual(refsOf(theirs));
        expect(mine.map(({ compressed }) => compressed())).toEqual(
          theirs.map(({ compressed }) => compressed()),
        );
      }),
      { numRuns: runs(20, 4) },
    );
  });

  test('one changed key changes exactly one shard', async () => {
    const size = fc.record({ keys: fc.integer({ min: 1, max: 5_000 }), which: fc.nat() });
    await fc.assert(
      fc.asyncProperty(size, async ({ keys, which }) => {
        const before = makeContent({ keys, routes: 20 });
        const index = which % keys;
        const after = {
          ...before,
          keys: before.keys.map((key, at) => (at === index ? { ...key, metadata: { a: 'b' } } : key)),
        };
        const cutter = createShardCutter('penstock');
        const first = await cutter.cut(before, [], atOnce);
        const second = await cutter.cut(after, refsOf(first), atOnce);
        const known = new Set(namesOf(first));
        expect(second).toHaveLength(first.length);
        expect(namesOf(second).filter((name) => !known.has(name))).toHaveLength(1);
      }),
      { numRuns: runs(25, 4) },
    );
  });
});

test('routes out of service are stored separately, so older readers ignore them', async () => {
  const content = makeContent({ routes: 40, providers: 5 });
  const unavailable = numbers(30).map((number) => {
    const { id, model, aliases, ownedBy, createdAt, visibility, sharedWith, capabilities } = routeEntry(
      number + 1_000,
      [],
    );
    const shown = { id, model, aliases, ownedBy, createdAt, visibility, sharedWith, capabilities };
    return { reason: 'Suspended', ...shown };
  });
  const shards = (await cutOnce({ ...content, unavailable })).filter(({ ref }) => ref.kind === 'routes');
  const read = shards.map(({ ref, compressed }) => {
    const data = JSON.parse(zstdDecompressSync(compressed()).toString());
    expect(data.providers.length + data.routes.length).toBe(ref.count);
    return shardContentSchemas.routes.parse(data);
  });
  const ids = read.flatMap((data) => data.unavailable ?? []).map(({ id }) => id);
  expect(ids.toSorted()).toEqual(unavailable.map(({ id }) => id).toSorted());
  expect(namesOf(await cutOnce({ ...content, unavailable: [] }))).toEqual(namesOf(await cutOnce(content)));
});

test('the order of members does not matter, nor that of the lists', async () => {
  const content = makeContent({ keys: 50, routes: 10, providers: 5 });
  const turned = {
    ...content,
    // The order in which a parser gives the members is another than that of the compile.
    keys: content.keys.toReversed().map(({ sha256, id, ...others }) => ({ ...others, id, sha256 })),
    routes: content.routes.toReversed().map(({ targets, ...others }) => ({ targets, ...others })),
  };
  expect(namesOf(await cutOnce(turned))).toEqual(namesOf(await cutOnce(content)));
});

test('names, digests and sizes are the same in every version', async () => {
  const shards = await cutOnce(makeContent({ keys: 3, routes: 1 }));
  // Another value here means: after an upgrade every gateway fetches the whole table again.
  expect(
    refsOf(shards).map(({ name, kind, bytes, count }) => ({ name, kind, bytes, count })),
  ).toMatchInlineSnapshot(`
    [
      {
        "bytes": 229,
        "count": 1,
        "kind": "keys",
        "name": "penstock-k-00-0b3a5f29a28177eb",
      },
      {
        "bytes": 229,
        "count": 1,
        "kind": "keys",
        "name": "penstock-k-01-76d12ef603a8b84d",
      },
      {
        "bytes": 229,
        "count": 1,
        "kind": "keys",
        "name": "penstock-k-02-458e54613acc1aca",
      },
      {
        "bytes": 966,
        "count": 2,
        "kind": "routes",
        "name": "penstock-r-00-f32399e7a7fe882a",
      },
      {
        "bytes": 184,
        "count": 1,
        "kind": "credentials",
        "name": "penstock-c-00-1f0858fe0f1cee9c",
      },
    ]
  `);
});

test('unchanged shards are not made again', async () => {
  const cutter = createShardCutter('penstock');
  const content = makeContent({ keys: 4_000, routes: 300, providers: 100 });
  const first = await cutter.cut(content, [], atOnce);
  const [changed, ...others] = content.keys;
  if (changed === undefined) throw new Error('there are keys');
  const second = await cutter.cut(
    { ...content, keys: [{ ...changed, metadata: { a: 'b' } }, ...others] },
    refsOf(first),
    atOnce,
  );
  expect(second.filter((shard, index) => shard !== first[index])).toHaveLength(1);
});

test('kinds without entries have no shards', async () => {
  expect(await cutOnce(makeContent({}))).toEqual([]);
  expect(new Set(refsOf(await cutOnce(makeContent({ keys: 1 }))).map(({ kind }) => kind))).toEqual(
    new Set(['keys']),
  );
});

describe('the number of shards', () => {
  const refs = (count: number, bytes = 1_000): ShardRef[] =>
    numbers(count).map((index) => ({
      name: `penstock-k-${String(index).padStart(2, '0')}-0123456789abcdef`,
      kind: 'keys',
      sha256: '0'.repeat(64),
      bytes,
      count: 1,
    }));

  test.each([
    [0, 8],
    [6_400, 8],
    [6_401, 16],
    [50_000, 64],
    [1_000_000, 256],
  ])('%i keys need %i', (keys, count) => {
    expect(chooseShardCount('keys', keys, [])).toBe(count);
  });

  test.each([
    [0, 1],
    [128, 1],
    [129, 2],
    [2_000, 16],
    [1_000_000, 256],
  ])('%i routes and providers need %i', (entries, count) => {
    expect(chooseShardCount('routes', entries, [])).toBe(count);
  });

  test('it grows at once and shrinks only below half of the size at which it grew', () => {
    expect(chooseShardCount('keys', 6_401, refs(8))).toBe(16);
    expect(chooseShardCount('keys', 6_400, refs(16))).toBe(16);
    expect(chooseShardCount('keys', 12_801, refs(16))).toBe(32);
    expect(chooseShardCount('keys', 6_401, refs(32))).toBe(32);
    expect(chooseShardCount('keys', 6_400, refs(32))).toBe(8);
  });

  test('it does not shrink if shards would be too large', () => {
    expect(chooseShardCount('routes', 10, [])).toBe(1);
    const large = refs(8, 400_000).map((ref) => ({ ...ref, kind: 'routes' as const }));
    expect(chooseShardCount('routes', 10, large)).toBe(8);
  });

  test('keys added and removed at a boundary do not rewrite the table', async () => {
    const cutter = createShardCutter('penstock');
    const content = makeContent({ keys: 6_500 });
    const many = await cutter.cut(content, [], atOnce);
    const few = await cutter.cut(withKeys(content, content.keys.slice(150)), refsOf(many), atOnce);
    expect(few).toHaveLength(many.length);
  });
});

/** Text that no compression makes smaller. */
function noise(length: number, seed: string): string {
  const blocks = numbers(Math.ceil(length / 44)).map((index) => hash('sha256', `${seed} ${index}`, 'base64'));
  return blocks.join('').slice(0, length);
}

describe('a shard that would be too large', () => {
  test('doubles the number of its kind, until every one fits', async () => {
    const routes = numbers(60).map((number) =>
      routeEntry(number, [target('team-0/provider-0')], { description: noise(60_000, `route ${number}`) }),
    );
    const content = { ...makeContent({ providers: 1 }), routes };
    const shards = await cutOnce(content);
    expect(shards.length).toBeGreaterThan(4);
    for (const { compressed } of shards) expect(compressed().length).toBeLessThanOrEqual(SHARD_BYTES_MAX);
    // The next cut begins with the number in use.
    const again = await cutOnce({ ...content, routes: routes.slice(1) }, refsOf(shards));
    expect(again.filter(({ ref }) => !namesOf(shards).includes(ref.name)).length).toBeLessThanOrEqual(1);
  });

  test('through one entry alone is refused, and the object is named', async () => {
    const content = makeContent({ keys: 10, routes: 10, providers: 3 });
    const [first, ...rest] = content.credentials;
    const large = credential(first?.id ?? '', { value: noise(900_000, 'value') });
    const unfit = { ...content, credentials: [large, ...rest] };
    const refusal = await errorOf(cutOnce(unfit));
    expect(refusal).toMatchObject({
      objectKind: 'Provider',
      objectId: 'team-0/provider-0',
      reason: 'too-large',
    });
    expect(refusal.message).toMatch(
      /^Provider team-0\/provider-0 cannot be written into the routing table: /,
    );
    expect(refusal.message).not.toContain(large.value.slice(0, 20));
    // What the caller does then.
    const left = leaveOut(unfit, refusal);
    expect(join(content.settings, await cutOnce(left))).toEqual(left);
    expect(left.providers).toHaveLength(2);
    expect(left.routes.every(({ targets }) => targets[0]?.provider !== refusal.objectId)).toBe(true);
  });

  test('because all entries share a place is refused in the end', async () => {
    const keys = numbers(3_000).map((number) =>
      keyEntry(number, {
        sha256: `00000000${hash('sha256', `${number}`).slice(8)}`,
        metadata: { noise: noise(300, `${number}`) },
      }),
    );
    expect(await errorOf(cutOnce(withKeys(makeContent({}), keys)))).toMatchObject({ objectKind: 'ApiKey' });
  });
});

test('content that a gateway would refuse is refused here, and the object is named without its value', async () => {
  const content = makeContent({ keys: 30, routes: 3, providers: 2 });
  const [first, ...rest] = content.credentials;
  const unfit = {
    ...content,
    credentials: [credential(first?.id ?? '', { value: 'sk-canary', hosts: [] }), ...rest],
  };
  const refusal = await errorOf(cutOnce(unfit));
  expect(refusal).toMatchObject({ objectKind: 'Provider', objectId: 'team-0/provider-0', reason: 'invalid' });
  expect(refusal.message).toContain('field hosts');
  expect(refusal.message).not.toContain('sk-canary');
});

async function errorOf(cut: Promise<unknown>): Promise<UnfitEntryError> {
  try {
    await cut;
  } catch (error) {
    if (error instanceof UnfitEntryError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

test('a table cut in pieces is the same, and other work runs in between', async () => {
  const content = makeContent({ keys: 900, routes: 300, providers: 20 });
  let breaths = 0;
  const yieldNow = async () => {
    breaths += 1;
  };
  const cutter = createShardCutter('penstock');
  const pieces = await cutter.cut(content, [], yieldNow);
  expect(refsOf(pieces)).toEqual(refsOf(await cutOnce(content)));
  expect(breaths).toBe(Math.floor(pieces.length / 12));
  // What is known need not be made again.
  breaths = 0;
  await cutter.cut(content, refsOf(pieces), yieldNow);
  expect(breaths).toBe(0);
});
