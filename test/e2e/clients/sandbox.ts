// How does a script run where it can reach nothing but loopback? In a network of its own, with a name server of its own.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bareEnvironment } from '../../support/bare-environment.ts';

/** Loopback is down in a new network, and names are resolved as outside until the file says otherwise. */
const prepare = 'ip link set lo up && mount --bind "$1" /etc/resolv.conf && shift && exec "$@"';

/**
 * Runs a Node script with one argument, the path of a file with the input, and gives what it writes as JSON into the
 * file of its second argument. Throws one sentence where this machine has no such networks.
 */
export async function runSandboxed(script: string, input: unknown): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-client-'));
  try {
    const paths = { input: join(folder, 'input.json'), output: join(folder, 'output.json') };
    const names = join(folder, 'resolv.conf');
    await writeFile(names, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n');
    await writeFile(paths.input, JSON.stringify(input));
    await checkNetworks(names);
    const program = [process.execPath, script, paths.input, paths.output];
    const ended = await unshare([names, ...program], 300_000);
    const output = await readFile(paths.output, 'utf8').catch(() => undefined);
    if (output === undefined) throw new Error(`${script} wrote nothing: ${ended.stderr}`);
    return JSON.parse(output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function checkNetworks(names: string): Promise<void> {
  const tried = await unshare([names, 'true'], 10_000);
  if (tried.isWell) return;
  throw new Error(
    `These tests need a network of their own: "unshare -rnm" with "ip" and "mount" has to work for this user (util-linux, iproute2, user namespaces). It says: ${tried.stderr.trim()}`,
  );
}

function unshare(
  args: readonly string[],
  timeout: number,
): Promise<{ readonly isWell: boolean; readonly stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      'unshare',
      ['-rnm', '--kill-child', 'sh', '-c', prepare, 'sh', ...args],
      {
        timeout,
        killSignal: 'SIGKILL',
        env: bareEnvironment(),
        maxBuffer: 64 * 1024 * 1024,
      },
      (error, _stdout, stderr) => resolve({ isWell: error === null, stderr: stderr || String(error) }),
    );
  });
}
