// Where do the mock and the client come from? From C, compiled once per source into a cache folder.

import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const folder = import.meta.dirname;
const compiler = 'gcc';
const flags = ['-O2', '-std=gnu11', '-Wall', '-Wextra', '-Werror'];

export type NativePrograms = { mock: string; client: string };

/** Paths of the two programs. @throws Error when gcc is missing or the source does not compile. */
export async function buildNative(cacheFolder: string): Promise<NativePrograms> {
  const [mock, client] = await Promise.all([
    build('mock', join(folder, 'mock/mock.c'), cacheFolder),
    build('client', join(folder, 'client/client.c'), cacheFolder),
  ]);
  return { mock, client };
}

async function build(name: string, source: string, cacheFolder: string): Promise<string> {
  const hash = createHash('sha256').update(flags.join(' '));
  for (const file of [source, join(folder, 'wire/http1.h')]) hash.update(await readFile(file));
  const program = join(cacheFolder, `${name}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(program)) return program;
  await mkdir(cacheFolder, { recursive: true });
  // Under its own name first: two runs may build at the same time.
  const unfinished = `${program}.${randomUUID()}`;
  try {
    await run(compiler, [...flags, '-o', unfinished, source]);
  } catch (cause) {
    if (isMissing(cause)) {
      throw new Error(
        `the benchmark's ${name} is written in C and ${compiler} is not on the PATH; install it (Debian, Ubuntu: apt-get install gcc libc6-dev)`,
        { cause },
      );
    }
    throw new Error(`the benchmark's ${name} does not compile: ${source}`, { cause });
  }
  await rename(unfinished, program);
  return program;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
