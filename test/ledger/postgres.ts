// A real Postgres for a test: a cluster of its own in a temporary folder, which ends with the test and can be killed before.

import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { type Child, startChild, untilReady } from '../cluster/child.ts';
import { freePort } from '../cluster/free-port.ts';
import { run } from '../cluster/run.ts';
import { neededProgram } from '../support/needed-program.ts';

export interface Postgres {
  /** Of its database; anybody is admitted. */
  readonly url: string;
  /** Path of its socket, for who is in another network. */
  readonly socket: string;
  /** An empty database, with the collation C or that of an ICU locale. Gives its url. */
  createDatabase(name: string, icuLocale?: string): Promise<string>;
  /** SIGKILL to all of it; what was committed is there after `start`. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Owns nothing; Postgres does not run as root. */
const nobody = 65_534;

/** @throws {Error} with one sentence where there is no Postgres and none can be fetched. */
export async function startPostgres(): Promise<Postgres> {
  const programs = await findPrograms();
  const folder = await mkdtemp(join(tmpdir(), 'penstock-postgres-'));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(folder, nobody, nobody);
  const asNobody = isRoot ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : [];
  const command = (...words: string[]): [string, string[]] => {
    const [first = '', ...rest] = [...asNobody, ...words];
    return [first, rest];
  };
  const data = join(folder, 'data');
  const flags = ['--auth=trust', '--username=penstock', '--encoding=UTF8', '--no-locale', '--no-sync'];
  const made = await run(...command(join(programs, 'initdb'), `--pgdata=${data}`, ...flags));
  if (made.code !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const log = join(folder, 'log');
  const urlOf = (database: string): string => `postgres://penstock@127.0.0.1:${port}/${database}`;
  let server: Child | undefined;

  const sql = async (text: string): Promise<void> => {
    const client = new Client({ connectionString: urlOf('postgres') });
    try {
      await client.connect();
      await client.query(text);
    } finally {
      await client.end();
    }
  };
  const postgres: Postgres = {
    url: urlOf('postgres'),
    socket: join(folder, `.s.PGSQL.${port}`),
    async createDatabase(name, icuLocale) {
      const locale =
        icuLocale === undefined ? '' : ` TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE '${icuLocale}'`;
      await sql(`CREATE DATABASE ${name}${locale}`);
      return urlOf(name);
    },
    async kill() {
      await server?.kill();
      server = undefined;
    },
    async start() {
      // Written, not synced: it is processes that are killed here, not machines.
      const options = [
        `--port=${port}`,
        '--fsync=off',
        `--unix_socket_directories=${folder}`,
        '--listen_addresses=127.0.0.1',
      ];
      const words = command(join(programs, 'postgres'), '-D', data, ...options);
      for (;;) {
        const started = await startChild(...words, log);
        server = started;
        const ready = untilReady('postgres', started, log, () =>
          sql('SELECT 1').then(
            () => true,
            () => false,
          ),
        );
        const failure: unknown = await ready.then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure === undefined) return;
        // Processes of the one that was killed see it when they next look up, and keep its memory until then.
        if (!String(failure).includes('pre-existing shared memory block')) throw failure;
        await rm(log);
      }
    },
    async close() {
      await postgres.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
  await postgres.start();
  return postgres;
}

/** On the path, where Debian keeps them, or in a package. */
async function findPrograms(): Promise<string> {
  const debian = '/usr/lib/postgresql';
  const versions = await readdir(debian).catch((): string[] => []);
  const newest = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(debian, version, 'bin'));
  return dirname(await neededProgram('initdb', 'postgresql', newest));
}
