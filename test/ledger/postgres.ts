// A real Postgres for a test: a cluster of its own in a temporary folder, which ends with the test and can be killed before.

import { constants } from 'node:fs';
import { access, chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Child, startChild, untilReady } from '../cluster/child.ts';
import { freePort } from '../cluster/free-port.ts';
import { run } from '../cluster/run.ts';

export interface Postgres {
  /** Of its database; anybody is let in. */
  readonly url: string;
  /** An empty database. Gives its url. */
  createDatabase(name: string): Promise<string>;
  /** SIGKILL to all of it; what was committed is there after `start`. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Owns nothing; Postgres does not run as root. */
const nobody = 65_534;

/** @throws {Error} with one sentence where no Postgres is installed. */
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

  const sql = (text: string) =>
    run(join(programs, 'psql'), [
      '--quiet',
      '--no-psqlrc',
      `--dbname=${urlOf('postgres')}`,
      '--command',
      text,
    ]);
  const postgres: Postgres = {
    url: urlOf('postgres'),
    async createDatabase(name) {
      const { code, stderr } = await sql(`CREATE DATABASE ${name}`);
      if (code !== 0) throw new Error(stderr);
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
        '--unix_socket_directories=',
        '--listen_addresses=127.0.0.1',
      ];
      const words = command(join(programs, 'postgres'), '-D', data, ...options);
      for (;;) {
        const started = await startChild(...words, log);
        server = started;
        const ready = untilReady('postgres', started, log, async () => (await sql('SELECT 1')).code === 0);
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

/** On the path, or where Debian keeps them. */
async function findPrograms(): Promise<string> {
  const debian = '/usr/lib/postgresql';
  const versions = await readdir(debian).catch((): string[] => []);
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(debian, version, 'bin')),
  ];
  for (const folder of folders) {
    const isThere = await Promise.all(
      ['initdb', 'postgres', 'psql'].map((name) => access(join(folder, name), constants.X_OK)),
    ).then(
      () => true,
      () => false,
    );
    if (isThere) return folder;
  }
  throw new Error('There is no Postgres here: install the package postgresql (initdb, postgres and psql).');
}
