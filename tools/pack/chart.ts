// Which bytes are a chart archive? Those that `helm package` would pack, as a tar without times and owners: the same files give the same
// archive on every machine, and no Helm is needed to make it.

import { readdir, readFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { tarOf } from './layer.ts';

/** @param folder of the chart; its name is that of the chart. */
export async function packChart(folder: string): Promise<Uint8Array> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    // As .helmignore of both charts has it.
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .sort();
  const tar = await tarOf(
    await Promise.all(
      paths.map(async (path) => ({
        path: `${basename(folder)}/${path}`,
        mode: 0o644,
        content: await readFile(join(folder, path)),
      })),
    ),
  );
  return promisify(gzip)(tar, { level: 9 });
}
