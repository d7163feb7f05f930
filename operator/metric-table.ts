// The operator's metrics, one row each (core/telemetry/metric.ts). Names of controller-runtime are used where they exist, so that
// existing dashboards and alerts for operators work.

import { buildInfo } from '../core/telemetry/build-info.ts';
import type { MetricTable } from '../core/telemetry/metric.ts';

/** Seconds; those of controller-runtime and client-go. */
const reconcileBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const queueBounds = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];
const callBounds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const publishBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export const operatorMetrics = {
  leaderElectionMasterStatus: {
    name: 'leader_election_master_status',
    type: 'gauge',
    unit: '',
    labels: ['name'],
    help: '1 in the replica that leads, 0 in the others.',
    meaning:
      'Is 1 in the replica that leads, 0 in the others. Alert where the sum over all replicas is not 1 for two minutes.',
  },
  tableGeneration: {
    name: 'penstock.operator.table_generation',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Generation of the routing table published or found last; 0 before.',
    meaning:
      'Generation of the routing table published or found last; 0 before. Compare with `penstock_table_generation` of the gateways.',
  },
  publishDuration: {
    name: 'penstock.operator.publish_duration',
    type: 'histogram',
    unit: 's',
    labels: [],
    bounds: publishBounds,
    help: 'Duration of successful publishes, until the pointer is written.',
    meaning: 'Duration of successful publishes of the table, until the pointer is written.',
  },
  revocationDuration: {
    name: 'penstock.operator.revocation_duration',
    type: 'histogram',
    unit: 's',
    labels: [],
    bounds: publishBounds,
    help: 'Time from a revocation to its publish.',
    meaning:
      'Time from seeing a revocation (a key disabled, deleted, expired or replaced, a grant withdrawn) until the pointer is written.',
  },
  publishFailures: {
    name: 'penstock.operator.publish_failures',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Failed publishes, by reason.',
    meaning: 'Failed publishes of the table; each is retried.',
  },
  shardsWritten: {
    name: 'penstock.operator.shards_written',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Shards of routing tables written.',
    meaning: 'Shards of routing tables written. One changed key writes one shard.',
  },
  shardBytesWritten: {
    name: 'penstock.operator.shard_bytes_written',
    type: 'counter',
    unit: 'By',
    labels: [],
    help: 'Compressed bytes of the shards written.',
    meaning: 'Compressed bytes of the shards written.',
  },
  tablesRejected: {
    name: 'penstock.operator.tables_rejected',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Tables rejected by a gateway pod, once per pod and table.',
    meaning: 'Tables rejected by a gateway pod, once per pod and table. Alert on any increase.',
  },
  objects: {
    name: 'penstock.operator.objects',
    type: 'gauge',
    unit: '',
    labels: ['kind', 'ready'],
    help: 'Objects, by kind and status of their condition Ready.',
    meaning: 'Objects, by kind and status of their condition Ready: `True`, `False` or `Unknown`.',
  },
  conditions: {
    name: 'penstock.operator.conditions',
    type: 'gauge',
    unit: '',
    labels: ['kind', 'condition', 'status'],
    help: 'Objects, by kind, condition and status.',
    meaning: 'Objects, by kind, condition and status. Alert on `Stalled` with status `True`.',
  },
  gatewayPods: {
    name: 'penstock.operator.gateway_pods',
    type: 'gauge',
    unit: '',
    labels: ['lag'],
    help: 'Ready gateway pods, by table generations behind.',
    meaning:
      'Ready gateway pods, by table generations behind: `0`, `1`, `2-10`, `more`, or `unknown` without a report. Alert when any except `0` stays above 0 for 2 minutes.',
  },
  heldAbsences: {
    name: 'penstock.operator.held_absences',
    type: 'gauge',
    unit: '',
    labels: ['kind'],
    help: 'Objects missing after a relist and kept in the table, because too many are missing at once.',
    meaning:
      'Objects missing after a relist and kept in the table, because too many are missing at once. Confirm or restore them. Alert above 0.',
  },
  heldForms: {
    name: 'penstock.operator.held_forms',
    type: 'gauge',
    unit: '',
    labels: ['kind'],
    help: 'Objects served in their last good form because the current form cannot be served.',
    meaning:
      'Objects served in their last good form, for up to an hour, because the current form cannot be served. Alert above 0.',
  },
  spendAge: {
    name: 'penstock.operator.spend_age',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'Seconds since the last spend report of the ledger.',
    meaning:
      'Seconds since the last spend report of the ledger to the leader; a report without news counts. Alert above 5 minutes: `status.usage` and `BudgetExhausted` of ApiKeys are not updated. Absent without a ledger.',
  },
  exhaustedKeys: {
    name: 'penstock.operator.exhausted_keys',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'ApiKeys rejected because a budget is used up.',
    meaning:
      'ApiKeys rejected because a budget of their own or of their namespace is used up. Alert above 0, for information only. Absent without a ledger.',
  },
  drillPassed: {
    name: 'penstock.operator.drill_passed',
    type: 'gauge',
    unit: '',
    labels: ['route'],
    help: '1 if the last failover drill of a route passed, 0 if it failed.',
    meaning:
      '1 if the last [failover drill](guides/reliability.md#rehearse-an-outage) of a ModelRoute passed, 0 if it failed. Exported by the leader. Alert on 0.',
  },
  drillTakeover: {
    name: 'penstock.operator.drill_takeover',
    type: 'gauge',
    unit: 's',
    labels: ['route'],
    help: 'Takeover time of the last failover drill of a route.',
    meaning:
      'Takeover time of the last successful drill: from the fault to the first content of the next target.',
  },
  drillLastRunTimestamp: {
    name: 'penstock.operator.drill_last_run_timestamp',
    type: 'gauge',
    unit: 's',
    labels: ['route'],
    help: 'Unix time of the last failover drill of a route.',
    meaning: 'Unix time of the last drill; absent before the first run.',
  },
  drillDueTimestamp: {
    name: 'penstock.operator.drill_due_timestamp',
    type: 'gauge',
    unit: 's',
    labels: ['route'],
    help: 'Unix time when the next failover drill of a route is due.',
    meaning:
      'Unix time when the next drill is due. It stays in the past while no gateway pod can run the drill: alert at 15 minutes.',
  },
  pinned: {
    name: 'penstock.operator.pinned',
    type: 'gauge',
    unit: '',
    labels: [],
    help: '1 while the table is pinned by an annotation on the pointer.',
    meaning:
      '1 while the table is pinned by an annotation on the pointer. Applied changes do not enter service until it is unpinned.',
  },
  certificatesFailing: {
    name: 'penstock.operator.certificates_failing',
    type: 'gauge',
    unit: '',
    labels: [],
    help: '1 while certificates for TLS inside the cluster cannot be kept.',
    meaning:
      '1 while certificates for TLS inside the cluster cannot be read or written. Without a first certificate, pods go on in plain HTTP; without a renewal, those in use run out within 60 to 90 days. Alert at 15 minutes.',
  },
  unreadableNamespaces: {
    name: 'penstock.operator.unreadable_namespaces',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Served namespaces that the operator may not read.',
    meaning:
      'Served namespaces that the operator may not read; their entries in the table stay unchanged. Alert above 0.',
  },
  healthChecks: {
    name: 'penstock.operator.health_checks',
    type: 'counter',
    unit: '',
    labels: ['result'],
    help: 'Active health checks of upstreams, by result (works, refused, fails).',
    meaning: 'Active health checks of upstreams, by `result`: `works`, `refused` (the key) or `fails`.',
  },
  crdMismatch: {
    name: 'penstock.operator.crd_mismatch',
    type: 'gauge',
    unit: '',
    labels: ['crd'],
    help: '1 for a CustomResourceDefinition that is missing or of another release than the operator.',
    meaning:
      '1 for a CustomResourceDefinition that is missing or of another release than the operator. The operator checks at its start and every 10 minutes. Alert above 0.',
  },
  events: {
    name: 'penstock.operator.events',
    type: 'counter',
    unit: '',
    labels: ['result'],
    help: 'Kubernetes events, by result (written, dropped, failed).',
    meaning:
      'Kubernetes events about Penstock objects: `written`, `dropped` (over the event rate of the object) or `failed`.',
  },
  watchIdle: {
    name: 'penstock.operator.watch_idle',
    type: 'gauge',
    unit: 's',
    labels: ['watch'],
    help: 'Seconds since the last event of a watch, bookmarks included.',
    meaning:
      'Seconds since the last event of a watch. Bookmarks arrive each minute and count. Alert above 3 minutes.',
  },
  relists: {
    name: 'penstock.operator.relists',
    type: 'counter',
    unit: '',
    labels: ['watch'],
    help: 'Relists of a watch after its first list.',
    meaning: 'Relists of a watch after its first list.',
  },
  watchRestarts: {
    name: 'penstock.operator.watch_restarts',
    type: 'counter',
    unit: '',
    labels: ['watch', 'reason'],
    help: 'Restarts of interrupted watches, by watch and reason.',
    meaning:
      'Restarts of watches that were interrupted, rejected or silent. The regular end of a watch after some minutes does not count.',
  },
  workqueueDepth: {
    name: 'workqueue_depth',
    type: 'gauge',
    unit: '',
    labels: ['name'],
    help: 'Queued keys, not counting those in progress.',
    meaning: 'Queued keys, not counting those in progress.',
  },
  workqueueAdds: {
    name: 'workqueue_adds',
    type: 'counter',
    unit: '',
    labels: ['name'],
    help: 'Keys added to the queue.',
    meaning: 'Keys added to the queue. A key that is queued already does not count.',
  },
  workqueueRetries: {
    name: 'workqueue_retries',
    type: 'counter',
    unit: '',
    labels: ['name'],
    help: 'Retries of failed keys.',
    meaning: 'Retries of failed keys.',
  },
  workqueueQueueDuration: {
    name: 'workqueue_queue_duration',
    type: 'histogram',
    unit: 's',
    labels: ['name'],
    bounds: queueBounds,
    help: 'Time of keys in the queue.',
    meaning: 'Time of keys in the queue.',
  },
  workqueueWorkDuration: {
    name: 'workqueue_work_duration',
    type: 'histogram',
    unit: 's',
    labels: ['name'],
    bounds: queueBounds,
    help: 'Duration of runs.',
    meaning: 'Duration of runs, in the buckets of client-go.',
  },
  workqueueUnfinishedWork: {
    name: 'workqueue_unfinished_work',
    type: 'gauge',
    unit: 's',
    labels: ['name'],
    help: 'Total seconds of the runs in progress.',
    meaning: 'Total seconds of the runs in progress.',
  },
  workqueueLongestRunningProcessor: {
    name: 'workqueue_longest_running_processor',
    type: 'gauge',
    unit: 's',
    labels: ['name'],
    help: 'Seconds of the longest run in progress.',
    meaning: 'Seconds of the longest run in progress. Above 300, `/healthz` fails.',
  },
  controllerRuntimeReconcile: {
    name: 'controller_runtime_reconcile',
    type: 'counter',
    unit: '',
    labels: ['controller', 'result'],
    help: 'Runs, by result.',
    meaning: 'Runs, by result: `success`, `error`, or `requeue_after` (the run scheduled the next).',
  },
  controllerRuntimeReconcileErrors: {
    name: 'controller_runtime_reconcile_errors',
    type: 'counter',
    unit: '',
    labels: ['controller'],
    help: 'Failed runs.',
    meaning: 'Failed runs; each is retried.',
  },
  controllerRuntimeReconcilePanics: {
    name: 'controller_runtime_reconcile_panics',
    type: 'counter',
    unit: '',
    labels: ['controller'],
    help: 'Runs that failed because of a bug in the operator.',
    meaning: 'Runs that failed because of a bug in the operator; they count as errors too. Report any.',
  },
  controllerRuntimeReconcileTime: {
    name: 'controller_runtime_reconcile_time',
    type: 'histogram',
    unit: 's',
    labels: ['controller'],
    bounds: reconcileBounds,
    help: 'Duration of runs.',
    meaning: 'Duration of runs, in the buckets of controller-runtime.',
  },
  controllerRuntimeActiveWorkers: {
    name: 'controller_runtime_active_workers',
    type: 'gauge',
    unit: '',
    labels: ['controller'],
    help: 'Runs in progress.',
    meaning: 'Runs in progress.',
  },
  controllerRuntimeMaxConcurrentReconciles: {
    name: 'controller_runtime_max_concurrent_reconciles',
    type: 'gauge',
    unit: '',
    labels: ['controller'],
    help: 'Limit of concurrent runs.',
    meaning: 'Limit of concurrent runs.',
  },
  restClientRequests: {
    name: 'rest_client_requests',
    type: 'counter',
    unit: '',
    labels: ['code', 'host', 'method'],
    help: 'Requests to the API server, by status, method and host.',
    meaning:
      'Requests to the API server. `code` is the HTTP status, `2xx` for every success, `<error>` without a response.',
  },
  restClientRequestDuration: {
    name: 'rest_client_request_duration',
    type: 'histogram',
    unit: 's',
    labels: ['host', 'verb'],
    bounds: callBounds,
    help: 'Latency of requests to the API server; of watches, until the response head.',
    meaning: 'Latency of requests to the API server; of watches, until the response head.',
  },
  restClientRateLimiterDuration: {
    name: 'rest_client_rate_limiter_duration',
    type: 'histogram',
    unit: 's',
    labels: ['host', 'verb'],
    bounds: callBounds,
    help: 'Client-side throttling delay of requests to the API server.',
    meaning:
      'Client-side throttling delay of requests to the API server, by `PENSTOCK_KUBE_QPS` and `PENSTOCK_KUBE_BURST`.',
  },
  buildInfo,
} satisfies MetricTable;
