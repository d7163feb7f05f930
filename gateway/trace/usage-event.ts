// A ledger record as an event of OpenTelemetry, to collect usage together with logs. Bills are made from the ledger.

import { type LogRecord, ROOT_CONTEXT, SeverityNumber, type Span, trace } from '@opentelemetry/api';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';

/** @param span That of the attempt, where it is traced. */
export function usageEvent(record: LedgerRecord, span: Span | undefined): LogRecord {
  const { usage, price, owner, metadata, firstContentMs, status, failure, costPicodollars, ...plain } =
    record;
  const catalog = price?.catalog;
  const values: Record<string, string | number | boolean | undefined> = {
    id: plain.id,
    request: plain.request,
    attempt: plain.attempt,
    call: plain.call,
    namespace: plain.namespace,
    api_key: plain.apiKey,
    route: plain.route,
    model: plain.model,
    requested_model: plain.requestedModel,
    target: plain.target,
    provider: plain.provider,
    provider_key: plain.providerKey,
    upstream_model: plain.upstreamModel,
    client_dialect: plain.clientDialect,
    upstream_dialect: plain.upstreamDialect,
    is_stream: plain.isStream,
    outcome: plain.outcome,
    status,
    failure,
    cause: plain.cause,
    duration_ms: plain.durationMs,
    first_content_ms: firstContentMs,
    'tokens.input': usage.input,
    'tokens.cached_input': usage.cachedInput,
    'tokens.cache_write': usage.cacheWrite,
    'tokens.cache_write_hour': usage.cacheWriteHour,
    'tokens.output': usage.output,
    'tokens.reasoning': usage.reasoning,
    'tokens.audio_input': usage.audioInput,
    'tokens.audio_output': usage.audioOutput,
    is_estimated: plain.isEstimated,
    estimated_by: plain.estimatedBy,
    cost_picodollars: costPicodollars ?? undefined,
    price_source: price?.source,
    price_catalog: catalog?.name,
    price_catalog_version: catalog?.version,
    price_catalog_model: catalog && `${catalog.provider}/${catalog.model}`,
    payer: plain.payer,
    table_generation: plain.tableGeneration,
    // The owner's name may be that of a person; a team is not personal data.
    'owner.team': owner?.team,
    ...Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [`metadata.${name}`, value])),
  };
  return {
    eventName: 'penstock.usage',
    timestamp: Date.parse(plain.startedAt) + plain.durationMs,
    severityNumber: SeverityNumber.INFO,
    severityText: 'INFO',
    attributes: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [`penstock.usage.${name}`, value]),
    ),
    context: span === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, span),
  };
}
