// How does a table get into use, on a real API server? Written once, with nothing to write a second time; by one
// leader of two; whatever other hands do to pointer and shards; and whole again wherever a leader was killed.

import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type KubeClient, KubeError } from '../../../core/kube/client.ts';
import { mergePatch } from '../../../core/kube/patch.ts';
import { objectPath, secrets } from '../../../core/kube/paths.ts';
import { DeposedError } from '../../../operator/publish/deposed.ts';
import {
  ACCEPT_ABSENCE_ANNOTATION,
  RELEASE_KEY_ANNOTATION,
} from '../../../operator/publish/pointer-holder.ts';
import { createShardCutter } from '../../../operator/publish/shards.ts';
import type { RetiredKey } from '../../../operator/watch/snapshot.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { runs } from '../../support/runs.ts';
import { keyEntry, makeContent, numbers, providerEntry, withKeys } from './make-content.ts';
import {
  breaking,
  counted,
  makeNamespace,
  makePublisher,
  openStore,
  readTable,
  refusing,
} from './table-support.ts';

const plane = useControlPlane({ hasControllers: false });

const CONTENT = makeContent({ keys: 200, routes: 20, providers: 5 });
/** With another Provider: there is something to go back from. */
const rerouted = (number: number) => ({
  ...CONTENT,
  providers: [...CONTENT.providers, providerEntry(1_000 + number)].sort((a, b) => (a.id < b.id ? -1 : 1)),
});
const NOTHING_FOUND = { content: undefined, version: undefined, revoked: [], retired: [], hints: [] };
const changed = (content = CONTENT, number = 1_000) => withKeys(content, [...content.keys, keyEntry(number)]);

async function place() {
  const client = counted(plane().client);
  return { client, namespace: await makeNamespace(plane().client) };
}

const pointerPath = (namespace: string) => objectPath(secrets, { namespace, name: 'penstock-current' });
const shardPath = (namespace: string, name: string) => objectPath(secrets, { namespace, name });
const remove = (client: KubeClient, path: string) => client.call({ method: 'DELETE', path });

describe('publishing', () => {
  test('writes every shard and then the pointer, with a number from the clock if there was no table', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    const before = Date.now();
    expect(await publisher.takeOver()).toEqual(NOTHING_FOUND);
    const published = await publisher.publish(CONTENT);
    expect(published).toMatchObject({ isNew: true, shardsWritten: 10 });
    expect(published.epoch).toBeGreaterThanOrEqual(before);
    expect(published.generation).toBeGreaterThanOrEqual(before);
    expect(client.takeWrites()).toHaveLength(11);
    const { manifest, content } = await readTable(client, namespace);
    expect(content).toEqual(CONTENT);
    expect(manifest).toMatchObject({ epoch: published.epoch, generation: published.generation });
  });

  test('the same content again writes nothing, by this leader and by the next', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    const published = await first.publish(CONTENT);
    client.takeWrites();
    expect(await first.publish(structuredClone(CONTENT))).toMatchObject({ isNew: false, bytesWritten: 0 });
    const next = makePublisher(client, namespace);
    const taken = await next.takeOver();
    expect(taken.content).toEqual(CONTENT);
    expect(taken.version).toEqual({ epoch: published.epoch, generation: published.generation });
    expect(await next.publish(CONTENT)).toMatchObject({ ...taken.version, isNew: false });
    expect(client.takeWrites()).toEqual([]);
  });

  test('hints alone write the pointer, and the next leader reads them', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    await first.publish(CONTENT);
    client.takeWrites();
    const hints = [{ provider: 'platform/openai', key: 'eu' }];
    expect(await first.publish(CONTENT, { hints })).toMatchObject({ isNew: true, shardsWritten: 0 });
    expect(await first.publish(CONTENT, { hints })).toMatchObject({ isNew: false });
    expect(client.takeWrites().map((write) => write.split(' ')[0])).toEqual(['PUT']);
    const next = makePublisher(client, namespace);
    expect((await next.takeOver()).hints).toEqual(hints);
    expect(await next.publish(CONTENT)).toMatchObject({ isNew: true, shardsWritten: 0 });
  });

  test('one changed key writes one shard and the pointer', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    const first = await publisher.publish(CONTENT);
    client.takeWrites();
    const second = await publisher.publish(changed());
    expect(second).toMatchObject({ epoch: first.epoch, generation: first.generation + 1, shardsWritten: 1 });
    expect(client.takeWrites().map((write) => write.split(' ')[0])).toEqual(['POST', 'PUT']);
  });

  test('a key that left is revoked in the manifest, until it comes back', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    await publisher.publish(changed());
    await publisher.publish(CONTENT);
    const revoked = keyEntry(1_000).sha256.slice(0, 16);
    expect((await readTable(client, namespace)).manifest.revocations).toEqual([revoked]);
    const next = makePublisher(client, namespace);
    await next.takeOver();
    await next.publish(changed(CONTENT, 1_001));
    expect((await readTable(client, namespace)).manifest.revocations).toEqual([revoked]);
    await next.publish(changed(changed(CONTENT, 1_001)));
    expect((await readTable(client, namespace)).manifest.revocations).toEqual([]);
  });

  test('revocations are written before many shards', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    const content = makeContent({ keys: 8_000 });
    await publisher.publish(content);
    client.takeWrites();
    const published = await publisher.publish(
      withKeys(
        content,
        content.keys.slice(0, -500).filter((_, index) => index % 40 > 0),
      ),
      { urgent: true },
    );
    const writes = client.takeWrites();
    expect(published.shardsWritten).toBeGreaterThan(8);
    expect(writes).toHaveLength(published.shardsWritten + 2);
    expect(writes[0]).toMatch(/^PUT .*penstock-current$/);
    expect(writes.at(-1)).toBe(writes[0]);
    const { manifest } = await readTable(client, namespace);
    expect(manifest.revocations.length).toBeGreaterThan(500);
  });
});

test('after a leader is killed right after writing revocations, the next leader keeps those keys revoked', async () => {
  const { client, namespace } = await place();
  const first = makePublisher(client, namespace);
  await first.takeOver();
  const content = makeContent({ keys: 8_000 });
  await first.publish(content);
  const fewer = withKeys(
    content,
    content.keys.filter((_, index) => index % 40 > 0),
  );
  const dying = makePublisher(breaking(client, 1, 'before'), namespace);
  await dying.takeOver();
  await expect(dying.publish(fewer, { urgent: true })).rejects.toThrow(KubeError);
  const left = await readTable(client, namespace);
  expect(left.manifest.revocations).toHaveLength(200);
  expect(left.content).toEqual(content);
  const next = makePublisher(client, namespace);
  expect((await next.takeOver()).content).toEqual(fewer);
});

describe('the heartbeat', () => {
  test('changes nothing but the heartbeat, and has the epoch of a new leader', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    const { epoch, generation } = await first.publish(CONTENT);
    const store = openStore(client, namespace);
    const before = await store.readPointer();
    client.takeWrites();
    await first.heartbeat();
    const after = await store.readPointer();
    expect(client.takeWrites()).toHaveLength(1);
    expect(after?.manifestText).toBe(before?.manifestText);
    expect(after?.metadata.resourceVersion).not.toBe(before?.metadata.resourceVersion);

    const next = makePublisher(client, namespace);
    await next.takeOver();
    await next.heartbeat();
    expect((await readTable(client, namespace)).manifest).toMatchObject({ epoch: epoch + 1, generation });
    expect(await next.publish(CONTENT)).toMatchObject({ epoch: epoch + 1, generation, isNew: false });
    expect(await next.publish(changed())).toMatchObject({ epoch: epoch + 1, generation: generation + 1 });
  });

  test('the exchange token stays the same from leader to leader', async () => {
    const { client, namespace } = await place();
    const [first, next] = [makePublisher(client, namespace), makePublisher(client, namespace)];
    await first.takeOver();
    await first.publish(CONTENT);
    expect(first.exchangeToken()).toMatch(/^[A-Za-z0-9_-]{43}$/);
    await next.takeOver();
    expect(next.exchangeToken()).toBe(first.exchangeToken());
  });

  test('before the first table it writes nothing', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    await publisher.heartbeat();
    expect(client.takeWrites()).toEqual([]);
  });
});

describe('two leaders', () => {
  test.each(['publish', 'heartbeat', 'drop shards'])(
    'the older one stops for good at its next %s',
    async (what) => {
      const { client, namespace } = await place();
      const [older, newer] = [makePublisher(client, namespace), makePublisher(client, namespace)];
      await older.takeOver();
      await older.publish(CONTENT);
      await newer.takeOver();
      await newer.heartbeat();
      await newer.publish(changed());
      const { manifest } = await readTable(client, namespace);
      const act = () => {
        if (what === 'publish') return older.publish(changed(CONTENT, 2_000));
        return what === 'heartbeat'
          ? older.heartbeat()
          : older.dropShards(manifest.shards.map(({ name }) => name));
      };
      await expect(act()).rejects.toThrow(DeposedError);
      client.takeWrites();
      await expect(older.publish(changed(CONTENT, 2_001))).rejects.toThrow(/was written by another leader/);
      await expect(older.heartbeat()).rejects.toThrow(DeposedError);
      await expect(older.repair(new Set())).rejects.toThrow(DeposedError);
      expect(client.takeWrites()).toEqual([]);
      expect((await readTable(client, namespace)).manifest).toEqual(manifest);
    },
  );

  test('that take over at the same moment: one wins, and the other can take over afterwards', async () => {
    const { client, namespace } = await place();
    const [a, b] = [makePublisher(client, namespace), makePublisher(client, namespace)];
    await Promise.all([a.takeOver(), b.takeOver()]);
    const contents = [changed(CONTENT, 1), changed(CONTENT, 2)];
    const results = await Promise.allSettled(
      [a, b].map((each, index) => each.publish(contents[index] ?? CONTENT)),
    );
    const [winner] = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const loser = results[0]?.status === 'rejected' ? a : b;
    const { version } = await loser.takeOver();
    expect(version?.epoch).toBe(winner?.epoch);
    expect((await loser.publish(CONTENT)).epoch).toBeGreaterThan(winner?.epoch ?? 0);
  });

  test('that alternate: versions only rise and every table is complete', async () => {
    const { client, namespace } = await place();
    const leaders = [makePublisher(client, namespace), makePublisher(client, namespace)];
    let last = { epoch: 0, generation: 0 };
    for (const round of numbers(runs(15, 3))) {
      // Both believe to lead: one of them took over later, the other one does not know.
      const taker = leaders[round % 2];
      await taker?.takeOver();
      const content = changed(CONTENT, round);
      await Promise.allSettled(leaders.map((leader) => leader.publish(content)));
      const { manifest, content: is } = await readTable(client, namespace);
      expect(is).toEqual(content);
      const isAbove =
        manifest.epoch > last.epoch ||
        (manifest.epoch === last.epoch && manifest.generation > last.generation);
      expect(isAbove).toBe(true);
      last = manifest;
    }
  });

  test('a leader that has stepped down writes nothing', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    publisher.standDown();
    await expect(publisher.publish(CONTENT)).rejects.toThrow(/leadership was given up/);
    expect(client.takeWrites()).toEqual([]);
  });
});

describe('other writers', () => {
  test('may put labels and annotations on the pointer, which stay', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    await publisher.publish(CONTENT);
    await mergePatch(client, pointerPath(namespace), {
      metadata: { labels: { team: 'a' }, annotations: { note: 'mine' } },
    });
    await publisher.publish(changed());
    await mergePatch(client, pointerPath(namespace), { metadata: { annotations: { other: 'too' } } });
    await publisher.heartbeat();
    const pointer = await openStore(client, namespace).readPointer();
    expect(pointer?.metadata.labels).toMatchObject({ team: 'a', 'penstock.dev/instance': 'penstock' });
    expect(pointer?.metadata.annotations).toEqual({ note: 'mine', other: 'too' });
    expect((await readTable(client, namespace)).content).toEqual(changed());
  });

  test('may confirm an absence, once', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    await publisher.publish(CONTENT);
    expect(publisher.isAbsenceAccepted()).toBe(false);
    const accept = () =>
      mergePatch(client, pointerPath(namespace), {
        metadata: { annotations: { [ACCEPT_ABSENCE_ANNOTATION]: 'true' } },
      });
    const annotations = async () =>
      (await openStore(client, namespace).readPointer())?.metadata.annotations ?? {};
    await accept();
    // A heartbeat sees it and leaves it there, for it has not acted yet.
    await publisher.heartbeat();
    expect(publisher.isAbsenceAccepted()).toBe(true);
    expect(publisher.reports.map(({ type }) => type)).toEqual(['absence-accepted']);
    expect(await annotations()).toHaveProperty([ACCEPT_ABSENCE_ANNOTATION]);
    // A new leader sees it too.
    const next = makePublisher(client, namespace);
    await next.takeOver();
    expect(next.isAbsenceAccepted()).toBe(true);
    await next.publish(withKeys(CONTENT, []), { acceptsAbsence: true });
    expect(next.isAbsenceAccepted()).toBe(false);
    expect(await annotations()).not.toHaveProperty([ACCEPT_ABSENCE_ANNOTATION]);
    // Where nothing was held there is nothing new, and the next heartbeat takes it off.
    await accept();
    await next.heartbeat();
    await next.publish(withKeys(CONTENT, []), { acceptsAbsence: true });
    expect(next.isAbsenceAccepted()).toBe(false);
    await next.heartbeat();
    expect(await annotations()).not.toHaveProperty([ACCEPT_ABSENCE_ANNOTATION]);
  });

  test.each(['publish', 'heartbeat', 'repair'])(
    'may delete the pointer: %s makes it again, numbered above all before',
    async (what) => {
      const { client, namespace } = await place();
      const publisher = makePublisher(client, namespace);
      await publisher.takeOver();
      const first = await publisher.publish(CONTENT);
      await remove(client, pointerPath(namespace));
      const before = Date.now();
      if (what === 'publish') await publisher.publish(changed());
      if (what === 'heartbeat') await publisher.heartbeat();
      if (what === 'repair') await publisher.repair(new Set(await publisher.listShards()));
      const { manifest, content } = await readTable(client, namespace);
      expect(content).toEqual(what === 'publish' ? changed() : CONTENT);
      expect(manifest.epoch).toBeGreaterThan(first.epoch);
      expect(manifest.generation).toBeGreaterThan(first.generation);
      expect(manifest.epoch).toBeGreaterThanOrEqual(before);
      expect(publisher.reports.map(({ type }) => type)).toEqual(['pointer-recreated']);
      const pointer = await openStore(client, namespace).readPointer();
      expect(pointer?.exchangeToken).toBe(publisher.exchangeToken());
      // And on from there.
      expect(await publisher.publish(changed(CONTENT, 3))).toMatchObject({
        epoch: manifest.epoch,
        generation: manifest.generation + 1,
      });
      await publisher.heartbeat();
    },
  );

  test('may delete or replace shards, which are repaired', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    await publisher.publish(CONTENT);
    const [deleted = '', forged = ''] = (await readTable(client, namespace)).manifest.shards.map(
      ({ name }) => name,
    );
    await remove(client, shardPath(namespace, deleted));
    await remove(client, shardPath(namespace, forged));
    await forge(client, namespace, forged);
    const present = new Set(await publisher.listShards());
    present.delete(forged);
    expect(await publisher.repair(present)).toEqual({ shardsWritten: 2 });
    expect((await readTable(client, namespace)).content).toEqual(CONTENT);
    expect(publisher.reports.map(({ type }) => type)).toEqual(['shard-replaced']);
    client.takeWrites();
    expect(await publisher.repair(new Set(await publisher.listShards()))).toEqual({ shardsWritten: 0 });
    expect(client.takeWrites()).toEqual([]);
  });

  test('may delete a shard of a table that this leader read, and did not change', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    await first.publish(CONTENT);
    const next = makePublisher(client, namespace);
    await next.takeOver();
    await next.publish(CONTENT);
    const [deleted = ''] = (await readTable(client, namespace)).manifest.shards.map(({ name }) => name);
    await remove(client, shardPath(namespace, deleted));
    expect(await next.repair(new Set(await next.listShards()))).toEqual({ shardsWritten: 1 });
    expect((await readTable(client, namespace)).content).toEqual(CONTENT);
  });

  test('may delete or replace shards while there is no leader: the next one reports and restores them', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    await first.publish(CONTENT);
    const { manifest } = await readTable(client, namespace);
    const [deleted = '', forged = ''] = manifest.shards.map(({ name }) => name);
    await remove(client, shardPath(namespace, deleted));
    await remove(client, shardPath(namespace, forged));
    await forge(client, namespace, forged);
    const next = makePublisher(client, namespace);
    const { content } = await next.takeOver();
    expect(content?.keys.length).toBeLessThan(CONTENT.keys.length);
    expect(next.reports).toMatchObject([
      { type: 'shard-unreadable', name: deleted, problem: 'missing' },
      { type: 'shard-unreadable', name: forged, problem: 'corrupt' },
    ]);
    expect(await next.publish(CONTENT)).toMatchObject({ isNew: false, shardsWritten: 2 });
    expect(await readTable(client, namespace)).toEqual({ manifest, content: CONTENT });
  });

  test.each([
    ['not JSON', '{"epoch":'],
    ['of another schema', '{"epoch":7,"generation":9}'],
    ['of a later format', '{"minReader":99,"epoch":7,"generation":9000000000000}'],
  ])('may damage the manifest: one that is %s counts as missing, and is logged', async (_, text) => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    const earlier = await first.publish(CONTENT);
    await mergePatch(client, pointerPath(namespace), { data: { manifest: btoa(text) } });
    await expect(first.heartbeat()).rejects.toThrow(DeposedError);
    const next = makePublisher(client, namespace);
    expect(await next.takeOver()).toEqual(NOTHING_FOUND);
    expect(next.reports.map(({ type }) => type)).toEqual(['pointer-unreadable']);
    const published = await next.publish(CONTENT);
    expect(published.epoch).toBeGreaterThan(earlier.epoch);
    expect(published.generation).toBeGreaterThan(
      text.includes('9000000000000') ? 9_000_000_000_000 : earlier.generation,
    );
    expect(next.exchangeToken()).toBe(first.exchangeToken());
    expect((await readTable(client, namespace)).content).toEqual(CONTENT);
  });

  async function forge(client: KubeClient, namespace: string, name: string) {
    const labels = { 'penstock.dev/instance': 'penstock', 'penstock.dev/shard': 'keys' };
    const body = {
      metadata: { name, labels },
      type: 'penstock.dev/table-shard',
      data: { shard: btoa('forged') },
    };
    await client.call({ method: 'POST', path: `/api/v1/namespaces/${namespace}/secrets`, body });
  }
});

test('after a cluster was put back to an older table, gateways are not locked out', async () => {
  const { client, namespace } = await place();
  const publisher = makePublisher(client, namespace);
  await publisher.takeOver();
  const { epoch, generation } = await publisher.publish(CONTENT);
  publisher.outnumber({ epoch: epoch + 5, generation: generation + 3 });
  await publisher.heartbeat();
  expect((await readTable(client, namespace)).manifest).toMatchObject({
    epoch: epoch + 6,
    generation: generation + 3,
  });
  publisher.outnumber({ epoch, generation });
  expect(await publisher.publish(changed())).toMatchObject({ epoch: epoch + 6, generation: generation + 4 });
});

test('shards without a table are deleted; the last five tables’ shards stay, with copies of the four earlier manifests', async () => {
  const { client, namespace } = await place();
  const publisher = makePublisher(client, namespace);
  await publisher.takeOver();
  const tables: { readonly generation: number; readonly shards: readonly string[] }[] = [];
  for (const round of numbers(7)) {
    const { generation } = await publisher.publish(rerouted(round));
    const { manifest } = await readTable(client, namespace);
    tables.push({ generation, shards: manifest.shards.map(({ name }) => name) });
  }
  const copies = tables.slice(0, -1).map(({ generation }) => `penstock-m-${generation}`);
  const staying = new Set([...tables.slice(-5).flatMap(({ shards }) => shards), ...copies.slice(-4)]);
  // Also by the next leader, who has seen none of them come.
  const next = makePublisher(client, namespace);
  await next.takeOver();
  for (const leader of [publisher, next]) {
    const all = await leader.listShards();
    expect(new Set(all)).toEqual(new Set([...tables.flatMap(({ shards }) => shards), ...copies]));
    expect(leader.shardsInUse()).toEqual(staying);
  }
  const all = await next.listShards();
  expect(all.length).toBeGreaterThan(staying.size);
  expect(await next.dropShards(all)).toBe(all.length - staying.size);
  expect(new Set(await next.listShards())).toEqual(staying);
  // One of the deleted comes into use again.
  await next.publish(rerouted(0));
  expect((await readTable(client, namespace)).content).toEqual(rerouted(0));
});

describe('retired keys', () => {
  const retiredKey = (number: number, namespace: string, retiredMs = number): RetiredKey => ({
    digest: keyEntry(number).sha256,
    namespace,
    retiredMs,
  });
  const retired = [retiredKey(1, 'team-a'), retiredKey(2, 'team-b'), retiredKey(3, 'team-a')];

  test('are written before the pointer, a Secret for each namespace, and read by the next leader', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    await first.publish(CONTENT, { retired });
    const writes = client.takeWrites();
    expect(writes.at(-1)).toMatch(/^POST .*secrets$/);
    expect(writes).toHaveLength(10 + 2 + 1);
    const next = makePublisher(client, namespace);
    expect((await next.takeOver()).retired).toEqual(retired);
    // What is the same is not written again; of a namespace that has more, a new Secret takes the place of the old one.
    const more = [...(await next.takeOver()).retired, retiredKey(4, 'team-b')];
    await next.publish(CONTENT, { retired: more });
    expect(client.takeWrites().map((write) => write.split(' ')[0])).toEqual(['POST', 'DELETE']);
    await next.publish(CONTENT, { retired: more });
    expect(client.takeWrites()).toEqual([]);
    expect((await makePublisher(client, namespace).takeOver()).retired).toEqual(more);
  });

  test('are no shards: an operator without this feature leaves them in place', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    await publisher.publish(CONTENT, { retired });
    expect((await publisher.listShards()).filter((name) => name.includes('retired'))).toEqual([]);
    await remove(client, pointerPath(namespace));
    expect((await makePublisher(client, namespace).takeOver()).retired).toEqual(retired);
  });

  test.each(['before', 'after'] as const)(
    'are never fewer where a leader dies %s any of its writes',
    async (when) => {
      const { client } = await place();
      const more = [...retired, retiredKey(4, 'team-a'), retiredKey(5, 'team-c')];
      const digests = (keys: readonly RetiredKey[]) => keys.map(({ digest }) => digest).sort();
      for (let writes = 0; ; writes += 1) {
        const namespace = await makeNamespace(client);
        const first = makePublisher(client, namespace);
        await first.takeOver();
        await first.publish(changed(), { retired });
        const broken = breaking(client, writes, when);
        const dying = makePublisher(broken, namespace);
        await dying.takeOver();
        await dying.publish(CONTENT, { retired: more }).catch((error: unknown) => error);
        const next = makePublisher(client, namespace);
        const taken = await next.takeOver();
        const left = new Set(digests(taken.retired));
        for (const { digest } of retired) expect(left).toContain(digest);
        // Once the table is out that takes a key away, the list is whole.
        const isOut = taken.content?.keys.length === CONTENT.keys.length && taken.revoked.length === 0;
        if (isOut) expect(digests(taken.retired)).toEqual(digests(more));
        await next.publish(CONTENT, { retired: more });
        expect(digests((await makePublisher(client, namespace).takeOver()).retired)).toEqual(digests(more));
        if (!broken.isBroken()) break;
      }
    },
  );

  test('in an unreadable Secret are logged, and the others count', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    await publisher.publish(CONTENT, { retired });
    await client.call({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/secrets`,
      body: {
        metadata: {
          name: 'penstock-retired-odd',
          labels: { 'penstock.dev/instance': 'penstock', 'penstock.dev/retired-keys': 'team-d' },
        },
        stringData: { retired: '{"yesterday": 1}' },
      },
    });
    const next = makePublisher(client, namespace);
    expect((await next.takeOver()).retired).toEqual(retired);
    expect(next.reports.map(({ type, message }) => `${type}: ${message}`)).toEqual([
      expect.stringMatching(
        /^retired-unreadable: Secret .*\/penstock-retired-odd with retired keys cannot be read/,
      ),
    ]);
  });

  test('that return and leave again count from the last time, also if the older Secret stays', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    await first.publish(CONTENT, { retired });
    // Its first write makes the new Secret, its second one would take the old one away.
    const dying = makePublisher(breaking(client, 1, 'before'), namespace);
    const again = [...(await dying.takeOver()).retired.slice(1), retiredKey(1, 'team-a', 9)];
    await dying.publish(CONTENT, { retired: again });
    const { retired: found } = await makePublisher(client, namespace).takeOver();
    expect(found).toEqual(again);
  });

  test('may be released by other writers, once', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    await publisher.publish(CONTENT, { retired });
    const annotate = (value: string) =>
      mergePatch(client, pointerPath(namespace), {
        metadata: { annotations: { [RELEASE_KEY_ANNOTATION]: value } },
      });
    const annotations = async () =>
      (await openStore(client, namespace).readPointer())?.metadata.annotations ?? {};
    await annotate('some');
    await publisher.heartbeat();
    expect(publisher.release()).toBe('some');
    expect(publisher.reports.map(({ type }) => type)).toEqual(['release-asked']);
    // It has not acted yet.
    expect(await annotations()).toHaveProperty([RELEASE_KEY_ANNOTATION]);
    await publisher.publish(CONTENT, { retired: retired.slice(1), releases: 'some' });
    expect(publisher.release()).toBeUndefined();
    await publisher.heartbeat();
    expect(await annotations()).not.toHaveProperty([RELEASE_KEY_ANNOTATION]);
    expect((await makePublisher(client, namespace).takeOver()).retired).toEqual(retired.slice(1));
    // The same text later is another wish, and one that comes while the last one is acted on stays.
    await annotate('some');
    await publisher.heartbeat();
    expect(publisher.release()).toBe('some');
    await annotate('others');
    await publisher.publish(changed(), { retired, releases: 'some' });
    expect(publisher.release()).toBe('others');
    expect(await annotations()).toHaveProperty([RELEASE_KEY_ANNOTATION], 'others');
  });
});

describe('an earlier table', () => {
  test('can be read while it is one of the last five, the one in use among them', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    const first = await publisher.publish(CONTENT);
    const second = await publisher.publish(rerouted(0));
    const next = makePublisher(client, namespace);
    await next.takeOver();
    for (const leader of [publisher, next]) {
      expect(await leader.readEarlier(first.generation)).toEqual({ type: 'read', content: CONTENT });
      expect(await leader.readEarlier(second.generation)).toEqual({ type: 'read', content: rerouted(0) });
      expect(await leader.readEarlier(7)).toEqual({
        type: 'not-there',
        message: `table generation 7 is not kept; kept are ${first.generation}`,
      });
    }
  });

  test('contains earlier tables that differ only in their keys', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    const { generation } = await publisher.publish(CONTENT);
    await publisher.publish(changed());
    await publisher.publish(changed(changed(), 1_001));
    const last = await publisher.publish(rerouted(0));
    await publisher.publish(changed(rerouted(0)));
    for (const one of [generation, generation + 1, generation + 2]) {
      const content = changed(changed(), 1_001);
      expect(await publisher.readEarlier(one)).toEqual({ type: 'read', content });
    }
    expect(await publisher.readEarlier(last.generation)).toEqual({
      type: 'read',
      content: changed(rerouted(0)),
    });
    expect(await publisher.readEarlier(generation - 1)).toEqual({
      type: 'not-there',
      message: `table generation ${generation - 1} is not kept; kept are ${generation} to ${generation + 2}`,
    });
  });

  test('without a shard counts as incomplete', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    const { generation } = await publisher.publish(CONTENT);
    const { manifest } = await readTable(client, namespace);
    await publisher.publish(rerouted(0));
    const { manifest: after } = await readTable(client, namespace);
    const only = manifest.shards.find(({ name }) => !after.shards.some((one) => one.name === name));
    await openStore(client, namespace).deleteShard(only?.name ?? '');
    expect(await publisher.readEarlier(generation)).toMatchObject({
      type: 'not-there',
      message: expect.stringContaining(`cannot be read: shard ${only?.name}`),
    });
  });

  test('stays while it is pinned, however many follow', async () => {
    const { client, namespace } = await place();
    const publisher = makePublisher(client, namespace);
    await publisher.takeOver();
    const { generation } = await publisher.publish(CONTENT);
    const path = pointerPath(namespace);
    const pinned = { metadata: { annotations: { 'penstock.dev/pin': String(generation) } } };
    for (const round of numbers(6)) await publisher.publish(rerouted(round));
    await mergePatch(client, path, pinned);
    expect(publisher.pin()).toBeUndefined();
    await publisher.repair(publisher.shardsInUse());
    expect(publisher.pin()).toBe(String(generation));
    expect(publisher.reports.map(({ type }) => type)).toContain('pin-changed');
    await publisher.dropShards(await publisher.listShards());
    expect(await publisher.readEarlier(generation)).toEqual({ type: 'read', content: CONTENT });
    // The annotation is a human's: no write of ours takes it off.
    await publisher.publish(rerouted(0));
    expect(publisher.pin()).toBe(String(generation));
  });

  test('needs no copy for the next one to be published', async () => {
    const { client, namespace } = await place();
    const full = new KubeError(403, 'Forbidden', 'exceeded quota');
    const isCopy = ({ method, body }: { readonly method: string; readonly body?: unknown }) =>
      method === 'POST' && JSON.stringify(body ?? '').includes('kept-manifest');
    const publisher = makePublisher(refusing(client, full, isCopy), namespace);
    await publisher.takeOver();
    await publisher.publish(CONTENT);
    await publisher.publish(rerouted(0));
    expect((await readTable(client, namespace)).content).toEqual(rerouted(0));
    expect(publisher.reports).toMatchObject([{ type: 'manifest-not-kept' }]);
  });
});

describe('a table of a newer operator for newer gateways', () => {
  const newer = '{"minReader":99,"epoch":7,"generation":9000000000000}';

  test('is not changed by an older one, until a person agrees', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    await first.publish(CONTENT);
    const path = pointerPath(namespace);
    const encode = (text: string) => Buffer.from(text).toString('base64');
    const data = { manifest: encode(newer), manifestSha256: encode(hash('sha256', newer)) };
    await mergePatch(client, path, { data });
    client.takeWrites();
    const older = makePublisher(client, namespace);
    await expect(older.takeOver()).rejects.toThrow(
      /written by a newer operator: it needs a reader of format 99.*penstock\.dev\/accept-downgrade=true/,
    );
    await expect(older.publish(CONTENT)).rejects.toThrow(DeposedError);
    await expect(older.heartbeat()).rejects.toThrow(DeposedError);
    expect(client.takeWrites()).toEqual([]);

    const annotations = { 'penstock.dev/accept-downgrade': 'true' };
    await mergePatch(client, path, { metadata: { annotations } });
    await older.takeOver();
    expect((await older.publish(CONTENT)).generation).toBeGreaterThan(9000000000000);
    const pointer = await openStore(client, namespace).readPointer();
    expect(pointer?.metadata.annotations ?? {}).not.toHaveProperty(['penstock.dev/accept-downgrade']);
  });
});

describe('an API server that fails for a while', () => {
  const busy = new KubeError(429, 'TooManyRequests', 'the server is busy', { retryAfterMs: 1_000 });

  test('fails a publish, and the next one continues with the rest', async () => {
    const { client, namespace } = await place();
    const isPointer = ({ path }: { readonly path: string }) => path.endsWith('penstock-current');
    const refused = refusing(client, busy, (request) => request.method === 'PUT' && isPointer(request));
    const publisher = makePublisher(refused, namespace);
    await publisher.takeOver();
    const { generation } = await publisher.publish(CONTENT);
    await expect(publisher.publish(changed())).rejects.toBe(busy);
    await expect(publisher.heartbeat()).rejects.toBe(busy);
    expect((await readTable(client, namespace)).content).toEqual(CONTENT);
    refused.heal();
    client.takeWrites();
    expect(await publisher.publish(changed())).toMatchObject({ isNew: true, shardsWritten: 0 });
    expect(client.takeWrites()).toHaveLength(1);
    expect((await readTable(client, namespace)).manifest.generation).toBeGreaterThan(generation);
  });

  test('fails a takeover: an unreadable shard does not count as missing', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    await first.publish(CONTENT);
    const refused = refusing(client, busy, ({ path }) => path.includes('penstock-k-03'));
    const next = makePublisher(refused, namespace);
    await expect(next.takeOver()).rejects.toBe(busy);
    await expect(next.publish(CONTENT)).rejects.toThrow(/the takeover has not finished/);
    refused.heal();
    expect((await next.takeOver()).content).toEqual(CONTENT);
    expect(next.reports).toEqual([]);
  });
});

test('a table of 5,000 keys and 500 routes is written once, and a change of one key takes two writes', async () => {
  const { client, namespace } = await place();
  const publisher = makePublisher(client, namespace);
  await publisher.takeOver();
  const content = makeContent({ keys: 5_000, routes: 500, providers: 50 });
  const { shardsWritten } = await publisher.publish(content);
  expect(shardsWritten).toBeLessThanOrEqual(32);
  expect(client.takeWrites()).toHaveLength(shardsWritten + 1);
  await publisher.publish(content);
  expect(client.takeWrites()).toEqual([]);
  await publisher.publish(changed(content, 9_000));
  expect(client.takeWrites()).toHaveLength(2);
  expect((await readTable(client, namespace)).content).toEqual(changed(content, 9_000));
});

/**
 * A leader dies at the n-th of its writes, before it reaches the server or when only its answer is lost. Whatever
 * is then is the old table or the new one, whole; and the next leader brings the new one about.
 */
describe.each(['before', 'after'] as const)('a connection that breaks %s any of the writes', (when) => {
  // The table has few shards, and every one is written: each write is a case of its own.
  const old = makeContent({ keys: 6, routes: 2, providers: 1 });
  const next = makeContent({ keys: 20, routes: 6, providers: 2 });

  test.each(['a new leader', 'the same leader'])(
    'leaves a whole table, and %s completes it',
    { timeout: 60_000 },
    async (who) => {
      const { client } = await place();
      let brokenAt = 0;
      for (let writes = 0; ; writes += 1) {
        const namespace = await makeNamespace(client);
        const first = makePublisher(client, namespace);
        await first.takeOver();
        const before = await first.publish(old);
        const broken = breaking(client, writes, when);
        const dying = makePublisher(broken, namespace);
        await dying.takeOver();
        const outcome = await dying.publish(next).catch((error: unknown) => error);
        if (!broken.isBroken()) break;
        brokenAt += 1;
        expect(outcome).toBeInstanceOf(KubeError);
        const left = await readTable(client, namespace);
        expect([old, next]).toContainEqual(left.content);
        expect(left.manifest.generation).toBe(before.generation + (left.content.keys.length === 20 ? 1 : 0));

        broken.heal();
        const successor = who === 'a new leader' ? makePublisher(client, namespace) : dying;
        if (who === 'a new leader') await successor.takeOver();
        await successor.heartbeat();
        // Also where nobody learnt that the write had succeeded, the older table does not come back.
        const renewed = await readTable(client, namespace);
        expect(renewed.content).toEqual(left.content);
        expect(renewed.manifest.generation).toBe(left.manifest.generation);
        await successor.publish(next);
        const { manifest, content } = await readTable(client, namespace);
        expect(content).toEqual(next);
        expect(manifest.epoch).toBeGreaterThan(before.epoch);
        expect(manifest.generation).toBeGreaterThan(before.generation);
        expect(await successor.publish(next)).toMatchObject({ isNew: false, shardsWritten: 0 });
      }
      const { length: shards } = await createShardCutter('penstock').cut(next, [], () => Promise.resolve());
      // Behind a copy that cannot be written, the rest goes on: what breaks then is reported by the next write.
      expect(brokenAt).toBe(shards + 2);
    },
  );

  test('of the very first table too', async () => {
    const { client, namespace } = await place();
    const broken = breaking(client, 10, when);
    const publisher = makePublisher(broken, namespace);
    await publisher.takeOver();
    await expect(publisher.publish(CONTENT)).rejects.toThrow(KubeError);
    expect(broken.isBroken()).toBe(true);
    broken.heal();
    await publisher.publish(changed());
    expect((await readTable(client, namespace)).content).toEqual(changed());
    await publisher.heartbeat();
  });

  test('of a heartbeat is made up by the next', async () => {
    const { client, namespace } = await place();
    const first = makePublisher(client, namespace);
    await first.takeOver();
    const { epoch, generation } = await first.publish(CONTENT);
    const broken = breaking(client, 0, when);
    const publisher = makePublisher(broken, namespace);
    await publisher.takeOver();
    await expect(publisher.heartbeat()).rejects.toThrow(KubeError);
    broken.heal();
    await publisher.heartbeat();
    expect((await readTable(client, namespace)).manifest).toMatchObject({ epoch: epoch + 1, generation });
  });
});
