// How is the content of a table cut into shards? Every entry has its place by its own hash alone, so one
// changed entry changes one shard; a shard is named by what it holds, so the same content has the same names.

import { hash } from 'node:crypto';
import { constants, zstdCompressSync } from 'node:zlib';
import {
  SHARD_BYTES_MAX,
  SHARD_PLAIN_BYTES_MAX,
  type ShardKind,
  type ShardRef,
  shardContentSchemas,
  shardKindSchema,
  shardName,
} from '../../core/contract/manifest.ts';
import type { TableContent } from '../../core/contract/routing-table.ts';
import { canonicalJson } from '../canonical-json.ts';
import { compareText } from '../compile/order.ts';
import { differing, isSameList } from '../lists/differing.ts';
import { chooseShardCount, DOUBLED_COUNT_MAX } from './shard-count.ts';
import { LISTS, type TableEntry, type TableList, UnfitEntryError } from './unfit-entry.ts';

export interface Shard {
  readonly ref: ShardRef;
  /** The plain bytes, compressed; computed when first asked for. */
  compressed(): Buffer;
}

export interface ShardCutter {
  /**
   * The shards by kind and index, without empty ones. The same content and `earlier` give the same shards. A cutter remembers only
   * those of its last cut, to reuse them.
   *
   * @param earlier the shards of the table in use; their number per kind is kept.
   * @param yieldNow yields to other work: the first cut of a table may have hundreds of shards.
   * @throws {UnfitEntryError} naming an object that fits into no shard, or that gateways would reject.
   */
  cut(
    content: TableContent,
    earlier: readonly ShardRef[],
    yieldNow: () => Promise<void>,
  ): Promise<readonly Shard[]>;
}

/** Shards made between two breaths; a change or a few never take one. */
const SHARDS_AT_ONCE = 12;

/** Enough for the largest number of shards. */
const PLACE_BITS = 12;

type Entry = TableEntry;
const noEntries: readonly Entry[] = [];
/** Entries of one shard, by the name of their list. */
type Bucket = Map<TableList, readonly Entry[]>;

interface RememberedShard {
  readonly bucket: Bucket;
  readonly shard: Shard;
}

export function createShardCutter(instance: string): ShardCutter {
  const remembered = new Map<ShardKind, ReadonlyMap<number, RememberedShard>>();
  // Positions of entries: a key's digest is its position; other ids are hashed once.
  const places = new WeakMap<object, number>();
  /** Of the last cut. */
  const divided = new Map<
    TableList,
    { readonly entries: readonly Entry[]; readonly parts: readonly (readonly Entry[])[] }
  >();

  return {
    async cut(content, earlier, yieldNow) {
      let made = 0;
      const onMade = async () => {
        made += 1;
        if (made % SHARDS_AT_ONCE === 0) await yieldNow();
      };
      const cut: Shard[] = [];
      for (const kind of shardKindSchema.options) {
        const entries = LISTS[kind].reduce((sum, list) => sum + (content[list]?.length ?? 0), 0);
        const shards = await cutKind(kind, content, chooseShardCount(kind, entries, earlier), onMade);
        remembered.set(kind, shards);
        for (const { shard } of shards.values()) cut.push(shard);
      }
      return cut;
    },
  };

  async function cutKind(
    kind: ShardKind,
    content: TableContent,
    count: number,
    onMade: () => Promise<void>,
  ): Promise<ReadonlyMap<number, RememberedShard>> {
    const last = remembered.get(kind);
    const shards = new Map<number, RememberedShard>();
    for (const [index, bucket] of fillBuckets(kind, content, count)) {
      const known = last?.get(index);
      if (known !== undefined && isSameBucket(known.bucket, bucket)) {
        shards.set(index, known);
        continue;
      }
      const shard = buildShard(instance, kind, index, bucket);
      if (isTooLarge(shard)) {
        refuseLargest(bucket, count);
        return await cutKind(kind, content, count * 2, onMade);
      }
      shards.set(index, { bucket, shard });
      await onMade();
    }
    return shards;
  }

  /** In the order of their index. */
  function fillBuckets(kind: ShardKind, content: TableContent, count: number): readonly [number, Bucket][] {
    const byIndex = new Map<number, Bucket>();
    for (const list of LISTS[kind]) {
      for (const [index, entries] of divide(list, content[list] ?? noEntries, count).entries()) {
        if (entries.length === 0) continue;
        const bucket: Bucket = byIndex.get(index) ?? new Map(LISTS[kind].map((name) => [name, []]));
        byIndex.set(index, bucket.set(list, entries));
      }
    }
    return [...byIndex].sort(([a], [b]) => a - b);
  }

  /** By index. If only few entries have changed since the last cut, the other shards are taken over. */
  function divide(list: TableList, entries: readonly Entry[], count: number): readonly (readonly Entry[])[] {
    const shift = PLACE_BITS - Math.log2(count);
    const last = divided.get(list);
    const isKnown = last !== undefined && last.parts.length === count;
    const { gone, added } = isKnown ? differing(last.entries, entries) : { gone: [], added: entries };
    const parts: (readonly Entry[])[] = isKnown ? [...last.parts] : Array.from({ length: count }, () => []);
    for (const [index, left] of Map.groupBy(gone, (entry) => placeOf(entry) >>> shift)) {
      const out = new Set(left);
      parts[index] = parts[index]?.filter((entry) => !out.has(entry)) ?? [];
    }
    for (const [index, come] of Map.groupBy(added, (entry) => placeOf(entry) >>> shift)) {
      parts[index] = [...(parts[index] ?? []), ...come];
    }
    divided.set(list, { entries, parts });
    return parts;
  }

  /** The first bits of what decides where an entry lies. */
  function placeOf(entry: Entry): number {
    if ('sha256' in entry) return firstBits(entry.sha256);
    const known = places.get(entry);
    if (known !== undefined) return known;
    const place = firstBits(hash('sha256', entry.id));
    places.set(entry, place);
    return place;
  }
}

/** Without a string in between: this is asked of every key of the first cut. */
function firstBits(digest: string): number {
  let bits = 0;
  for (let digit = 0; digit < PLACE_BITS / 4; digit += 1) {
    const code = digest.charCodeAt(digit);
    // 0 to 9 are 48 to 57, a to f are 97 to 102.
    bits = bits * 16 + (code < 58 ? code - 48 : code - 87);
  }
  return bits;
}

function isSameBucket(a: Bucket, b: Bucket): boolean {
  return [...a].every(([list, entries]) => isSameList(entries, b.get(list) ?? []));
}

function buildShard(instance: string, kind: ShardKind, index: number, bucket: Bucket): Shard {
  const content = Object.fromEntries(
    [...bucket].flatMap(([list, entries]) =>
      // The list is younger than the others: a table that has none is what it was without it.
      list === 'unavailable' && entries.length === 0
        ? []
        : [[list, entries.toSorted((a, b) => compareText(idOf(a), idOf(b)))] as const],
    ),
  );
  refuseInvalid(kind, content);
  const plain = Buffer.from(canonicalJson(content));
  const sha256 = hash('sha256', plain);
  const { length } = plain;
  // Only one of the two forms is kept, for writes and for repairs.
  let kept: { readonly plain: Buffer } | { readonly compressed: Buffer } = { plain };
  return {
    ref: {
      name: shardName(instance, kind, index, sha256),
      kind,
      sha256,
      bytes: length,
      count: [...bucket].reduce(
        (sum, [list, { length }]) => (list === 'unavailable' ? sum : sum + length),
        0,
      ),
    },
    compressed() {
      if ('plain' in kept) kept = { compressed: compress(kept.plain) };
      return kept.compressed;
    },
  };
}

function compress(plain: Buffer): Buffer {
  return zstdCompressSync(plain, { params: { [constants.ZSTD_c_compressionLevel]: 3 } });
}

function idOf(entry: Entry): string {
  return 'sha256' in entry ? entry.sha256 : entry.id;
}

/** Throws on entries that gateways would refuse: one of them would block every other change of the table. */
function refuseInvalid(kind: ShardKind, content: Readonly<Record<string, readonly Entry[]>>): void {
  const parsed = shardContentSchemas[kind].safeParse(content);
  if (parsed.success) return;
  const issue = parsed.error.issues[0];
  const [name, index, ...field] = issue?.path ?? [];
  const list = LISTS[kind].find((candidate) => candidate === name);
  const entry = list === undefined ? undefined : content[list]?.[Number(index)];
  if (list === undefined || entry === undefined) throw parsed.error;
  throw new UnfitEntryError('invalid', list, entry.id, `field ${field.join('.')}: ${issue?.message}`);
}

function isTooLarge({ ref, compressed }: Shard): boolean {
  if (ref.bytes > SHARD_PLAIN_BYTES_MAX) return true;
  // What zstd adds at most to bytes that cannot be compressed: below that nothing need be compressed to know.
  const compressedBytesMax = ref.bytes + ref.bytes / 256 + 64;
  return compressedBytesMax > SHARD_BYTES_MAX && compressed().length > SHARD_BYTES_MAX;
}

/** Cutting on helps unless one entry fills a shard alone, or too many lie at one place. */
function refuseLargest(bucket: Bucket, count: number): void {
  const [largest] = [...bucket]
    .flatMap(([list, entries]) =>
      entries.map((entry) => ({ list, entry, plain: Buffer.from(canonicalJson(entry)) })),
    )
    .toSorted((a, b) => b.plain.length - a.plain.length);
  if (largest === undefined) return;
  const { list, entry, plain } = largest;
  const bytes = compress(plain).length;
  // The list around one entry takes a few bytes more.
  if (bytes + 64 > SHARD_BYTES_MAX) {
    throw new UnfitEntryError(
      'too-large',
      list,
      entry.id,
      `it takes ${bytes} bytes compressed, and ${SHARD_BYTES_MAX} is the maximum; shorten its Secret values or lists`,
    );
  }
  if (count >= DOUBLED_COUNT_MAX) {
    throw new UnfitEntryError(
      'too-large',
      list,
      entry.id,
      `it is the largest of those that share a shard of more than ${SHARD_BYTES_MAX} bytes, and the table is in ${count} parts already; remove some of them`,
    );
  }
}
