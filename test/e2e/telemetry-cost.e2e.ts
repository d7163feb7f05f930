// What does telemetry cost? Of the CPU of a gateway under load, the share that went into OpenTelemetry and all that it calls: with metrics
// pushed and 1 % of the requests traced, and with every request traced and every record an event. It is read from a profile of the process,
// as two that are alike differ by more than a tenth of their CPU; what tracing costs elsewhere, such as in garbage that others collect, is
// in `npm run bench -- --parts`.
//
// PENSTOCK_COST_SECONDS (default 20) says how long the load is. Needs two cores and gcc.

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { profilerFlags, readProfile } from '../../tools/bench/cpu-profile.ts';
import { shareOfPart } from '../../tools/bench/self-times.ts';
import { startDoorRig } from './overload/door-rig.ts';
import { load } from './scale/readings.ts';
import { openScorecard } from './scorecard.ts';

const seconds = Number(process.env.PENSTOCK_COST_SECONDS ?? 20);
const call = { bodyBytes: 1_024, connections: 32, leadMs: 0 };
/** The bundle that a gateway loads where telemetry is sent, and only there. */
const isTelemetry = (url: string) => url.endsWith('/gateway-telemetry.js');

const card = openScorecard(`what telemetry costs (${seconds} s; load of the machine ${load()})`);
afterAll(() => card.print());

/** The share of telemetry in the busy time of the gateway's main thread. */
async function costOf(env: Readonly<Record<string, string>>) {
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'penstock-cost-'));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  let exports = 0;
  const collector = createServer((request, response) => {
    exports++;
    request.resume();
    request.once('end', () => response.end());
  });
  parts.defer(() => void collector.close());
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const address = collector.address();
  const telemetry = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    OTEL_METRIC_EXPORT_INTERVAL: '10000',
    OTEL_TRACES_SAMPLER: 'traceidratio',
  };
  const profiler = { NODE_OPTIONS: profilerFlags(folder).join(' ') };
  let good = 0;
  {
    await using rig = await startDoorRig('unary', { ...telemetry, ...profiler, ...env });
    // For the first thousands of requests a process is busy with compiling what they run through.
    await rig.load({ ...call, seconds: 5 });
    ({ good } = await rig.load({ ...call, seconds }));
  }
  // Its last tenth may be the end of the process.
  const share = shareOfPart(await readProfile(folder), seconds * 0.9, isTelemetry);
  return { good, exports, share, percent: `${(share * 100).toFixed(1)} %` };
}

test(
  'metrics pushed and 1 % traced cost less than 5 % of a request',
  async () => {
    const low = await costOf({ OTEL_TRACES_SAMPLER_ARG: '0.01' });
    const all = await costOf({ OTEL_TRACES_SAMPLER_ARG: '1', PENSTOCK_USAGE_EVENTS: 'true' });
    card.add({
      what: 'metrics pushed and 1 % traced cost less than 5 % of the CPU of a request',
      tried: low.good,
      failed: low.share < 0.05 ? 0 : low.good,
      figures: `${low.percent}, ${low.exports} exports; with all traced and usage events ${all.percent} of ${all.good} requests, ${all.exports} exports`,
    });
    expect(card.misses()).toEqual([]);
    // What is not found in a profile costs nothing there.
    expect(low.share).toBeGreaterThan(0);
    expect(all.share).toBeGreaterThan(low.share);
  },
  5 * 60_000,
);
