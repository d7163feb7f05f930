// Which bytes are a layer? Files in, tar out: sorted, owned by root, without times, so that the same files give the same digest.

import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { arrayBuffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';

/** Paths are absolute, as the container sees them. Folders on the way to an entry need not be named. */
export type LayerEntry =
  | { readonly path: string; readonly mode: number; readonly content: Uint8Array | string }
  | { readonly path: string; readonly mode: number; readonly folder: true };

export interface Blob {
  readonly bytes: Uint8Array;
  /** `sha256:…` */
  readonly digest: string;
}

export async function buildLayer(entries: readonly LayerEntry[]): Promise<Blob> {
  const all = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    for (let folder = posix.dirname(path); folder !== '/'; folder = posix.dirname(folder)) {
      if (!all.has(folder)) all.set(folder, { path: folder, mode: 0o755, folder: true });
    }
  }
  return blobOf(await tarOf([...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1))));
}

export function blobOf(content: Uint8Array | string): Blob {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return { bytes, digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}` };
}

/** In the order given. */
export async function tarOf(entries: readonly LayerEntry[]): Promise<Uint8Array> {
  const tar = pack();
  for (const entry of entries) {
    const header = {
      name: entry.path.replace(/^\//, ''),
      mode: entry.mode,
      uid: 0,
      gid: 0,
      mtime: new Date(0),
    };
    if ('folder' in entry) tar.entry({ ...header, type: 'directory' });
    else tar.entry(header, Buffer.from(entry.content));
  }
  tar.finalize();
  return new Uint8Array(await arrayBuffer(tar));
}
