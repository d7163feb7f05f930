// Is an operation the unit of an endpoint? The gateway's own have their addresses, and an imaginary one fits in with a row.

import { expect, test } from 'vitest';
import { serverSentEvents } from '../../../gateway/dialects/events/framing.ts';
import { findDialect } from '../../../gateway/dialects/registry.ts';
import { askOnce } from '../../../gateway/operations/ask-once.ts';
import type { Operation } from '../../../gateway/operations/operation.ts';
import { operationEndpoints } from '../../../gateway/operations/registry.ts';
import { ordinaryDelivery } from '../../../gateway/pipeline/delivery.ts';
import { enterRequest } from '../../../gateway/pipeline/limits.ts';
import type { Exchange, PipelineParts } from '../../../gateway/pipeline/parts.ts';
import { planFor } from '../../../gateway/pipeline/route-exchange.ts';
import { askOf } from '../../../gateway/pipeline/send-upstream.ts';
import { answerHeaders } from '../../../gateway/request/answer-headers.ts';
import { GatewayError } from '../../../gateway/request/errors.ts';
import { Cancellation } from '../../../gateway/stream/cancellation.ts';
import { startRig, tableOf, testKey } from '../rig.ts';
import { startCloud } from '../upstream/imaginary-cloud.ts';

test('each operation has its endpoints, and there are no others', () => {
  const paths = operationEndpoints().map(({ operation, path }) => `${operation.name} ${path}`);
  expect(paths.sort()).toEqual([
    'count-tokens /messages/count_tokens',
    'generate /chat/completions',
    'generate /completions',
    'generate /messages',
    'generate /responses',
  ]);
});

/** Asks the first upstream for the vectors of a text, and gives its answer as it came. */
const vectors: Operation = {
  name: 'count-tokens',
  mustParse: () => false,
  countsRefusals: true,
  serve(parts, exchange, over) {
    serveVectors(parts, exchange).then(
      () => over.onServed(),
      (error: unknown) => over.onFailed(error, undefined),
    );
  },
};

async function serveVectors(parts: PipelineParts, exchange: Exchange): Promise<void> {
  const { dialect, body, response, requestId, view } = exchange;
  const facts = { model: 'm', isStream: false, wantsUsage: false, choices: 1 };
  const plan = planFor(parts, exchange, facts);
  const routed = { ...exchange, facts, plan, delivery: ordinaryDelivery, translation: undefined };
  await enterRequest(parts, routed, undefined, 0);
  const [candidate] = plan.candidates;
  if (!candidate) throw new GatewayError('model_not_found', 'No target has vectors.');
  const request = {
    upstream: dialect,
    ask: askOf(exchange, candidate, dialect, 'count-tokens', '/vectors', true, false),
    framing: serverSentEvents,
    body: body.chunks,
    isNative: true,
  };
  const answer = await askOnce(parts, routed, candidate, request, 5_000, new Cancellation());
  response.writeHead(answer?.status ?? 502, answerHeaders(requestId, view.generation));
  response.end(answer?.body);
}

test('an imaginary operation is routed, limited and answered with a row alone', async () => {
  await using parts = new AsyncDisposableStack();
  const cloud = parts.adopt(await startCloud((response) => response.end('[0.5]')), (one) => one.close());
  const table = tableOf([{ baseUrl: cloud.baseUrl, keys: { main: 'sk-vectors-0123456789' } }]);
  const endpoints = [{ operation: vectors, dialect: findDialect('openai-chat'), path: '/vectors' }];
  const keys = table.keys.map((key) => ({ ...key, limits: { requestsPerMinute: 1 } }));
  const rig = parts.adopt(await startRig({ ...table, keys }, { endpoints }), (one) => one.close());
  const ask = (): Promise<Response> =>
    fetch(`${rig.baseUrl}/vectors`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
      body: '{"model":"m","input":"a text"}',
    });
  const answered = await ask();
  expect(answered.status).toBe(200);
  expect(await answered.json()).toEqual([0.5]);
  expect(answered.headers.get('x-penstock-generation')).toBe('1');
  expect(cloud.calls.map(({ url, headers }) => [url, headers.authorization])).toEqual([
    ['/base/vectors', 'Bearer sk-vectors-0123456789'],
  ]);
  expect((await ask()).status).toBe(429);
});
