// Reads and writes pointer and shards in the cluster, one request per call, and checks results as a gateway does. A missing or damaged
// part is a result, not an exception, since a new leader has to repair it. A failed request is a KubeError.

import { hash } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import type { TableVersion } from '../../core/contract/exchange.ts';
import { type InternalTls, readInternalTls, TLS_DATA } from '../../core/contract/internal-tls.ts';
import {
  INSTANCE_LABEL,
  KEPT_MANIFEST_LABEL,
  KEPT_SINCE_LABEL,
  keptManifestName,
  type Manifest,
  manifestSchema,
  POINTER_DATA,
  pointerName,
  SHARD_DATA,
  SHARD_LABEL,
  SHARD_PLAIN_BYTES_MAX,
  type ShardRef,
  shardContentSchemas,
  TABLE_SECRET_TYPE,
} from '../../core/contract/manifest.ts';
import { READER_FORMAT, type TableContent } from '../../core/contract/routing-table.ts';
import { isConflict, isNotFound, type KubeClient } from '../../core/kube/client.ts';
import { listAll } from '../../core/kube/list.ts';
import type { KubeObject, ObjectMeta } from '../../core/kube/object.ts';
import { createObject, deleteObject, readObject, replaceObject } from '../../core/kube/patch.ts';
import { collectionPath, objectPath, secrets } from '../../core/kube/paths.ts';
import { compareText } from '../compile/order.ts';
import { eachOf } from './each-of.ts';
import type { Shard } from './shards.ts';

/** The pointer as it is in the cluster. */
export interface Pointer {
  readonly metadata: ObjectMeta;
  /** The very text of the manifest; a heartbeat writes it back byte for byte. */
  readonly manifestText: string | undefined;
  readonly manifest: ReadManifest;
  readonly exchangeToken: string | undefined;
  /** What gateways are known by over TLS. */
  readonly internalTls: InternalTls | undefined;
}

type ReadManifest =
  | { readonly kind: 'readable'; readonly manifest: Manifest }
  /** `version` is there where at least that could be read. */
  | {
      readonly kind: 'unreadable';
      readonly problem: string;
      readonly version: TableVersion | undefined;
      /** Nothing is wrong with it, but that a newer operator wrote it. */
      readonly isNewer?: boolean;
    };

/** The values of the pointer's Secret. */
interface PointerData {
  readonly manifestText: string;
  /** RFC 3339. */
  readonly heartbeat: string;
  readonly exchangeToken: string;
  readonly internalTls: InternalTls | undefined;
}

export interface ShardProblem {
  readonly name: string;
  readonly problem: 'missing' | 'corrupt';
  readonly message: string;
}

interface ReadShards {
  /** Of the shards that could be read; in the order of the compile. */
  readonly content: TableContent;
  readonly problems: readonly ShardProblem[];
}

/** A copy of an earlier manifest. */
export interface KeptManifest {
  readonly generation: number;
  /** The copy serves for all generations from this one on: they differ only in keys and hints. */
  readonly since: number;
}

export interface TableStore {
  readPointer(): Promise<Pointer | undefined>;
  /** @throws {KubeError} 409 if it exists. */
  createPointer(data: PointerData): Promise<Pointer>;
  /**
   * Labels, annotations and all else of `metadata` is written back with it.
   *
   * @throws {KubeError} 409 after a concurrent write since `metadata` was read, 404 after a deletion.
   */
  updatePointer(metadata: ObjectMeta, data: PointerData): Promise<Pointer>;
  readShards(manifest: Manifest): Promise<ReadShards>;
  /** Creates the shard, or finds it; another object of this name is replaced. */
  ensureShard(shard: Shard): Promise<'created' | 'present' | 'replaced'>;
  /** Stores a copy of the manifest in the pointer. It may exist already. */
  keepManifest(kept: KeptManifest, manifestText: string): Promise<void>;
  /** All copies, newest first. */
  listKept(): Promise<readonly KeptManifest[]>;
  /** Undefined without a copy. */
  readKept(generation: number): Promise<ReadManifest | undefined>;
  /** Names of all shards of this installation; their content does not travel. */
  listShards(): Promise<readonly string[]>;
  /** Also where it was gone already. */
  deleteShard(name: string): Promise<void>;
}

interface TableStoreOptions {
  readonly client: KubeClient;
  readonly instance: string;
  readonly tableNamespace: string;
}

/** Reads and writes of shards in progress at once. */
export const SHARD_CALLS_AT_ONCE = 8;

export function openTableStore({ client, instance, tableNamespace }: TableStoreOptions): TableStore {
  const collection = collectionPath(secrets, tableNamespace);
  const pathOf = (name: string) => objectPath(secrets, { namespace: tableNamespace, name });
  const pointerPath = pathOf(pointerName(instance));

  return {
    async readPointer() {
      const object = await unlessMissing(readObject(client, pointerPath));
      return object === undefined ? undefined : parsePointer(object);
    },

    async createPointer(data) {
      const metadata = {
        name: pointerName(instance),
        namespace: tableNamespace,
        labels: { [INSTANCE_LABEL]: instance },
      };
      return parsePointer(await createObject(client, collection, buildPointer(metadata, data)));
    },

    async updatePointer(metadata, data) {
      // guard: pointer-compare-and-swap
      const labelled = { ...metadata, labels: { ...metadata.labels, [INSTANCE_LABEL]: instance } };
      return parsePointer(await replaceObject(client, pointerPath, buildPointer(labelled, data)));
    },

    async readShards(manifest) {
      const read = await eachOf(manifest.shards, SHARD_CALLS_AT_ONCE, readShard);
      return joinShards(manifest, read);
    },

    async ensureShard(shard) {
      const { name } = shard.ref;
      // Two rounds: the second one after a wrong Secret was taken away.
      for (let round = 0; ; round += 1) {
        try {
          await createObject(client, collection, buildShardSecret(shard));
          return round === 0 ? 'created' : 'replaced';
        } catch (error) {
          if (round > 0 || !isConflict(error)) throw error;
        }
        const object = await unlessMissing(readObject(client, pathOf(name)));
        if (object === undefined) continue;
        // Immutable, so a Secret of this name that holds something else was made by other hands.
        const { uid, deletionTimestamp } = object.metadata;
        if (deletionTimestamp === undefined && openShard(shard.ref, object).kind === 'read') return 'present';
        await unlessMissing(deleteObject(client, pathOf(name), uid === undefined ? {} : { uid }));
      }
    },

    async keepManifest(kept, manifestText) {
      try {
        await createObject(client, collection, buildKept(kept, manifestText));
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    },

    async listKept() {
      const query = { labelSelector: `${INSTANCE_LABEL}=${instance},${KEPT_MANIFEST_LABEL}` };
      const { items } = await listAll({ client, path: collection, query, metadataOnly: true });
      return items
        .map(({ metadata: { labels = {} } }) => ({
          generation: Number(labels[KEPT_MANIFEST_LABEL]),
          since: Number(labels[KEPT_SINCE_LABEL]),
        }))
        .filter(({ generation, since }) => Number.isSafeInteger(generation) && Number.isSafeInteger(since))
        .sort((a, b) => b.generation - a.generation);
    },

    async readKept(generation) {
      const object = await unlessMissing(readObject(client, pathOf(keptManifestName(instance, generation))));
      return object === undefined ? undefined : parsePointer(object).manifest;
    },

    async listShards() {
      const query = { labelSelector: `${INSTANCE_LABEL}=${instance},${SHARD_LABEL}` };
      const { items } = await listAll({ client, path: collection, query, metadataOnly: true });
      return items.map(({ metadata }) => metadata.name);
    },

    async deleteShard(name) {
      await unlessMissing(deleteObject(client, pathOf(name)));
    },
  };

  async function readShard(ref: ShardRef): Promise<OpenedShard> {
    const object = await unlessMissing(readObject(client, pathOf(ref.name)));
    if (object !== undefined) return openShard(ref, object);
    return shardProblem(ref, 'missing', 'is named by the pointer, but there is no such Secret');
  }

  function buildKept({ generation, since }: KeptManifest, manifestText: string): object {
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: keptManifestName(instance, generation),
        namespace: tableNamespace,
        labels: {
          [INSTANCE_LABEL]: instance,
          [KEPT_MANIFEST_LABEL]: String(generation),
          [KEPT_SINCE_LABEL]: String(since),
        },
      },
      type: TABLE_SECRET_TYPE,
      immutable: true,
      data: manifestData(manifestText),
    };
  }

  function buildShardSecret(shard: Shard): object {
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: shard.ref.name,
        namespace: tableNamespace,
        labels: { [INSTANCE_LABEL]: instance, [SHARD_LABEL]: shard.ref.kind },
      },
      type: TABLE_SECRET_TYPE,
      immutable: true,
      data: { [SHARD_DATA]: shard.compressed().toString('base64') },
    };
  }
}

async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

function manifestData(manifestText: string): Record<string, string> {
  return {
    [POINTER_DATA.manifest]: encode(manifestText),
    [POINTER_DATA.manifestSha256]: encode(hash('sha256', manifestText)),
  };
}

function buildPointer(metadata: ObjectMeta, data: PointerData): object {
  const { manifestText, heartbeat, exchangeToken, internalTls } = data;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: TABLE_SECRET_TYPE,
    data: {
      ...manifestData(manifestText),
      [POINTER_DATA.heartbeat]: encode(heartbeat),
      [POINTER_DATA.exchangeToken]: encode(exchangeToken),
      ...(internalTls && {
        [TLS_DATA.trusted]: encode(internalTls.trusted),
        [TLS_DATA.certificate]: encode(internalTls.certificate),
        [TLS_DATA.key]: encode(internalTls.key),
      }),
    },
  };
}

const secretDataSchema = z.record(z.string(), z.string());
/** 32 random bytes as base64url. */
const exchangeTokenSchema = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

function parsePointer(object: KubeObject): Pointer {
  const manifestText = readValue(object, POINTER_DATA.manifest)?.toString();
  const exchangeToken = exchangeTokenSchema.safeParse(
    readValue(object, POINTER_DATA.exchangeToken)?.toString(),
  );
  return {
    metadata: object.metadata,
    manifestText,
    manifest: parseManifest(manifestText, readValue(object, POINTER_DATA.manifestSha256)?.toString()),
    exchangeToken: exchangeToken.data,
    internalTls: readInternalTls((name) => readValue(object, name)?.toString()),
  };
}

function readValue(object: KubeObject, name: string): Buffer | undefined {
  const value = secretDataSchema.safeParse(object.data).data?.[name];
  return value === undefined ? undefined : Buffer.from(value, 'base64');
}

const headSchema = z.object({ epoch: z.int().min(0), generation: z.int().min(0) });
const minReaderSchema = z.object({ minReader: z.int() });

function parseManifest(text: string | undefined, sha256: string | undefined): ReadManifest {
  if (text === undefined) return { kind: 'unreadable', problem: 'it has no manifest', version: undefined };
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return { kind: 'unreadable', problem: 'its manifest is not JSON', version: undefined };
  }
  const version = headSchema.safeParse(data).data;
  if (hash('sha256', text) !== sha256) {
    return { kind: 'unreadable', problem: 'its manifest does not match its digest', version };
  }
  const minReader = minReaderSchema.safeParse(data).data?.minReader ?? 0;
  if (minReader > READER_FORMAT) {
    const problem = `it needs a reader of format ${minReader}, this operator reads format ${READER_FORMAT}`;
    return { kind: 'unreadable', problem, version, isNewer: true };
  }
  const parsed = manifestSchema.safeParse(data);
  if (parsed.success) return { kind: 'readable', manifest: parsed.data };
  const issue = parsed.error.issues[0];
  return { kind: 'unreadable', problem: `field ${issue?.path.join('.')}: ${issue?.message}`, version };
}

type OpenedShard =
  | { readonly kind: 'read'; readonly content: Partial<Omit<TableContent, 'settings'>> }
  | { readonly kind: 'problem'; readonly problem: ShardProblem };

function shardProblem({ name }: ShardRef, problem: ShardProblem['problem'], fact: string): OpenedShard {
  return { kind: 'problem', problem: { name, problem, message: `shard ${name} ${fact}` } };
}

function openShard(ref: ShardRef, object: KubeObject): OpenedShard {
  const corrupt = (fact: string) => shardProblem(ref, 'corrupt', fact);
  const compressed = readValue(object, SHARD_DATA);
  if (compressed === undefined) return corrupt(`has no value ${SHARD_DATA}`);
  let plain: Buffer;
  try {
    plain = zstdDecompressSync(compressed, { maxOutputLength: SHARD_PLAIN_BYTES_MAX });
  } catch {
    return corrupt('cannot be unpacked');
  }
  if (hash('sha256', plain) !== ref.sha256) return corrupt('does not match the digest in its name');
  return parseShard(ref, plain);
}

function parseShard(ref: ShardRef, plain: Buffer): OpenedShard {
  let data: unknown;
  try {
    data = JSON.parse(plain.toString());
  } catch {
    return shardProblem(ref, 'corrupt', 'is not JSON');
  }
  const parsed = shardContentSchemas[ref.kind].safeParse(data);
  if (parsed.success) return { kind: 'read', content: parsed.data };
  const issue = parsed.error.issues[0];
  return shardProblem(ref, 'corrupt', `has a wrong field ${issue?.path.join('.')}: ${issue?.message}`);
}

function joinShards({ settings }: Manifest, read: readonly OpenedShard[]): ReadShards {
  const contents = read.flatMap((shard) => (shard.kind === 'read' ? [shard.content] : []));
  const byId = (a: { readonly id: string }, b: { readonly id: string }) => compareText(a.id, b.id);
  const unavailable = contents.flatMap((content) => content.unavailable ?? []).sort(byId);
  return {
    content: {
      settings,
      providers: contents.flatMap(({ providers = [] }) => providers).sort(byId),
      credentials: contents.flatMap(({ credentials = [] }) => credentials).sort(byId),
      routes: contents.flatMap(({ routes = [] }) => routes).sort(byId),
      ...(unavailable.length === 0 ? {} : { unavailable }),
      keys: contents.flatMap(({ keys = [] }) => keys).sort((a, b) => compareText(a.sha256, b.sha256)),
    },
    problems: read.flatMap((shard) => (shard.kind === 'problem' ? [shard.problem] : [])),
  };
}
