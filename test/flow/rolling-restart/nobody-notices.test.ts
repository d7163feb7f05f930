// Does anybody who calls notice a rolling restart? A short form of `npm run e2e -- haproxy` and `nodes/rolling`.

import { expect, test } from 'vitest';
import { startLoad } from '../../support/load/start.ts';
import { startFleet } from './fleet.ts';
import { startService } from './service.ts';

test('two gateways are restarted one after the other: no request fails, no stream is cut', {
  timeout: 300_000,
}, async () => {
  await using parts = new AsyncDisposableStack();
  const fleet = await startFleet({ gateways: 2, drainAcceptMs: 3_000, stream: 'pace=100+tokens=12' });
  parts.defer(() => fleet.stop());
  const service = await startService(fleet.members, 100);
  parts.defer(() => service.close());
  const load = await startLoad({ ...fleet.plan, urls: [service.url], requestsPerSecond: 60, streams: 20 });
  parts.defer(() => load.kill());
  for (const index of fleet.members.keys()) await fleet.restart(index);
  const figures = await load.stop();
  expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
  expect(figures.requests).toBeGreaterThan(100);
  expect(figures.streams).toBeGreaterThan(20);
  expect(Math.min(...service.given), 'each was called').toBeGreaterThan(0);
});
