// Gateways as processes that keep limits in one store, or by shares, and what they say of it.

import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import { rawCall } from '../../support/raw-client.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { type ListeningProcess, launchListening, makeFolder } from '../process/gateway-process.ts';

export interface Fleet {
  readonly gateways: readonly ListeningProcess[];
  readonly ports: readonly number[];
  /** Settled when all of them keep limits in the store. */
  inStore(): Promise<void>;
  /** Settled when none of them holds anything. */
  quiet(): Promise<void>;
  /** Of all gateways, by the name of a metric with its labels. */
  metric(name: string): Promise<readonly (string | undefined)[]>;
  /** Calls that the store did not answer in time, of all gateways. */
  lateCalls(): Promise<number>;
  close(): Promise<void>;
}

/** @param redis Left out: each keeps its share. */
export async function launchFleet(
  count: number,
  table: RoutingTable,
  redis?: Pick<RedisServer, 'url'>,
  password?: string,
): Promise<Fleet> {
  await using parts = new AsyncDisposableStack();
  const gateways = await Promise.all(
    Array.from({ length: count }, async () => {
      const folder = parts.adopt(await makeFolder(), (one) => one.remove());
      await folder.putTable(table);
      const env = {
        PENSTOCK_LIMITS_STORE_URL: redis?.url,
        PENSTOCK_LIMITS_STORE_PASSWORD: password,
        // The cores are shared with other tests: an answer that is late for that is no answer of a dead store.
        PENSTOCK_LIMITS_STORE_BUDGET_MS: '1000',
        PENSTOCK_LIMITS_GATEWAYS: String(count),
      };
      const gateway = parts.adopt(await launchListening(folder, env), async (one) => {
        await one.process.stop();
      });
      await gateway.process.line(/routing table in use/);
      return gateway;
    }),
  );
  const started = parts.move();
  const metric: Fleet['metric'] = (name) =>
    Promise.all(
      gateways.map(async ({ metricsUrl }) => {
        const { text } = await rawCall({ port: portOf(metricsUrl) }, { path: '/metrics' });
        const line = text.split('\n').find((one) => one.startsWith(`${name} `));
        return line?.slice(name.length + 1);
      }),
    );
  const all = (name: string, value: string): Promise<true> =>
    until(async () => (await metric(name)).every((one) => one === value));
  return {
    gateways,
    ports: gateways.map(({ url }) => portOf(url)),
    metric,
    async lateCalls() {
      const counts = await metric('penstock_limits_store_failures_total{reason="timeout"}');
      return counts.reduce((sum, count) => sum + Number(count), 0);
    },
    async inStore() {
      await all('penstock_limits_mode{mode="store"}', '1');
    },
    async quiet() {
      await all('penstock_limits_held', '0');
    },
    close: () => started.disposeAsync(),
  };
}

export function portOf(url: string | undefined): number {
  return Number(new URL(url ?? '').port);
}

/** Places that anybody has in the store. */
export async function placesIn(redis: Pick<RedisServer, 'command'>): Promise<number> {
  const keys = await redis.command('KEYS', '*:places');
  const counts = (Array.isArray(keys) ? keys.map(String) : [])
    // It is only written to see whether it can be.
    .filter((key) => !key.endsWith(':probe:places'))
    .map(async (key) => Number(await redis.command('ZCARD', key)));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
