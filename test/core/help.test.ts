// Every program says what it is and what it reads.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;

test.each([
  ['local/main.ts', 'npm start', 'PENSTOCK_MANIFESTS'],
  ['operator/main.ts', 'node dist/operator.js', 'PENSTOCK_TABLE_NAMESPACE'],
  ['gateway/main.ts', 'node dist/gateway.js', 'PENSTOCK_JOURNAL_DIR'],
  ['ledger/main.ts', 'node dist/ledger.js', 'PENSTOCK_LEDGER_FILE'],
  ['dashboard/main.ts', 'node dist/dashboard.js', 'PENSTOCK_DASHBOARD_URL'],
])('%s --help prints usage and settings, and starts nothing', async (entry, usage, setting) => {
  const { code, stdout, stderr } = await run(entry, ['--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^usage: ${usage}\n?`));
  expect(stdout).toContain(`\n  ${setting}`);
});

test('an argument that local mode does not know is an error that names the help', async () => {
  const { code, stdout } = await run('local/main.ts', ['--port', '9000']);
  expect(code).toBe(1);
  expect(stdout).toBe(
    "Penstock could not start: Unknown argument '--port'. Settings are environment variables; npm start -- --help lists them.\n",
  );
});

test('a closed output is not an error', async () => {
  const child = spawn(process.execPath, ['ledger/main.ts', '--help'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    stderr += piece;
  });
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(stderr).toBe('');
});

function run(entry: string, words: readonly string[]) {
  return new Promise<{ code: number | string | null; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [entry, ...words], { cwd: root }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? null) : 0, stdout, stderr }),
    );
  });
}
