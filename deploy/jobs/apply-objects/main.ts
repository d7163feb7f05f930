// Applies the chart's own objects after its installation: their kinds come with the same chart, and Helm refuses objects whose kind
// the API server does not know at the start. Runs once, as a Job. It may also delete TenantPolicies that an earlier Job has applied.

import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type KubeClient, KubeError } from '../../../core/kube/client.ts';
import { listAll } from '../../../core/kube/list.ts';
import { apply, deleteObject } from '../../../core/kube/patch.ts';
import { collectionPath, objectPath, type Resource } from '../../../core/kube/paths.ts';
import { openServiceAccountClient } from '../../../core/kube/service-account.ts';
import { readSettings } from './settings.ts';

const objectsSchema = z.array(
  z.looseObject({
    kind: z.enum(['Provider', 'ModelRoute', 'ApiKey', 'TenantPolicy']),
    metadata: z.looseObject({ namespace: z.string().optional(), name: z.string() }),
  }),
);
const plurals = {
  Provider: 'providers',
  ModelRoute: 'modelroutes',
  ApiKey: 'apikeys',
  TenantPolicy: 'tenantpolicies',
} as const;
/** Field manager: removes fields that the values no longer name, and keeps fields that users have added. */
const managers = {
  Provider: 'penstock-demo',
  ModelRoute: 'penstock-demo',
  ApiKey: 'penstock-demo',
  TenantPolicy: 'penstock-values',
} as const;
const policies = resourceOf('TenantPolicy');

/** A kind that was made a moment ago is not served at once; neither does a network policy let us out at once. */
const patienceMs = 60_000;

try {
  const settings = readSettings();
  const client = openServiceAccountClient(settings.apiServer);
  const deadlineMs = performance.now() + patienceMs;
  const objects = objectsSchema.parse(JSON.parse(await readFile(settings.objectsFile, 'utf8')));
  for (const object of objects) {
    const { namespace, name } = object.metadata;
    const path = objectPath(resourceOf(object.kind), { namespace, name });
    const labelled =
      object.kind === 'TenantPolicy' && settings.labels !== undefined
        ? { ...object, metadata: { ...object.metadata, labels: settings.labels } }
        : object;
    await applyUntil(client, path, labelled, managers[object.kind], deadlineMs);
    console.log(`${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name} is applied`);
  }
  if (settings.labels !== undefined) {
    const kept = new Set(objects.map(({ metadata }) => metadata.name));
    const { items } = await listAll({
      client,
      path: collectionPath(policies),
      query: {
        labelSelector: Object.entries(settings.labels)
          .map(([label, value]) => `${label}=${value}`)
          .join(),
      },
    });
    for (const { metadata } of items) {
      if (kept.has(metadata.name)) continue;
      await deleteObject(client, objectPath(policies, { name: metadata.name }));
      console.log(`TenantPolicy ${metadata.name} is deleted: the values no longer name it`);
    }
  }
  client.close();
} catch (error) {
  console.error(
    `the objects could not be applied: ${error instanceof Error ? error.message : String(error)}`,
  );
  process.exitCode = 1;
}

function resourceOf(kind: keyof typeof plurals): Resource {
  return { group: 'penstock.dev', version: 'v1alpha1', plural: plurals[kind] };
}

async function applyUntil(
  client: KubeClient,
  path: string,
  object: object,
  fieldManager: string,
  deadlineMs: number,
): Promise<void> {
  for (;;) {
    try {
      await apply(client, path, object, { fieldManager, force: true, timeoutMs: 5_000 });
      return;
    } catch (error) {
      // The server's refusal of the object itself does not pass by waiting.
      const isFinal = !(error instanceof KubeError) || [400, 422].includes(error.status);
      if (isFinal || performance.now() > deadlineMs) throw error;
      await delay(1_000);
    }
  }
}
