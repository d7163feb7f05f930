// Once for a run: prepares what cluster suites share, beside the tests that need none of it, and ends it.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { compiledInRunVariable } from '../support/bare-environment.ts';
import { cacheFolder } from '../support/cache-folder.ts';
import { removeUnread } from '../support/remove-unread.ts';
import type { Etcd } from './etcd.ts';
import { makeNeedsCluster } from './needs-cluster.ts';
import { MixingSequencer } from './sequencer.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeOrphans();
  const folder = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`));
  project.provide('clusterFolder', folder);
  // The tests start a few programs hundreds of times: each file of them is stripped of its types and compiled once. The files that
  // the workers load are compiled for later runs too.
  process.env[compiledInRunVariable] = join(folder, 'compiled');
  process.env.NODE_COMPILE_CACHE ??= join(cacheFolder(), 'compiled');
  // Asked for after this. Not in vitest.config.ts: nothing outside imports test.
  project.vitest.config.sequence.sequencer = MixingSequencer;
  const ending = new AbortController();
  let preparing: Promise<Etcd | undefined> | undefined;
  const prepareFor = (files: readonly string[]) => {
    if (preparing === undefined && files.some(makeNeedsCluster())) preparing = prepare(folder, ending.signal);
  };
  prepareFor(project.vitest.state.getPaths());
  // While watching, the first file that needs the cluster may come later.
  project.onTestsRerun((specifications) => prepareFor(specifications.map(({ moduleId }) => moduleId)));
  return async () => {
    ending.abort(new Error('the test run has ended'));
    const etcd = await preparing;
    await etcd?.stop();
    // A worker that is just ending may still write what it compiled.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    await removeUnread(join(cacheFolder(), 'compiled'), 50_000);
  };
}

const folderPrefix = 'penstock-cluster-';

/** The folders of runs that were killed: what etcd wrote stays otherwise. */
async function removeOrphans(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(folderPrefix)
      ? /^\d+(?=-)/.exec(name.slice(folderPrefix.length))?.[0]
      : undefined;
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Of another user: it lives.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** What goes wrong is asked to the suites that wait; it does not end the tests that need no cluster. */
async function prepare(folder: string, signal: AbortSignal): Promise<Etcd | undefined> {
  const say = (line: string) => process.stderr.write(`test cluster: ${line}\n`);
  const { tellState } = await import('./state.ts');
  try {
    // Loaded now: most runs of a single file need none of it.
    const [{ findPrograms }, { startEtcd }] = await Promise.all([
      import('./binaries.ts'),
      import('./etcd.ts'),
    ]);
    const programs = await findPrograms({ say, signal });
    signal.throwIfAborted();
    const etcd = await startEtcd(programs.etcd, join(folder, 'etcd'));
    await tellState(folder, { programs, etcdUrl: etcd.url });
    return etcd;
  } catch (error) {
    if (signal.aborted) return undefined;
    const failed = error instanceof Error ? error.message : String(error);
    say(failed);
    await tellState(folder, { failed });
    return undefined;
  }
}
