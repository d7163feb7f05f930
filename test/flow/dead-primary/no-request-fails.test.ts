// Does a dead provider cost callers nothing, and the others little? A short form of `npm run e2e -- failover-load`: two gateways,
// few requests, and a breaker that is quick to try again.

import { expect, test } from 'vitest';
import { runDeadPrimary } from './run.ts';

test('a load with a first provider that dies and returns: no request fails, few calls are wasted', {
  timeout: 300_000,
}, async () => {
  const openForMs = 500;
  const seen = await runDeadPrimary({
    gateways: 2,
    requestsPerSecond: 60,
    deadMs: 2_500,
    breaker: { consecutiveFailures: 5, openForMs, maxOpenMs: openForMs, rateLimitCooldownMs: 20_000 },
    backMaxMs: 20_000,
  });
  expect(seen.dead).toMatchObject({ failed: 0, reasons: [] });
  expect(seen.dead.requests).toBeGreaterThan(100);
  expect(seen.back).toMatchObject({ failed: 0, reasons: [] });
  expect(seen.upstreamCalls, 'each request is answered once, all else is waste').toBe(
    seen.dead.requests + seen.deadCalls,
  );
  // How many are in flight when a breaker opens is a matter of the machine; without one it would be all of them.
  expect(seen.deadCalls).toBeLessThan(seen.dead.requests / 2);
  for (const { probes, backAfterMs } of seen.pods) {
    expect(probes, 'it was tried again while dead').toBeGreaterThan(0);
    expect(backAfterMs, 'it is used again').toBeDefined();
  }
});
