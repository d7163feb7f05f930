// The manifests of local mode, applied unchanged with `kubectl apply -f`: the same models, the same answers, the same verdicts.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningLocal, startLocal } from '../../../local/start.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { type Installation, startInstallation } from './installation.ts';

const manifests = fileURLToPath(new URL('../../../docs/examples/quickstart/', import.meta.url));
const printed: string[] = [];
let folder: string;
let local: RunningLocal;
let installation: Installation;

beforeAll(async () => {
  installation = await startInstallation({ operators: 1, gateways: 2 });
  folder = await mkdtemp(join(tmpdir(), 'penstock-quickstart-'));
  // The manifests name the port of the simulator. Local mode brings it, and the gateways of the cluster use the same.
  const nobody = { apiKey: undefined, baseUrl: undefined };
  const ports = { port: 0, metricsPort: 0, simulatorPort: 9100 };
  const folders = { manifestsFolder: manifests, stateFolder: folder };
  local = await startLocal({ ...ports, ...folders, openAi: nobody, anthropic: nobody }, (line) =>
    printed.push(line),
  );
}, clusterWaitMs);

afterAll(async () => {
  await local?.close();
  await installation?.stop();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

test('kubectl apply -f takes them as they are, and all become Ready', async () => {
  const { plane } = installation;
  const said = await plane.kubectl(['apply', '-f', manifests]);
  expect(said).toMatchObject({ code: 0, stderr: '' });
  const wait = ['--all', '-n', 'default', '--timeout=20s'];
  // The one that is down is Ready too: what is wrong with it is not in the manifests.
  for (const kind of ['providers', 'modelroutes', 'apikeys']) {
    await plane.mustKubectl(['wait', kind, '--for=condition=Ready', ...wait]);
  }
});

test('every gateway answers as local mode does: listing, plain, streamed, failed over, refused', async () => {
  const { plane, gateways } = installation;
  const secret = ['get', 'secret', 'quickstart-key', '-n', 'default', '-o', 'jsonpath={.data.apiKey}'];
  const clusterKey = Buffer.from(await plane.mustKubectl(secret), 'base64').toString();
  const localKey = /psk_\w+/.exec(printed.join('\n'))?.[0] ?? '';
  const wanted = await answersOf(local.gateway.url, localKey);
  expect(wanted.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 200, 404, 401]);
  expect(wanted.some(({ attempts }) => attempts === '2')).toBe(true);
  for (const { url } of gateways) expect(await answersOf(url, clusterKey)).toEqual(wanted);
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
