// A whole operator out of its parts: it watches from the start, and leads while it holds the lease.

import { CONDITIONS } from '../core/catalog/conditions.ts';
import type { Clock } from '../core/clock.ts';
import type { KubeClient } from '../core/kube/client.ts';
import { type Election, startElection } from '../core/kube/lease.ts';
import type { Log } from '../core/kube/log.ts';
import { listenAt, stopServer } from '../core/telemetry/process-server.ts';
import packageJson from '../package.json' with { type: 'json' };
import { createCompiler } from './compile/compile.ts';
import { warmUp } from './compile/warm-up.ts';
import { buildDebugTable } from './debug-table.ts';
import { buildHealthServer } from './health.ts';
import { type Leading, startLeading } from './leading.ts';
import { createMetrics, type OperatorMetrics, type ReadyStatus } from './metrics.ts';
import { onlyWhile } from './only-while.ts';
import type { AskPod } from './pods/exchange.ts';
import type { SendCheck } from './probe/send-check.ts';
import type { Kind } from './resources/resource.ts';
import type { OperatorSettings } from './settings.ts';
import { conditionsOf } from './status/object-status.ts';
import { throttleClient } from './throttle.ts';
import { letOthers } from './turn.ts';
import { type Cluster, openCluster } from './watch/cluster.ts';
import { watchCrdBundles } from './watch/crd-bundles.ts';
import type { RawPolicy } from './watch/snapshot.ts';

interface OperatorParts {
  readonly client: KubeClient;
  /** Of the API server, in metrics. */
  readonly serverHost: string;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  /** From a cryptographic source. */
  randomBytes(size: number): Buffer;
  readonly settings: OperatorSettings;
  /** TenantPolicies of the chart's values. */
  readonly policies?: readonly RawPolicy[] | undefined;
  readonly log: Log;
  /** What a simulation replaces. */
  readonly seams?: OperatorSeams;
}

interface OperatorSeams {
  readonly openMetrics?: typeof createMetrics;
  /** Gives the address under which it answers. */
  readonly listen?: typeof listenAt;
  readonly askPod?: AskPod;
  readonly sendCheck?: SendCheck;
}

export interface RunningOperator {
  readonly metrics: Pick<OperatorMetrics, 'registry'>;
  readonly metricsUrl: string;
  isLeader(): boolean;
  /** Finishes what is in progress, publishes what waits, releases the lease. */
  close(): Promise<void>;
}

/** How long a stop waits for writes in progress. */
const closeGraceMs = 10_000;
/** A deposed leader waits before the next election, so that the other one can settle. */
const standBackMs = 5_000;

const KINDS_HELD = ['Provider', 'ModelRoute'] as const;

/** Resolves when metrics and health are served; what the cluster holds is read after that. */
export async function startOperator(parts: OperatorParts): Promise<RunningOperator> {
  const { clock, random, settings, log, seams = {} } = parts;
  let leading: Leading | undefined;
  let election: Election | undefined;
  let isClosed = false;

  const isLeader = (): boolean => election?.isLeader() ?? false;
  const metrics = (seams.openMetrics ?? createMetrics)({
    isLeader: () => leading !== undefined && isLeader(),
    tableGeneration: () => leading?.tableGeneration() ?? 0,
    objects: () => countObjects(cluster),
    conditions: () => countConditions(cluster),
    podLags: () => leading?.podLags() ?? [],
    heldAbsences: () =>
      Object.entries(leading?.held() ?? {}).map(([kind, count]) => ({ kind: kind as Kind, count })),
    heldForms: () => KINDS_HELD.map((kind) => ({ kind, count: leading?.heldForms(kind) ?? 0 })),
    isPinned: () => leading?.isPinned() ?? false,
    certificatesFail: () => leading?.certificatesFail() ?? false,
    drills: () => leading?.drills() ?? [],
    spend: () => leading?.spend(),
    unreadableNamespaces: () => cluster.unreadableNamespaces().size,
    watchIdle: () => cluster.watchIdle(),
    relists: () => cluster.relists(),
    crdMismatches: () => crdBundles.mismatches(),
  });
  const client = throttleClient(parts.client, {
    clock,
    callsPerSecond: settings.kubeCallsPerSecond,
    callsBurst: settings.kubeCallsBurst,
    host: parts.serverHost,
    metrics: metrics.calls,
  });
  const cluster: Cluster = openCluster({
    client,
    clock,
    random,
    tenantNamespaces: settings.tenantNamespaces,
    instance: settings.instance,
    namespace: settings.namespace,
    tableNamespace: settings.tableNamespace,
    gatewaySelector: settings.gatewaySelector,
    platform: settings.platform,
    policies: parts.policies,
    onChange: (change) => leading?.onChange(change),
    onTrouble(trouble) {
      if (trouble.retryInMs > 0) metrics.onWatchRestart(trouble.watch, trouble.reason);
      log('warn', trouble.retryInMs > 0 ? 'a watch was interrupted and restarts' : 'a watch has trouble', {
        ...trouble,
      });
    },
  });
  const crdBundles = watchCrdBundles({ client, clock, log, version: packageJson.version });
  const health = buildHealthServer({
    registry: metrics.registry,
    isSynced: () => cluster.hasSynced(),
    longestRunMs: () => leading?.longestRunMs() ?? 0,
    debugTable: () =>
      buildDebugTable({
        replica: settings.podName,
        leader: election?.holder(),
        ...(leading === undefined
          ? {}
          : { leading: { tableGeneration: leading.tableGeneration(), ...leading.gateways() } }),
      }),
  });
  const compile = createCompiler();
  let metricsUrl: string;
  try {
    metricsUrl = await (seams.listen ?? listenAt)(health, settings.host, settings.metricsPort);
  } catch (error) {
    crdBundles.close();
    await cluster.close();
    throw error;
  }
  cluster.synced.then(
    async () => {
      log('info', 'all objects were read once');
      // The first compilation takes longest; done on standby, it does not delay a takeover.
      await warmUp(compile, cluster.snapshot(), clock.wallMs(), () => letOthers(clock));
      compile(cluster.snapshot(), clock.wallMs());
      stand();
    },
    () => {
      // Closed before.
    },
  );

  return {
    metrics,
    metricsUrl,
    isLeader,
    async close() {
      isClosed = true;
      crdBundles.close();
      await leave(closeGraceMs);
      await election?.close();
      await cluster.close();
      await stopServer(health);
    },
  };

  /** A replica joins the election only after it has read everything. */
  function stand(): void {
    if (isClosed) return;
    election = startElection({
      // Not held back by anything: a renewal that waits in line is leadership lost.
      client: parts.client,
      clock,
      random,
      namespace: settings.namespace,
      name: `${settings.instance}-operator`,
      identity: settings.podName,
      onElected: lead,
      onLost(reason) {
        log('warn', 'leadership lost', { reason });
        void leave(0);
      },
      onTrouble: (message) => log('warn', 'the lease could not be renewed or taken', { reason: message }),
    });
  }

  function lead(): void {
    const mine = election;
    const mayWrite = (): boolean => (mine ?? election)?.isLeader() ?? false;
    leading = startLeading({
      cluster,
      tableClient: onlyWhile(client.urgent, mayWrite),
      client: onlyWhile(client, mayWrite),
      compile,
      clock,
      random,
      randomBytes: parts.randomBytes,
      settings,
      metrics,
      log,
      askPod: seams.askPod,
      sendCheck: seams.sendCheck,
      onDeposed: (reason) => void standBack(reason),
    });
  }

  async function leave(graceMs: number): Promise<void> {
    const term = leading;
    leading = undefined;
    await term?.close(graceMs);
  }

  async function standBack(reason: string): Promise<void> {
    if (leading === undefined) return;
    log('warn', 'another leader writes the table; stepping down', { reason });
    const lease = election;
    await leave(0);
    await lease?.close();
    clock.setTimer(standBackMs * (1 + random()), stand);
  }
}

function* countObjects(cluster: Cluster) {
  for (const [kind, statuses] of statusesByKind(cluster)) {
    const counts = new Map<ReadyStatus, number>();
    for (const status of statuses) {
      const ready = readyOf(status);
      counts.set(ready, (counts.get(ready) ?? 0) + 1);
    }
    for (const [ready, count] of counts) yield { kind, ready, count };
  }
}

function* countConditions(cluster: Cluster) {
  for (const [kind, statuses] of statusesByKind(cluster)) {
    // By condition, then by status: of one kind there are few, and objects may be many.
    const counts = new Map<string, Map<string, number>>();
    for (const status of statuses) {
      for (const { type, status: says } of conditionsOf(status)) {
        if (!Object.hasOwn(CONDITIONS, type)) continue;
        const ofType = counts.get(type) ?? new Map<string, number>();
        counts.set(type, ofType.set(says, (ofType.get(says) ?? 0) + 1));
      }
    }
    for (const [condition, ofType] of counts) {
      for (const [status, count] of ofType) yield { kind, condition, status, count };
    }
  }
}

function* statusesByKind(cluster: Cluster): Iterable<[Kind, Iterable<unknown>]> {
  for (const kind of ['Provider', 'ModelRoute', 'ApiKey'] as const) yield [kind, cluster.statuses(kind)];
}

function readyOf(status: unknown): ReadyStatus {
  const ready = conditionsOf(status).find(({ type }) => type === 'Ready')?.status;
  return ready === 'True' || ready === 'False' ? ready : 'Unknown';
}
