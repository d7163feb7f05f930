// What does the operator export? Every metric of the process, in one place. Where controller-runtime has a
// name for a thing, the name is used: dashboards and alerts for operators work as they are.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { DrillReading } from './drills/drills.ts';
import type { QueueMetrics, QueueStats } from './loop.ts';
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
  /** Whether an annotation keeps the table where it is. */
  isPinned(): boolean;
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

export interface PublishFacts {
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
  /** A watch has broken off and is made anew; `reason` is a fixed word. */
  onWatchRestart(watch: string, reason: string): void;
}

/** Seconds; those of controller-runtime. */
const reconcileBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const queueBounds = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];
const callBounds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const publishBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** How far behind a pod may be said to be: few words, so few series. */
const lags = ['0', '1', '2-10', 'more', 'unknown'] as const;

export function createMetrics(readings: OperatorReadings): OperatorMetrics {
  const registry = new Registry();
  const registers = [registry];
  const queueStats = new Map<string, () => QueueStats>();
  addReadings(registry, readings);
  addRelists(registry, readings);
  addDrills(registry, readings);
  addQueueGauges(registry, queueStats);
  // A finer loop monitor would wake an idle process all the time.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 200 });

  const published = new Histogram({
    name: 'penstock_operator_publish_duration_seconds',
    help: 'From the beginning of a publish to the pointer being written; those that succeeded.',
    buckets: publishBounds,
    registers,
  });
  const revoked = new Histogram({
    name: 'penstock_operator_revocation_duration_seconds',
    help: 'From seeing that access is taken away to the pointer being written.',
    buckets: publishBounds,
    registers,
  });
  const publishFailures = new Counter({
    name: 'penstock_operator_publish_failures_total',
    help: 'Publishes that did not come to their end, by reason.',
    labelNames: ['reason'],
    registers,
  });
  const shards = new Counter({
    name: 'penstock_operator_shards_written_total',
    help: 'Shards of routing tables written.',
    registers,
  });
  const bytes = new Counter({
    name: 'penstock_operator_shard_bytes_written_total',
    help: 'Compressed bytes of the shards written.',
    registers,
  });
  const rejected = new Counter({
    name: 'penstock_operator_tables_rejected_total',
    help: 'Tables that a gateway pod refused to take, counted once for each pod and table.',
    registers,
  });
  const eventsTold = new Counter({
    name: 'penstock_operator_events_total',
    help: 'Kubernetes events about our objects: written, dropped over the budget of their object, or failed.',
    labelNames: ['result'],
    registers,
  });
  const healthChecks = new Counter({
    name: 'penstock_operator_health_checks_total',
    help: 'Active checks of upstreams, by what they gave: it works, it refuses the key, it fails.',
    labelNames: ['result'],
    registers,
  });
  const restarts = new Counter({
    name: 'penstock_operator_watch_restarts_total',
    help: 'Watches that broke off and were made anew, by what is watched and why.',
    labelNames: ['watch', 'reason'],
    registers,
  });

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
    onEvent: (result) => eventsTold.inc({ result }),
    onWatchRestart: (watch, reason) => restarts.inc({ watch, reason }),
  };
}

function addReadings(registry: Registry, readings: OperatorReadings): void {
  const registers = [registry];
  new Gauge({
    name: 'leader_election_master_status',
    help: '1 in the replica that leads, 0 in the others.',
    labelNames: ['name'],
    registers,
    collect() {
      this.set({ name: 'operator' }, readings.isLeader() ? 1 : 0);
    },
  });
  new Gauge({
    name: 'penstock_operator_table_generation',
    help: 'Generation of the routing table that was published or found last; 0 before.',
    registers,
    collect() {
      this.set(readings.tableGeneration());
    },
  });
  new Gauge({
    name: 'penstock_operator_objects',
    help: 'Objects by kind and by what their condition Ready says.',
    labelNames: ['kind', 'ready'],
    registers,
    collect() {
      this.reset();
      for (const { kind, ready, count } of readings.objects()) this.set({ kind, ready }, count);
    },
  });
  new Gauge({
    name: 'penstock_operator_conditions',
    help: 'Objects by kind, and by what each of their conditions says.',
    labelNames: ['kind', 'condition', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { count, ...labels } of readings.conditions()) this.set(labels, count);
    },
  });
  new Gauge({
    name: 'penstock_operator_gateway_pods',
    help: 'Ready gateway pods, by how many table generations they are behind.',
    labelNames: ['lag'],
    registers,
    collect() {
      for (const lag of lags) this.set({ lag }, 0);
      for (const lag of readings.podLags()) this.inc({ lag: lagWord(lag) });
    },
  });
  new Gauge({
    name: 'penstock_operator_held_absences',
    help: 'Objects that were missing after a relist, too many to be believed: the table keeps them.',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const { kind, count } of readings.heldAbsences()) this.set({ kind }, count);
    },
  });
  new Gauge({
    name: 'penstock_operator_held_forms',
    help: 'Objects whose present form cannot be served and that serve in their last good one.',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const { kind, count } of readings.heldForms()) this.set({ kind }, count);
    },
  });
  new Gauge({
    name: 'penstock_operator_pinned',
    help: '1 while an annotation on the pointer keeps the table where it is.',
    registers,
    collect() {
      this.set(readings.isPinned() ? 1 : 0);
    },
  });
  new Gauge({
    name: 'penstock_operator_unreadable_namespaces',
    help: 'Served namespaces that the API server does not let the operator read.',
    registers,
    collect() {
      this.set(readings.unreadableNamespaces());
    },
  });
  new Gauge({
    name: 'penstock_operator_crd_mismatch',
    help: '1 for a CustomResourceDefinition that is missing or of another release than the operator.',
    labelNames: ['crd'],
    registers,
    collect() {
      this.reset();
      for (const { crd, isOther } of readings.crdMismatches()) this.set({ crd }, isOther ? 1 : 0);
    },
  });
  new Gauge({
    name: 'penstock_operator_watch_idle_seconds',
    help: 'Since anything came on a watch, bookmarks included.',
    labelNames: ['watch'],
    registers,
    collect() {
      this.reset();
      for (const { watch, idleMs } of readings.watchIdle()) this.set({ watch }, idleMs / 1000);
    },
  });
}

function addDrills(registry: Registry, readings: OperatorReadings): void {
  const add = (name: string, help: string, read: (drill: DrillReading) => number | undefined): void => {
    new Gauge({
      name,
      help,
      labelNames: ['route'],
      registers: [registry],
      collect() {
        this.reset();
        for (const drill of readings.drills()) {
          const value = read(drill);
          if (value !== undefined) this.set({ route: drill.route }, value);
        }
      },
    });
  };
  const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000);
  add(
    'penstock_operator_drill_passed',
    '1 where the last failover drill of a route passed, 0 where it failed.',
    ({ isPassed }) => (isPassed === undefined ? undefined : Number(isPassed)),
  );
  add(
    'penstock_operator_drill_takeover_seconds',
    'From the fault to the first content of the next target, in the last failover drill of a route.',
    ({ takeoverMs }) => seconds(takeoverMs),
  );
  add(
    'penstock_operator_drill_last_run_timestamp_seconds',
    'When a failover drill of a route was run last.',
    ({ lastRunMs }) => seconds(lastRunMs),
  );
  add(
    'penstock_operator_drill_due_timestamp_seconds',
    'When the next failover drill of a route is due; one that cannot be run stays in the past.',
    ({ dueMs }) => seconds(dueMs),
  );
}

function addRelists(registry: Registry, readings: OperatorReadings): void {
  new Counter({
    name: 'penstock_operator_relists_total',
    help: 'How often a watch had to read everything again, after its first list.',
    labelNames: ['watch'],
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
  const add = (name: string, label: string, help: string, read: (stats: QueueStats) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      collect() {
        for (const [queue, stats] of queueStats) this.set({ [label]: queue }, read(stats()));
      },
    });
  };
  add('workqueue_depth', 'name', 'Keys in line, those at work not counted.', ({ depth }) => depth);
  add(
    'workqueue_unfinished_work_seconds',
    'name',
    'What all runs under way have taken so far.',
    ({ unfinishedMs }) => unfinishedMs / 1000,
  );
  add(
    'workqueue_longest_running_processor_seconds',
    'name',
    'What the longest of the runs under way has taken so far.',
    ({ longestRunMs }) => longestRunMs / 1000,
  );
  add(
    'controller_runtime_active_workers',
    'controller',
    'Runs under way.',
    ({ activeWorkers }) => activeWorkers,
  );
  add(
    'controller_runtime_max_concurrent_reconciles',
    'controller',
    'Runs that may be under way at once.',
    ({ maxWorkers }) => maxWorkers,
  );
}

function buildQueueMetrics(registry: Registry, queueStats: Map<string, () => QueueStats>): QueueMetrics {
  const registers = [registry];
  const adds = new Counter({
    name: 'workqueue_adds_total',
    help: 'Keys that came into line.',
    labelNames: ['name'],
    registers,
  });
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Keys that were put back to be tried again.',
    labelNames: ['name'],
    registers,
  });
  const waits = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'How long keys stood in line.',
    labelNames: ['name'],
    buckets: queueBounds,
    registers,
  });
  const works = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'How long runs took.',
    labelNames: ['name'],
    buckets: queueBounds,
    registers,
  });
  const reconciles = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Runs, by how they ended.',
    labelNames: ['controller', 'result'],
    registers,
  });
  const errors = new Counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Runs that failed.',
    labelNames: ['controller'],
    registers,
  });
  const panics = new Counter({
    name: 'controller_runtime_reconcile_panics_total',
    help: 'Runs that failed by a fault of the program itself.',
    labelNames: ['controller'],
    registers,
  });
  const times = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'How long runs took.',
    labelNames: ['controller'],
    buckets: reconcileBounds,
    registers,
  });
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
  const registers = [registry];
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, by status, method and host.',
    labelNames: ['code', 'method', 'host'],
    registers,
  });
  const durations = new Histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'How long requests to the API server took; watches until their head came.',
    labelNames: ['verb', 'host'],
    buckets: callBounds,
    registers,
  });
  const waits = new Histogram({
    name: 'rest_client_rate_limiter_duration_seconds',
    help: 'How long requests were held back to keep to the rate.',
    labelNames: ['verb', 'host'],
    buckets: callBounds,
    registers,
  });
  return {
    waited: (method, host, waitedMs) => waits.observe({ verb: method, host }, waitedMs / 1000),
    ended(method, host, code, tookMs) {
      requests.inc({ code, method, host });
      durations.observe({ verb: method, host }, tookMs / 1000);
    },
  };
}
