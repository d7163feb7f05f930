// How do the pages come to `dist/dashboard`? Built by Vite, each text with a compressed form beside it, which is what browsers are sent.

import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { build } from 'vite';
import config from './pages/vite.config.ts';

/** Smaller blocks, each with its own codes: scripts and styles differ in their parts, and are a few hundred bytes shorter so. */
const compression = { level: constants.Z_BEST_COMPRESSION, memLevel: 7 };

export interface BuiltFile {
  /** From the folder that was built. */
  readonly path: string;
  readonly bytes: number;
  readonly gzipBytes: number;
}

/** @param folder is emptied first; a `.gz` is written beside each file, as `@fastify/static` looks for it. */
export async function buildPages(folder: string): Promise<readonly BuiltFile[]> {
  await rm(folder, { recursive: true, force: true });
  await build({
    ...config,
    configFile: false,
    logLevel: 'warn',
    build: { ...config.build, outDir: folder, emptyOutDir: true },
  });
  const names = await readdir(folder, { recursive: true });
  const paths: string[] = [];
  for (const name of names.sort()) if ((await stat(join(folder, name))).isFile()) paths.push(name);
  return await Promise.all(
    paths.map(async (path) => {
      const bytes = await readFile(join(folder, path));
      const compressed = await promisify(gzip)(bytes, compression);
      await writeFile(join(folder, `${path}.gz`), compressed);
      return { path, bytes: bytes.length, gzipBytes: compressed.length };
    }),
  );
}
