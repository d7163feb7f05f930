// In which cgroups do the pods of a run live, which processes are in them, and how do they go away? Version 1 with its one tree
// per controller, and version 2.

import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../support/until.ts';
import { isLeftover } from './run-name.ts';

interface Tree {
  readonly root: string;
  readonly version: 1 | 2;
}

/** `name` is relative to every tree, such as `<run>/node-1`. */
export async function makeCgroups(name: string): Promise<void> {
  for (const { root, version } of await trees()) {
    const levels = name.split('/').map((_, index, parts) => join(root, ...parts.slice(0, index + 1)));
    if (version === 2) await delegate(root);
    for (const level of levels) {
      await mkdir(level, { recursive: true });
      // Empty in a new one, and then no process can enter it.
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        if (version === 1 && root.endsWith('/cpuset'))
          await writeFile(join(level, file), await readFile(join(root, file)));
      if (version === 2 && level !== levels.at(-1)) await delegate(level);
    }
    const [run = ''] = levels;
    const [file, weight] = version === 1 ? ['cpu.shares', 16 * 1_024] : ['cpu.weight', 16 * 100];
    // In the trees that have it. All pods of all nodes would weigh as much as one other process of the machine.
    await writeFile(join(run, file), String(weight), { flag: 'r+' }).catch(() => {});
  }
}

/** Process ids, as this machine counts them, of all cgroups at or below those whose path contains `part`. */
export async function pidsInCgroups(name: string, part = ''): Promise<number[]> {
  // Every process is in every tree; the one of names is everywhere in version 1.
  const all = await trees();
  const tree = all.find(({ root }) => /\/(pids|memory)$/.test(root)) ?? all[0];
  if (tree === undefined) return [];
  const pids: number[] = [];
  for (const folder of await foldersBelow(join(tree.root, name))) {
    if (!folder.includes(part)) continue;
    const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
    pids.push(...text.split('\n').filter(Boolean).map(Number));
  }
  return pids;
}

/**
 * What is in them must have been ended; processes that are still ending are waited for, by trying again: version 1 tells
 * nobody but a program of the machine's own when a cgroup is empty.
 */
export async function removeCgroups(name: string): Promise<void> {
  for (const { root } of await trees())
    for (const folder of (await foldersBelow(join(root, name))).reverse()) await removeWhenEmpty(folder);
}

export async function cgroupsOf(name: string): Promise<string[]> {
  const found = await Promise.all((await trees()).map(({ root }) => foldersBelow(join(root, name))));
  return found.flat();
}

/** Names of runs that have ended and left cgroups. */
export async function leftoverCgroups(): Promise<string[]> {
  const names = new Set<string>();
  for (const { root } of await trees())
    for (const name of await readdir(root)) if (isLeftover(name)) names.add(name);
  return [...names];
}

async function trees(): Promise<Tree[]> {
  const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
  const found = mounts.flatMap(([, root = '', type]): Tree[] => {
    if (type === 'cgroup') return [{ root, version: 1 }];
    return type === 'cgroup2' ? [{ root, version: 2 }] : [];
  });
  // On a machine with both, the second is there for systemd only.
  const first = found.filter(({ version }) => version === 1);
  return first.length > 0 ? first : found;
}

/** Version 2: children can be limited only in what their parent hands down. */
async function delegate(folder: string): Promise<void> {
  const controllers = (await readFile(join(folder, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  for (const controller of controllers.filter(Boolean))
    await writeFile(join(folder, 'cgroup.subtree_control'), `+${controller}`).catch(() => {
      // One that cannot be handed down here is missed by the kubelet if it needs it, with its name.
    });
}

/** Parents first. */
async function foldersBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  const below = await Promise.all(
    entries.filter((entry) => entry.isDirectory()).map((entry) => foldersBelow(join(folder, entry.name))),
  );
  return [folder, ...below.flat()];
}

async function removeWhenEmpty(folder: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  await until(async () => {
    try {
      await rmdir(folder);
      return true;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'ENOENT') return true;
      if (code !== 'EBUSY' || performance.now() > deadline) throw error;
      return false;
    }
  });
}
