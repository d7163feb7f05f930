// What does a gateway measure? One row for each metric; everything else is made of it (core/telemetry/metric.ts).

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
    help: 'Client requests answered, by endpoint, model and HTTP status (499: the client went away).',
    meaning:
      'Requests of clients, counted when they end. `endpoint` is the path behind `/v1`, `model` the id of the route or `other`, `status` the HTTP status; a stream that breaks off counts with the status of its error, a client that went away with 499. Questions for a number of tokens (`/messages/count_tokens`) are none of them.',
  },
  requestDuration: {
    name: 'penstock.request_duration',
    type: 'histogram',
    unit: 's',
    labels: ['endpoint', 'model'],
    bounds: durationBounds,
    help: 'From the arrival of a request to the end of its answer.',
    meaning: 'From the arrival of a request to the end of its answer, streams to their last event.',
  },
  timeToFirstToken: {
    name: 'penstock.time_to_first_token',
    type: 'histogram',
    unit: 's',
    labels: ['endpoint', 'model'],
    bounds: durationBounds,
    help: 'From the arrival of a streamed request to the first content handed to the client.',
    meaning:
      'From the arrival of a streamed request to the first content handed to the client, attempts that failed before it included.',
  },
  attempts: {
    name: 'penstock.attempts',
    type: 'counter',
    unit: '',
    labels: ['provider', 'upstream_model', 'outcome', 'failure'],
    help: 'Upstream attempts, by provider, upstream model, outcome and failure.',
    meaning:
      'Attempts at an upstream. `outcome` is `answered`, `failed` (before the client saw anything), `broken-off` (after) or `cancelled` (the client went away); `failure` is the reason, empty where there is none. More attempts than requests: failover is at work.',
  },
  firstEvent: {
    name: 'penstock.first_event',
    type: 'histogram',
    unit: 's',
    labels: ['provider', 'upstream_model'],
    bounds: durationBounds,
    help: 'From the start of an upstream attempt to the first content of its stream.',
    meaning:
      'From the start of an attempt to the first content of its stream. What comes near the timer `firstEvent` is about to be moved on.',
  },
  streamEnd: {
    name: 'penstock.stream_end',
    type: 'counter',
    unit: '',
    labels: ['provider', 'upstream_model', 'end'],
    help: 'Upstream streams that brought content, by how they ended.',
    meaning:
      'Streams of upstreams that brought content, by how they ended: `complete`, `truncated` (without the mark that ends an answer), `stall` (no bytes, or no content, for too long), `error` (told in the stream), `malformed`, `timeout` (the one deadline of the request), `cancelled` (the client went away) or `other`. Alert where anything but `complete` and `cancelled` grows.',
  },
  staleReuse: {
    name: 'penstock.stale_reuse',
    type: 'counter',
    unit: '',
    labels: ['provider'],
    help: 'Attempts whose connection had been used before and was closed before a byte of the answer.',
    meaning:
      'Attempts whose connection had been used before and was closed before a byte of the answer: the upstream closes idle connections sooner than it says. They are made again over a new connection.',
  },
  dnsLookupFailures: {
    name: 'penstock.dns_lookup_failures',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Lookups of the names of upstreams that failed or took longer than a second, by reason (failed, late).',
    meaning:
      'Lookups of the names of upstreams and their proxies that `failed`, or were `late`: took longer than a second. While a name has an earlier answer, that one serves for a minute, and nothing else shows that the resolver is down. Many at once mean the resolver, a few now and then a `baseURL` that does not exist.',
  },
  unavailableRequests: {
    name: 'penstock.unavailable_requests',
    type: 'counter',
    unit: '',
    labels: ['model', 'reason'],
    help: 'Requests for a model whose route is out of service, by reason.',
    meaning:
      'Requests for a model whose ModelRoute is out of service, answered with 503 `model_unavailable`. `reason` is `Suspended`, or `NoUsableTarget`: every Provider, Secret or key of it is missing, deleted or suspended. Begins at 0 when the route leaves service. Alert on any increase.',
  },
  noTarget: {
    name: 'penstock.no_target',
    type: 'counter',
    unit: '',
    labels: ['model'],
    help: 'Requests for which no upstream was in service, so that none was tried.',
    meaning:
      'Requests for which no upstream was in service, so that none was tried: every breaker is open, or every key rests. Alert on any increase.',
  },
  breakerState: {
    name: 'penstock.breaker_state',
    type: 'gauge',
    unit: '',
    labels: ['provider', 'upstream_model', 'state'],
    help: 'Is 1 for the state of each breaker that is not closed (open, half-open, slow-start).',
    meaning:
      'Is 1 for the state of each breaker of this pod that is not closed: `open`, `half-open` (one trial at a time) or `slow-start` (it gets a part of its calls for half a minute). `upstream_model` is empty for the endpoint as a whole.',
  },
  keyCooldown: {
    name: 'penstock.key_cooldown',
    type: 'gauge',
    unit: 's',
    labels: ['provider', 'key', 'upstream_model', 'reason'],
    help: 'For how long a provider key rests still, by reason (rate-limit, out-of-money, rejected).',
    meaning:
      'For how long a key of a provider rests still in this pod: after a `rate-limit`, because it is `out-of-money`, or because it was `rejected`. `key` is empty where the provider takes none. `upstream_model` names the model that it rests for, and is empty where the key rests as a whole.',
  },
  tokens: {
    name: 'penstock.tokens',
    type: 'counter',
    unit: '',
    labels: ['model', 'provider', 'kind'],
    help: 'Tokens used, by model, provider and kind (input, cached_input, cache_write, output, reasoning, audio_input, audio_output).',
    meaning:
      'Tokens used, by `kind`: `input` (with the two that follow), `cached_input`, `cache_write`, `output` (with the next), `reasoning`; `audio_input` and `audio_output` are the parts of input and output that are sound, where told. Attempts whose upstream gave no counts add an estimate.',
  },
  malformedFrames: {
    name: 'penstock.malformed_frames',
    type: 'counter',
    unit: '',
    labels: ['provider', 'upstream_model'],
    help: 'Events of streamed answers that could not be read; the second one behind content ends the stream.',
    meaning:
      'Events of streamed answers that could not be read. One behind content is left out of the stream, the second ends it; before content, and where the answer is held whole, the first one fails the attempt.',
  },
  failuresHeldBack: {
    name: 'penstock.failures_held_back',
    type: 'counter',
    unit: '',
    labels: ['provider', 'upstream_model'],
    help: 'Attempts that failed behind their first content, of which the client saw nothing: the answer was held.',
    meaning:
      'Attempts that failed behind their first content, of which the client saw nothing: assured delivery, hold-back, or a plain answer fetched as a stream. The next target could take over; without holding, each was a broken stream.',
  },
  answersTooLongToHold: {
    name: 'penstock.answers_too_long_to_hold',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Answers above 1 MiB that were to be held, and went out as ordinary streams from there on.',
    meaning: 'Answers above 1 MiB that were to be held, and went out as ordinary streams from there on.',
  },
  heldBytes: {
    name: 'penstock.held',
    type: 'gauge',
    unit: 'By',
    labels: [],
    help: 'Bytes of answers that are kept until their clients have them: plain ones, and what is held of streams.',
    meaning:
      "Bytes of answers that are kept now until their clients have them: plain answers, and what is held of streams. Above an eighth of the container's memory attempts fail with `no_room`.",
  },
  authenticationFailures: {
    name: 'penstock.authentication_failures',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Requests refused because their key was missing or not valid.',
    meaning: 'Requests refused because their key was missing or not valid.',
  },
  authenticationFailuresLimited: {
    name: 'penstock.authentication_failures_limited',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Requests with a bad key that were told to wait: too many such came from their address.',
    meaning: 'Of those, requests that got 429 because too many such came from their address.',
  },
  shed: {
    name: 'penstock.shed',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Requests refused because the gateway had too much to do, by reason.',
    meaning:
      'Requests refused with 503 because there was too much to do: `heap` (it is nearly full), `event_loop` (what runs keeps the processor busy), `in_flight` (too many at once) or `body_bytes` (too many bytes of request bodies). Alert where it lasts: more pods are needed.',
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
    help: 'How late the event loop comes to what is due: 99th percentile of the last two seconds; 0 while nothing is under way.',
    meaning:
      'How late the event loop comes to what is due: the 99th percentile of the last two seconds; 0 while nothing is under way.',
  },
  requestBodyBytes: {
    name: 'penstock.request_body',
    type: 'gauge',
    unit: 'By',
    labels: [],
    help: 'Bytes of request bodies that are kept until their answers have ended.',
    meaning:
      'Bytes of request bodies in hand, as they came and as they are sent in another dialect. Each is kept until its answer has ended, for another attempt.',
  },
  heapShare: {
    name: 'penstock.heap_share',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Heap in use by objects that last, as a part of its limit.',
    meaning:
      'Heap in use by objects that last, as a part of its limit, or with what lies beside the heap as a part of five sixths of the memory, whichever is more. New requests are refused from 0.85 on, connections from 0.92 on.',
  },
  requestsInFlightMax: {
    name: 'penstock.requests_in_flight_max',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Requests that may be in flight now; it falls while there is too much to do.',
    meaning:
      'Requests that may be in flight now. It falls below the set number while the event loop is overloaded, and is 0 while the heap is full.',
  },
  tablesRefused: {
    name: 'penstock.tables_refused',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Routing tables that could not be taken, by reason; the last good one stayed in use.',
    meaning:
      'Routing tables that could not be taken; the last good one stayed in use. `reason` is `too-new` (upgrade the gateway), `invalid`, `older` (than the one in use), `incomplete` (a shard is missing), `corrupt` (a shard or the manifest is not what its digest promises) or `unreachable` (it could not be asked for). Alert on any increase.',
  },
  tableLoad: {
    name: 'penstock.table_load',
    type: 'histogram',
    unit: 's',
    labels: [],
    bounds: durationBounds,
    help: 'From the news of a routing table to its use.',
    meaning: 'From the news of a routing table to its use: fetching what is not held, checking, indexing.',
  },
  tableSource: {
    name: 'penstock.table_source',
    type: 'gauge',
    unit: '',
    labels: ['source'],
    help: 'Where the routing table in use came from (api, copy, file): 1 for that one.',
    meaning:
      "Is 1 for where the table in use came from: `api` (the API server), `copy` (the pod's own copy, after a start without API server) or `file`. Alert where `copy` lasts.",
  },
  configAge: {
    name: 'penstock.config_age',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'Since an operator last showed, through the API server, that it lives.',
    meaning:
      'Since an operator last showed, through the API server, that it lives. Above 60 neither changes nor revocations arrive; what is in use stays in use. Absent where the table comes from a file.',
  },
  readyGateways: {
    name: 'penstock.ready_gateways',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Gateway pods that are ready, as the operator last told; 0 where it has told nothing.',
    meaning:
      'Gateway pods that are ready, as the operator last told this one; 0 before it has told anything.',
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
      "Generation of the routing table in use, 0 before the first. Pods that differ for long do not see the operator's changes.",
  },
  requestsInFlight: {
    name: 'penstock.requests_in_flight',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Requests that have been accepted and not yet answered to the end.',
    meaning: 'Requests accepted and not yet answered to the end.',
  },
  failovers: {
    name: 'penstock.failovers',
    type: 'counter',
    unit: '',
    labels: ['model', 'provider', 'failure'],
    help: 'Attempts made at another target or key because the one before had failed, by what had failed.',
    meaning:
      'Times that a request moved on to another target or key. `model` is the id of the route, `provider` the one that was left, `failure` why. Alert where they are many for each request.',
  },
  cost: {
    name: 'penstock.cost_usd',
    type: 'counter',
    unit: '',
    labels: ['model', 'provider', 'payer'],
    perOne: picodollarsPerDollar,
    help: 'US dollars that attempts cost at the price of the table, by model, provider and payer (tenant, platform).',
    meaning:
      'US dollars that attempts cost, at the prices in the table. `payer` is `tenant` for what was delivered, `platform` for attempts that failed before. For targets with a price it begins at 0 with the table, so that `increase` has the first call too. A sum of floating-point numbers for trends: bills are made of the ledger. Calls over a key of one’s own cost nothing here; attempts without a price are in `penstock_unpriced_attempts_total`.',
  },
  unpricedAttempts: {
    name: 'penstock.unpriced_attempts',
    type: 'counter',
    unit: '',
    labels: ['model', 'provider'],
    help: 'Attempts that used tokens and have no price, so that no cost is counted for them.',
    meaning:
      'Attempts that used tokens and have no price, or counts that no model could have produced: their cost is missing from `penstock_cost_usd_total`. Alert on any increase.',
  },
  telemetryDropped: {
    name: 'penstock.telemetry_dropped',
    type: 'counter',
    unit: '',
    labels: ['signal', 'reason'],
    help: 'Spans and log events that were not sent, by signal (traces, logs) and reason (full, failed).',
    meaning:
      'Spans and usage events that no collector has taken: `signal` is `traces` or `logs`, `reason` is `full` (they came faster than they went, and the newest are left out) or `failed` (the collector refused them or did not answer). Requests never wait for it. Alert where it lasts.',
  },
  telemetryFailures: {
    name: 'penstock.telemetry_export_failures',
    type: 'counter',
    unit: '',
    labels: ['signal'],
    help: 'Exports over OTLP that a collector did not take, by signal (metrics, traces, logs).',
    meaning:
      'Exports over OTLP that failed, by `signal`: `metrics`, `traces` or `logs`. Of metrics nothing is lost by it, the next export tells all.',
  },
} satisfies MetricTable;

export const gatewayMetrics = {
  ...countedMetrics,
  ...journalMetrics,
  ...limitMetrics,
  ...genAiMetrics,
} satisfies MetricTable;
