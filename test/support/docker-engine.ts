// Is there a Docker engine for a test? The one that answers here already, or one of our own for as long as the test takes: as root
// on Linux, in a network namespace of its own, where its rules are not those of the machine.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root as project } from '../architecture/project.ts';
import { type Child, startChild, untilReady } from '../cluster/child.ts';
import { run } from '../cluster/run.ts';

export interface DockerEngine {
  /** Ends it and removes all it has made, if it is ours; then testcontainers has none in this process. */
  stop(): Promise<void>;
}

const needed = ['dockerd', 'containerd', 'runc', 'iptables', 'ip', 'nsenter'];

/** To be asked before testcontainers is; from then on that speaks to it. @throws {Error} with one sentence where there is none and none can be started. */
export async function useDockerEngine(): Promise<DockerEngine> {
  if (await answers()) return { stop: async () => {} };
  return startEngine();
}

/** Asked in a process of its own: testcontainers reads its settings once, and here they may have to be others. */
async function answers(): Promise<boolean> {
  const ask =
    "import { getContainerRuntimeClient as ask } from 'testcontainers'; await ask(); process.exit()";
  const { code } = await run(process.execPath, ['--input-type=module', '--eval', ask], {
    cwd: project,
    env: process.env,
  });
  return code === 0;
}

async function startEngine(): Promise<DockerEngine> {
  const why = await whyNot();
  if (why !== undefined) {
    throw new Error(
      `No Docker engine answers, and none can be started here: ${why}. Start one, or run as root on Linux with docker.io, iptables and iproute2.`,
    );
  }
  const folder = await mkdtemp(join(tmpdir(), 'penstock-docker-'));
  const network = await makeNetwork();
  const log = join(folder, 'log');
  const socket = `unix://${join(folder, 'docker.sock')}`;
  let engine: Child | undefined;
  const stop = async () => {
    engine?.signal('SIGTERM');
    await engine?.exit;
    await network.remove();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const place = (name: string, path: string) => `--${name}=${join(folder, path)}`;
    engine = await startChild(
      'nsenter',
      [
        `--net=${network.path}`,
        'dockerd',
        `--host=${socket}`,
        place('data-root', 'data'),
        place('exec-root', 'exec'),
        place('pidfile', 'pid'),
      ],
      log,
    );
    await untilReady('dockerd', engine, log, async () => {
      return (await readFile(log, 'utf8')).includes('API listen on');
    });
  } catch (error) {
    await stop();
    throw error;
  }
  Object.assign(process.env, {
    DOCKER_HOST: socket,
    // Ports of containers are open on the far end of the line between the namespaces.
    TESTCONTAINERS_HOST_OVERRIDE: network.address,
    // It would be pulled; what it would clean up goes with the engine.
    TESTCONTAINERS_RYUK_DISABLED: 'true',
  });
  return { stop };
}

async function whyNot(): Promise<string | undefined> {
  if (process.platform !== 'linux') return `this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'this is not root';
  const found = await Promise.all(
    needed.map(async (name) => (await run('sh', ['-c', `command -v ${name}`])).code === 0),
  );
  const missing = needed.filter((_, index) => found[index] === false);
  return missing.length === 0 ? undefined : `${missing.join(', ')} not found`;
}

/** A namespace, and one line to it. */
async function makeNetwork(): Promise<{ path: string; address: string; remove(): Promise<void> }> {
  const name = `penstock-docker-${process.pid}`;
  const line = `pdk${process.pid}`;
  // Four addresses of a range that is no network anywhere; two runs at once seldom take the same.
  const first = (process.pid % 64) * 4;
  const [here, there] = [`192.0.2.${first + 1}`, `192.0.2.${first + 2}`];
  const remove = async () => {
    await run('ip', ['netns', 'delete', name]);
    await run('ip', ['link', 'delete', line]);
  };
  const steps = [
    ['netns', 'add', name],
    ['link', 'add', line, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name],
    ['address', 'add', `${here}/30`, 'dev', line],
    ['link', 'set', line, 'up'],
    ['-n', name, 'address', 'add', `${there}/30`, 'dev', 'eth0'],
    ['-n', name, 'link', 'set', 'eth0', 'up'],
    ['-n', name, 'link', 'set', 'lo', 'up'],
  ];
  for (const step of steps) {
    const { code, lastLine } = await run('ip', step);
    if (code === 0) continue;
    await remove();
    throw new Error(`ip ${step.join(' ')}: ${lastLine}`);
  }
  return { path: `/run/netns/${name}`, address: there, remove };
}
