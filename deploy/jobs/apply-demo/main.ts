// The objects of the demo, applied after the chart is installed: their kinds come with the same chart, and Helm takes no object
// whose kind the API server did not know when it began. Runs once, as a Job.

import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type KubeClient, KubeError } from '../../../core/kube/client.ts';
import { apply } from '../../../core/kube/patch.ts';
import { objectPath } from '../../../core/kube/paths.ts';
import { openServiceAccountClient } from '../../../core/kube/service-account.ts';
import { readSettings } from './settings.ts';

const objectsSchema = z.array(
  z.looseObject({
    kind: z.enum(['Provider', 'ModelRoute', 'ApiKey']),
    metadata: z.looseObject({ namespace: z.string(), name: z.string() }),
  }),
);
const plurals = { Provider: 'providers', ModelRoute: 'modelroutes', ApiKey: 'apikeys' } as const;

/** A kind that was made a moment ago is not served at once; neither does a network policy let us out at once. */
const patienceMs = 60_000;

try {
  const settings = readSettings();
  const client = openServiceAccountClient(settings.apiServer);
  const deadlineMs = performance.now() + patienceMs;
  for (const object of objectsSchema.parse(JSON.parse(await readFile(settings.objectsFile, 'utf8')))) {
    const { namespace, name } = object.metadata;
    const resource = { group: 'penstock.dev', version: 'v1alpha1', plural: plurals[object.kind] };
    await applyUntil(client, objectPath(resource, { namespace, name }), object, deadlineMs);
    console.log(`${object.kind} ${namespace}/${name} is applied`);
  }
  client.close();
} catch (error) {
  console.error(`the demo could not be applied: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

async function applyUntil(
  client: KubeClient,
  path: string,
  object: object,
  deadlineMs: number,
): Promise<void> {
  for (;;) {
    try {
      await apply(client, path, object, { fieldManager: 'penstock-demo', force: true, timeoutMs: 5_000 });
      return;
    } catch (error) {
      // The server's refusal of the object itself does not pass by waiting.
      const isFinal = !(error instanceof KubeError) || [400, 422].includes(error.status);
      if (isFinal || performance.now() > deadlineMs) throw error;
      await delay(1_000);
    }
  }
}
