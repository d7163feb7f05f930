// How do thousands of objects get into the cluster, and what did the operator make of them? Created by many hands at once;
// each publish as the operator logs it.

import { z } from 'zod';
import { createObject } from '../../../core/kube/patch.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import type { OperatorProcess } from './installation.ts';

const lanes = 16;

/** Runs it for every item, many at once, in no order. */
export async function inLanes<T>(items: Iterable<T>, run: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = Iterator.from(items);
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let next = waiting.next(); !next.done; next = waiting.next()) await run(next.value);
    }),
  );
}

/** @param objects of our kinds, each in a namespace. */
export async function createAll(
  { client }: Pick<ControlPlane, 'client'>,
  plural: string,
  objects: Iterable<object>,
): Promise<void> {
  await inLanes(objects, async (object) => {
    const inNamespace = metadataSchema.parse(object).metadata.namespace;
    await createObject(client, `/apis/penstock.dev/v1alpha1/namespaces/${inNamespace}/${plural}`, object);
  });
}

const metadataSchema = z.object({ metadata: z.object({ namespace: z.string() }) });

export function apiKeyPath(inNamespace: string, name: string): string {
  return `/apis/penstock.dev/v1alpha1/namespaces/${inNamespace}/apikeys/${name}`;
}

const publishSchema = z.object({
  message: z.literal('table published'),
  durationMs: z.number(),
  shardsWritten: z.number(),
  bytesWritten: z.number(),
  /** From seeing that access is taken away to the pointer being written. */
  revocationMs: z.number().optional(),
});

/** In order, since the process began. */
export function publishesOf({ process }: OperatorProcess): z.infer<typeof publishSchema>[] {
  return process
    .stdout()
    .split('\n')
    .filter((line) => line.includes('table published'))
    .map((line) => publishSchema.parse(JSON.parse(line)));
}
