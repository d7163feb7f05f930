// What is left of a drill? Nothing but its outcome: it asks no upstream, opens no breaker, and is in no record or metric. Nor is
// anything of what the gateway has learnt about its upstreams in the drill.

import { expect, test } from 'vitest';
import {
  type DrillOrder,
  EXCHANGE_PATH,
  type ExchangeResponse,
  exchangeResponseSchema,
} from '../../../core/contract/exchange.ts';
import type { ReadableJournal } from '../../../gateway/meter/journal.ts';
import { rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { closedPort } from '../../support/wall/closed-port.ts';
import { startRig, tableOf, testKey } from '../rig.ts';

const token = 't'.repeat(43);
const noJournal: ReadableJournal = {
  begin() {},
  append() {},
  flush: async () => {},
  close: async () => {},
  read: async () => undefined,
  onWritten: () => () => {},
};

/** One turn of the exchange, which gives what the gateway has to say by now. */
async function tell(port: number, drills: readonly DrillOrder[]): Promise<ExchangeResponse> {
  const body = { waitMs: 0, readyPods: 0, drills };
  const headers = { authorization: `Bearer ${token}` };
  const { json } = await rawCall({ port }, { path: EXCHANGE_PATH, method: 'POST', headers, body });
  return exchangeResponseSchema.parse(json);
}

test('ten drills that fail a target change nothing in a gateway whose upstreams do not exist', async () => {
  await using parts = new AsyncDisposableStack();
  const closed = parts.adopt(await closedPort(), (one) => one.close());
  const baseUrl = `http://127.0.0.1:${closed.port}/v1`;
  // Nor is any limit used up: each would stop the second drill.
  const limits = { requestsPerMinute: 1, tokensPerMinute: 1, maxConcurrentRequests: 1 };
  const targets = ['main', 'spare'].map((name) => ({
    baseUrl,
    name,
    keys: { a: 'secret-a' },
    providerEntry: { limits },
  }));
  const rig = await startRig(tableOf(targets, { limits }), {
    exchange: { port: 0, journal: noJournal, token: () => token },
  });
  parts.defer(() => rig.close());
  const port = Number(new URL(rig.gateway.internalUrl ?? '').port);
  const counted = async () => {
    const text = await rig.gateway.metrics.registry.metrics();
    // How full the heap is tells of the process, not of requests.
    return text.split('\n').filter((line) => /^penstock_(?!heap_share )/.test(line));
  };
  const before = await counted();
  const drills = Array.from(
    { length: 10 },
    (__, index): DrillOrder => ({
      id: `run ${index}`,
      route: 'team/m',
      fault: 'ServerError',
      takeoverWithinMs: 60_000,
    }),
  );
  const { drills: outcomes, health } = await until(async () => {
    const one = await tell(port, drills);
    return one.drills?.length === drills.length && one;
  });
  expect(outcomes?.map(({ isPassed, servedBy }) => [isPassed, servedBy])).toEqual(
    drills.map(() => [true, 'spare']),
  );
  expect(health).toEqual([]);
  expect(rig.records).toEqual([]);
  expect(before.length).toBeGreaterThan(3);
  expect(await counted()).toEqual(before);
});

test('a first target that is out of service and known as silent is still the first of a drill', async () => {
  await using parts = new AsyncDisposableStack();
  const closed = parts.adopt(await closedPort(), (one) => one.close());
  const baseUrl = `http://127.0.0.1:${closed.port}/v1`;
  const breaker = {
    consecutiveFailures: 1,
    openForMs: 600_000,
    maxOpenMs: 600_000,
    rateLimitCooldownMs: 1_000,
  };
  const targets = ['main', 'spare'].map((name) => ({ baseUrl, name, providerEntry: { breaker } }));
  const table = tableOf(targets);
  const onlyOnce = table.routes.map((one) => ({ ...one, failover: { ...one.failover, maxAttempts: 1 } }));
  const rig = await startRig(
    { ...table, routes: onlyOnce },
    { exchange: { port: 0, journal: noJournal, token: () => token } },
  );
  parts.defer(() => rig.close());
  const port = Number(new URL(rig.gateway.internalUrl ?? '').port);
  await rawCall(
    { port: Number(new URL(rig.url).port) },
    {
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { authorization: `Bearer ${testKey}` },
      body: { model: 'm', messages: [{ role: 'user', content: 'Are you there?' }] },
    },
  );
  rig.offer({ ...table, hints: [{ provider: 'platform/p0' }] });
  const open = { provider: 'platform/p0', state: 'open' };
  expect((await tell(port, [])).health).toMatchObject([open]);
  const order = { id: 'run', route: 'team/m', fault: 'ServerError', takeoverWithinMs: 60_000 };
  const { drills, health } = await until(async () => {
    const one = await tell(port, [order]);
    return one.drills?.length === 1 && one;
  });
  expect(drills).toMatchObject([{ isPassed: true, servedBy: 'spare' }]);
  expect(drills?.[0]?.message).toContain('after target main failed');
  expect(health).toMatchObject([open]);
});
