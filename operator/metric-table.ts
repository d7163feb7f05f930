// What does the operator measure? One row for each metric; everything else is made of it (core/telemetry/metric.ts). Where controller-runtime has
// a name for a thing, the name is used: dashboards and alerts for operators work as they are.

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
    help: 'Generation of the routing table that was published or found last; 0 before.',
    meaning:
      'Generation of the routing table that was published or found last, 0 before. Compare with `penstock_table_generation` of the gateways.',
  },
  publishDuration: {
    name: 'penstock.operator.publish_duration',
    type: 'histogram',
    unit: 's',
    labels: [],
    bounds: publishBounds,
    help: 'From the beginning of a publish to the pointer being written; those that succeeded.',
    meaning: 'From the beginning of a publish to the pointer being written. Only publishes that succeeded.',
  },
  revocationDuration: {
    name: 'penstock.operator.revocation_duration',
    type: 'histogram',
    unit: 's',
    labels: [],
    bounds: publishBounds,
    help: 'From seeing that access is taken away to the pointer being written.',
    meaning:
      'From seeing that access is taken away (a key disabled, deleted, ended or replaced, a grant withdrawn) to the pointer being written.',
  },
  publishFailures: {
    name: 'penstock.operator.publish_failures',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Publishes that did not come to their end, by reason.',
    meaning: 'Publishes that did not come to their end; they are tried again.',
  },
  shardsWritten: {
    name: 'penstock.operator.shards_written',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Shards of routing tables written.',
    meaning: 'Shards of routing tables written. One changed key writes one.',
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
    help: 'Tables that a gateway pod refused to take, counted once for each pod and table.',
    meaning: 'Tables that a gateway pod refused to take, once for each pod and table. Alert on any increase.',
  },
  objects: {
    name: 'penstock.operator.objects',
    type: 'gauge',
    unit: '',
    labels: ['kind', 'ready'],
    help: 'Objects by kind and by what their condition Ready says.',
    meaning: 'Objects by kind and by what their condition Ready says: `True`, `False` or `Unknown`.',
  },
  conditions: {
    name: 'penstock.operator.conditions',
    type: 'gauge',
    unit: '',
    labels: ['kind', 'condition', 'status'],
    help: 'Objects by kind, and by what each of their conditions says.',
    meaning:
      'Objects by kind and by what each of their conditions says. Alert on `Stalled` of `True` where your own objects are meant to be ready.',
  },
  gatewayPods: {
    name: 'penstock.operator.gateway_pods',
    type: 'gauge',
    unit: '',
    labels: ['lag'],
    help: 'Ready gateway pods, by how many table generations they are behind.',
    meaning:
      'Ready gateway pods by how many table generations they are behind: `0`, `1`, `2-10`, `more`, or `unknown` where a pod did not say. Alert where any but `0` stays above 0 for two minutes.',
  },
  heldAbsences: {
    name: 'penstock.operator.held_absences',
    type: 'gauge',
    unit: '',
    labels: ['kind'],
    help: 'Objects that were missing after a relist, too many to be believed: the table keeps them.',
    meaning:
      'Objects that were missing after a relist, too many at once to be believed. The table keeps them until somebody decides.',
  },
  heldForms: {
    name: 'penstock.operator.held_forms',
    type: 'gauge',
    unit: '',
    labels: ['kind'],
    help: 'Objects whose present form cannot be served and that serve in their last good one.',
    meaning:
      'Objects whose present form cannot be served, and that serve on in their last good one until their hour is over. Alert above 0.',
  },
  spendAge: {
    name: 'penstock.operator.spend_age',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'Since the ledger has last told what is spent.',
    meaning:
      'Since the ledger has last told the replica that leads what is spent, if only that there is nothing new. Alert above five minutes: `status.usage` and `BudgetExhausted` of ApiKeys stay as they are. Absent where there is no ledger.',
  },
  exhaustedKeys: {
    name: 'penstock.operator.exhausted_keys',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'ApiKeys whose calls are refused because a budget is used up.',
    meaning:
      'ApiKeys whose calls are refused because a budget is used up, their own or that of their namespace. Alert above 0, if only for information: a limit does what it is there for. Absent where there is no ledger.',
  },
  drillPassed: {
    name: 'penstock.operator.drill_passed',
    type: 'gauge',
    unit: '',
    labels: ['route'],
    help: '1 where the last failover drill of a route passed, 0 where it failed.',
    meaning:
      'Is 1 where the last [failover drill](guides/drills.md) of a ModelRoute passed, 0 where it failed. Told by the replica that leads. Alert on 0.',
  },
  drillTakeover: {
    name: 'penstock.operator.drill_takeover',
    type: 'gauge',
    unit: 's',
    labels: ['route'],
    help: 'From the fault to the first content of the next target, in the last failover drill of a route.',
    meaning:
      'From the fault to the first content of the next target, in the last drill in which one answered.',
  },
  drillLastRunTimestamp: {
    name: 'penstock.operator.drill_last_run_timestamp',
    type: 'gauge',
    unit: 's',
    labels: ['route'],
    help: 'When a failover drill of a route was run last.',
    meaning: 'When the drill was run last, in Unix seconds; absent before the first run.',
  },
  drillDueTimestamp: {
    name: 'penstock.operator.drill_due_timestamp',
    type: 'gauge',
    unit: 's',
    labels: ['route'],
    help: 'When the next failover drill of a route is due; one that cannot be run stays in the past.',
    meaning:
      'When the next run is due, in Unix seconds. One that no gateway pod can run stays in the past: alert at a quarter of an hour.',
  },
  pinned: {
    name: 'penstock.operator.pinned',
    type: 'gauge',
    unit: '',
    labels: [],
    help: '1 while an annotation on the pointer keeps the table where it is.',
    meaning:
      'Is 1 while an annotation on the pointer keeps the table where it is. Nothing that is applied comes into service then.',
  },
  unreadableNamespaces: {
    name: 'penstock.operator.unreadable_namespaces',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Served namespaces that the API server does not let the operator read.',
    meaning:
      'Served namespaces that the API server does not let the operator read; what they held in the table stays as it was. Alert above 0.',
  },
  healthChecks: {
    name: 'penstock.operator.health_checks',
    type: 'counter',
    unit: '',
    labels: ['result'],
    help: 'Active checks of upstreams, by what they gave: it works, it refuses the key, it fails.',
    meaning: 'Active checks of upstreams: it `works`, it `refused` the key, it `fails`.',
  },
  crdMismatch: {
    name: 'penstock.operator.crd_mismatch',
    type: 'gauge',
    unit: '',
    labels: ['crd'],
    help: '1 for a CustomResourceDefinition that is missing or of another release than the operator.',
    meaning:
      'Is 1 for a CustomResourceDefinition that is missing or of another release than the operator, which reads them at its start and every ten minutes. Alert above 0.',
  },
  events: {
    name: 'penstock.operator.events',
    type: 'counter',
    unit: '',
    labels: ['result'],
    help: 'Kubernetes events about our objects: written, dropped over the budget of their object, or failed.',
    meaning:
      'Kubernetes events about our objects: `written`, `dropped` over the budget of their object, or `failed`.',
  },
  watchIdle: {
    name: 'penstock.operator.watch_idle',
    type: 'gauge',
    unit: 's',
    labels: ['watch'],
    help: 'Since anything came on a watch, bookmarks included.',
    meaning:
      'How long nothing has come on a watch, bookmarks included; they come each minute. Alert above three minutes.',
  },
  relists: {
    name: 'penstock.operator.relists',
    type: 'counter',
    unit: '',
    labels: ['watch'],
    help: 'How often a watch had to read everything again, after its first list.',
    meaning: 'How often a watch had to read everything again, after its first list.',
  },
  watchRestarts: {
    name: 'penstock.operator.watch_restarts',
    type: 'counter',
    unit: '',
    labels: ['watch', 'reason'],
    help: 'Watches that broke off and were made anew, by what is watched and why.',
    meaning:
      'Watches that broke off, were refused or fell silent, and were made anew. That an API server ends each watch after some minutes does not count.',
  },
  workqueueDepth: {
    name: 'workqueue_depth',
    type: 'gauge',
    unit: '',
    labels: ['name'],
    help: 'Keys in line, those at work not counted.',
    meaning: 'Keys in line, those at work not counted.',
  },
  workqueueAdds: {
    name: 'workqueue_adds',
    type: 'counter',
    unit: '',
    labels: ['name'],
    help: 'Keys that came into line.',
    meaning: 'Keys that came into line; one that stands there already does not count.',
  },
  workqueueRetries: {
    name: 'workqueue_retries',
    type: 'counter',
    unit: '',
    labels: ['name'],
    help: 'Keys that were put back to be tried again.',
    meaning: 'Keys that failed and will be tried again.',
  },
  workqueueQueueDuration: {
    name: 'workqueue_queue_duration',
    type: 'histogram',
    unit: 's',
    labels: ['name'],
    bounds: queueBounds,
    help: 'How long keys stood in line.',
    meaning: 'How long keys stood in line.',
  },
  workqueueWorkDuration: {
    name: 'workqueue_work_duration',
    type: 'histogram',
    unit: 's',
    labels: ['name'],
    bounds: queueBounds,
    help: 'How long runs took.',
    meaning: 'How long runs took, in the buckets of client-go.',
  },
  workqueueUnfinishedWork: {
    name: 'workqueue_unfinished_work',
    type: 'gauge',
    unit: 's',
    labels: ['name'],
    help: 'What all runs under way have taken so far.',
    meaning: 'What all runs under way have taken so far, together.',
  },
  workqueueLongestRunningProcessor: {
    name: 'workqueue_longest_running_processor',
    type: 'gauge',
    unit: 's',
    labels: ['name'],
    help: 'What the longest of the runs under way has taken so far.',
    meaning: 'What the longest of the runs under way has taken so far. Above 300, `/healthz` fails.',
  },
  controllerRuntimeReconcile: {
    name: 'controller_runtime_reconcile',
    type: 'counter',
    unit: '',
    labels: ['controller', 'result'],
    help: 'Runs, by how they ended.',
    meaning: 'Runs by how they ended: `success`, `error`, or `requeue_after` where a run asked for the next.',
  },
  controllerRuntimeReconcileErrors: {
    name: 'controller_runtime_reconcile_errors',
    type: 'counter',
    unit: '',
    labels: ['controller'],
    help: 'Runs that failed.',
    meaning: 'Runs that failed; all of them are tried again.',
  },
  controllerRuntimeReconcilePanics: {
    name: 'controller_runtime_reconcile_panics',
    type: 'counter',
    unit: '',
    labels: ['controller'],
    help: 'Runs that failed by a fault of the program itself.',
    meaning:
      'Runs that failed by a fault of the program itself; they count as errors too. Please report any.',
  },
  controllerRuntimeReconcileTime: {
    name: 'controller_runtime_reconcile_time',
    type: 'histogram',
    unit: 's',
    labels: ['controller'],
    bounds: reconcileBounds,
    help: 'How long runs took.',
    meaning: 'How long runs took, in the buckets of controller-runtime.',
  },
  controllerRuntimeActiveWorkers: {
    name: 'controller_runtime_active_workers',
    type: 'gauge',
    unit: '',
    labels: ['controller'],
    help: 'Runs under way.',
    meaning: 'Runs under way at this moment.',
  },
  controllerRuntimeMaxConcurrentReconciles: {
    name: 'controller_runtime_max_concurrent_reconciles',
    type: 'gauge',
    unit: '',
    labels: ['controller'],
    help: 'Runs that may be under way at once.',
    meaning: 'Runs that may be under way at once.',
  },
  restClientRequests: {
    name: 'rest_client_requests',
    type: 'counter',
    unit: '',
    labels: ['code', 'host', 'method'],
    help: 'Requests to the API server, by status, method and host.',
    meaning:
      'Requests to the API server. `code` is the HTTP status, `2xx` for every success, `<error>` where no answer came.',
  },
  restClientRequestDuration: {
    name: 'rest_client_request_duration',
    type: 'histogram',
    unit: 's',
    labels: ['host', 'verb'],
    bounds: callBounds,
    help: 'How long requests to the API server took; watches until their head came.',
    meaning: 'How long requests to the API server took; of a watch, until its head came.',
  },
  restClientRateLimiterDuration: {
    name: 'rest_client_rate_limiter_duration',
    type: 'histogram',
    unit: 's',
    labels: ['host', 'verb'],
    bounds: callBounds,
    help: 'How long requests were held back to keep to the rate.',
    meaning: 'How long requests were held back to keep to `PENSTOCK_KUBE_QPS` and `PENSTOCK_KUBE_BURST`.',
  },
} satisfies MetricTable;
