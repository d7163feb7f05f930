// The manifests of local mode, applied unchanged with `kubectl apply -f`: the same models, the same answers, the same verdicts.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type RunningLocal, startLocal } from '../../../local/start.ts';
import { type ModelRouteStatus, modelRouteStatusSchema } from '../../../operator/resources/model-route.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { runs } from '../../support/runs.ts';
import { until } from '../../support/until.ts';
import { type Installation, startInstallation } from './installation.ts';
import { readMetrics } from './readings.ts';
import { eventsOf } from './reported.ts';

const manifests = fileURLToPath(new URL('../../../docs/examples/quickstart/', import.meta.url));
const drillExample = fileURLToPath(new URL('../../../docs/examples/drills/route.yaml', import.meta.url));
const printed: string[] = [];
let folder: string;
let local: RunningLocal;
let installation: Installation;

beforeAll(async () => {
  installation = await startInstallation({ operators: 1, gateways: runs(2) });
  folder = await mkdtemp(join(tmpdir(), 'penstock-quickstart-'));
  // The manifests name the port of the simulator. Local mode brings it, and the gateways of the cluster use the same.
  const nobody = { apiKey: undefined, baseUrl: undefined };
  const ports = { port: 0, metricsPort: 0, simulatorPort: 9100, dashboardPort: 0 };
  const folders = { manifestsFolder: manifests, stateFolder: folder, pagesFolder: join(folder, 'pages') };
  const vendors = { openAi: nobody, anthropic: nobody, gemini: nobody };
  local = await startLocal({ ...ports, ...folders, ...vendors }, (line) => printed.push(line));
}, clusterWaitMs);

afterAll(async () => {
  await local?.close();
  await installation?.stop();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

test('kubectl apply -f accepts them unchanged, and all become Ready', async () => {
  const { plane } = installation;
  const said = await plane.kubectl(['apply', '-f', manifests]);
  expect(said).toMatchObject({ code: 0, stderr: '' });
  const wait = ['--all', '-n', 'default', '--timeout=20s'];
  // The one that is down is Ready too: what is wrong with it is not in the manifests.
  for (const kind of ['providers', 'modelroutes', 'apikeys']) {
    await plane.mustKubectl(['wait', kind, '--for=condition=Ready', ...wait]);
  }
});

test('every gateway answers as local mode does: list, plain, streamed, after a failover, refused', async () => {
  const { plane, gateways } = installation;
  const secret = ['get', 'secret', 'quickstart-key', '-n', 'default', '-o', 'jsonpath={.data.apiKey}'];
  const clusterKey = Buffer.from(await plane.mustKubectl(secret), 'base64').toString();
  const localKey = /psk_\w+/.exec(printed.join('\n'))?.[0] ?? '';
  const wanted = await answersOf(local.gateway.url, localKey);
  expect(wanted.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 200, 404, 401]);
  expect(wanted.some(({ attempts }) => attempts === '2')).toBe(true);
  for (const { url } of gateways) expect(await answersOf(url, clusterKey)).toEqual(wanted);
});

test('a manual drill proves the failover of a model at once, and a failed drill names the remedy', async () => {
  const { plane, operators, gateways } = installation;
  const object = { kind: 'ModelRoute', namespace: 'default', name: 'drilled' };
  const drillOf = async (): Promise<NonNullable<ModelRouteStatus['drill']>> => {
    const ref = ['get', 'modelroute/drilled', '--namespace=default', '--output=json'];
    const { status } = z
      .object({ status: modelRouteStatusSchema })
      .parse(JSON.parse(await plane.mustKubectl(ref)));
    return status.drill ?? {};
  };
  const runBy = (trigger: string) =>
    plane.mustKubectl([
      ...['annotate', 'modelroute/drilled', '--namespace=default', '--overwrite'],
      `penstock.dev/drill-now=${trigger}`,
    ]);
  const drilled = async (trigger: string) => {
    await runBy(trigger);
    return until(async () => {
      const drill = await drillOf();
      return drill.observedTrigger === trigger && drill;
    });
  };
  const askedOf = async () => {
    const all = await Promise.all(gateways.map(({ metricsUrl }) => readMetrics(metricsUrl)));
    return all.map((read) => [read('penstock_requests_total'), read('penstock_attempts_total')]);
  };
  const before = await askedOf();

  await plane.mustKubectl(['apply', '-f', drillExample]);
  const first = await until(async () => {
    const drill = await drillOf();
    return drill.result !== undefined && drill;
  });
  expect(first).toMatchObject({ result: 'Passed', servedBy: 'spare' });
  // A silent target is waited for as long as its route says: 300 ms from when it was asked, and its silence begins a little later.
  expect(Number.parseInt(first.takeover ?? '', 10)).toBeGreaterThanOrEqual(280);
  expect(first.nextRunTime).toMatch(/T03:00:00Z$/);

  const again = await drilled('one');
  expect(again).toMatchObject({ result: 'Passed', nextRunTime: first.nextRunTime });

  const patch = ['patch', 'modelroute/drilled', '--namespace=default', '--type=merge', '--patch'];
  await plane.mustKubectl([
    ...patch,
    '{"spec":{"failover":{"maxAttempts":1},"timeouts":{"lastFirstEvent":"300ms"}}}',
  ]);
  const failed = await drilled('two');
  expect(failed).toMatchObject({
    result: 'Failed',
    message: 'failover.maxAttempts is 1, so nothing is tried after target main; make it 2 or more',
  });
  const reported = await eventsOf(plane, object, 'DrillFailed');
  expect(reported.filter(({ reason }) => reason.startsWith('Drill'))).toMatchObject([
    { type: 'Warning', reason: 'DrillFailed', note: failed.message, count: 1 },
    { type: 'Normal', reason: 'DrillPassed', count: 1 },
  ]);
  const [operator] = operators;
  const metrics = await readMetrics(operator?.metricsUrl ?? '');
  const label = 'route="default/drilled"';
  expect(metrics('penstock_operator_drill_passed', label)).toBe(0);
  expect(metrics('penstock_operator_drill_due_timestamp_seconds', label)).toBe(
    Date.parse(failed.nextRunTime ?? '') / 1000,
  );
  // Nobody was asked, and nothing was counted.
  expect(await askedOf()).toEqual(before);
});

interface Answer {
  readonly what: string;
  readonly status: number;
  readonly attempts: string | null;
  readonly provider: string | null;
  /** Without what differs from call to call. */
  readonly body: string;
}

async function answersOf(url: string, key: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  const ask = async (what: string, path: string, authorization: string | undefined, body?: object) => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    answers.push({
      what,
      status: response.status,
      attempts: response.headers.get('x-penstock-attempts'),
      provider: response.headers.get('x-penstock-provider'),
      body: withoutMoments(await response.text()),
    });
  };
  const bearer = `Bearer ${key}`;
  const messages = [{ role: 'user', content: 'three plain words' }];
  await ask('listed', '/v1/models', bearer);
  await ask('listed without a key', '/v1/models', undefined);
  for (const model of ['penstock/small', 'penstock/failover']) {
    await ask(model, '/v1/chat/completions', bearer, { model, messages });
    await ask(`${model} streamed`, '/v1/chat/completions', bearer, { model, messages, stream: true });
  }
  await ask('completions', '/v1/completions', bearer, {
    model: 'penstock/small',
    prompt: 'once',
    max_tokens: 8,
  });
  await ask('unknown model', '/v1/chat/completions', bearer, { model: 'none', messages });
  await ask('wrong key', '/v1/chat/completions', `${bearer}x`, { model: 'penstock/small', messages });
  return answers;
}

/** Ids and times. A model is as old as its object, or as its file. */
function withoutMoments(body: string): string {
  return body
    .replaceAll(/"id":"(chatcmpl|cmpl)-[^"]*"/g, '"id":"…"')
    .replaceAll(/"created":\d+/g, '"created":0')
    .replaceAll(/"created_at":"[^"]*"/g, '"created_at":"…"')
    .replaceAll(/req_\w+/g, 'req_…');
}
