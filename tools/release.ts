// What is a release made of? One folder with the charts, the image, the bill of materials and the checksums of them all, under one version,
// made from a commit and nothing else.
//
//   npm run release
//   npm run release -- --node <path> …       images for other lines of Node too; may be repeated

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { buildDist } from './pack/bundles.ts';
import { packChart } from './pack/chart.ts';
import { packImage } from './pack/pack.ts';

const run = promisify(execFile);
const project = fileURLToPath(new URL('..', import.meta.url));
const { name, version } = packageJson;
const dist = join(project, 'dist');
const folder = join(project, 'release', `${name}-${version}`);

try {
  const { values } = parseArgs({ options: { node: { type: 'string', multiple: true, default: [] } } });
  const commit = await cleanCommit();
  await release([process.execPath, ...values.node]);
  console.log(`${name} ${version}, of commit ${commit}, in ${relative(process.cwd(), folder)}:`);
  for (const file of (await readdir(folder)).sort())
    console.log(`  ${file}  ${inWords((await stat(join(folder, file))).size)}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

/** Uncommitted changes would be in the artifacts, and in no history. */
async function cleanCommit(): Promise<string> {
  const { stdout: changed } = await run('git', ['status', '--porcelain'], { cwd: project });
  if (changed !== '')
    throw new Error(
      `The work tree has changes that are not committed. Commit or remove them first:\n${changed.trimEnd()}`,
    );
  const { stdout } = await run('git', ['rev-parse', 'HEAD'], { cwd: project });
  return stdout.trim();
}

async function release(nodes: readonly string[]): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await buildDist(project, dist);
  await copyFile(join(dist, 'sbom.cdx.json'), join(folder, `${name}-${version}.sbom.cdx.json`));
  for (const chart of ['penstock', 'penstock-crds'])
    await writeFile(join(folder, `${chart}-${version}.tgz`), await packChart(join(project, 'charts', chart)));
  for (const node of nodes) {
    const { archive, reference, architecture } = await packImage({ dist, node, folder });
    const tag = reference.slice(reference.lastIndexOf(':') + 1);
    await rename(archive, join(folder, `${name}-image-${tag}-${architecture}.tar`));
  }
  const files = (await readdir(folder)).sort();
  const sums = await Promise.all(files.map(async (file) => `${await sha256(join(folder, file))}  ${file}\n`));
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''));
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

function inWords(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${Math.round(bytes / 1e6)} MB`;
}
