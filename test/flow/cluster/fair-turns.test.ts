// One tenant makes many keys at once: how long do the edits of another one wait for their status, and how many writes does a key take?
// The figures are printed; the bounds are against faults, not against slow machines. `npm test` makes a third of the keys,
// PENSTOCK_BULK_KEYS more.

import { expect, test } from 'vitest';
import { isRecord } from '../../../core/kube/object.ts';
import { mergePatch } from '../../../core/kube/patch.ts';
import { runs } from '../../support/runs.ts';
import { createAll } from './bulk.ts';
import { startCensus } from './census.ts';
import { describeMs, quantile } from './figures.ts';
import { namespace as operatorNamespace, useInstallation } from './installation.ts';
import { credentialSecret, issuedApiKey, modelRoute, namespaceOf, provider } from './manifests.ts';
import { useSimulator } from './simulator.ts';

const installation = useInstallation({ operators: 1, gateways: 1 });
const simulator = useSimulator();

const keyCount = Number(process.env.PENSTOCK_BULK_KEYS ?? runs(600, 3));
const routePath = '/apis/penstock.dev/v1alpha1/namespaces/few/modelroutes/chat';

test('one edit of another tenant is Programmed before many keys, and a key takes two writes', async () => {
  const { apply, awaitCondition, plane } = installation();
  await apply(
    ...['many', 'few'].map((name) => namespaceOf(name)),
    credentialSecret('few', 'upstream', simulator().url, 'sk-one'),
    provider('few', 'up', simulator().url, 'upstream'),
    modelRoute('few', 'chat', ['up']),
  );
  await awaitCondition('modelroute/chat', 'Ready', 'few');
  const census = await startCensus(plane);
  const before = census.programmed();
  const fromMs = Date.now();
  const startedMs = performance.now();
  const names = Array.from({ length: keyCount }, (_, index) => `key-${index}`);
  const creating = createAll(
    plane,
    'apikeys',
    names.map((name) => issuedApiKey('many', name)),
  );
  const allDone = Promise.all([creating, census.reaches(before + keyCount)]);
  let isDone = false;
  const finished = allDone.then(() => {
    isDone = true;
  });

  const editMs: number[] = [];
  for (let count = 0; !isDone && count < 100; count += 1) {
    const patched = performance.now();
    const object = await mergePatch(plane.client, routePath, { spec: { displayName: `edit ${count}` } });
    const generation = isRecord(object) && isRecord(object.metadata) ? object.metadata.generation : undefined;
    await untilProgrammed(generation);
    editMs.push(performance.now() - patched);
  }
  const left = before + keyCount - census.programmed();
  await finished;
  const tookMs = performance.now() - startedMs;
  await census.close();
  const perSecond = keyCount / (tookMs / 1_000);
  console.log(
    `${keyCount} keys of one tenant: ${Math.round(perSecond)} a second; edits of another one until Programmed: ${describeMs(editMs)}; ` +
      `${left} keys were left after the last edit`,
  );
  expect(editMs.length).toBeGreaterThan(0);
  expect(quantile(editMs, 1)).toBeLessThan(15_000);

  const user = `system:serviceaccount:${operatorNamespace}:penstock-operator`;
  const writes = (await plane.audit()).filter(
    (event) => event.user === user && event.receivedAtMs >= fromMs && event.namespace === 'many',
  );
  const written = writes.filter(({ verb }) => verb === 'create' || verb === 'patch' || verb === 'update');
  const perKey = written.length / keyCount;
  const counts = Map.groupBy(
    written,
    ({ verb, resource, subresource, status }) => `${verb} ${resource}/${subresource} ${status}`,
  );
  const kinds = [...counts].map(([name, { length }]) => `${length} × ${name}`);
  console.log(`${perKey.toFixed(2)} writes a key: ${kinds.join(', ')}`);
  expect(perKey).toBeLessThan(2.2);

  async function untilProgrammed(generation: unknown): Promise<void> {
    for (;;) {
      const object = await plane.client.call({ method: 'GET', path: routePath });
      const status = isRecord(object) && isRecord(object.status) ? object.status : {};
      const conditions = Array.isArray(status.conditions) ? status.conditions : [];
      const isProgrammed = conditions.some(
        (one: unknown) =>
          isRecord(one) &&
          one.type === 'Programmed' &&
          one.status === 'True' &&
          one.observedGeneration === generation,
      );
      if (isProgrammed) return;
      await nextTurn();
    }
  }
}, 240_000);

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
