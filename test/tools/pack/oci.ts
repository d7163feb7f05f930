// What is in an archive of ours? Read as containerd would: from the index to the manifest, from there to the layers.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { z } from 'zod';

const descriptor = z.object({ mediaType: z.string(), digest: z.string(), size: z.number() });
const indexSchema = z.object({
  manifests: z.tuple([descriptor.extend({ annotations: z.record(z.string(), z.string()) })]),
});
const manifestSchema = z.object({ config: descriptor, layers: z.array(descriptor) });
const configSchema = z.object({
  created: z.string(),
  architecture: z.string(),
  config: z.object({
    User: z.string(),
    WorkingDir: z.string(),
    Entrypoint: z.array(z.string()),
    Cmd: z.array(z.string()),
    Env: z.array(z.string()),
    Labels: z.record(z.string(), z.string()),
  }),
  rootfs: z.object({ diff_ids: z.array(z.string()) }),
});

export interface TarFile {
  /** With a slash at the start, none at the end. */
  readonly path: string;
  readonly type: string | null | undefined;
  readonly mode: number | undefined;
  readonly owner: string;
  readonly mtimeMs: number | undefined;
  readonly content: Buffer;
}

export interface Archive {
  readonly names: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly manifestDigest: string;
  readonly config: z.infer<typeof configSchema>;
  readonly layers: readonly (readonly TarFile[])[];
}

/** @throws {Error} where a digest or a size is not that of the bytes. */
export async function readArchive(path: string): Promise<Archive> {
  const files = new Map((await readTar(createReadStream(path))).map((file) => [file.path, file.content]));
  const blob = ({ digest, size }: z.infer<typeof descriptor>): Buffer => {
    const bytes = files.get(`/blobs/${digest.replace(':', '/')}`) ?? Buffer.alloc(0);
    const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    if (found !== digest || bytes.byteLength !== size) throw new Error(`${digest} has other bytes: ${found}`);
    return bytes;
  };
  const json = (bytes: Buffer | undefined): unknown => JSON.parse(String(bytes));
  const [top] = indexSchema.parse(json(files.get('/index.json'))).manifests;
  const manifest = manifestSchema.parse(json(blob(top)));
  return {
    names: [...files.keys()],
    annotations: top.annotations,
    manifestDigest: top.digest,
    config: configSchema.parse(json(blob(manifest.config))),
    layers: await Promise.all(manifest.layers.map((layer) => readTar([blob(layer)]))),
  };
}

/** Writes the layers, the first one lowest. */
export async function unpack({ layers }: Archive, folder: string): Promise<void> {
  for (const { path, type, mode = 0, content } of layers.flat()) {
    const place = join(folder, path);
    await mkdir(type === 'directory' ? place : dirname(place), { recursive: true });
    if (type === 'file') await writeFile(place, content);
    await chmod(place, mode);
  }
}

export async function readTar(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<TarFile[]> {
  const tar = extract();
  const files: TarFile[] = [];
  const reading = (async () => {
    for await (const entry of tar) {
      const { name, type, mode, uid, gid, mtime } = entry.header;
      files.push({
        path: `/${name.replace(/\/$/, '')}`,
        type,
        mode,
        owner: `${uid}:${gid}`,
        mtimeMs: mtime?.getTime(),
        content: await buffer(entry),
      });
    }
  })();
  await Promise.all([pipeline(source, tar), reading]);
  return files;
}
