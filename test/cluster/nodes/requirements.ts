// What must a machine have so that nodes can run on it?

import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

const wanted = [
  ...['unshare', 'nsenter', 'ip', 'tc', 'iptables', 'conntrack', 'containerd', 'ctr', 'runc', 'gcc'],
  '/usr/lib/cni/ptp',
  '/usr/lib/cni/host-local',
  '/usr/lib/cni/portmap',
] as const;

/** Nothing, or one clause that says what is missing and how to get it. */
export async function missingForNodes(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  if (process.platform !== 'linux') return `this is ${process.platform}, and nodes need Linux`;
  if (process.getuid?.() !== 0) return 'nodes need root';
  const missing: string[] = [];
  for (const name of wanted) if (!(await isThere(name, env))) missing.push(name);
  if (missing.length === 0) return undefined;
  return `${missing.join(', ')} missing: apt-get install containerd runc containernetworking-plugins iptables iproute2 conntrack util-linux gcc`;
}

async function isThere(name: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const paths = name.startsWith('/')
    ? [name]
    : (env.PATH ?? '').split(delimiter).map((folder) => join(folder, name));
  for (const path of paths) {
    const isProgram = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isProgram) return true;
  }
  return false;
}
