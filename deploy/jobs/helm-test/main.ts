// Do the gateways of this release answer, and does its operator work? Runs once, as the Pod of `helm test`: gateways must list
// their public models, stream a complete completion if a key is set, and get operator heartbeats.

import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { KubeError } from '../../../core/kube/client.ts';
import { isRecord } from '../../../core/kube/object.ts';
import { readObject } from '../../../core/kube/patch.ts';
import { objectPath, secrets } from '../../../core/kube/paths.ts';
import { openServiceAccountClient } from '../../../core/kube/service-account.ts';
import { belongToAccount } from './belong.ts';
import { type HelmTestSettings, type KeyPlace, type Place, readSettings } from './settings.ts';
import { watchOperator } from './watch-operator.ts';

try {
  const settings = readSettings();
  const { baseUrl, completion, metricsUrl, patienceMs } = settings;
  const operatorShowsLife = watchOperator(metricsUrl);
  if (settings.pod !== undefined) await belong(settings, settings.pod);
  await eventually(patienceMs, () => listed(baseUrl));
  console.log(`${baseUrl} serves a routing table: it lists its public models`);
  if (completion === undefined) {
    console.log('no completion was asked for: set helmTest.keySecret and helmTest.model, or demo.enabled');
  } else {
    const text = await eventually(patienceMs, async () =>
      streamed(baseUrl, await keyAt(completion.key, settings), completion.model),
    );
    console.log(`model ${completion.model} streamed: ${text}`);
  }
  await eventually(patienceMs, operatorShowsLife);
  console.log('every gateway hears of an operator');
} catch (error) {
  console.error(`the test failed: ${messageOf(error)}`);
  process.exitCode = 1;
}

async function eventually<Value>(patienceMs: number, attempt: () => Promise<Value>): Promise<Value> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      // A right that is missing does not come by waiting.
      const isFinal = error instanceof KubeError && error.status === 403;
      if (isFinal || performance.now() > deadlineMs) throw error;
      await delay(1_000);
    }
  }
}

/** Where that is refused, the test goes on: what it finds out does not hang on it. */
async function belong({ apiServer, patienceMs }: HelmTestSettings, pod: Place): Promise<void> {
  const client = openServiceAccountClient(apiServer());
  try {
    await eventually(patienceMs, () => belongToAccount(client, pod, apiServer().folder));
  } catch (error) {
    console.error(`this Pod will be left by helm uninstall: ${messageOf(error)}`);
  } finally {
    client.close();
  }
}

async function keyAt(place: KeyPlace, { apiServer }: HelmTestSettings): Promise<string> {
  if (place.type === 'file') return (await readFile(place.path, 'utf8')).trim();
  const client = openServiceAccountClient(apiServer());
  try {
    const { data } = await readObject(client, objectPath(secrets, place.secret));
    const encoded = isRecord(data) ? data.apiKey : undefined;
    const { namespace, name } = place.secret;
    if (typeof encoded !== 'string') throw new Error(`Secret ${namespace}/${name} holds no apiKey`);
    return Buffer.from(encoded, 'base64').toString();
  } finally {
    client.close();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A gateway without a table would say 503. */
async function listed(baseUrl: string): Promise<void> {
  const response = await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(10_000) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`GET ${baseUrl}/models answered ${response.status}`);
}

async function streamed(baseUrl: string, key: string, model: string): Promise<string> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Say hello.' }] }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = await response.text().catch((error: unknown) => {
    throw new Error(`the stream of model ${model} broke off: ${String(error)}`);
  });
  if (!response.ok) throw new Error(`model ${model} answered ${response.status}: ${body.slice(0, 500)}`);
  if (!body.includes('data: [DONE]')) throw new Error(`the stream of model ${model} ended early`);
  return [...body.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) => piece).join('');
}
