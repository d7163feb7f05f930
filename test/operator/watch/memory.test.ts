// How much memory does an ApiKey take in the operator? Of what an API server sends for each, what we never read
// must not stay: who manages which field, and the copy of it all that kubectl apply leaves in an annotation.

import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { isRecord, parseObject } from '../../../core/kube/object.ts';
import { type HeldObject, holdObject } from '../../../operator/watch/resources.ts';

const keys = 5_000;
const pageSize = 500;

/** One ApiKey as it comes, after `kubectl apply` and a status of ours. */
function objectText(index: number): string {
  const spec = { owner: { name: `Owner ${index}`, email: `owner-${index}@example.com`, team: 'team-a' } };
  const name = `key-${index}`;
  const fields = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`f:field-${at}`, { '.': {} }]));
  return JSON.stringify({
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: {
      name,
      namespace: 'team-a',
      uid: `2b1c0a3e-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(100_000 + index),
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({
          metadata: { name },
          spec,
          comment: `${index} ${'a real one is longer '.repeat(30)}`,
        }),
      },
      managedFields: [
        { manager: 'kubectl', fieldsV1: fields },
        { manager: 'penstock', fieldsV1: fields },
      ],
    },
    spec,
    status: {
      keyHint: 'psk_…abcd',
      observedGeneration: 1,
      conditions: ['Accepted', 'Issued', 'Programmed', 'Ready'].map((type) => ({
        type,
        status: 'True',
        reason: type,
        message: '',
        observedGeneration: 1,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    },
  });
}

function holdPage(from: number): HeldObject[] {
  const texts = Array.from({ length: pageSize }, (_, at) => objectText(from + at));
  const page: unknown = JSON.parse(`{"items":[${texts.join(',')}]}`);
  if (!isRecord(page) || !Array.isArray(page.items)) throw new Error('the page is none');
  return page.items.map((item) => holdObject('ApiKey', parseObject(item)));
}

test('a held ApiKey takes less than 2,000 bytes, status included', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: unknown = runInNewContext('gc');
  const heapBytes = (): number => {
    if (typeof collectGarbage !== 'function') throw new Error('the engine gives no gc');
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  // What files before this one have left in the process goes in several turns.
  const settledHeapBytes = async (): Promise<number> => {
    for (let last = heapBytes(); ; ) {
      await setImmediate();
      const next = heapBytes();
      if (last - next < 100_000) return next;
      last = next;
    }
  };
  // What the engine makes once is not counted.
  holdPage(0);
  const before = await settledHeapBytes();
  const held: HeldObject[] = [];
  for (let from = 0; from < keys; from += pageSize) held.push(...holdPage(from));
  const bytesEach = ((await settledHeapBytes()) - before) / keys;
  expect(held).toHaveLength(keys);
  expect(bytesEach).toBeLessThan(2_000);
  // More than nothing: what was held is there still.
  expect(bytesEach).toBeGreaterThan(500);
});
