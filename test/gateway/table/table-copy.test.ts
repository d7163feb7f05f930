// Does a pod that starts while the API server is away serve what it last served? Only if that is whole.

import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { REVOCATION_CHARS } from '../../../core/contract/manifest.ts';
import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import { digestKey } from '../../../gateway/auth/authenticate.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { type ClosedPort, closedPort } from '../../support/wall/closed-port.ts';
import { keyEntry, tableOf } from '../rig.ts';
import { publish } from './published.ts';
import { openRig, type SecretRig, type SecretRigOptions } from './secret-rig.ts';
import { makeTableNamespace, type TableNamespace } from './table-namespace.ts';

const plane = useControlPlane({ hasControllers: false });
let ca = '';
let place: TableNamespace;
let folder = '';
let away: ClosedPort;
const rigs: SecretRig[] = [];

beforeAll(async () => {
  ca = await readFile(plane().caFile, 'utf8');
});

beforeEach(async () => {
  place = await makeTableNamespace(plane().client);
  folder = join(await mkdtemp(join(tmpdir(), 'penstock-copy-')), 'made');
  away = await closedPort();
});

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
  await away.close();
  await rm(join(folder, '..'), { recursive: true });
});

/** With its API server, or with one that nobody reaches. */
async function open(
  isAway = false,
  hasFolder = true,
  before?: SecretRigOptions['before'],
): Promise<SecretRig> {
  const { url, adminToken } = plane();
  const rig = await openRig(
    { url: isAway ? `https://127.0.0.1:${away.port}` : url, adminToken, ca },
    {
      pointer: place.pointer,
      ...(hasFolder ? { copyFolder: folder } : {}),
      ...(before === undefined ? {} : { before }),
    },
  );
  rigs.push(rig);
  return rig;
}

const keyOf = (index: number): string => `psk_${index}_${'k'.repeat(30)}`;
const table: RoutingTable = {
  ...tableOf([{ baseUrl: 'https://api.upstream.test/v1', keys: { main: 'sk-upstream' } }]),
  keys: Array.from({ length: 60 }, (_, index) => keyEntry(keyOf(index), `team/key-${index}`)),
};
const second = publish({ ...table, keys: table.keys.slice(1) }, { generation: 2 });

/** A source took the table and wrote its copy, and is gone. */
async function leaveCopy(): Promise<void> {
  await place.put(publish(table));
  const { next, source } = await open();
  await next(/^taken 1/);
  await source.close();
}

describe('a copy', () => {
  test('is enough to serve during an outage of the API server', async () => {
    await leaveCopy();
    const { source, reported, holder, status } = await open(true);
    await source.started;
    expect(reported.filter((event) => event.startsWith('taken'))).toEqual(['taken 1 from copy']);
    expect(reported).toContainEqual(
      expect.stringMatching(/^noted: the pointer cannot be watched: .*tried again/),
    );
    expect(holder.current()?.keys.has(digestKey(keyOf(0)))).toBe(true);
    expect(status.state().table).toMatchObject({ source: 'copy', epoch: 1, generation: 1 });
  });

  test('is confirmed by the same table of the API server, and replaced by a newer one', async () => {
    await leaveCopy();
    const alone = await open(true);
    await alone.next(/^taken 1 from copy/);
    const { status, next } = await open();
    await next(/^taken 1 from api/);
    expect(status.state().table).toMatchObject({ source: 'api' });
    await place.put(second);
    await next(/^taken 2 from api/);
  });

  test('that is in use before its shards arrive from the API server does not hide a newer table', async () => {
    await leaveCopy();
    const mayGoOn = Promise.withResolvers<void>();
    const { holder, next, reported } = await open(false, true, () => mayGoOn.promise);
    await next(/^taken 1 from copy/);
    const gone = digestKey(keyOf(0));
    const revocations = [gone.slice(0, REVOCATION_CHARS)];
    await place.put(publish({ ...table, keys: table.keys.slice(1) }, { generation: 2, revocations }));
    // So it has heard of it.
    await expect.poll(() => holder.current()?.keys.has(gone)).toBe(false);
    mayGoOn.resolve();
    await next(/^taken 2 from api/);
    expect(reported.filter((event) => event.startsWith('taken'))).toEqual([
      'taken 1 from copy',
      'taken 1 from api',
      'taken 2 from api',
    ]);
  });

  test('holds the table in use and nothing else, readable by its owner alone', async () => {
    await leaveCopy();
    const before = await readdir(folder);
    await place.put(second);
    const { next, source } = await open();
    await next(/^taken 2/);
    await source.close();
    const after = await readdir(folder);
    expect(after).toHaveLength(19);
    expect(after.filter((name) => !before.includes(name))).toHaveLength(1);
    for (const name of after) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    const { holder, source: again } = await open(true);
    await again.started;
    expect(holder.current()).toMatchObject({ generation: 2 });
  });

  test('is not made without a folder', async () => {
    await place.put(publish(table));
    const { next, source } = await open(false, false);
    await next(/^taken 1/);
    await source.close();
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  test('that cannot be written is logged, and has no other effect', async () => {
    await writeFile(folder, 'a file is in the way');
    await place.put(publish(table));
    const { next, holder } = await open();
    await next(/^noted: the copy of the table could not be written: E/);
    expect(holder.current()?.generation).toBe(1);
  });
});

describe('a damaged copy is not used, and is logged once', () => {
  const nameOf = async (kind: string): Promise<string> => {
    const name = (await readdir(folder)).find((file) => file.startsWith(kind));
    if (name === undefined) throw new Error(`no file ${kind}`);
    return join(folder, name);
  };
  const edit = async (path: string, change: (bytes: Buffer) => Buffer): Promise<void> =>
    writeFile(path, change(await readFile(path)));

  test.each<[string, () => Promise<void>, RegExp]>([
    [
      'half a shard',
      async () => edit(await nameOf('k-'), (bytes) => bytes.subarray(0, 20)),
      /the shard penstock-k-.* cannot be unpacked/,
    ],
    ['a missing shard', async () => rm(await nameOf('r-')), /the shard penstock-r-.* is not there/],
    [
      'a manifest in which one word is another',
      async () =>
        edit(await nameOf('manifest'), (bytes) => Buffer.from(bytes.toString().replace('psk_', 'qsk_'))),
      /the manifest does not match its digest/,
    ],
    [
      'half a manifest',
      async () => edit(await nameOf('manifest'), (bytes) => bytes.subarray(0, 100)),
      /its manifest is damaged/,
    ],
  ])('%s', async (_, damage, words) => {
    await leaveCopy();
    await damage();
    const { source, reported, holder, next } = await open(true);
    await next(/^noted: the copy/);
    await source.started;
    expect(holder.current()).toBeUndefined();
    expect(reported.filter((event) => event.includes('the copy of the table'))).toEqual([
      expect.stringMatching(words),
    ]);
    expect(reported.join()).not.toContain('sk-upstream');
    // With the API server back it is made whole again.
    const healed = await open();
    await healed.next(/^taken 1 from api/);
    await healed.source.close();
    const again = await open(true);
    await again.next(/^taken 1 from copy/);
  });
});
