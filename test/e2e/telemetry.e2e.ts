// What do callers notice of a collector that takes everything and answers nothing? Two gateways under the same load in turns, every request
// traced and every record an event: one whose collector answers, and one whose collector is a black hole for all of the time (F33).
//
// PENSTOCK_HOLE_SECONDS (default 120) says for how long. Needs two cores and gcc.

import { createServer } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pickCores } from '../../bench/measure/cores.ts';
import { rawCall } from '../support/raw-client.ts';
import { type DoorRig, startDoorRig } from './overload/door-rig.ts';
import { load } from './scale/readings.ts';
import { openScorecard, type Scorecard } from './scorecard.ts';

const holeSeconds = Number(process.env.PENSTOCK_HOLE_SECONDS ?? 120);
const roundSeconds = 10;

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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

test(
  'a collector that is a black hole: callers wait no longer, memory is bounded, what is lost is counted',
  async () => {
    await using sink = await openSink();
    await using hole = await openHole();
    const cores = pickCores();
    await using good = await startDoorRig('unary', environmentOf(sink.url), cores);
    await using bad = await startDoorRig('unary', environmentOf(hole.url), cores);
    const steady = { connections: 20, ratePerSecond: 400, seconds: roundSeconds };
    for (const rig of [good, bad]) await rig.load({ connections: 20, seconds: 6 });
    const before = await bad.resident();
    const p99: Record<'good' | 'bad', number[]> = { good: [], bad: [] };
    let failures = 0;
    let requests = 0;
    for (let seconds = 0; seconds < holeSeconds; seconds += roundSeconds) {
      for (const [name, rig] of [
        ['good', good],
        ['bad', bad],
      ] as const) {
        const seen = await rig.load(steady);
        p99[name].push(seen.latencyMs?.p99 ?? Number.NaN);
        if (name === 'bad') {
          requests += seen.good + seen.bad;
          failures += seen.bad;
        }
      }
    }
    const after = await bad.resident();
    const dropped = await sumOf(bad, 'penstock_telemetry_dropped_total');
    const ratio = median(p99.bad) / median(p99.good);
    const shown = (list: readonly number[]) => list.map((ms) => ms.toFixed(2)).join(' ');
    card.add({
      what: 'p99 is within 5 % of that with a collector that answers',
      tried: requests,
      failed: ratio <= 1.05 ? 0 : 1,
      fired: hole.taken(),
      figures: `${ratio.toFixed(3)} times; medians ${median(p99.bad).toFixed(2)} and ${median(p99.good).toFixed(2)} ms of rounds ${shown(p99.bad)} and ${shown(p99.good)}`,
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
