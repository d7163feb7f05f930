// Is the archive an OCI image layout, with the files as they were asked for, and the same each time?

import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { extract } from 'tar-stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ImageSpec, writeOciArchive } from './oci-archive.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-oci-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const spec: ImageSpec = {
  name: 'penstock.test/some:1',
  files: [
    { path: '/usr/local/bin/some', content: 'a program', mode: 0o755 },
    { path: '/data/mine', content: 'mine', uid: 65532, gid: 65532 },
  ],
  entrypoint: ['/usr/local/bin/some'],
  user: '65532:65532',
  env: { MODE: 'quiet' },
  arch: 'amd64',
};

interface Entry {
  name: string;
  content: Buffer;
  mode: number | undefined;
  uid: number | undefined;
}

async function entriesOf(tar: Buffer): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of Readable.from([tar]).pipe(extract())) {
    const { name, mode, uid } = entry.header;
    entries.push({ name, mode, uid, content: Buffer.concat(await Readable.from(entry).toArray()) });
  }
  return entries;
}

async function written(of: ImageSpec): Promise<Buffer> {
  const target = join(folder, 'image.tar');
  await writeOciArchive(target, of);
  return readFile(target);
}

test('every blob is named by its digest and led to by the index, which names the image', async () => {
  const entries = await entriesOf(await written(spec));
  const json = (name: string) =>
    JSON.parse(entries.find((entry) => entry.name === name)?.content.toString() ?? 'null');
  const blobs = entries.filter(({ name }) => name.startsWith('blobs/'));
  for (const { name, content } of blobs)
    expect(name).toBe(`blobs/sha256/${createHash('sha256').update(content).digest('hex')}`);
  expect(json('oci-layout')).toEqual({ imageLayoutVersion: '1.0.0' });
  const [manifestRef] = json('index.json').manifests;
  expect(manifestRef.annotations).toEqual({ 'io.containerd.image.name': 'penstock.test/some:1' });
  const at = (digest: string) => `blobs/${digest.replace(':', '/')}`;
  const manifest = json(at(manifestRef.digest));
  const config = json(at(manifest.config.digest));
  expect(config).toMatchObject({
    architecture: 'amd64',
    config: { Entrypoint: ['/usr/local/bin/some'], User: '65532:65532' },
    rootfs: { diff_ids: [manifest.layers[0].digest] },
  });
  expect(config.config.Env).toContain('MODE=quiet');
});

test('files have their owner and mode, and the folders above them are for everybody to read', async () => {
  const blobs = (await entriesOf(await written(spec))).filter(({ name }) => name.startsWith('blobs/'));
  const layer = await entriesOf(blobs.at(-1)?.content ?? Buffer.alloc(0));
  expect(layer.map(({ name, mode, uid }) => `${name} ${mode?.toString(8)} ${uid}`)).toEqual([
    'data/ 755 0',
    'usr/ 755 0',
    'usr/local/ 755 0',
    'usr/local/bin/ 755 0',
    'data/mine 644 65532',
    'usr/local/bin/some 755 0',
  ]);
  expect(layer.find(({ name }) => name === 'data/mine')?.content.toString()).toBe('mine');
});

test('the same files give the same bytes, in whatever order and from wherever they come', async () => {
  const first = await written(spec);
  const file = join(folder, 'program');
  await writeFile(file, 'a program');
  const [program, mine] = spec.files;
  if (program === undefined || mine === undefined) throw new Error('the spec has two files');
  const again = await written({ ...spec, files: [mine, { ...program, content: { file } }] });
  expect(again.equals(first)).toBe(true);
});

test('a file that is missing is an error, and no half of a layer is left', async () => {
  const files = [{ path: '/some', content: { file: join(folder, 'absent') } }];
  await expect(writeOciArchive(join(folder, 'image.tar'), { ...spec, files })).rejects.toThrow(/absent/);
});
