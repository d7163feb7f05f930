// How does a routing table lie in Secrets? As immutable shards, named by what they hold, and one pointer
// that names them. Written last and by compare-and-swap, the pointer alone decides which table is in use.

import { z } from 'zod';
import {
  credentialSchema,
  HINTS_MAX,
  healthHintSchema,
  keyEntrySchema,
  providerEntrySchema,
  routeEntrySchema,
  tableContentSchema,
  unavailableRouteSchema,
} from './routing-table.ts';

/** Format in which this code writes pointer and shards, if no entry needs a newer one. It reads up to `READER_FORMAT`. */
export const MANIFEST_FORMAT = 1;

/** `type` of every Secret that carries a piece of a table. */
export const TABLE_SECRET_TYPE = 'penstock.dev/table-shard';
/** On pointer and shards: which installation of the table they belong to. */
export const INSTANCE_LABEL = 'penstock.dev/instance';
/** On shards: the kind of what they hold, see `shardKindSchema`. */
export const SHARD_LABEL = 'penstock.dev/shard';

/** On copies of earlier manifests: their table generation. */
export const KEPT_MANIFEST_LABEL = 'penstock.dev/kept-manifest';
/** On copies too: the first of the generations in a row that have the same routes, providers and credentials. The copy serves for all. */
export const KEPT_SINCE_LABEL = 'penstock.dev/kept-since';

/** A compressed shard is never larger; it is cut in two before. A Secret holds 1 MiB. */
export const SHARD_BYTES_MAX = 512 * 1024;
/** Largest unpacked size of a shard; a reader refuses more. */
export const SHARD_PLAIN_BYTES_MAX = 16 * 1024 * 1024;

/** Data keys of the pointer Secret. */
export const POINTER_DATA = {
  /** JSON of the manifest. */
  manifest: 'manifest',
  /** SHA-256 of that text, in hex: a gateway rejects a manifest that was damaged in transit. */
  manifestSha256: 'manifestSha256',
  /** RFC 3339; renewed while a leader lives, without a new manifest. */
  heartbeat: 'heartbeat',
  /** Bearer of the exchange between operator and gateways: 43 characters of base64url. */
  exchangeToken: 'exchangeToken',
} as const;

/** Data key of a shard Secret: its plain bytes, compressed with zstd. */
export const SHARD_DATA = 'shard';

/** The pointer of an installation. */
export function pointerName(instance: string): string {
  return `${instance}-current`;
}

/** The copy of a manifest that stood in the pointer; it has the first two of its values. For going back, see the pin. */
export function keptManifestName(instance: string, generation: number): string {
  return `${instance}-m-${generation}`;
}

/** @param name of a shard, or of such a copy. */
export function isKeptManifest(name: string): boolean {
  return /-m-[0-9]+$/.test(name);
}

export const shardKindSchema = z.enum(['keys', 'routes', 'credentials']);
export type ShardKind = z.infer<typeof shardKindSchema>;

/** The letter of a kind in shard names. */
export const SHARD_LETTERS: Readonly<Record<ShardKind, string>> = {
  keys: 'k',
  routes: 'r',
  credentials: 'c',
};

/** `<instance>-k-07-<first 16 hex of the SHA-256>`: the same content always has the same name. */
export function shardName(instance: string, kind: ShardKind, index: number, sha256: string): string {
  return `${instance}-${SHARD_LETTERS[kind]}-${String(index).padStart(2, '0')}-${sha256.slice(0, 16)}`;
}

export const shardRefSchema = z.object({
  /** Name of its Secret. */
  name: z.string().min(1).max(253),
  kind: shardKindSchema,
  /** Of the plain bytes, 64 lower-case hex digits. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Plain bytes. */
  bytes: z.int().min(0).max(SHARD_PLAIN_BYTES_MAX),
  /** Entries in it; without those of the list `unavailable`, which older readers do not count. */
  count: z.int().min(0),
});
export type ShardRef = z.infer<typeof shardRefSchema>;

/** A key digest in a revocation: its first 16 hex digits. */
export const REVOCATION_CHARS = 16;
/** Revocations in one manifest; with more at once, the oldest leave. The shards say it all in any case. */
export const REVOCATIONS_MAX = 1_000;

export const manifestSchema = z.object({
  format: z.int().min(1),
  /** The oldest reader format that understands this manifest and its shards. */
  minReader: z.int().min(1),
  /** Counts up with every new leader. */
  epoch: z.int().min(0),
  /** The table generation. */
  generation: z.int().min(0),
  /** RFC 3339. */
  createdAt: z.iso.datetime(),
  settings: tableContentSchema.shape.settings,
  shards: z.array(shardRefSchema),
  /** Digests (first 16 hex digits) of keys that stopped working lately: honoured even where a shard cannot be had, or has the key still. */
  revocations: z.array(z.string().regex(/^[0-9a-f]{16}$/)).max(REVOCATIONS_MAX),
  hints: z.array(healthHintSchema).max(HINTS_MAX).optional(),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** Content of a shard's plain bytes, by its kind. Entries are ordered by their id (keys: their digest). */
export const shardContentSchemas = {
  keys: z.object({ keys: z.array(keyEntrySchema) }),
  routes: z.object({
    providers: z.array(providerEntrySchema),
    routes: z.array(routeEntrySchema),
    unavailable: z.array(unavailableRouteSchema).optional(),
  }),
  credentials: z.object({ credentials: z.array(credentialSchema) }),
} as const satisfies Record<ShardKind, z.ZodType>;
