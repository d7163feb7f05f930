// What do callers notice of a collector that takes everything and answers nothing? Two gateways under the same load in turns, every request
// traced and every record an event: one whose collector answers, and one whose collector is a black hole for all of the time (F33).
//
// PENSTOCK_HOLE_SECONDS (default 120) says for how long. Needs two cores and gcc.

import { createServer } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pickCores } from '../../tools/bench/measure/cores.ts';
import { rawCall } from '../support/raw-client.ts';
import { type DoorRig, startDoorRig } from './overload/door-rig.ts';
import { load } from './scale/readings.ts';
import { openScorecard, type Scorecard } from './scorecard.ts';

const holeSeconds = Number(process.env.PENSTOCK_HOLE_SECONDS ?? 120);
/** Short, and who begins changes: what else the machine does meets both alike. */
const roundSeconds = 4;
/** Before anything is counted: for the first thousands of requests a process is busy with compiling what they run through. */
const warmRounds = 4;

let card: Scorecard;

beforeEach(({ task }) => {
  card = openScorecard(`${task.name} (${holeSeconds} s; load of the machine ${load()})`);
});
afterEach(() => card.print());

const listening = (server: { address(): AddressInfo | string | null }): string => {
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
};

interface Sink extends AsyncDisposable {
  readonly url: string;
  /** Exports, or connections to nowhere. */
  taken(): number;
}

/** A collector as far as a gateway sees it: everything is taken, and answered. */
async function openSink(): Promise<Sink> {
  let taken = 0;
  const server = createServer((request, response) => {
    taken++;
    request.resume();
    request.once('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: listening(server),
    taken: () => taken,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Everything is taken, and nothing is ever said. */
async function openHole(): Promise<Sink> {
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: listening(server),
    taken: () => sockets.size,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const environmentOf = (url: string): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_TRACES_SAMPLER: 'always_on',
  OTEL_METRIC_EXPORT_INTERVAL: '10000',
  PENSTOCK_USAGE_EVENTS: 'true',
});

async function sumOf({ gateway }: DoorRig, name: string): Promise<number> {
  const { text } = await rawCall({ port: Number(new URL(gateway.metricsUrl).port) }, { path: '/metrics' });
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Of all of them together: of a few hundred requests 99 of 100 say nothing to a twentieth. */
function p99(latencies: readonly number[]): number {
  return latencies.toSorted((a, b) => a - b)[Math.floor((latencies.length - 1) * 0.99)] ?? Number.NaN;
}

test(
  'with a collector that never answers callers wait no longer, memory is bounded, and losses are counted',
  async () => {
    await using sink = await openSink();
    await using hole = await openHole();
    const cores = pickCores();
    await using good = await startDoorRig('unary', environmentOf(sink.url), cores);
    await using bad = await startDoorRig('unary', environmentOf(hole.url), cores);
    const steady = {
      ...{ connections: 20, ratePerSecond: 400, seconds: roundSeconds },
      ...{ leadMs: 500, everyLatency: true },
    };
    for (const rig of [good, bad]) await rig.load({ connections: 20, seconds: 6 });
    let before = await bad.resident();
    const latencies: Record<'good' | 'bad', number[]> = { good: [], bad: [] };
    let failures = 0;
    for (let round = -warmRounds; round * roundSeconds < holeSeconds; round++) {
      if (round === 0) before = await bad.resident();
      const sides = [['good', good] as const, ['bad', bad] as const];
      for (const [name, rig] of round % 2 === 0 ? sides : sides.toReversed()) {
        const seen = await rig.load(steady);
        if (name === 'bad') failures += seen.bad;
        if (round >= 0) latencies[name].push(...seen.latenciesMs);
      }
    }
    const requests = latencies.bad.length;
    const after = await bad.resident();
    const dropped = await sumOf(bad, 'penstock_telemetry_dropped_total');
    const [ofGood, ofBad] = [p99(latencies.good), p99(latencies.bad)];
    card.add({
      what: 'p99 is within 5 % of that with a collector that answers',
      tried: requests,
      failed: ofBad / ofGood <= 1.05 ? 0 : 1,
      fired: hole.taken(),
      figures: `${(ofBad / ofGood).toFixed(3)} times; ${ofBad.toFixed(2)} ms, and ${ofGood.toFixed(2)} ms of ${latencies.good.length}`,
    });
    card.add({ what: 'every request is served', tried: requests, failed: failures, fired: hole.taken() });
    card.add({
      what: 'memory grows by less than 50 MiB',
      tried: 1,
      failed: after.nowMib - before.nowMib < 50 ? 0 : 1,
      fired: hole.taken(),
      figures: `${before.nowMib} MiB before, ${after.nowMib} after, ${after.peakMib} at most`,
    });
    card.add({
      what: 'what nobody took is counted',
      tried: requests,
      failed: dropped > requests ? 0 : 1,
      fired: hole.taken(),
      figures: `${dropped} spans and events of ${requests} requests; of the other gateway ${await sumOf(good, 'penstock_telemetry_dropped_total')}, whose collector took ${sink.taken()} exports`,
    });
    expect(card.misses()).toEqual([]);
  },
  30 * 60_000,
);
