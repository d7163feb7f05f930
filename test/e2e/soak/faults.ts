// What happens to an installation now and then? Each kind of fault in turn, one at a time: the API server dies or hangs for a
// while, a leader is killed or stopped, a gateway restarts, somebody deletes shards.

import { KubeError } from '../../../core/kube/client.ts';
import { deleteObject } from '../../../core/kube/patch.ts';
import { objectPath, secrets } from '../../../core/kube/paths.ts';
import {
  type GatewayProcess,
  type Installation,
  type OperatorProcess,
  tableNamespace,
} from '../../flow/cluster/installation.ts';
import { readManifest } from '../../flow/cluster/read-manifest.ts';
import { readMetrics } from '../../flow/cluster/readings.ts';
import type { Random } from '../../simulation/random.ts';
import type { Callers } from './callers.ts';

export type Fault =
  | 'API server killed'
  | 'API server frozen'
  | 'leader killed'
  | 'leader stopped'
  | 'gateway restarted'
  | 'shard deleted';

export interface FaultParts {
  readonly installation: Installation;
  readonly callers: Callers;
  readonly random: Random;
  /** Of the operators, those that run. */
  readonly running: Set<OperatorProcess>;
  /** Not to be restarted: it is watched from beginning to end. */
  readonly spared: GatewayProcess;
}

/** Settled when it is over, and what was ended runs again. */
export async function cause(fault: Fault, parts: FaultParts): Promise<void> {
  const { installation, random } = parts;
  const { plane } = installation;
  switch (fault) {
    case 'API server killed':
      await plane.kill();
      await pause(random.between(1_000, 15_000));
      await restarted(plane);
      return;
    case 'API server frozen':
      plane.freeze();
      await pause(random.between(5_000, 25_000));
      plane.thaw();
      return;
    case 'leader killed':
    case 'leader stopped': {
      const leader = await leaderOf(parts.running);
      parts.running.delete(leader);
      if (fault === 'leader killed') leader.process.signal('SIGKILL');
      await leader.process.stop(20_000);
      parts.running.add(await installation.startOperator());
      return;
    }
    case 'gateway restarted':
      await restartOne(parts);
      return;
    case 'shard deleted': {
      const { shards } = await readManifest(plane);
      const [first, ...rest] = shards.map(({ name }) => name);
      if (first === undefined) return;
      const name = random.pick([first, ...rest]);
      await deleteObject(plane.client, objectPath(secrets, { namespace: tableNamespace, name })).catch(
        (error: unknown) => {
          // It was no longer of use, and went at the same time.
          if (!(error instanceof KubeError) || error.status !== 404) throw error;
        },
      );
      return;
    }
  }
}

/** A machine at work may take longer to start it than a test would wait. */
async function restarted(plane: Installation['plane'], tries = 4): Promise<void> {
  await plane.restart().catch((error: unknown) => {
    if (tries <= 1) throw error;
    return restarted(plane, tries - 1);
  });
}

/** As the kubelet and the endpoints do it: no new requests, then the signal, then time for the streams that run. */
async function restartOne({ installation, callers, random, spared }: FaultParts): Promise<void> {
  const [first, ...rest] = installation.gateways.filter((gateway) => gateway !== spared);
  if (first === undefined) return;
  const gateway = random.pick([first, ...rest]);
  callers.withdraw(gateway);
  await gateway.pod.setReady(false);
  const { code } = await gateway.process.stop(60_000);
  if (code !== 0) throw new Error(`${gateway.name} ended with ${code}`);
  await installation.restartGateway(gateway);
  await gateway.process.answering(`${gateway.metricsUrl}/readyz`);
  callers.putBack(gateway);
}

export async function leaderOf(running: ReadonlySet<OperatorProcess>): Promise<OperatorProcess> {
  for (;;) {
    for (const operator of running) {
      const metrics = await readMetrics(operator.metricsUrl);
      if (metrics('leader_election_master_status') === 1) return operator;
    }
    await pause(500);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
