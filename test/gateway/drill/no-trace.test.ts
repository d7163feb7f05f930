// What is left of a drill? Nothing but its outcome: it asks no upstream, opens no breaker, and is in no record or metric.

import { expect, test } from 'vitest';
import {
  type DrillOrder,
  EXCHANGE_PATH,
  exchangeResponseSchema,
} from '../../../gateway/contract/exchange.ts';
import type { ReadableJournal } from '../../../gateway/meter/journal.ts';
import { rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { closedPort } from '../../support/wall/closed-port.ts';
import { startRig, tableOf } from '../rig.ts';

const token = 't'.repeat(43);
const noJournal: ReadableJournal = {
  begin() {},
  append() {},
  flush: async () => {},
  close: async () => {},
  read: async () => undefined,
  onWritten: () => () => {},
};

test('drills that fail a target ten times leave a gateway as it was, whose upstreams are not even there', async () => {
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
  const told = async () => {
    const body = { waitMs: 0, readyPods: 0, drills };
    const headers = { authorization: `Bearer ${token}` };
    const { json } = await rawCall({ port }, { path: EXCHANGE_PATH, method: 'POST', headers, body });
    return exchangeResponseSchema.parse(json);
  };
  const { drills: outcomes, health } = await until(async () => {
    const one = await told();
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
