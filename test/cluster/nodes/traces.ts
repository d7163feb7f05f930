// What of a run is on the machine? Processes, mounts, networks, cgroups and files; none of them once it has been taken down. Runs
// that were killed leave files and empty cgroups, which the next run removes.

import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../support/until.ts';
import { cgroupsOf, leftoverCgroups, pidsInCgroups, removeCgroups } from './cgroups.ts';
import { livingPids, startOf, ticksNow } from './processes.ts';
import { isLeftover } from './run-name.ts';

/** What can be known of a run only while it is there. */
export interface Marks {
  /** Of its spaces and pods, as `/proc/<pid>/ns` names them; not one of them is the machine's own. */
  readonly namespaces: ReadonlySet<string>;
  /** When they were seen, in ticks since the machine started: the names of namespaces that are gone are given again. */
  readonly seenAt: number;
}

/** Of a run of which nothing has been seen. */
export const noMarks: Marks = { namespaces: new Set(), seenAt: 0 };

const kinds = ['net', 'mnt', 'pid', 'ipc', 'uts'];

export async function marksOf(runName: string, spacePids: readonly number[]): Promise<Marks> {
  const own = new Set(await namespacesOf(process.pid));
  const found = await Promise.all(
    [...spacePids, ...(await pidsInCgroups(runName))].map((pid) => namespacesOf(pid)),
  );
  return { namespaces: new Set(found.flat().filter((name) => !own.has(name))), seenAt: await ticksNow() };
}

/**
 * All have been asked to; those that only watched over others notice it a moment later. At most 10 s. They are children of others:
 * the kernel tells us nothing of their end, so they are looked for until none is there.
 */
export async function untilProcessesEnded(runName: string, marks: Marks): Promise<void> {
  const deadline = performance.now() + 10_000;
  await until(async () => (await processesOf(runName, marks)).length === 0 || performance.now() >= deadline);
}

/** One line for each thing that is there. */
export async function tracesOf(runName: string, marks: Marks): Promise<string[]> {
  const traces = await processesOf(runName, marks);
  const mounts = await readFile('/proc/self/mountinfo', 'utf8');
  traces.push(
    ...mounts
      .split('\n')
      .filter((line) => line.includes(runName))
      .map((line) => `mount: ${line}`),
  );
  for (const place of ['/var/log/containers', '/run/netns', '/var/lib/cni'])
    for (const name of await readdir(place).catch(() => []))
      if (name.includes(runName) || (await readlink(join(place, name)).catch(() => '')).includes(runName))
        traces.push(`file: ${join(place, name)}`);
  for (const name of await readdir(tmpdir()))
    if (name === runName) traces.push(`file: ${join(tmpdir(), name)}`);
  traces.push(...(await cgroupsOf(runName)).map((folder) => `cgroup: ${folder}`));
  return traces;
}

async function processesOf(runName: string, marks: Marks): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await livingPids()) {
    const [command, namespaces] = await Promise.all([commandOf(pid), namespacesOf(pid)]);
    if (pid !== process.pid && command.includes(runName)) found.push(`process ${pid}: ${command}`);
    else if (namespaces.some((name) => marks.namespaces.has(name)) && Number(startOf(pid)) <= marks.seenAt)
      found.push(`process ${pid} in a namespace of the run: ${command}`);
  }
  return found;
}

/** Of runs whose process has ended, and of no other: several can run beside each other. */
export async function removeLeftovers(): Promise<void> {
  for (const name of await leftoverCgroups()) {
    for (const pid of await pidsInCgroups(name)) end(pid);
    await removeCgroups(name);
  }
  for (const name of await readdir(tmpdir()))
    if (isLeftover(name)) await rm(join(tmpdir(), name), { recursive: true, force: true });
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

async function commandOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return text.replaceAll('\0', ' ').trim();
}

async function namespacesOf(pid: number): Promise<string[]> {
  const found = await Promise.all(
    kinds.map((kind) => readlink(`/proc/${pid}/ns/${kind}`).catch(() => undefined)),
  );
  return found.filter((name) => name !== undefined);
}
