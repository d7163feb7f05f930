// What does telemetry cost? CPU of a gateway for each request: without it, with metrics pushed and 1 % of the requests traced, and with every
// request traced and every record an event. In turns on one core, so that whatever else the machine does falls on all of them; each time in
// processes of their own, as two that are alike differ by a tenth.
//
// PENSTOCK_COST_ROUNDS (default 12) says how often. Needs two cores and gcc.

import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { pickCores } from '../../bench/measure/cores.ts';
import { cpuUsed, readCpu } from '../../bench/measure/cpu.ts';
import { type DoorRig, startDoorRig } from './overload/door-rig.ts';
import { load } from './scale/readings.ts';
import { openScorecard } from './scorecard.ts';

const rounds = Number(process.env.PENSTOCK_COST_ROUNDS ?? 12);

/** Microseconds of all threads for one request. */
async function cpuOf(rig: DoorRig, seconds: number): Promise<number> {
  const before = readCpu([rig.gateway.process.pid]);
  const { good } = await rig.load({ bodyBytes: 1_024, connections: 32, seconds, leadMs: 0 });
  return cpuUsed(before, readCpu([rig.gateway.process.pid])).ns / 1_000 / good;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

test(
  'metrics pushed and 1 % traced cost less than 5 % of a request',
  async () => {
    const collector = createServer((request, response) => {
      request.resume();
      request.once('end', () => response.end());
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    const address = collector.address();
    const pushed = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
      OTEL_METRIC_EXPORT_INTERVAL: '10000',
      OTEL_TRACES_SAMPLER: 'traceidratio',
    };
    const cores = pickCores();
    const kinds = {
      off: {},
      low: { ...pushed, OTEL_TRACES_SAMPLER_ARG: '0.01' },
      all: { ...pushed, OTEL_TRACES_SAMPLER_ARG: '1', PENSTOCK_USAGE_EVENTS: 'true' },
    };
    type Kind = keyof typeof kinds;
    const seen: Record<Kind, number[]> = { off: [], low: [], all: [] };
    const orders: readonly (readonly Kind[])[] = [
      ['off', 'low', 'all'],
      ['low', 'off', 'all'],
    ];
    for (let round = 0; round < rounds; round++) {
      await using processes = new AsyncDisposableStack();
      const rigs: [Kind, DoorRig][] = [];
      for (const kind of orders[round % 2] ?? []) {
        const rig = processes.use(await startDoorRig('unary', kinds[kind], cores));
        rigs.push([kind, rig]);
        await cpuOf(rig, 5);
      }
      for (const [kind, rig] of rigs) seen[kind].push(await cpuOf(rig, 4));
    }
    const ratio = (name: Kind) =>
      median(seen[name].map((cpu, round) => cpu / (seen.off[round] ?? Number.NaN)));
    const card = openScorecard(`what telemetry costs (load of the machine ${load()})`);
    card.add({
      what: 'metrics pushed and 1 % traced cost less than 5 % of the CPU of a request',
      tried: rounds,
      failed: ratio('low') < 1.05 ? 0 : 1,
      figures: `${median(seen.off).toFixed(1)} us without (${Math.min(...seen.off).toFixed(1)} to ${Math.max(...seen.off).toFixed(1)}); ${ratio('low').toFixed(3)} times with (least to least ${(Math.min(...seen.low) / Math.min(...seen.off)).toFixed(3)}); with all traced and usage events ${ratio('all').toFixed(3)} times`,
    });
    card.print();
    collector.closeAllConnections();
    collector.close();
    expect(card.misses()).toEqual([]);
  },
  20 * 60_000,
);
