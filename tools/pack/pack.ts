// How does `dist` become an image where there is no container engine and no registry? Three layers, each changing less often than
// the next: Node with what it needs, our files, and what V8 compiled of them.

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { writeArchive } from './archive.ts';
import { fillCompileCache } from './compile-cache.ts';
import { image } from './contents.ts';
import { buildLayer, type LayerEntry } from './layer.ts';
import { readRuntime } from './runtime.ts';

interface PackOptions {
  /** Output folder of `buildDist`. */
  readonly dist: string;
  /** Path of a Node binary: it goes into the image. */
  readonly node: string;
  /** Where the archive goes. */
  readonly folder: string;
}

export interface PackedImage {
  /** Path of the archive. */
  readonly archive: string;
  /** The name that containerd gives it on import; `penstock:<version>` without a registry. */
  readonly reference: string;
  readonly digest: string;
  readonly architecture: 'amd64' | 'arm64';
  readonly bytes: number;
  /** Digests of runtime, files and compile cache. The last one is that of a kind of CPU. */
  readonly layers: readonly string[];
}

/** About 170 MB, in about two seconds. @throws {Error} when this Node cannot be packed. */
export async function packImage({ dist, node, folder }: PackOptions): Promise<PackedImage> {
  const runtime = await readRuntime(node);
  const layers = await Promise.all([
    buildLayer(runtime.entries),
    ourFiles(dist).then(buildLayer),
    compileCache(node, dist).then(buildLayer),
  ]);
  const suffix = nameSuffix(runtime.nodeVersion);
  const reference = `docker.io/library/${packageJson.name}:${packageJson.version}${suffix}`;
  const { Labels } = image.config;
  await mkdir(folder, { recursive: true });
  const archive = join(folder, `${packageJson.name}${suffix}.tar`);
  const written = await writeArchive(archive, {
    reference,
    architecture: runtime.architecture,
    config: {
      ...image.config,
      Labels: { ...Labels, 'org.opencontainers.image.version': packageJson.version },
    },
    layers,
  });
  const { architecture } = runtime;
  return { archive, reference, architecture, ...written, layers: layers.map(({ digest }) => digest) };
}

async function ourFiles(dist: string): Promise<LayerEntry[]> {
  const here = (path: string): string => join(dist, path.replace(/^dist\//, ''));
  const inFolders = await Promise.all(
    image.folders.map(async (folder) =>
      (await filesBelow(here(folder))).map((file) => `${folder}/${relative(here(folder), file)}`),
    ),
  );
  return Promise.all(
    [...image.files, ...inFolders.flat()].map(async (path) => ({
      path: `${image.folder}/${path}`,
      mode: 0o644,
      content: await readFile(here(path)),
    })),
  );
}

async function filesBelow(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

async function compileCache(node: string, dist: string): Promise<LayerEntry[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'penstock-compile-cache-'));
  try {
    await fillCompileCache(node, dist, scratch);
    return await Promise.all(
      (await filesBelow(scratch)).map(async (file) => ({
        path: `${image.compileCache}/${relative(scratch, file)}`,
        mode: 0o444,
        content: await readFile(file),
      })),
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Nothing for the line of Node that the project runs on; another one says so in the tag. */
function nameSuffix(nodeVersion: string): string {
  const [major] = nodeVersion.split('.');
  return packageJson.devDependencies.node.startsWith(`${major}.`) ? '' : `-node${major}`;
}
