// How does a table lie in Secrets? Made by the contract alone, so that a gateway is judged by what was agreed,
// not by what the operator happens to write.

import { hash } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import {
  MANIFEST_FORMAT,
  type Manifest,
  POINTER_DATA,
  pointerName,
  SHARD_DATA,
  type ShardKind,
  type ShardRef,
  shardName,
  TABLE_SECRET_TYPE,
} from '../../../core/contract/manifest.ts';
import type { TableContent } from '../../../core/contract/routing-table.ts';

export const instance = 'penstock';
export const exchangeToken = 'e'.repeat(43);

export interface Shard {
  readonly ref: ShardRef;
  readonly packed: Buffer;
}

export interface Published {
  readonly manifest: Manifest;
  readonly shards: readonly Shard[];
}

/** As it is written to the API server. */
export interface TableSecret extends Record<string, unknown> {
  readonly data: Readonly<Record<string, string>>;
}

export interface Numbers {
  readonly epoch?: number;
  readonly generation?: number;
  readonly revocations?: readonly string[];
  readonly minReader?: number;
}

/** Keys lie in 16 shards, by the first digit of their digest. */
export function publish(content: TableContent, numbers: Numbers = {}): Published {
  const digits = [...'0123456789abcdef'];
  const shards = [
    ...digits.map((digit, index) => {
      const keys = content.keys.filter(({ sha256 }) => sha256.startsWith(digit));
      return makeShard('keys', index, { keys: keys.toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1)) });
    }),
    makeShard('routes', 0, { providers: content.providers, routes: content.routes }),
    makeShard('credentials', 0, { credentials: content.credentials }),
  ];
  return {
    shards,
    manifest: {
      format: MANIFEST_FORMAT,
      minReader: numbers.minReader ?? 1,
      epoch: numbers.epoch ?? 1,
      generation: numbers.generation ?? 1,
      createdAt: '2026-07-01T00:00:00.000Z',
      settings: content.settings,
      shards: shards.map(({ ref }) => ref),
      revocations: [...(numbers.revocations ?? [])],
    },
  };
}

/** The values of the pointer Secret, plain. */
export function pointerData(
  manifest: unknown,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
  return {
    [POINTER_DATA.manifest]: text,
    [POINTER_DATA.manifestSha256]: hash('sha256', text, 'hex'),
    [POINTER_DATA.heartbeat]: '2026-07-01T00:00:00.000Z',
    [POINTER_DATA.exchangeToken]: exchangeToken,
    ...more,
  };
}

export function pointerSecret(data: Readonly<Record<string, string>>): TableSecret {
  const entries = Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  return secret(pointerName(instance), Object.fromEntries(entries), false);
}

export function shardSecret({ ref, packed }: Shard): TableSecret {
  return secret(ref.name, { [SHARD_DATA]: packed.toString('base64') }, true);
}

function secret(name: string, data: Record<string, string>, immutable: boolean): TableSecret {
  return { apiVersion: 'v1', kind: 'Secret', type: TABLE_SECRET_TYPE, metadata: { name }, data, immutable };
}

function makeShard(
  kind: ShardKind,
  index: number,
  content: Readonly<Record<string, readonly unknown[]>>,
): Shard {
  const plain = Buffer.from(JSON.stringify(content));
  const sha256 = hash('sha256', plain, 'hex');
  const count = Object.values(content).reduce((sum, list) => sum + list.length, 0);
  const name = shardName(instance, kind, index, sha256);
  return { ref: { name, kind, sha256, bytes: plain.length, count }, packed: zstdCompressSync(plain) };
}
