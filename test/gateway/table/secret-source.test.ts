// Does a table in Secrets of a real API server come into use, now and when it changes? And what happens when a
// piece of it is missing, damaged, old, or of an age to come?

import { readFile } from 'node:fs/promises';
import { zstdCompressSync } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { READER_FORMAT, type RoutingTable } from '../../../core/contract/routing-table.ts';
import { digestKey } from '../../../gateway/auth/authenticate.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { keyEntry, tableOf } from '../rig.ts';
import { exchangeToken, type Numbers, type Published, pointerData, publish } from './published.ts';
import { openRig, type SecretRig, type SecretRigOptions } from './secret-rig.ts';
import { makeTableNamespace, type TableNamespace } from './table-namespace.ts';

const plane = useControlPlane({ hasControllers: false });
let ca = '';
let place: TableNamespace;
const rigs: SecretRig[] = [];

beforeAll(async () => {
  ca = await readFile(plane().caFile, 'utf8');
});

beforeEach(async () => {
  place = await makeTableNamespace(plane().client);
});

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function open(options: Partial<SecretRigOptions> = {}): Promise<SecretRig> {
  const { url, adminToken } = plane();
  const rig = await openRig({ url, adminToken, ca }, { pointer: place.pointer, ...options });
  rigs.push(rig);
  return rig;
}

const keyOf = (index: number): string => `psk_${index}_${'k'.repeat(30)}`;
const digestOf = (index: number): string => digestKey(keyOf(index));

const table: RoutingTable = {
  ...tableOf([{ baseUrl: 'https://api.upstream.test/v1', keys: { main: 'sk-upstream' } }]),
  keys: Array.from({ length: 60 }, (_, index) => keyEntry(keyOf(index), `team/key-${index}`)),
};
const published = (numbers: Numbers = {}, more: Partial<RoutingTable> = {}): Published =>
  publish({ ...table, ...more }, numbers);
const without = (...gone: readonly number[]): Partial<RoutingTable> => ({
  keys: table.keys.filter((_, index) => !gone.includes(index)),
});

describe('a table in Secrets', () => {
  test('is in use after the start of the source', async () => {
    await place.put(published({ generation: 3 }));
    const { source, holder, reported } = await open();
    await source.started;
    expect(reported).toEqual(['taken 3 from api']);
    expect(holder.current()).toMatchObject({ epoch: 1, generation: 3 });
    expect(holder.current()?.keys.size).toBe(60);
  });

  test('may appear later', async () => {
    const { next } = await open();
    await next(/^noted: there is no pointer Secret tables-.*penstock-current/);
    await place.put(published());
    await next(/^taken 1 from api$/);
  });

  test('with one changed key is fetched by exactly one shard', async () => {
    await place.put(published());
    const { next, asked, holder } = await open();
    await next(/^taken 1/);
    asked.length = 0;
    await place.put(published({ generation: 2 }, without(7)));
    await next(/^taken 2/);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/^penstock-k-/);
    expect([holder.current()?.keys.has(digestOf(7)), holder.current()?.keys.size]).toEqual([false, 59]);
  });

  test('with only another number is fetched by none', async () => {
    await place.put(published({ epoch: 1, generation: 9 }));
    const { next, asked, holder } = await open();
    await next(/^taken 9/);
    const before = holder.current();
    asked.length = 0;
    await place.put(published({ epoch: 2, generation: 1 }));
    await next(/^taken 1/);
    expect(asked).toEqual([]);
    expect(holder.current()).toMatchObject({ epoch: 2, generation: 1 });
    expect(holder.current()?.keys).toBe(before?.keys);
  });

  test('causes no event if only the heartbeat moves', async () => {
    const first = published();
    await place.put(first);
    const { next, reported, asked, source } = await open();
    await next(/^taken 1/);
    asked.length = 0;
    const heartbeat = '2026-08-01T10:00:00.000Z';
    await place.putPointer(pointerData(first.manifest, { heartbeat }));
    await place.put(published({ generation: 2 }, without(1)));
    await next(/^taken 2/);
    expect(reported).toEqual(['taken 1 from api', 'taken 2 from api']);
    await place.putPointer(pointerData(published({ generation: 2 }, without(1)).manifest, { heartbeat }));
    await expect.poll(() => source.heartbeatMs()).toBe(Date.parse(heartbeat));
  });

  test('that changes many times ends as the last version, and may skip others', async () => {
    await place.put(published());
    const { next, reported, holder } = await open({ random: Math.random });
    await next(/^taken 1/);
    for (let generation = 2; generation <= 30; generation++) {
      await place.put(published({ generation }, without(generation)));
    }
    await next(/^taken 30/);
    expect(holder.current()?.keys.has(digestOf(30))).toBe(false);
    expect(reported.filter((event) => event.startsWith('refused'))).toEqual([]);
    expect(reported.length).toBeLessThan(30);
  });

  test('waits a random time before it is fetched, unless it is the first or revokes keys', async () => {
    await place.put(published());
    // Half of a fifth of a second.
    const { next, timers } = await open({ random: () => 0.5 });
    await next(/^taken 1/);
    expect(timers).not.toContain(100);
    await place.put(published({ generation: 2, revocations: [digestOf(1).slice(0, 16)] }, without(1)));
    await next(/^taken 2/);
    expect(timers).not.toContain(100);
    await place.put(published({ generation: 3, revocations: [digestOf(1).slice(0, 16)] }, without(1, 2)));
    await next(/^taken 3/);
    expect(timers.filter((ms) => ms === 100)).toHaveLength(1);
  });

  test('is not used after its source is closed', async () => {
    await place.put(published());
    const first = await open();
    await first.next(/^taken 1/);
    await first.source.close();
    const second = await open();
    await place.put(published({ generation: 2 }, without(1)));
    await second.next(/^taken 2/);
    expect(first.reported).toEqual(['taken 1 from api']);
    expect(first.holder.current()?.generation).toBe(1);
  });
});

/** The next table, of which one shard is not as it should be. */
function damaged(change: (packed: Buffer) => Buffer | undefined, more: Numbers = {}) {
  const next = published({ generation: 2, ...more }, without(7));
  const held = new Set(published().shards.map(({ ref }) => ref.name));
  const fresh = next.shards.find(({ ref }) => !held.has(ref.name));
  if (!fresh) throw new Error('a key that is gone changes a shard');
  const packed = change(fresh.packed);
  return {
    name: fresh.ref.name,
    whole: next,
    async put(): Promise<void> {
      if (packed) await place.putShard({ ...fresh, packed });
      await place.putPointer(pointerData(next.manifest));
    },
    async repair(): Promise<void> {
      if (packed) await place.removeShard(fresh.ref.name);
      await place.putShard(fresh);
    },
  };
}

describe('the table in use stays, and the reason is reported, if of the next', () => {
  test.each<[string, (packed: Buffer) => Buffer | undefined, RegExp]>([
    ['a shard is missing', () => undefined, /^refused incomplete: the shard tables-.* is not there/],
    ['a shard is half', (packed) => packed.subarray(0, packed.length / 2), /^refused corrupt: .*unpacked/],
    ['a shard is empty', () => Buffer.alloc(0), /^refused corrupt: /],
    ['a shard is another', () => zstdCompressSync('{"keys":[]}'), /^refused corrupt: .*unpacks to 11 bytes/],
  ])('%s; the next is used as soon as it is complete', async (_, change, reason) => {
    await place.put(published());
    const { next, holder, status } = await open();
    await next(/^taken 1/);
    const bad = damaged(change);
    await bad.put();
    const reported = await next(reason);
    expect(reported).toContain(bad.name);
    expect(reported).not.toContain('sk-upstream');
    expect(holder.current()?.generation).toBe(1);
    expect(status.state().rejected).toMatchObject({ epoch: 1, generation: 2 });
    await bad.repair();
    await next(/^taken 2/);
    expect(holder.current()?.keys.size).toBe(59);
    expect(status.state().rejected).toBeUndefined();
  });

  test.each<[string, () => Published, RegExp]>([
    ['the epoch is older', () => published({ epoch: 4, generation: 9 }), /^refused older: .*epoch 4, gen/],
    [
      'the generation is older',
      () => published({ epoch: 5, generation: 4 }),
      /^refused older: .*generation 4 is/,
    ],
    [
      'the number is the same, and the content another',
      () => published({ epoch: 5, generation: 5 }, without(2)),
      /^refused older: another table of epoch 5, generation 5/,
    ],
    [
      'the reader must be newer',
      () => published({ epoch: 6, minReader: READER_FORMAT + 1 }),
      /^refused too-new: .*reader of format \d.*upgrade the gateway/,
    ],
    [
      'the pieces do not fit together',
      () => published({ epoch: 6 }, { providers: [] }),
      /^refused invalid: .*not in the table/,
    ],
  ])('%s', async (_, make, reason) => {
    await place.put(published({ epoch: 5, generation: 5 }));
    const { next, holder, status } = await open();
    await next(/^taken 5/);
    const before = holder.current();
    await place.put(make());
    const reported = await next(/^refused/);
    expect(reported).toMatch(reason);
    expect(holder.current()).toBe(before);
    // An older one is none that the pod should have.
    expect(status.state().rejected !== undefined).toBe(!reported.startsWith('refused older'));
    await place.put(published({ epoch: 7, generation: 1 }, without(3)));
    await next(/^taken 1/);
  });

  test('the manifest is damaged, reported once, however often the heartbeat moves', async () => {
    await place.put(published());
    const { next, reported, holder, source } = await open();
    await next(/^taken 1/);
    const text = JSON.stringify(published({ generation: 2 }, without(3)).manifest);
    for (const second of [1, 2, 3]) {
      const heartbeat = `2026-08-01T10:00:0${second}.000Z`;
      await place.putPointer({ ...pointerData(text), manifest: text.replace('psk_', 'qsk_'), heartbeat });
      await expect.poll(() => source.heartbeatMs()).toBe(Date.parse(heartbeat));
    }
    expect(reported.slice(1)).toEqual(['refused corrupt: the manifest does not match its digest']);
    expect(holder.current()?.settings.keyPrefix).toBe('psk_');
  });
});

describe('a deleted pointer', () => {
  test('changes nothing, and is reported; a new one counts again', async () => {
    await place.put(published());
    const { next, holder, source } = await open();
    await next(/^taken 1/);
    await place.removePointer();
    await next(/^noted: the pointer Secret tables-.*was deleted; the table in use stays/);
    expect([holder.current()?.generation, source.exchangeToken()]).toEqual([1, exchangeToken]);
    await place.put(published({ epoch: 1_800_000_000_000, generation: 1_800_000_000_000 }));
    await next(/^taken 1800000000000/);
  });

  test('with a deleted shard leads to the present table', async () => {
    await place.put(published());
    const { next } = await open();
    await next(/^taken 1/);
    await damaged(() => undefined).put();
    await place.put(published({ generation: 3 }, without(9)));
    await next(/^taken 3/);
  });
});

describe('a revocation', () => {
  test('works at once without the shards, and for that key alone', async () => {
    await place.put(published());
    const { next, holder } = await open();
    await next(/^taken 1/);
    const before = holder.current();
    await damaged(() => undefined, { revocations: [digestOf(7).slice(0, 16)] }).put();
    await next(/^refused incomplete/);
    const view = holder.current();
    expect([view?.generation, view?.keys.has(digestOf(7)), view?.keys.size]).toEqual([1, false, 59]);
    expect(before?.keys.has(digestOf(7)), 'a request keeps the view it has').toBe(true);
  });

  // The newest manifest cannot be loaded; the one before it, which still has the key, comes into use after it was
  // announced. If that brought the key back, it would stay until somebody repairs the shard.
  test('is not undone by an older table that is still loading', async () => {
    await place.put(published());
    const mayGoOn = Promise.withResolvers<void>();
    const isLoading = Promise.withResolvers<void>();
    const { next, holder } = await open({
      async before() {
        if (!holder.current()) return;
        isLoading.resolve();
        await mayGoOn.promise;
      },
    });
    await next(/^taken 1/);
    const swaps: (boolean | undefined)[] = [];
    const isKnown = (): boolean | undefined => holder.current()?.keys.has(digestOf(7));
    await place.put(published({ generation: 2 }, without(1)));
    await isLoading.promise;
    await damaged(() => undefined, { generation: 3, revocations: [digestOf(7).slice(0, 16)] }).put();
    await expect.poll(isKnown).toBe(false);
    mayGoOn.resolve();
    await next(/^taken 2/);
    swaps.push(isKnown());
    await next(/^refused incomplete/);
    swaps.push(isKnown());
    expect([swaps, holder.current()?.generation]).toEqual([[false, false], 2]);
  });

  test('holds though a shard of the same manifest has the key, as when the new shard could not be written', async () => {
    await place.put(published({ revocations: [digestOf(7).slice(0, 16)] }));
    const { next, holder } = await open();
    await next(/^taken 1/);
    expect(holder.current()?.keys.has(digestOf(7))).toBe(false);
    expect(holder.current()?.keys.has(digestOf(8))).toBe(true);
    // Given back by a manifest that names the same shards.
    await place.put(published({ generation: 2 }));
    await next(/^taken 2/);
    expect(holder.current()?.keys.has(digestOf(7))).toBe(true);
  });

  test('of an older table is ignored', async () => {
    await place.put(published({ epoch: 2 }));
    const { next, holder } = await open();
    await next(/^taken 1/);
    await place.put(published({ epoch: 1, revocations: [digestOf(7).slice(0, 16)] }));
    await next(/^refused older/);
    expect(holder.current()?.keys.has(digestOf(7))).toBe(true);
  });
});

test('the bearer of the exchange may change', async () => {
  const first = published();
  await place.put(first);
  const { next, source } = await open();
  await next(/^taken 1/);
  expect(source.exchangeToken()).toBe(exchangeToken);
  await place.putPointer(pointerData(first.manifest, { exchangeToken: 'n'.repeat(43) }));
  await expect.poll(() => source.exchangeToken()).toBe('n'.repeat(43));
});
