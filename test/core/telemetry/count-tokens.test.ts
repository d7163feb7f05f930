// What does a trace show of a question for a number of tokens? The request, and each upstream that was asked, as with any other.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { readTelemetrySettings } from '../../../core/telemetry/settings.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { type Rig, startRig, tableOf, testKey } from '../../gateway/rig.ts';
import { type ArrivedSpan, type Collector, startCollector } from '../../support/collector/collector.ts';
import { buildWaitMs } from '../../support/go-build.ts';
import { rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { startWall, type Wall } from '../../support/wall.ts';

let collector: Collector;
let wall: Wall;
let simulator: Simulator;
let rig: Rig;
let spans: readonly ArrivedSpan[];

beforeAll(async () => {
  collector = await startCollector();
  wall = await startWall({ type: 'status', status: 529 });
  simulator = await startSimulator();
  const dialects: DialectName[] = ['anthropic-messages'];
  rig = await startRig(
    tableOf([
      { baseUrl: wall.baseUrl, dialects, providerEntry: { dialects }, upstreamModel: 'sim-large' },
      { baseUrl: `${simulator.url}/v1`, dialects, providerEntry: { dialects }, upstreamModel: 'sim-small' },
    ]),
    {
      telemetry: readTelemetrySettings(
        { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
        'penstock-gateway',
      ),
    },
  );
  const { status, headers } = await rawCall(
    { port: Number(new URL(rig.url).port) },
    {
      path: '/v1/messages/count_tokens',
      headers: { authorization: `Bearer ${testKey}` },
      body: { model: 'm', messages: [{ role: 'user', content: 'three plain words' }] },
    },
  );
  expect([status, headers['x-penstock-estimated']]).toEqual([200, undefined]);
  await rig.close();
  // What has been taken is written a moment later.
  spans = await until(async () => {
    const reported = await collector.spans();
    return reported.length >= 3 && reported;
  });
  // The collector is built once: two minutes of two cores.
}, buildWaitMs);

afterAll(async () => {
  await collector?.close();
  await wall?.close();
  await simulator?.close();
});

test('the request names its model and the number of calls', () => {
  const [request] = spans.filter(({ kind }) => kind === 2);
  expect(request).toMatchObject({ name: 'POST /v1/messages/count_tokens', status: {} });
  expect(request?.attributes).toMatchObject({
    'gen_ai.operation.name': 'count_tokens',
    'gen_ai.request.model': 'm',
    'http.response.status_code': 200,
    'penstock.attempts': 2,
  });
});

test('each upstream call is a span under it, with its outcome', () => {
  const [request] = spans.filter(({ kind }) => kind === 2);
  const asked = spans.filter(({ kind }) => kind === 3);
  expect(asked.map(({ name, parentSpanId, status }) => [name, parentSpanId, status.code ?? 0])).toEqual([
    ['count_tokens sim-large', request?.spanId, 2],
    ['count_tokens sim-small', request?.spanId, 0],
  ]);
  expect(asked.map(({ attributes }) => attributes)).toMatchObject([
    { 'penstock.provider': 'platform/p0', 'http.response.status_code': 529, 'error.type': '529' },
    { 'penstock.provider': 'platform/p1', 'http.response.status_code': 200, 'server.address': '127.0.0.1' },
  ]);
  // A count uses nothing: a sum of tokens over spans must not include them.
  expect(
    asked.flatMap(({ attributes }) => Object.keys(attributes)).filter((name) => /usage/.test(name)),
  ).toEqual([]);
  expect(wall.calls[0]?.headers.traceparent).toBe(`00-${asked[0]?.traceId}-${asked[0]?.spanId}-01`);
});
