// Do ledger and dashboard, as they are shipped, send their metrics where they are asked to, and load nothing of OpenTelemetry where not?

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { builtCheckout } from '../../cluster/checkout.ts';
import { type RunningProcess, startProcess } from '../../support/process.ts';
import { sayLoads } from '../../support/say-loads.ts';

const part = './metrics-telemetry.js';
const nowhere = 'https://127.0.0.1:1';

let folder: string;
let parts: AsyncDisposableStack;

beforeEach(async () => {
  parts = new AsyncDisposableStack();
  folder = await mkdtemp(join(tmpdir(), 'penstock-telemetry-'));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
});
afterEach(() => parts.disposeAsync());

interface Export {
  readonly path: string;
  readonly text: string;
  readonly authorization: string | undefined;
}

/** Takes all that is sent. */
async function openSink(): Promise<{ readonly url: string; readonly exports: readonly Export[] }> {
  const exports: Export[] = [];
  const server = createServer(async (request, response) => {
    const pieces = await request.toArray();
    const { authorization } = request.headers;
    exports.push({ path: request.url ?? '', text: Buffer.concat(pieces).toString('latin1'), authorization });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  parts.defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`, exports };
}

/** What each needs to run where no cluster answers. */
const environments = {
  async ledger() {
    const kubeconfig = join(folder, 'kubeconfig');
    const named = {
      cluster: { server: nowhere },
      context: { cluster: 'c', user: 'u' },
      user: { token: 't' },
    };
    await writeFile(
      kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'x',
        clusters: [{ name: 'c', cluster: named.cluster }],
        contexts: [{ name: 'x', context: named.context }],
        users: [{ name: 'u', user: named.user }],
      }),
    );
    return {
      PENSTOCK_NAMESPACE: 'here',
      PENSTOCK_TABLE_NAMESPACE: 'here',
      PENSTOCK_GATEWAY_SELECTOR: 'app=gateway',
      PENSTOCK_HOST: '127.0.0.1',
      PENSTOCK_PORT: '0',
      PENSTOCK_METRICS_PORT: '0',
      PENSTOCK_LEDGER_FILE: join(folder, 'ledger.sqlite'),
      KUBECONFIG: kubeconfig,
    };
  },
  async dashboard() {
    const pages = join(folder, 'pages');
    await mkdir(pages);
    await writeFile(join(pages, 'index.html'), '<!doctype html>');
    return {
      PENSTOCK_DASHBOARD_HOST: '127.0.0.1',
      PENSTOCK_DASHBOARD_PORT: '0',
      PENSTOCK_DASHBOARD_METRICS_PORT: '0',
      PENSTOCK_DASHBOARD_PAGES: pages,
      PENSTOCK_DASHBOARD_KUBERNETES_URL: nowhere,
    };
  },
};

const PROCESSES = ['ledger', 'dashboard'] as const;

async function launched(
  name: (typeof PROCESSES)[number],
  env: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  const running = await startProcess(join(await builtCheckout(), `${name}.js`), {
    env: { ...(await environments[name]()), ...env, NODE_OPTIONS: await sayLoads(folder) },
  });
  parts.defer(async () => void (await running.stop()));
  await running.line(new RegExp(`${name} started`));
  return running;
}

describe.each(PROCESSES)('the %s', (name) => {
  test('without an endpoint loads no code of OpenTelemetry', async () => {
    const running = await launched(name, { OTEL_METRIC_EXPORT_INTERVAL: '10' });
    expect(await running.stop()).toEqual({ code: 0, signal: null });
    expect(running.stdout()).not.toMatch(/^loads /m);
  });

  test('with an endpoint sends its metrics, also the last ones, and nothing else, and shows no header', async () => {
    const secret = 'canary-of-the-collector-key';
    const sink = await openSink();
    // The first one is due in a minute: what is sent here is sent at the end.
    const running = await launched(name, {
      OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${secret}`,
    });
    expect(running.stdout()).toContain(`loads ${part}`);
    expect(await running.stop()).toEqual({ code: 0, signal: null });
    expect(sink.exports.map(({ path, authorization }) => [path, authorization])).toEqual([
      ['/v1/metrics', `Bearer ${secret}`],
    ]);
    expect(sink.exports[0]?.text).toContain(`penstock-${name}`);
    expect(sink.exports[0]?.text).toContain(`penstock.${name}.`);
    expect(running.stdout() + running.stderr()).not.toContain(secret);
  });

  test('goes on without a collector, and logs that once', async () => {
    const running = await launched(name, {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TIMEOUT: '50',
      OTEL_METRIC_EXPORT_INTERVAL: '60',
    });
    await running.line(/the collector does not accept metrics/);
    expect(await running.stop()).toEqual({ code: 0, signal: null });
    expect(running.stdout().match(/the collector does not accept metrics/g)).toHaveLength(1);
  });
});
