// How do files become an image that a container runtime imports? An OCI image layout in a tar, with one uncompressed layer; the
// same files give the same bytes.

import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Pack, pack } from 'tar-stream';
import { hostPlatform } from '../programs.ts';

export interface ImageFile {
  /** In the image, absolute. Folders above it are made, for everybody to read. */
  readonly path: string;
  readonly content: string | Uint8Array | { readonly file: string };
  /** Default 0o644. */
  readonly mode?: number;
  /** Default 0. */
  readonly uid?: number;
  readonly gid?: number;
}

export interface ImageSpec {
  /** With its registry and tag, such as `penstock.test/pause:1`. */
  readonly name: string;
  readonly files: readonly ImageFile[];
  readonly entrypoint: readonly string[];
  readonly command?: readonly string[];
  /** Such as `65532:65532`; default: root. */
  readonly user?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly workingDir?: string;
  /** As Go calls it; default: this machine's. */
  readonly arch?: string;
}

/** Writes the archive to `target`. Gives the digest of the image's manifest. */
export async function writeOciArchive(target: string, spec: ImageSpec): Promise<string> {
  const layerFile = `${target}.layer`;
  try {
    const layer = await writeLayer(layerFile, spec.files);
    const platform = { architecture: spec.arch ?? hostPlatform().arch, os: 'linux' };
    const config = blob({
      ...platform,
      config: {
        Entrypoint: spec.entrypoint,
        ...(spec.command && { Cmd: spec.command }),
        ...(spec.user && { User: spec.user }),
        ...(spec.workingDir && { WorkingDir: spec.workingDir }),
        Env: Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', ...spec.env }).map(
          ([name, value]) => `${name}=${value}`,
        ),
      },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    });
    const manifest = blob({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: {
        mediaType: 'application/vnd.oci.image.config.v1+json',
        digest: config.digest,
        size: config.size,
      },
      layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', ...layer }],
    });
    const index = {
      schemaVersion: 2,
      manifests: [
        {
          mediaType: 'application/vnd.oci.image.manifest.v1+json',
          digest: manifest.digest,
          size: manifest.size,
          platform,
          annotations: { 'io.containerd.image.name': spec.name },
        },
      ],
    };
    await writeTar(target, async (archive) => {
      await addBytes(archive, 'oci-layout', JSON.stringify({ imageLayoutVersion: '1.0.0' }));
      await addBytes(archive, 'index.json', JSON.stringify(index));
      for (const { digest, bytes } of [config, manifest]) await addBytes(archive, blobPath(digest), bytes);
      await addFile(archive, { name: blobPath(layer.digest), ...plain }, layerFile);
    });
    return manifest.digest;
  } finally {
    await rm(layerFile, { force: true });
  }
}

/** Every entry alike, whenever and by whomever it was made. */
const plain = { mtime: new Date(0), uname: '', gname: '' };

async function writeLayer(
  target: string,
  files: readonly ImageFile[],
): Promise<{ digest: string; size: number }> {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const folders = new Set<string>();
  for (const { path } of sorted)
    for (let above = posix.dirname(path); above !== '/'; above = posix.dirname(above)) folders.add(above);
  const hash = createHash('sha256');
  await writeTar(
    target,
    async (layer) => {
      for (const folder of [...folders].sort())
        layer.entry({ name: `${folder.slice(1)}/`, type: 'directory', mode: 0o755, ...plain });
      for (const { path, content, mode = 0o644, uid = 0, gid = 0 } of sorted) {
        const header = { name: path.slice(1), mode, uid, gid, ...plain };
        if (typeof content === 'object' && 'file' in content) await addFile(layer, header, content.file);
        else await addBytes(layer, path.slice(1), content, header);
      }
    },
    hash,
  );
  return { digest: `sha256:${hash.digest('hex')}`, size: (await stat(target)).size };
}

async function writeTar(target: string, fill: (archive: Pack) => Promise<void>, hash?: Hash): Promise<void> {
  const archive = pack();
  const filling = fill(archive).then(
    () => archive.finalize(),
    (error: Error) => archive.destroy(error),
  );
  await pipeline(
    archive,
    async function* (pieces: AsyncIterable<Uint8Array>) {
      for await (const piece of pieces) {
        hash?.update(piece);
        yield piece;
      }
    },
    createWriteStream(target),
  );
  await filling;
}

async function addBytes(
  archive: Pack,
  name: string,
  content: string | Uint8Array,
  header: object = plain,
): Promise<void> {
  await new Promise<void>((resolve, reject) =>
    archive.entry({ ...header, name }, Buffer.from(content), (error) => (error ? reject(error) : resolve())),
  );
}

async function addFile(archive: Pack, header: { name: string }, file: string): Promise<void> {
  const { size } = await stat(file);
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), archive.entry({ ...header, size }));
}

function blob(value: unknown): { digest: string; size: number; bytes: Buffer } {
  const bytes = Buffer.from(JSON.stringify(value));
  return { digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, size: bytes.length, bytes };
}

const blobPath = (digest: string) => `blobs/sha256/${digest.slice('sha256:'.length)}`;
