// Which packages are in the bundles, and under which licence? From the bundler's inputs, not from what is installed.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { z } from 'zod';

const manifestSchema = z.object({ name: z.string(), version: z.string(), license: z.string() });

const paper = /^(licen[cs]e|copying|notice)/i;
const rule = '-'.repeat(80);

/** Folders of the packages that gave the bundles at least a byte, from the root of the project; sorted. */
export function packagesIn({ outputs }: Pick<Metafile, 'outputs'>): string[] {
  const folders = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => {
      const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
      return folder === undefined || bytesInOutput === 0 ? [] : [folder];
    }),
  );
  return [...new Set(folders)].sort();
}

export async function thirdPartyNotices(project: string, packages: readonly string[]): Promise<string> {
  const notices = await Promise.all(packages.map((folder) => notice(join(project, folder))));
  return [
    'The bundles of Penstock hold code of the packages below, each under its own licence.',
    ...notices,
  ].join(`\n\n${rule}\n\n`);
}

async function notice(folder: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const { name, version, license } = manifestSchema.parse(manifest);
  const texts = await Promise.all((await papersIn(folder)).map((file) => readFile(file, 'utf8')));
  if (texts.length === 0) texts.push('(This package names its licence and brings no text of it.)');
  return [
    `${name} ${version} (${license})`,
    ...texts.map((text) => text.replaceAll('\r\n', '\n').trim()),
  ].join('\n\n');
}

/** A package that has taken in another's code may keep that one's licence in a folder, as `LICENSES/<name>/LICENSE`. */
async function papersIn(folder: string): Promise<string[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => paper.test(name));
  const files = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    const below = await readdir(path, { recursive: true, withFileTypes: true });
    return below.flatMap((file) => (file.isFile() ? [join(file.parentPath, file.name)] : []));
  });
  return (await Promise.all(files)).flat().sort();
}
