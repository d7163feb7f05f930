// What does a shard hold? Unpacked within a bound, held against its digest, checked in pieces, so that
// running streams are served in between.

import { hash } from 'node:crypto';
import { z } from 'zod';
import { SHARD_BYTES_MAX, SHARD_PLAIN_BYTES_MAX, type ShardRef } from '../../../core/contract/manifest.ts';
import {
  type Credential,
  credentialSchema,
  type KeyEntry,
  keyEntrySchema,
  type ProviderEntry,
  providerEntrySchema,
  type RouteEntry,
  routeEntrySchema,
  type UnavailableRoute,
  unavailableRouteSchema,
} from '../../../core/contract/routing-table.ts';
import { TableLoadError } from '../load-error.ts';
import { systemWork, type Unpack } from './work.ts';

export type ShardContent =
  | { readonly kind: 'keys'; readonly keys: readonly KeyEntry[] }
  | {
      readonly kind: 'routes';
      readonly providers: readonly ProviderEntry[];
      readonly routes: readonly RouteEntry[];
      readonly unavailable: readonly UnavailableRoute[];
    }
  | { readonly kind: 'credentials'; readonly credentials: readonly Credential[] };

/** Entries checked in one go: about a millisecond. */
const pieceEntries = 500;

/** @throws {TableLoadError} naming the shard, and never its content. */
export async function decodeShard(
  ref: ShardRef,
  packed: Buffer,
  yieldNow: () => Promise<void>,
  unpack: Unpack = systemWork.unpack,
): Promise<ShardContent> {
  const plain = await unpackShard(ref, packed, unpack);
  if (plain.length !== ref.bytes) {
    throw corrupt(ref, `unpacks to ${plain.length} bytes instead of ${ref.bytes}`);
  }
  // guard: shard-digest
  if (hash('sha256', plain, 'hex') !== ref.sha256) throw corrupt(ref, 'does not hold what its digest says');
  const content = await readContent(ref, parseJson(ref, plain), yieldNow);
  const count = countEntries(content);
  if (count !== ref.count) throw corrupt(ref, `holds ${count} entries instead of ${ref.count}`);
  return content;
}

export function countEntries(content: ShardContent): number {
  switch (content.kind) {
    case 'keys':
      return content.keys.length;
    case 'routes':
      return content.providers.length + content.routes.length;
    case 'credentials':
      return content.credentials.length;
  }
}

async function unpackShard(ref: ShardRef, packed: Buffer, unpack: Unpack): Promise<Buffer> {
  if (packed.length > SHARD_BYTES_MAX) throw corrupt(ref, `is larger than ${SHARD_BYTES_MAX} bytes`);
  try {
    return await unpack(packed, {
      maxOutputLength: Math.min(Math.max(ref.bytes, 1), SHARD_PLAIN_BYTES_MAX),
    });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw corrupt(ref, isTooLarge ? `unpacks to more than ${ref.bytes} bytes` : 'cannot be unpacked');
  }
}

function parseJson(ref: ShardRef, plain: Buffer): unknown {
  try {
    return JSON.parse(plain.toString('utf8'));
  } catch {
    // Not the parser's own words: they quote the text around the fault.
    throw new TableLoadError('invalid', `the shard ${ref.name} is not valid JSON`);
  }
}

async function readContent(
  ref: ShardRef,
  data: unknown,
  yieldNow: () => Promise<void>,
): Promise<ShardContent> {
  const lists = z.record(z.string(), z.unknown()).safeParse(data);
  const listOf = <T>(name: string, schema: z.ZodType<T>): Promise<T[]> =>
    checkInPieces(ref, name, lists.data?.[name], z.array(schema), yieldNow);
  switch (ref.kind) {
    case 'keys':
      return { kind: ref.kind, keys: await listOf('keys', keyEntrySchema) };
    case 'routes': {
      const providers = await listOf('providers', providerEntrySchema);
      const routes = await listOf('routes', routeEntrySchema);
      const unavailable =
        lists.data?.unavailable === undefined ? [] : await listOf('unavailable', unavailableRouteSchema);
      return { kind: ref.kind, providers, routes, unavailable };
    }
    case 'credentials':
      return { kind: ref.kind, credentials: await listOf('credentials', credentialSchema) };
  }
}

async function checkInPieces<T>(
  ref: ShardRef,
  name: string,
  list: unknown,
  schema: z.ZodType<T[]>,
  yieldNow: () => Promise<void>,
): Promise<T[]> {
  if (!Array.isArray(list))
    throw new TableLoadError('invalid', `the shard ${ref.name} has no list '${name}'`);
  const checked: T[] = [];
  for (let from = 0; from < list.length; from += pieceEntries) {
    const parsed = schema.safeParse(list.slice(from, from + pieceEntries));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const [index, ...path] = issue?.path ?? [];
      const place = [name, from + Number(index), ...path].join('.');
      throw new TableLoadError('invalid', `the shard ${ref.name}, field ${place}: ${issue?.message}`);
    }
    checked.push(...parsed.data);
    await yieldNow();
  }
  return checked;
}

function corrupt(ref: ShardRef, fact: string): TableLoadError {
  return new TableLoadError('corrupt', `the shard ${ref.name} ${fact}`);
}
