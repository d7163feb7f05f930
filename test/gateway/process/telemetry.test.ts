// What does the process of a gateway do about telemetry: loads nothing of it where nobody asked, and ends on time where nobody listens?

import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rawCall } from '../../support/raw-client.ts';
import { sayLoads } from '../../support/say-loads.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { tableOf, testKey } from '../rig.ts';
import { type Folder, type ListeningProcess, launchListening, makeFolder } from './gateway-process.ts';

/** As a build ships it, beside the gateway. */
const telemetryPart = './gateway-telemetry.js';

let folder: Folder;
let wall: Wall;
let gateway: ListeningProcess | undefined;
let hole: BlackHole;

beforeEach(async () => {
  folder = await makeFolder();
  wall = await startWall();
  hole = await openBlackHole();
  await folder.putTable(tableOf([{ baseUrl: wall.baseUrl }]));
});

afterEach(async () => {
  await gateway?.process.stop();
  await hole.close();
  await wall.close();
  await folder.remove();
});

interface BlackHole {
  readonly url: string;
  /** All that has come, on all connections. */
  received(): string;
  /** Settled with the first bytes. */
  readonly reached: Promise<void>;
  close(): Promise<void>;
}

/** Takes connections and all that is sent, and never says a word. */
async function openBlackHole(): Promise<BlackHole> {
  const sockets = new Set<Socket>();
  const reached = Promise.withResolvers<void>();
  let text = '';
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
      reached.resolve();
    });
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
  return {
    url: `http://127.0.0.1:${port}`,
    received: () => text,
    reached: reached.promise,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

async function launched(env: Readonly<Record<string, string>>): Promise<ListeningProcess> {
  gateway = await launchListening(folder, { ...env, NODE_OPTIONS: await sayLoads(folder.path) });
  await gateway.process.line(/routing table in use/);
  return gateway;
}

async function ask({ url }: ListeningProcess): Promise<void> {
  const { status } = await rawCall(
    { port: Number(new URL(url).port) },
    {
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${testKey}` },
      body: { model: 'm', messages: [{ role: 'user', content: 'three plain words' }] },
    },
  );
  expect(status).toBe(200);
}

test('without an endpoint no code of OpenTelemetry is loaded, and upstreams get no trace', async () => {
  const running = await launched({ OTEL_TRACES_SAMPLER: 'always_on', PENSTOCK_USAGE_EVENTS: 'true' });
  await ask(running);
  await running.process.stop();
  expect(running.process.stdout()).not.toMatch(/^loads /m);
  expect(wall.calls[0]?.headers).not.toHaveProperty('traceparent');
});

test('with an endpoint it is loaded, and its headers are sent and in no log', async () => {
  const secret = 'canary-of-the-collector-key';
  const running = await launched({
    OTEL_EXPORTER_OTLP_ENDPOINT: hole.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${secret}`,
    OTEL_BSP_SCHEDULE_DELAY: '1',
  });
  expect(running.process.stdout()).toContain(`loads ${telemetryPart}`);
  await ask(running);
  await hole.reached;
  expect(hole.received()).toContain(`authorization: Bearer ${secret}`);
  expect(wall.calls[0]?.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  await running.process.stop();
  expect(running.process.stdout() + running.process.stderr()).not.toContain(secret);
});

// The SDK of OpenTelemetry, left to itself, took eight seconds and threw.
test('a collector that never answers delays the end by two seconds, after the ledger', async () => {
  const running = await launched({
    OTEL_EXPORTER_OTLP_ENDPOINT: hole.url,
    PENSTOCK_USAGE_EVENTS: 'true',
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  });
  await ask(running);
  running.process.signal('SIGTERM');
  await running.process.line(/draining/);
  const drainedAt = performance.now();
  // What is left goes only now.
  await hole.reached;
  expect(await folder.records()).toHaveLength(1);
  const { code } = await running.process.exit;
  const tookMs = performance.now() - drainedAt;
  expect([code, tookMs > 1_500 && tookMs < 5_000]).toEqual([0, true]);
  expect(running.process.stderr()).toBe('');
});

test('a setting that does not fit is reported at the start', async () => {
  await expect(
    launchListening(folder, { OTEL_EXPORTER_OTLP_ENDPOINT: hole.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }),
  ).rejects.toThrow('OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf');
});
