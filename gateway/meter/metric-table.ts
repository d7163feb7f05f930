// What does a gateway measure? One row for each metric; everything else is made of it (core/telemetry/metric.ts).

import { buildInfo } from '../../core/telemetry/build-info.ts';
import type { MetricTable } from '../../core/telemetry/metric.ts';

import { genAiMetrics } from './gen-ai-table.ts';
import { journalMetrics } from './journal-table.ts';
import { limitMetrics } from './limit-table.ts';

/** Seconds; the buckets that the OpenTelemetry conventions for generative AI advise for durations, and one more: models that think take longer. */
const durationBounds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84,
];

/** Picodollars are added, dollars are reported. */
const picodollarsPerDollar = 1e12;

/** Counters and histograms among them are made of their rows (counted.ts); gauges are read (gauges.ts). */
export const countedMetrics = {
  requests: {
    name: 'penstock.requests',
    type: 'counter',
    unit: '',
    labels: ['endpoint', 'model', 'status'],
    help: 'Client requests, by endpoint, model and HTTP status (499: the client disconnected).',
    meaning:
      'Client requests, counted when they end. `endpoint` is the path after `/v1`, `model` the id of the route or `other`, `status` the HTTP status. A stream that breaks off counts with the status of its error; a cancelled request counts as 499. `/messages/count_tokens` is not counted.',
  },
  requestDuration: {
    name: 'penstock.request_duration',
    type: 'histogram',
    unit: 's',
    labels: ['endpoint', 'model'],
    bounds: durationBounds,
    help: 'Duration of client requests, streams included.',
    meaning:
      'Duration of client requests: from arrival to the end of the response, streams to their last event.',
  },
  timeToFirstToken: {
    name: 'penstock.time_to_first_token',
    type: 'histogram',
    unit: 's',
    labels: ['endpoint', 'model'],
    bounds: durationBounds,
    help: 'Time to the first content of streamed responses, failed attempts included.',
    meaning:
      'Time from the arrival of a streamed request to the first content sent to the client. Failed attempts before that content are included.',
  },
  attempts: {
    name: 'penstock.attempts',
    type: 'counter',
    unit: '',
    labels: ['provider', 'upstream_model', 'outcome', 'failure'],
    help: 'Upstream attempts, by provider, upstream model, outcome and failure.',
    meaning:
      'Upstream attempts. `outcome` is `answered`, `failed` (before the client received content), `broken-off` (after) or `cancelled` (the client disconnected). `failure` is the reason, or empty. More attempts than requests mean retries or failover.',
  },
  firstEvent: {
    name: 'penstock.first_event',
    type: 'histogram',
    unit: 's',
    labels: ['provider', 'upstream_model'],
    bounds: durationBounds,
    help: 'Time to the first content of upstream streams, by attempt.',
    meaning:
      'Time from the start of an attempt to the first content of its stream. An attempt that reaches the timeout `firstEvent` is retried elsewhere.',
  },
  streamEnd: {
    name: 'penstock.stream_end',
    type: 'counter',
    unit: '',
    labels: ['provider', 'upstream_model', 'end'],
    help: 'Upstream streams with content, by how they ended.',
    meaning:
      'Upstream streams with content, by how they ended: `complete`, `truncated` (without the end marker), `stall` (no bytes or no content for too long), `error` (reported in the stream), `malformed`, `timeout` (the total timeout of the request), `cancelled` (the client disconnected) or `other`. Alert on any increase except `complete` and `cancelled`.',
  },
  staleReuse: {
    name: 'penstock.stale_reuse',
    type: 'counter',
    unit: '',
    labels: ['provider'],
    help: 'Attempts on a reused connection that the upstream closed before the first byte.',
    meaning:
      'Attempts on a reused connection that the upstream closed before the first byte: its keep-alive is shorter than it announces. Each is retried on a new connection.',
  },
  dnsLookupFailures: {
    name: 'penstock.dns_lookup_failures',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'DNS lookups of upstreams that failed or took longer than 1 s, by reason (failed, late).',
    meaning:
      'DNS lookups of upstreams and proxies that `failed` or were `late` (longer than 1 s). A cached answer is used for one more minute, so this metric is the first sign of a resolver outage. Many at once point to the resolver; a few to a `baseURL` that does not exist.',
  },
  unavailableRequests: {
    name: 'penstock.unavailable_requests',
    type: 'counter',
    unit: '',
    labels: ['model', 'reason'],
    help: 'Requests for a model whose ModelRoute is out of service, by reason.',
    meaning:
      'Requests answered with 503 `model_unavailable`, because the ModelRoute of the model is out of service. `reason` is `Suspended`, or `NoUsableTarget`: each of its Providers, Secrets or keys is missing, deleted or suspended. The series starts at 0 when the route leaves service. Alert on any increase.',
  },
  noTarget: {
    name: 'penstock.no_target',
    type: 'counter',
    unit: '',
    labels: ['model'],
    help: 'Requests without an available upstream; no attempt was made.',
    meaning:
      'Requests without an available upstream: every circuit breaker is open or every key is in cooldown. No attempt was made. Alert on any increase.',
  },
  breakerState: {
    name: 'penstock.breaker_state',
    type: 'gauge',
    unit: '',
    labels: ['provider', 'upstream_model', 'state'],
    help: '1 for the state of each circuit breaker that is not closed (open, half-open, slow-start).',
    meaning:
      '1 for the state of each circuit breaker of this pod that is not closed: `open`, `half-open` (one trial at a time) or `slow-start` (a growing share of its calls for 30 s). `upstream_model` is empty for the breaker of the whole endpoint.',
  },
  keyCooldown: {
    name: 'penstock.key_cooldown',
    type: 'gauge',
    unit: 's',
    labels: ['provider', 'key', 'upstream_model', 'reason'],
    help: 'Remaining cooldown of a provider key, by reason (rate-limit, out-of-money, rejected).',
    meaning:
      'Remaining cooldown of a provider key in this pod, after a `rate-limit`, because its account is `out-of-money`, or because it was `rejected`. `key` is empty for a provider without keys. `upstream_model` is the model in cooldown, or empty for all models.',
  },
  tokens: {
    name: 'penstock.tokens',
    type: 'counter',
    unit: '',
    labels: ['model', 'provider', 'kind'],
    help: 'Tokens used, by model, provider and kind (input, cached_input, cache_write, output, reasoning, audio_input, audio_output).',
    meaning:
      'Tokens used, by `kind`: `input` (with the two that follow), `cached_input`, `cache_write`, `output` (with the next), `reasoning`; `audio_input` and `audio_output` are the audio parts of input and output, where the upstream reports them. Attempts without reported usage add an estimate.',
  },
  malformedFrames: {
    name: 'penstock.malformed_frames',
    type: 'counter',
    unit: '',
    labels: ['provider', 'upstream_model'],
    help: 'Malformed events in upstream streams. The second one after content ends the stream.',
    meaning:
      'Malformed events in upstream streams. After content, the first is skipped and the second ends the stream. Before content, or where the whole response is buffered, the first fails the attempt.',
  },
  failuresHeldBack: {
    name: 'penstock.failures_held_back',
    type: 'counter',
    unit: '',
    labels: ['provider', 'upstream_model'],
    help: 'Attempts that failed after their first content while the response was buffered; the client received nothing.',
    meaning:
      'Attempts that failed after their first content while the response was buffered (assured delivery, hold-back, or a plain response fetched as a stream). The next target took over; without buffering, each would have been a broken stream.',
  },
  answersTooLongToHold: {
    name: 'penstock.answers_too_long_to_hold',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Buffered responses that passed 1 MiB and continued as ordinary streams.',
    meaning: 'Buffered responses that passed 1 MiB and continued as ordinary streams.',
  },
  heldBytes: {
    name: 'penstock.held',
    type: 'gauge',
    unit: 'By',
    labels: [],
    help: 'Bytes of responses in memory: plain responses, and buffered parts of streams.',
    meaning:
      "Bytes of responses in memory until their clients have read them: plain responses, and buffered parts of streams. Above an eighth of the container's memory, attempts fail with `no_room`.",
  },
  authenticationFailures: {
    name: 'penstock.authentication_failures',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Requests rejected because the API key was missing or not valid.',
    meaning: 'Requests rejected because the API key was missing or not valid.',
  },
  authenticationFailuresLimited: {
    name: 'penstock.authentication_failures_limited',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Requests with a bad key answered with 429: too many came from one address.',
    meaning: 'Of these, requests answered with 429 because too many came from one address.',
  },
  shed: {
    name: 'penstock.shed',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Requests rejected because the gateway was overloaded, by reason.',
    meaning:
      'Requests rejected with 503 because the gateway was overloaded: `heap` (nearly full), `event_loop` (CPU saturated), `in_flight` (too many requests at once) or `body_bytes` (too many bytes of request bodies). Alert when it lasts: add pods.',
  },
  connectionsRefused: {
    name: 'penstock.connections_refused',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Connections closed at once, by reason: too many in total, too many from one address, or the heap is full.',
    meaning:
      'Connections closed at once: too many in `total`, too many from one `address`, or the `heap` is nearly full.',
  },
  eventLoopDelay: {
    name: 'penstock.event_loop_delay',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'Event loop delay, 99th percentile of the last 2 s; 0 while idle.',
    meaning: 'Event loop delay: the 99th percentile of the last 2 s; 0 while no request is in flight.',
  },
  requestBodyBytes: {
    name: 'penstock.request_body',
    type: 'gauge',
    unit: 'By',
    labels: [],
    help: 'Bytes of request bodies in memory until their responses have ended.',
    meaning:
      'Bytes of request bodies in memory, as received and as translated. Each body is kept for a retry until its response has ended.',
  },
  heapShare: {
    name: 'penstock.heap_share',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Share of the heap limit in use by long-lived objects.',
    meaning:
      'Share of the heap limit in use by long-lived objects, or the share of five sixths of the memory limit in use by heap and buffers, whichever is larger. New requests are rejected from 0.85, connections from 0.92.',
  },
  requestsInFlightMax: {
    name: 'penstock.requests_in_flight_max',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Current limit of requests in flight; it falls during overload.',
    meaning:
      'Current limit of requests in flight. It falls below the configured limit while the event loop is overloaded, and is 0 while the heap is full.',
  },
  tablesRefused: {
    name: 'penstock.tables_refused',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Routing tables rejected by this pod, by reason; the last good table stayed in use.',
    meaning:
      'Routing tables rejected by this pod; the last good table stayed in use. `reason` is `too-new` (upgrade the gateway), `invalid`, `older` (than the table in use), `incomplete` (a shard is missing), `corrupt` (a digest does not match) or `unreachable` (it could not be fetched). Alert on any increase.',
  },
  tableLoad: {
    name: 'penstock.table_load',
    type: 'histogram',
    unit: 's',
    labels: [],
    bounds: durationBounds,
    help: 'Time to load a new routing table.',
    meaning: 'Time to load a new routing table: fetch changed shards, validate, index.',
  },
  tableSource: {
    name: 'penstock.table_source',
    type: 'gauge',
    unit: '',
    labels: ['source'],
    help: '1 for the source of the routing table in use (api, copy, file).',
    meaning:
      "1 for the source of the table in use: `api` (the API server), `copy` (the pod's own copy, after a start without API server) or `file`. Alert when `copy` lasts.",
  },
  configAge: {
    name: 'penstock.config_age',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'Seconds since the last operator heartbeat.',
    meaning:
      'Seconds since the last operator heartbeat through the API server. Above 60, changes and revocations do not arrive; the table in use stays in use. Absent where the table comes from a file.',
  },
  readyGateways: {
    name: 'penstock.ready_gateways',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Ready gateway pods, as last reported by the operator; 0 before the first report.',
    meaning: 'Ready gateway pods, as last reported by the operator; 0 before the first report.',
  },
  ledgerRecordsDropped: {
    name: 'penstock.ledger_records_dropped',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Ledger records lost because the journal could not be written for too long.',
    meaning:
      'Ledger records lost because the journal could not be written for too long. Alert on any increase: usage is missing from the bill.',
  },
  tableGeneration: {
    name: 'penstock.table_generation',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Generation of the routing table in use; 0 before the first.',
    meaning:
      'Generation of the routing table in use; 0 before the first. A pod that stays behind the others does not receive changes.',
  },
  requestsInFlight: {
    name: 'penstock.requests_in_flight',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Client requests in flight.',
    meaning: 'Client requests in flight: accepted, response not yet ended.',
  },
  failovers: {
    name: 'penstock.failovers',
    type: 'counter',
    unit: '',
    labels: ['model', 'provider', 'failure'],
    help: 'Failovers to another target or key, by model, failed provider and failure.',
    meaning:
      'Failovers of requests to another target or key. `model` is the id of the route, `provider` the provider that failed, `failure` the reason. Alert on a high rate per request.',
  },
  cost: {
    name: 'penstock.cost_usd',
    type: 'counter',
    unit: '',
    labels: ['model', 'provider', 'payer'],
    perOne: picodollarsPerDollar,
    help: 'Cost of attempts in US dollars at table prices, by model, provider and payer (tenant, platform).',
    meaning:
      'Cost of attempts in US dollars, at the prices in the table. `payer` is `tenant` for delivered responses, `platform` for failed attempts. Series of priced targets start at 0 with the table, so `increase` includes the first call. Use it for trends; bills come from the ledger. Calls with a tenant’s own provider key cost 0 here; attempts without a price are in `penstock_unpriced_attempts_total`.',
  },
  unpricedAttempts: {
    name: 'penstock.unpriced_attempts',
    type: 'counter',
    unit: '',
    labels: ['model', 'provider'],
    help: 'Attempts with usage but without a price; their cost is not counted.',
    meaning:
      'Attempts with usage but without a price, or with impossible token counts. Their cost is missing from `penstock_cost_usd_total`. Alert on any increase.',
  },
  telemetryDropped: {
    name: 'penstock.telemetry_dropped',
    type: 'counter',
    unit: '',
    labels: ['signal', 'reason'],
    help: 'Spans and log events dropped before export, by signal (traces, logs) and reason (full, failed).',
    meaning:
      'Spans and usage events dropped before export. `signal` is `traces` or `logs`; `reason` is `full` (the queue is full, the newest are dropped) or `failed` (the collector rejected them or did not answer). Requests never wait for the collector. Alert when it lasts.',
  },
  telemetryFailures: {
    name: 'penstock.telemetry_export_failures',
    type: 'counter',
    unit: '',
    labels: ['signal'],
    help: 'Failed OTLP exports, by signal (metrics, traces, logs).',
    meaning:
      'Failed OTLP exports, by `signal`: `metrics`, `traces` or `logs`. No metrics are lost: they are cumulative, and the next export has all.',
  },
} satisfies MetricTable;

export const gatewayMetrics = {
  ...countedMetrics,
  ...journalMetrics,
  ...limitMetrics,
  ...genAiMetrics,
  buildInfo,
} satisfies MetricTable;
