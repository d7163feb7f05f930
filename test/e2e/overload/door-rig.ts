// What is attacked? A gateway as a pod runs it: a process of its own with the memory of the chart's default, in front of an upstream that
// costs next to nothing; load comes from a third process.

import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import { createLauncher } from '../../../tools/bench/launcher.ts';
import { type Load, type LoadResult, runLoad } from '../../../tools/bench/load.ts';
import { pickCores } from '../../../tools/bench/measure/cores.ts';
import { buildNative } from '../../../tools/bench/native.ts';
import { readSettings } from '../../../tools/bench/settings.ts';
import { podMemoryMib as memoryMib, podFlags } from '../../../tools/bench/targets/pod-flags.ts';
import { startUpstream } from '../../../tools/bench/upstream.ts';
import { type ListeningProcess, launchListening, makeFolder } from '../../gateway/process/gateway-process.ts';
import { tableOf, testKey } from '../../gateway/rig.ts';
import type { AttackTarget } from '../../support/attack/slow-clients.ts';
import { rawCall } from '../../support/raw-client.ts';
import { type Probe, type Resident, readProbe, readResident } from '../scale/readings.ts';

const run = promisify(execFile);
const neighbour = fileURLToPath(new URL('neighbour.ts', import.meta.url));
const probe = fileURLToPath(new URL('../scale/probe.ts', import.meta.url));

export interface DoorRig extends AsyncDisposable {
  readonly target: AttackTarget;
  readonly gateway: ListeningProcess;
  /** From a process of its own. */
  load(load: Partial<Load>): Promise<LoadResult>;
  /** Of the event loop, since the last call. */
  probe(): Promise<Probe>;
  resident(): Promise<Resident>;
  /** One metric of the gateway, with its labels as they stand there. */
  metric(name: string): Promise<number>;
  hasDied(): boolean;
  /** Another server on the core of the gateway, as a target for who attacks; it goes with the rig. */
  startNeighbour(): Promise<AttackTarget>;
}

/**
 * @param upstreamOf What the upstream answers, as tools/bench/mock/mock.c names it; or the base URL of another one, or a table of its own.
 * @param env Of the gateway, on top of what all have.
 * @param cores For a second rig: with the first one this process has only one of them left.
 */
export async function startDoorRig(
  upstreamOf: string | { readonly baseUrl: string } | RoutingTable,
  env: Readonly<Record<string, string>> = {},
  cores = pickCores(),
): Promise<DoorRig> {
  const invocation = readSettings([], process.env);
  if (invocation.kind !== 'run') throw new Error('no arguments must mean a run');
  const { cacheFolder, environment } = invocation.settings;
  await using parts = new AsyncDisposableStack();
  const programs = await buildNative(cacheFolder);
  const workFolder = await mkdtemp(join(tmpdir(), 'penstock-overload-'));
  parts.defer(() => rm(workFolder, { recursive: true, force: true }));
  const launcher = createLauncher(workFolder, environment);
  parts.defer(() => launcher.close());
  const upstream = await startUpstream(launcher, programs.mock, cores.load);
  const folder = await makeFolder();
  parts.defer(() => folder.remove());
  const native = (model: string) => ({
    baseUrl: `http://127.0.0.1:${upstream.port}/v1`,
    upstreamModel: model,
  });
  await folder.putTable(
    typeof upstreamOf === 'object' && 'routes' in upstreamOf
      ? upstreamOf
      : tableOf([typeof upstreamOf === 'string' ? native(upstreamOf) : upstreamOf]),
  );
  const gateway = await launchListening(
    folder,
    {
      NODE_OPTIONS: `--import=${probe}`,
      PENSTOCK_BODY_BYTES_IN_FLIGHT_MAX: String((memoryMib / 4) * 1024 * 1024),
      PENSTOCK_DRAIN_GRACE_MS: '1000',
      ...env,
    },
    podFlags(memoryMib),
  );
  let hasDied = false;
  let isStopping = false;
  void gateway.process.exit.then(() => {
    hasDied = !isStopping;
  });
  parts.defer(async () => {
    isStopping = true;
    await gateway.process.stop(20_000);
  });
  await gateway.process.line(/routing table in use/);
  await run('taskset', ['-acp', String(cores.proxy), String(gateway.process.pid)]);
  // What attacks from here must take neither the core of what is attacked nor the time of those who measure: it waits for both.
  await run('chrt', ['--all-tasks', '--idle', '--pid', '0', String(process.pid)]);
  await run('taskset', ['-acp', String(cores.load), String(process.pid)]);
  parts.defer(
    async () => void (await run('taskset', ['-acp', `${cores.load},${cores.proxy}`, String(process.pid)])),
  );
  const target = { port: Number(new URL(gateway.url).port), authorization: `Bearer ${testKey}`, model: 'm' };
  const client = { launcher, program: programs.client, core: cores.load };
  const owned = parts.move();
  return {
    target,
    gateway,
    async load(load) {
      const whole: Load = {
        port: target.port,
        model: target.model,
        authorization: target.authorization,
        bodyBytes: 4_096,
        connections: 100,
        seconds: 5,
        leadMs: 2_000,
        ...load,
      };
      return (await runLoad(client, whole, () => undefined)).result;
    },
    probe: () => readProbe(gateway.process),
    resident: () => readResident(gateway.process),
    async metric(name) {
      const { text } = await rawCall(
        { port: Number(new URL(gateway.metricsUrl).port) },
        { path: '/metrics' },
      );
      const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
      return Number(line?.slice(name.length + 1));
    },
    hasDied: () => hasDied,
    async startNeighbour() {
      const child = fork(neighbour);
      owned.defer(() => void child.kill());
      const [port] = await once(child, 'message');
      await run('chrt', ['--all-tasks', '--other', '--pid', '0', String(child.pid)]);
      await run('taskset', ['-acp', String(cores.proxy), String(child.pid)]);
      return { ...target, port: Number(port) };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
