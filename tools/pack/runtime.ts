// What does a bundle need to run where there is nothing? Node's binary, the shared libraries that the loader names for it, the
// loader, a user and a folder for temporary files. Node brings its own certificates, time zones and languages.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { user } from './contents.ts';
import type { LayerEntry } from './layer.ts';

const run = promisify(execFile);

export interface Runtime {
  /** Such as 26.10.0. */
  readonly nodeVersion: string;
  /** As Go and so all of the trade call it. */
  readonly architecture: 'amd64' | 'arm64';
  readonly entries: readonly LayerEntry[];
}

const aboutSchema = z.tuple([z.string(), z.string(), z.string()]);

/** @throws {Error} when this Node cannot be packed. */
export async function readRuntime(node: string): Promise<Runtime> {
  const ask = 'JSON.stringify([process.versions.node, process.platform, process.arch])';
  const { stdout } = await run(node, ['--print', ask]).catch((error: unknown) => {
    throw new Error(`${node} cannot be run as a Node binary`, { cause: error });
  });
  const [nodeVersion, platform, arch] = aboutSchema.parse(JSON.parse(stdout));
  const architecture = ({ x64: 'amd64', arm64: 'arm64' } as const)[arch];
  if (platform !== 'linux' || architecture === undefined) {
    throw new Error(`${node} is for ${platform} ${arch}; images are packed on Linux, for x64 and arm64`);
  }
  const { stdout: linked } = await run('ldd', [node]);
  const libraries = librariesIn(linked);
  return {
    nodeVersion,
    architecture,
    entries: [
      { path: '/usr/local/bin/node', mode: 0o755, content: await readFile(node) },
      ...(await Promise.all(
        libraries.map(async (path) => ({ path, mode: 0o755, content: await readFile(path) })),
      )),
      {
        path: '/etc/passwd',
        mode: 0o644,
        content: `root:x:0:0:root:/:/sbin/nologin\n${user.name}:x:${user.id}:${user.id}:${user.name}:/:/sbin/nologin\n`,
      },
      { path: '/etc/group', mode: 0o644, content: `root:x:0:\n${user.name}:x:${user.id}:\n` },
      { path: '/tmp', mode: 0o1777, folder: true },
    ],
  };
}

/**
 * Paths in what `ldd` prints. The kernel's own (`linux-vdso`) is no file.
 * @throws {Error} naming a library that is not there.
 */
export function librariesIn(linked: string): string[] {
  return linked
    .split('\n')
    .map((line) => line.trim())
    .flatMap((line) => {
      const missing = /^(\S+) => not found/.exec(line)?.[1];
      if (missing !== undefined)
        throw new Error(`the shared library ${missing} of Node is not on this system`);
      const path = /^(?:\S+ => )?(\/\S+) \(0x/.exec(line)?.[1];
      return path === undefined ? [] : [path];
    });
}
