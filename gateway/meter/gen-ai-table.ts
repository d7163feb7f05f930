// What does a gateway measure under the names of the OpenTelemetry conventions for generative AI?

import type { MetricTable } from '../../core/telemetry/metric.ts';

// The conventions have no release yet. Source: github.com/open-telemetry/semantic-conventions-genai, September 2026.

/** Seconds; the buckets of the conventions for durations: 14 doublings. */
const conventionBounds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/** One more: answers of models that think take longer. */
const durationBounds = [...conventionBounds, 163.84];
/** The conventions end at 10 s; reasoning models often start later. */
const firstTokenBounds = [
  ...[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  ...[15, 20, 30, 45, 60],
];
const perTokenBounds = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
/** Powers of 4. */
const tokenBounds = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];

/** Of an attempt. `penstock.provider` is the Provider by its name, `gen_ai.provider.name` the word that the conventions have for its kind. */
const upstreamLabels = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'penstock.provider',
] as const;
/** Of a request: the model is the id of the route, or `other`. */
const serverLabels = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model'] as const;

export const genAiMetrics = {
  clientOperationDuration: {
    name: 'gen_ai.client.operation.duration',
    type: 'histogram',
    unit: 's',
    labels: [...upstreamLabels, 'error.type'],
    bounds: conventionBounds,
    help: 'Duration of upstream attempts.',
    meaning:
      'Duration of upstream attempts. `error_type` is the failure, absent on success, and `cancelled` where the client disconnected.',
  },
  clientTimeToFirstChunk: {
    name: 'gen_ai.client.operation.time_to_first_chunk',
    type: 'histogram',
    unit: 's',
    labels: upstreamLabels,
    bounds: conventionBounds,
    help: 'Time to the first content of streamed upstream attempts.',
    meaning: 'Time from the start of a streamed attempt to the first content from the upstream.',
  },
  clientInputTokens: {
    name: 'gen_ai.client.inference.usage.input_tokens',
    type: 'counter',
    unit: '{token}',
    labels: [...upstreamLabels, 'gen_ai.token.modality'],
    help: 'Input tokens used at upstreams, including cached tokens.',
    meaning:
      'Input tokens, cached tokens included; estimates where the upstream reports none. The modality is `unknown`: modalities are not counted apart.',
  },
  clientOutputTokens: {
    name: 'gen_ai.client.inference.usage.output_tokens',
    type: 'counter',
    unit: '{token}',
    labels: [...upstreamLabels, 'gen_ai.token.modality'],
    help: 'Output tokens used at upstreams, including reasoning.',
    meaning: 'Output tokens, reasoning included; estimates where the upstream reports none.',
  },
  clientCacheReadTokens: {
    name: 'gen_ai.client.inference.usage.cache_read.input_tokens',
    type: 'counter',
    unit: '{token}',
    labels: [...upstreamLabels, 'gen_ai.token.modality'],
    help: 'Input tokens read from the cache of a provider; included in input tokens.',
    meaning:
      'Input tokens that a provider read from its cache. Included in the input tokens: do not add them up.',
  },
  clientCacheWriteTokens: {
    name: 'gen_ai.client.inference.usage.cache_write.input_tokens',
    type: 'counter',
    unit: '{token}',
    labels: [...upstreamLabels, 'gen_ai.token.modality'],
    help: 'Input tokens written to the cache of a provider; included in input tokens.',
    meaning:
      'Input tokens that a provider wrote to its cache. Included in the input tokens: do not add them up.',
  },
  clientReasoningTokens: {
    name: 'gen_ai.client.inference.usage.reasoning.output_tokens',
    type: 'counter',
    unit: '{token}',
    labels: [...upstreamLabels, 'gen_ai.token.modality'],
    help: 'Reasoning tokens; included in output tokens.',
    meaning: 'Reasoning tokens. Included in the output tokens: do not add them up.',
  },
  clientOperationInputTokens: {
    name: 'gen_ai.client.inference.operation.input_tokens',
    type: 'histogram',
    unit: '{token}',
    labels: upstreamLabels,
    bounds: tokenBounds,
    help: 'Input tokens per upstream attempt, including cached tokens.',
    meaning: 'Input tokens per attempt with usage, for percentiles. Use the counters above for totals.',
  },
  clientOperationOutputTokens: {
    name: 'gen_ai.client.inference.operation.output_tokens',
    type: 'histogram',
    unit: '{token}',
    labels: upstreamLabels,
    bounds: tokenBounds,
    help: 'Output tokens per upstream attempt, including reasoning.',
    meaning: 'Output tokens per attempt with usage, for percentiles.',
  },
  clientTokenUsage: {
    name: 'gen_ai.client.token.usage',
    type: 'histogram',
    unit: '{token}',
    labels: [...upstreamLabels, 'gen_ai.token.type'],
    bounds: tokenBounds,
    help: 'Tokens per upstream attempt, by type (input, output); the older form.',
    meaning:
      'Tokens per attempt, by `gen_ai_token_type`: `input` or `output`. The older form of the metrics above, for existing dashboards.',
    setting: 'PENSTOCK_LEGACY_TOKEN_HISTOGRAM',
  },
  serverRequestDuration: {
    name: 'gen_ai.server.request.duration',
    type: 'histogram',
    unit: 's',
    labels: [...serverLabels, 'error.type'],
    bounds: durationBounds,
    help: 'Duration of client requests, by operation and model.',
    meaning:
      'As `penstock_request_duration_seconds`, by operation. `error_type` is the HTTP status from 400 on, absent below.',
  },
  serverTimeToFirstToken: {
    name: 'gen_ai.server.time_to_first_token',
    type: 'histogram',
    unit: 's',
    labels: serverLabels,
    bounds: firstTokenBounds,
    help: 'Time to the first content of streamed requests, by operation and model.',
    meaning: 'As `penstock_time_to_first_token_seconds`, by operation and in the buckets of the conventions.',
  },
  serverTimePerOutputToken: {
    name: 'gen_ai.server.time_per_output_token',
    type: 'histogram',
    unit: 's',
    labels: serverLabels,
    bounds: perTokenBounds,
    help: 'Time per output token of complete streams, after the first content.',
    meaning:
      'Complete streams: the time after the first content, divided by all output tokens except the first.',
  },
} satisfies MetricTable;
