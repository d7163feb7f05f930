// What would be running before an upgrade to this checkout, and what after it? Bundles and charts of an earlier commit, made from
// the history by its own build script, and of this checkout.

import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { buildDist } from '../../tools/pack/bundles.ts';
import { root } from '../architecture/project.ts';
import { run } from '../cluster/run.ts';
import type { Build } from '../flow/cluster/installation.ts';

/**
 * There is no release yet. This is the last commit before keys rotated, Providers had authorities, proxies and checks, and the
 * last good form of an object was kept: as far apart as two releases will ever be. The first release's tag takes its place.
 */
export const previousCommit = 'b8e89d00ca7d';

/** The last commit in which the values alone said what the platform decides for namespaces: their kind TenantPolicy is the next one's. */
export const commitOfValues = '637c42b71182855d4460028280f7dc7df7f301d5';

/** @param folder is made, and the caller's to delete. @throws in one sentence where the history is not there. */
export async function buildPrevious(folder: string, commit: string = previousCommit): Promise<Build> {
  const known = await run('git', ['-C', root, 'rev-parse', '--verify', '--quiet', `${commit}^{commit}`]);
  if (known.code !== 0) {
    throw new Error(
      `commit ${commit}, from which an upgrade is tried, is not in this clone: fetch its history with git fetch --unshallow`,
    );
  }
  await mkdir(folder, { recursive: true });
  const archive = join(folder, 'source.tar');
  await must('git', ['-C', root, 'archive', `--output=${archive}`, commit]);
  await must('tar', ['-xf', archive, '-C', folder]);
  // What it depends on is among what we do, in the same versions.
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  // A script of every version: the file behind it has moved once.
  await must('npm', ['run', '--silent', 'build'], folder);
  return buildIn(folder, join(folder, 'dist'));
}

/** @param folder is made, and the caller's to delete. */
export async function buildPresent(folder: string): Promise<Build> {
  await buildDist(root, folder);
  return buildIn(root, folder);
}

function buildIn(checkout: string, dist: string): Build {
  return {
    chart: join(checkout, 'charts/penstock'),
    operator: join(dist, 'operator.js'),
    gateway: join(dist, 'gateway.js'),
  };
}

async function must(command: string, args: readonly string[], cwd: string = root): Promise<void> {
  const { code, stderr } = await run(command, args, { cwd, timeoutMs: 300_000 });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
}
