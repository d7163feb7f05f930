// Does a table come out of pointer and shards as it went in, and never as another one, whatever happened to the bytes?

import { hash } from 'node:crypto';
import { inspect } from 'node:util';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ShardRef } from '../../../core/contract/manifest.ts';
import { parseRoutingTable, READER_FORMAT, type RoutingTable } from '../../../core/contract/routing-table.ts';
import { assembleView, type WholeTable } from '../../../gateway/table/sources/assemble.ts';
import { decodeShard } from '../../../gateway/table/sources/decode-shard.ts';
import { parseManifest, readPointer } from '../../../gateway/table/sources/pointer.ts';
import { ShardShelf } from '../../../gateway/table/sources/shelf.ts';
import { buildTableView, type TableView } from '../../../gateway/table/view.ts';
import { runs } from '../../support/runs.ts';
import { keyEntry, tableOf } from '../rig.ts';
import { type Published, pointerData, pointerSecret, publish } from './published.ts';

const table: RoutingTable = {
  ...tableOf([{ baseUrl: 'https://api.upstream.test/v1', keys: { main: 'sk-upstream' } }]),
  keys: Array.from({ length: 200 }, (_, index) => keyEntry(`psk_${index}`, `team-${index}/key`)),
};
const published = publish(table);
const yieldNow = async (): Promise<void> => {};

/** As a gateway does it: from the values of the pointer Secret to a view. */
async function load(
  pointer: unknown,
  read: (ref: ShardRef) => Promise<Buffer>,
  shelf = new ShardShelf(),
): Promise<TableView> {
  const { manifest: text, manifestSha256 } = readPointer(pointer);
  const manifest = parseManifest(text, manifestSha256);
  return assembleView(manifest, await shelf.collect(manifest, read, yieldNow), yieldNow);
}

function readerOf({ shards }: Published, asked: string[] = []) {
  return async (ref: ShardRef): Promise<Buffer> => {
    asked.push(ref.name);
    const found = shards.find((shard) => shard.ref.name === ref.name);
    if (!found) throw new Error(`no shard ${ref.name}`);
    return found.packed;
  };
}

const pointerOf = ({ manifest }: Published): unknown => pointerSecret(pointerData(manifest));

type Outcome =
  | { readonly type: 'loaded'; readonly view: TableView }
  | { readonly type: 'refused'; readonly error: unknown };

const outcomeOf = (loading: Promise<TableView>): Promise<Outcome> =>
  loading.then(
    (view) => ({ type: 'loaded', view }),
    (error: unknown) => ({ type: 'refused', error }),
  );

/** Without what a map does not promise: the order of its keys. */
const sorted = (view: TableView) => ({
  ...view,
  keys: [...view.keys.values()].toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1)),
});

test('a published table is loaded unchanged', async () => {
  const view = await load(pointerOf(published), readerOf(published));
  expect(sorted(view)).toEqual(sorted(buildTableView(parseRoutingTable(structuredClone(table)))));
});

test('a shard that is known is not fetched again', async () => {
  const asked: string[] = [];
  const shelf = new ShardShelf();
  await load(pointerOf(published), readerOf(published, asked), shelf);
  expect(asked).toHaveLength(18);
  const [first, ...others] = table.keys;
  if (!first) throw new Error('there are keys');
  const next = publish({ ...table, keys: [{ ...first, notAfterMs: 5 }, ...others] }, { generation: 2 });
  asked.length = 0;
  const view = await load(pointerOf(next), readerOf(next, asked), shelf);
  expect(asked).toHaveLength(1);
  expect(view.keys.get(first.sha256)?.notAfterMs).toBe(5);
});

describe('a table after another one', () => {
  const [firstKey, ...otherKeys] = table.keys;
  if (!firstKey) throw new Error('there are keys');
  const hint = { provider: table.providers[0]?.id ?? '' };
  const load = async (wanted: RoutingTable, generation: number, before?: WholeTable): Promise<WholeTable> => {
    const made = publish(wanted, { generation });
    const { manifest: text, manifestSha256 } = readPointer(pointerOf(made));
    const manifest = { ...parseManifest(text, manifestSha256), hints: wanted.hints ?? [] };
    const shards = await new ShardShelf().collect(manifest, readerOf(made), yieldNow);
    return { manifest, view: await assembleView(manifest, shards, yieldNow, before) };
  };

  test('reuses everything but keys and number if only keys differ', async () => {
    const before = await load(table, 1);
    const { view } = await load({ ...table, keys: otherKeys }, 2, before);
    expect(view.routes).toBe(before.view.routes);
    expect(view.generation).toBe(2);
    expect(view.keys.size).toBe(otherKeys.length);
    expect(view.keys.has(firstKey.sha256)).toBe(false);
    expect(before.view.keys.has(firstKey.sha256)).toBe(true);
  });

  test.each([
    ['a route', { routes: table.routes.map((route) => ({ ...route, displayName: 'Other' })) }],
    ['a Provider', { providers: table.providers.map((entry) => ({ ...entry, displayName: 'Other' })) }],
    ['a credential', { credentials: table.credentials.map((one) => ({ ...one, value: 'sk-other' })) }],
    ['a setting', { settings: { ...table.settings, servicePrefix: 'other' } }],
    ['a hint', { hints: [hint] }],
  ])('is built from nothing if %s differs', async (_, differing) => {
    const changed = { ...table, ...differing, generation: 2 };
    const { view } = await load(changed, 2, await load(table, 1));
    expect(sorted(view)).toEqual(sorted(buildTableView(parseRoutingTable(structuredClone(changed)))));
  });
});

test('shards of a table that failed are not fetched again', async () => {
  const asked: string[] = [];
  const shelf = new ShardShelf();
  const gone = published.shards[3]?.ref.name;
  const read = readerOf(published, asked);
  const failing = load(
    pointerOf(published),
    (ref) => (ref.name === gone ? Promise.reject(new Error('gone')) : read(ref)),
    shelf,
  );
  await expect(failing).rejects.toThrow('gone');
  asked.length = 0;
  await load(pointerOf(published), read, shelf);
  expect(asked).toEqual([gone]);
});

describe('a changed bit', () => {
  const bytes = published.shards.map(({ packed }) => packed);
  const flip = (buffer: Buffer, bit: number): Buffer => {
    const flipped = Buffer.from(buffer);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return flipped;
  };
  const right = load(pointerOf(published), readerOf(published)).then(sorted);

  const turned = runs(1_500);

  test('in a shard: the table is refused, or unchanged', async () => {
    let refusals = 0;
    const anyShard = fc.nat({ max: bytes.length - 1 });
    await fc.assert(
      fc.asyncProperty(anyShard, fc.nat({ max: 1_000_000 }), async (index, at) => {
        const { packed, ref } = published.shards[index] ?? {};
        if (!packed || !ref) throw new Error('there is a shard');
        const damaged = flip(packed, at % (packed.length * 8));
        const read = readerOf(published);
        const outcome = await outcomeOf(
          load(pointerOf(published), (wanted) =>
            wanted.name === ref.name ? Promise.resolve(damaged) : read(wanted),
          ),
        );
        if (outcome.type === 'refused') {
          refusals++;
          expect(String(outcome.error)).toContain(ref.name);
          expect(inspect(outcome.error)).not.toContain('sk-upstream');
        } else {
          expect(sorted(outcome.view)).toEqual(await right);
        }
      }),
      { seed: 29, numRuns: turned },
    );
    // Of a packed shard a few bits decide nothing, such as the reserved ones of its header.
    expect(refusals).toBeGreaterThan(0.93 * turned);
  });

  test('in the values of the pointer: the table is refused, or unchanged', async () => {
    const data = pointerData(published.manifest);
    const values = ['manifest', 'manifestSha256'].map(
      (name) => [name, Buffer.from(data[name] ?? '')] as const,
    );
    let refusals = 0;
    const oneOf = fc.nat({ max: 20_000 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...values), oneOf, async ([name, value], at) => {
        const { data: encoded, ...secret } = pointerSecret(data);
        const turned = flip(value, at % (value.length * 8)).toString('base64');
        const damaged = { ...secret, data: { ...encoded, [name]: turned } };
        const outcome = await outcomeOf(load(damaged, readerOf(published)));
        if (outcome.type === 'refused') refusals++;
        else expect(sorted(outcome.view)).toEqual(await right);
      }),
      { seed: 31, numRuns: turned },
    );
    expect(refusals).toBe(turned);
  });
});

describe('a shard is refused', () => {
  const shard = published.shards.find(({ ref }) => ref.kind === 'credentials');
  if (!shard) throw new Error('there are credentials');
  const { ref, packed } = shard;

  test.each<[string, ShardRef, Buffer, RegExp]>([
    ['that is half', ref, packed.subarray(0, packed.length >> 1), /cannot be unpacked/],
    ['that is empty', ref, Buffer.alloc(0), /cannot be unpacked|unpacks to 0 bytes/],
    ['that is no zstd', ref, Buffer.from('{"credentials":[]}'), /cannot be unpacked/],
    ['that holds something else', ref, zstdCompressSync(Buffer.alloc(ref.bytes, 32)), /its digest says/],
    [
      'that unpacks to more than it says',
      ref,
      zstdCompressSync(Buffer.alloc(ref.bytes + 1)),
      /more than \d+ bytes/,
    ],
    ['that unpacks to less', ref, zstdCompressSync(Buffer.alloc(3)), /unpacks to 3 bytes/],
    ['that is larger than any may be', ref, Buffer.alloc(512 * 1024 + 1), /larger than 524288 bytes/],
    ['whose count is another', { ...ref, count: 7 }, packed, /1 entries instead of 7/],
    ['that is of another kind', { ...ref, kind: 'keys' }, packed, /no list 'keys'/],
  ])('%s', async (_, claimed, bytes, words) => {
    await expect(decodeShard(claimed, bytes, yieldNow)).rejects.toThrow(words);
  });

  test('that would fill the memory, before it does', async () => {
    const bomb = zstdCompressSync(Buffer.alloc(200 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(100_000);
    const before = process.memoryUsage().rss;
    await expect(decodeShard(ref, bomb, yieldNow)).rejects.toThrow('more than');
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  });

  test('with an invalid entry, named by its place and never by its content', async () => {
    const [route] = table.routes;
    const bad = publish({ ...table, routes: [{ ...table.routes[0], targets: [] } as never, route as never] });
    await expect(load(pointerOf(bad), readerOf(bad))).rejects.toThrow(/field routes\.0\.targets/);
    const secret = publish({ ...table, credentials: [{ ...table.credentials[0], value: 7 } as never] });
    await expect(load(pointerOf(secret), readerOf(secret))).rejects.toThrow(/field credentials\.0\.value/);
  });
});

test('shards that do not fit together are refused', async () => {
  const bad = publish({ ...table, providers: [] });
  await expect(load(pointerOf(bad), readerOf(bad))).rejects.toThrow('not in the table');
});

describe('a manifest is refused', () => {
  const { manifest } = published;
  const tooNew = new RegExp(`reader of format ${READER_FORMAT + 1}.*upgrade`);
  test.each<[string, unknown, string, RegExp]>([
    ['of an age to come', { ...manifest, minReader: READER_FORMAT + 1, shards: 7 }, 'too-new', tooNew],
    ['that is no JSON', '{"format":1,"token":"sk-SECRET', 'invalid', /^the manifest is not valid JSON$/],
    [
      'of which a field is missing',
      { ...manifest, settings: {} },
      'invalid',
      /field settings\.servicePrefix/,
    ],
    ['that names no shards', { ...manifest, shards: undefined }, 'invalid', /field shards/],
    [
      'of a shard too large',
      { ...manifest, shards: [{ ...manifest.shards[0], bytes: 1e9 }] },
      'invalid',
      /bytes/,
    ],
  ])('%s', (_, content, failure, words) => {
    const { manifest: text, manifestSha256 } = readPointer(pointerSecret(pointerData(content)));
    expect(() => parseManifest(text, manifestSha256)).toThrow(
      expect.objectContaining({ failure, message: expect.stringMatching(words) }),
    );
  });

  test('with its number, if that can be read', () => {
    const { manifest: text } = readPointer(
      pointerSecret(pointerData({ ...manifest, minReader: 9, epoch: 4 })),
    );
    expect(() => parseManifest(text, hash('sha256', text))).toThrow(
      expect.objectContaining({ version: { epoch: 4, generation: 1 } }),
    );
  });
});

test('unknown members are ignored', async () => {
  const more = { ...published, manifest: { ...published.manifest, colour: 'blue' } };
  await load(pointerOf(more), readerOf(published));
});

test('a pointer without data is read, and refused as a manifest', () => {
  for (const odd of [{}, { data: null }, { data: { manifest: 7 } }, undefined, 'text']) {
    const { manifest } = readPointer(odd);
    expect(() => parseManifest(manifest, hash('sha256', manifest))).toThrow('not valid JSON');
  }
});
