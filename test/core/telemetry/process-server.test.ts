// What is a process asked by Kubernetes and Prometheus, and what does it say?

import type { Server } from 'node:http';
import { Gauge, Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildProcessServer, listenAt, stopServer } from '../../../core/telemetry/process-server.ts';

let stuck: string | undefined;
let missing: string | undefined;
let server: Server;
let url: string;

beforeEach(async () => {
  stuck = undefined;
  missing = undefined;
  const registry = new Registry();
  new Gauge({ name: 'depth', help: 'Of the sea.', registers: [registry] }).set(7);
  server = buildProcessServer({
    registry,
    stuck: () => stuck,
    missing: () => missing,
    pages: { '/tide': ({ url: asked }) => ({ status: 200, type: 'text/plain', body: `${asked}` }) },
  });
  url = await listenAt(server, '127.0.0.1', 0);
});

afterEach(() => stopServer(server));

async function get(path: string): Promise<readonly [number, string]> {
  const response = await fetch(`${url}${path}`);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return [response.status, await response.text()];
}

test('readiness names what it waits for, and liveness does not depend on that', async () => {
  missing = 'the tide is out';
  expect(await get('/readyz')).toEqual([503, 'the tide is out\n']);
  expect(await get('/livez')).toEqual([200, 'ok\n']);
  missing = undefined;
  expect(await get('/readyz?verbose')).toEqual([200, 'ok\n']);
});

test.each(['/livez', '/healthz'])('a fault that only a restart can fix is reported at %s', async (path) => {
  stuck = 'the sluice is jammed';
  expect(await get(path)).toEqual([500, 'the sluice is jammed\n']);
});

test('metrics are in the text format of Prometheus', async () => {
  expect(await get('/metrics')).toEqual([200, expect.stringContaining('\ndepth 7\n')]);
});

test('it has its own pages, and lists them for an unknown path', async () => {
  expect(await get('/tide?at=noon')).toEqual([200, '/tide?at=noon']);
  for (const path of ['/', '/__proto__', '/constructor'])
    expect(await get(path)).toEqual([404, 'only /metrics, /livez, /healthz, /readyz and /tide are here\n']);
});

test('a taken port is an error', async () => {
  const other = buildProcessServer({ registry: new Registry(), missing: () => undefined });
  await expect(listenAt(other, '127.0.0.1', Number(new URL(url).port))).rejects.toThrow('EADDRINUSE');
  await stopServer(other);
});

test('it can listen at an address of IPv6', async () => {
  const other = buildProcessServer({ registry: new Registry(), missing: () => undefined });
  try {
    expect(new URL(await listenAt(other, '::1', 0)).hostname).toBe('[::1]');
  } finally {
    await stopServer(other);
  }
});
