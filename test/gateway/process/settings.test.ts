// What does somebody read who has set the process up wrongly? One sentence, no stack, and exit code 1.

import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Folder, launch, makeFolder } from './gateway-process.ts';

let folder: Folder;

beforeEach(async () => {
  folder = await makeFolder();
});

afterEach(() => folder.remove());

/** Everything it said: the log lines of standard output, and standard error as it is. */
async function failing(env: Readonly<Record<string, string | undefined>>) {
  const process = await launch(folder, env);
  const { code } = await process.exit;
  const lines = process.stdout().trim().split('\n');
  const logged = lines.map((line): unknown => JSON.parse(line));
  return { code, logged, stderr: process.stderr() };
}

const oneSentence = (reason: unknown) => ({
  code: 1,
  logged: [{ level: 'error', time: expect.any(String), message: 'the gateway could not start', reason }],
  stderr: '',
});

test.each([
  [
    'no table',
    { PENSTOCK_TABLE_FILE: undefined },
    /neither PENSTOCK_TABLE_FILE nor PENSTOCK_TABLE_SECRET is set; one of them says/,
  ],
  [
    'two tables',
    { PENSTOCK_TABLE_SECRET: 'tables/penstock-current' },
    /PENSTOCK_TABLE_FILE and PENSTOCK_TABLE_SECRET are both set/,
  ],
  [
    'a pointer without a namespace',
    { PENSTOCK_TABLE_FILE: undefined, PENSTOCK_TABLE_SECRET: 'penstock-current' },
    /PENSTOCK_TABLE_SECRET: must be namespace\/name/,
  ],
  [
    'a pointer without an API server',
    { PENSTOCK_TABLE_FILE: undefined, PENSTOCK_TABLE_SECRET: 'tables/penstock-current' },
    /PENSTOCK_TABLE_SECRET needs KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT/,
  ],
  ['no journal', { PENSTOCK_JOURNAL_DIR: undefined }, /PENSTOCK_JOURNAL_DIR/],
  ['an invalid port', { PENSTOCK_PORT: 'http' }, /PENSTOCK_PORT/],
  ['a port beyond the last', { PENSTOCK_METRICS_PORT: '70000' }, /PENSTOCK_METRICS_PORT.*65535/],
  ['a time below zero', { PENSTOCK_DRAIN_GRACE_MS: '-1' }, /PENSTOCK_DRAIN_GRACE_MS/],
  [
    'an invalid address of the limit store',
    { PENSTOCK_LIMITS_STORE_URL: 'http://valkey:6379' },
    /PENSTOCK_LIMITS_STORE_URL: must be redis:\/\//,
  ],
  [
    'a password that is in the address of the store',
    { PENSTOCK_LIMITS_STORE_URL: 'redis://:secret@valkey:6379' },
    /PENSTOCK_LIMITS_STORE_URL: must hold no password; set PENSTOCK_LIMITS_STORE_PASSWORD/,
  ],
  ['an unknown fallback', { PENSTOCK_LIMITS_ON_STORE_ERROR: 'Allow' }, /PENSTOCK_LIMITS_ON_STORE_ERROR/],
  [
    'an origin of pages with a path',
    { PENSTOCK_ALLOWED_ORIGINS: 'https://a.example, https://penstock.example.com/' },
    /PENSTOCK_ALLOWED_ORIGINS: must be addresses such as https:\/\/penstock.example.com, without a path/,
  ],
  [
    'any page at all',
    { PENSTOCK_ALLOWED_ORIGINS: '*' },
    /PENSTOCK_ALLOWED_ORIGINS: must be addresses such as/,
  ],
  [
    'two faults at once',
    { PENSTOCK_PORT: 'x', PENSTOCK_SHOW_PROVIDER: 'perhaps' },
    /PENSTOCK_PORT.*PENSTOCK_SHOW_PROVIDER/,
  ],
])('%s', async (_, env, reason) => {
  expect(await failing(env)).toEqual(oneSentence(expect.stringMatching(reason)));
});

test('a journal folder that cannot be made', async () => {
  const file = join(folder.path, 'file');
  await writeFile(file, '');
  const reported = await failing({ PENSTOCK_JOURNAL_DIR: join(file, 'journal') });
  expect(reported).toEqual(oneSentence(expect.stringContaining(join(file, 'journal'))));
});

test.each(['PENSTOCK_PORT', 'PENSTOCK_METRICS_PORT'])('a port that another program has: %s', async (name) => {
  const { server, port } = await occupyPort();
  try {
    const reported = await failing({ [name]: String(port) });
    expect(reported).toEqual(oneSentence(expect.stringMatching(`in use.*127.0.0.1:${port}`)));
  } finally {
    server.close();
  }
});

async function occupyPort(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP port');
  return { server, port: address.port };
}
