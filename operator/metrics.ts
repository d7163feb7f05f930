// Every metric of the operator, in one place; metric-table.ts describes them.

import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import { addBuildInfo } from '../core/telemetry/build-info.ts';
import { exposed, type Metric } from '../core/telemetry/metric.ts';
import { addCounter, addGauge, addHistogram } from '../core/telemetry/prometheus.ts';
import type { DrillReading } from './drills/drills.ts';
import type { QueueMetrics, QueueStats } from './loop.ts';
import { operatorMetrics as table } from './metric-table.ts';
import type { Kind } from './resources/resource.ts';
import type { CallMetrics } from './throttle.ts';

/** What is asked of the running process when metrics are read. */
export interface OperatorReadings {
  isLeader(): boolean;
  /** Of the table that was published or found last; 0 before. */
  tableGeneration(): number;
  /** Objects by kind and what their condition Ready says. */
  objects(): Iterable<{ readonly kind: Kind; readonly ready: ReadyStatus; readonly count: number }>;
  /** Objects by kind, and by what each of their conditions says. */
  conditions(): Iterable<{
    readonly kind: Kind;
    readonly condition: string;
    readonly status: string;
    readonly count: number;
  }>;
  /** For each ready gateway pod: how many generations it is behind; undefined where it did not say. */
  podLags(): Iterable<number | undefined>;
  /** Objects whose absence after a relist is held back, by kind. */
  heldAbsences(): Iterable<{ readonly kind: Kind; readonly count: number }>;
  /** Objects that serve in their last good form, by kind. */
  heldForms(): Iterable<{ readonly kind: Kind; readonly count: number }>;
  /** Failover drills of routes, as the replica knows them that leads. */
  drills(): Iterable<DrillReading>;
  /** What this replica knows of what is spent; undefined where it does not lead, or there is no ledger. */
  spend(): { readonly newsAgeMs: number; readonly exhaustedKeys: number } | undefined;
  /** Whether an annotation keeps the table where it is. */
  isPinned(): boolean;
  /** Whether certificates for TLS inside the cluster cannot be kept. */
  certificatesFail(): boolean;
  /** Served namespaces that the API server does not let us read. */
  unreadableNamespaces(): number;
  /** For each watch: since when nothing came, not even a bookmark. */
  watchIdle(): Iterable<{ readonly watch: string; readonly idleMs: number }>;
  /** For each watch: how often everything was read again. */
  relists(): Iterable<{ readonly watch: string; readonly count: number }>;
  /** CustomResourceDefinitions that could be read: whether they are of another release. */
  crdMismatches(): Iterable<{ readonly crd: string; readonly isOther: boolean }>;
}

export type ReadyStatus = 'True' | 'False' | 'Unknown';

interface PublishFacts {
  readonly durationMs: number;
  readonly shardsWritten: number;
  /** Compressed bytes of those shards. */
  readonly bytesWritten: number;
  /** Since the first change was seen that takes access away; undefined where none did. */
  readonly revocationMs?: number | undefined;
}

export interface OperatorMetrics {
  readonly registry: Registry;
  /** For `createQueue`. */
  readonly queues: QueueMetrics;
  /** For `throttleClient`. */
  readonly calls: CallMetrics;
  /** A table is in use from now on. */
  onPublished(facts: PublishFacts): void;
  /** A table was not published; `reason` is a fixed word. */
  onPublishFailed(reason: string): void;
  /** A gateway pod refused a table. */
  onTableRejected(): void;
  /** What became of an event. */
  onEvent(result: 'written' | 'dropped' | 'failed'): void;
  /** What an active check of an upstream gave. */
  onHealthCheck(result: 'works' | 'refused' | 'fails'): void;
  /** A watch was interrupted and restarts; `reason` is a fixed word. */
  onWatchRestart(watch: string, reason: string): void;
}

/** How far behind a pod may be said to be: few words, so few series. */
const lags = ['0', '1', '2-10', 'more', 'unknown'] as const;

export function createMetrics(readings: OperatorReadings): OperatorMetrics {
  const registry = new Registry();
  const queueStats = new Map<string, () => QueueStats>();
  addReadings(registry, readings);
  addRelists(registry, readings);
  addDrills(registry, readings);
  addQueueGauges(registry, queueStats);
  addBuildInfo(registry);
  // A finer loop monitor would wake an idle process all the time.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 200 });

  const published = addHistogram(registry, table.publishDuration);
  const revoked = addHistogram(registry, table.revocationDuration);
  const publishFailures = addCounter(registry, table.publishFailures);
  const shards = addCounter(registry, table.shardsWritten);
  const bytes = addCounter(registry, table.shardBytesWritten);
  const rejected = addCounter(registry, table.tablesRejected);
  const eventsSent = addCounter(registry, table.events);
  const healthChecks = addCounter(registry, table.healthChecks);
  const restarts = addCounter(registry, table.watchRestarts);

  return {
    registry,
    queues: buildQueueMetrics(registry, queueStats),
    calls: buildCallMetrics(registry),
    onPublished({ durationMs, shardsWritten, bytesWritten, revocationMs }) {
      published.observe(durationMs / 1000);
      if (revocationMs !== undefined) revoked.observe(revocationMs / 1000);
      shards.inc(shardsWritten);
      bytes.inc(bytesWritten);
    },
    onPublishFailed: (reason) => publishFailures.inc({ reason }),
    onTableRejected: () => rejected.inc(),
    onHealthCheck: (result) => healthChecks.inc({ result }),
    onEvent: (result) => eventsSent.inc({ result }),
    onWatchRestart: (watch, reason) => restarts.inc({ watch, reason }),
  };
}

function addReadings(registry: Registry, readings: OperatorReadings): void {
  addGauge(registry, table.leaderElectionMasterStatus, (report) =>
    report(readings.isLeader() ? 1 : 0, 'operator'),
  );
  addGauge(registry, table.tableGeneration, (report) => report(readings.tableGeneration()));
  addGauge(registry, table.objects, (report) => {
    for (const { kind, ready, count } of readings.objects()) report(count, kind, ready);
  });
  addGauge(registry, table.conditions, (report) => {
    for (const { kind, condition, status, count } of readings.conditions())
      report(count, kind, condition, status);
  });
  addGauge(registry, table.gatewayPods, (report) => {
    const words = [...readings.podLags()].map(lagWord);
    for (const lag of lags) report(words.filter((word) => word === lag).length, lag);
  });
  addGauge(registry, table.heldAbsences, (report) => {
    for (const { kind, count } of readings.heldAbsences()) report(count, kind);
  });
  addGauge(registry, table.heldForms, (report) => {
    for (const { kind, count } of readings.heldForms()) report(count, kind);
  });
  addGauge(registry, table.spendAge, (report) => {
    const spend = readings.spend();
    if (spend !== undefined) report(spend.newsAgeMs / 1000);
  });
  addGauge(registry, table.exhaustedKeys, (report) => {
    const spend = readings.spend();
    if (spend !== undefined) report(spend.exhaustedKeys);
  });
  addGauge(registry, table.pinned, (report) => report(readings.isPinned() ? 1 : 0));
  addGauge(registry, table.certificatesFailing, (report) => report(readings.certificatesFail() ? 1 : 0));
  addGauge(registry, table.unreadableNamespaces, (report) => report(readings.unreadableNamespaces()));
  addGauge(registry, table.crdMismatch, (report) => {
    for (const { crd, isOther } of readings.crdMismatches()) report(isOther ? 1 : 0, crd);
  });
  addGauge(registry, table.watchIdle, (report) => {
    for (const { watch, idleMs } of readings.watchIdle()) report(idleMs / 1000, watch);
  });
}

function addDrills(registry: Registry, readings: OperatorReadings): void {
  const add = (metric: Metric, read: (drill: DrillReading) => number | undefined): void =>
    addGauge(registry, metric, (report) => {
      for (const drill of readings.drills()) {
        const value = read(drill);
        if (value !== undefined) report(value, drill.route);
      }
    });
  const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000);
  add(table.drillPassed, ({ isPassed }) => (isPassed === undefined ? undefined : Number(isPassed)));
  add(table.drillTakeover, ({ takeoverMs }) => seconds(takeoverMs));
  add(table.drillLastRunTimestamp, ({ lastRunMs }) => seconds(lastRunMs));
  add(table.drillDueTimestamp, ({ dueMs }) => seconds(dueMs));
}

function addRelists(registry: Registry, readings: OperatorReadings): void {
  const { name, help, labels } = exposed(table.relists);
  new Counter({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect() {
      this.reset();
      for (const { watch, count } of readings.relists()) this.inc({ watch }, count);
    },
  });
}

function lagWord(lag: number | undefined): (typeof lags)[number] {
  if (lag === undefined) return 'unknown';
  if (lag <= 0) return '0';
  if (lag === 1) return '1';
  return lag <= 10 ? '2-10' : 'more';
}

function addQueueGauges(registry: Registry, queueStats: ReadonlyMap<string, () => QueueStats>): void {
  const add = (metric: Metric, read: (stats: QueueStats) => number): void =>
    addGauge(registry, metric, (report) => {
      for (const [queue, stats] of queueStats) report(read(stats()), queue);
    });
  add(table.workqueueDepth, ({ depth }) => depth);
  add(table.workqueueUnfinishedWork, ({ unfinishedMs }) => unfinishedMs / 1000);
  add(table.workqueueLongestRunningProcessor, ({ longestRunMs }) => longestRunMs / 1000);
  add(table.controllerRuntimeActiveWorkers, ({ activeWorkers }) => activeWorkers);
  add(table.controllerRuntimeMaxConcurrentReconciles, ({ maxWorkers }) => maxWorkers);
}

function buildQueueMetrics(registry: Registry, queueStats: Map<string, () => QueueStats>): QueueMetrics {
  const adds = addCounter(registry, table.workqueueAdds);
  const retries = addCounter(registry, table.workqueueRetries);
  const waits = addHistogram(registry, table.workqueueQueueDuration);
  const works = addHistogram(registry, table.workqueueWorkDuration);
  const reconciles = addCounter(registry, table.controllerRuntimeReconcile);
  const errors = addCounter(registry, table.controllerRuntimeReconcileErrors);
  const panics = addCounter(registry, table.controllerRuntimeReconcilePanics);
  const times = addHistogram(registry, table.controllerRuntimeReconcileTime);
  return {
    opened(queue, stats) {
      queueStats.set(queue, stats);
      for (const counter of [adds, retries]) counter.inc({ name: queue }, 0);
      for (const counter of [errors, panics]) counter.inc({ controller: queue }, 0);
    },
    added: (queue) => adds.inc({ name: queue }),
    retried: (queue) => retries.inc({ name: queue }),
    panicked: (queue) => panics.inc({ controller: queue }),
    started: (queue, waitedMs) => waits.observe({ name: queue }, waitedMs / 1000),
    ended(queue, tookMs, outcome) {
      works.observe({ name: queue }, tookMs / 1000);
      times.observe({ controller: queue }, tookMs / 1000);
      reconciles.inc({ controller: queue, result: outcome });
      if (outcome === 'error') errors.inc({ controller: queue });
    },
  };
}

function buildCallMetrics(registry: Registry): CallMetrics {
  const requests = addCounter(registry, table.restClientRequests);
  const durations = addHistogram(registry, table.restClientRequestDuration);
  const waits = addHistogram(registry, table.restClientRateLimiterDuration);
  return {
    waited: (method, host, waitedMs) => waits.observe({ verb: method, host }, waitedMs / 1000),
    ended(method, host, code, tookMs) {
      requests.inc({ code, method, host });
      durations.observe({ verb: method, host }, tookMs / 1000);
    },
  };
}
