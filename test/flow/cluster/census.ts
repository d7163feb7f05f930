// How many objects are programmed in their present form? A watch of all three kinds that counts, and says when so many are.

import { systemClock } from '../../../core/clock.ts';
import { isRecord, type KubeObject } from '../../../core/kube/object.ts';
import { collectionPath } from '../../../core/kube/paths.ts';
import { startReflector } from '../../../core/kube/watch.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';

export interface Census {
  programmed(): number;
  /** Settled when so many objects, or more, are programmed. */
  reaches(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startCensus({ client }: Pick<ControlPlane, 'client'>): Promise<Census> {
  const waits: { readonly count: number; resolve(): void }[] = [];
  let programmed = 0;
  const reflectors = ['providers', 'modelroutes', 'apikeys'].map((plural) => {
    const done = new Set<string>();
    return startReflector<boolean>({
      client,
      clock: systemClock,
      random: Math.random,
      path: collectionPath({ group: 'penstock.dev', version: 'v1alpha1', plural }),
      convert: isProgrammed,
      onEvent(event) {
        if (event.type === 'listed') return;
        programmed -= done.size;
        if (event.type === 'upserted' && event.object) done.add(event.key);
        else done.delete(event.key);
        programmed += done.size;
        for (const { count, resolve } of waits) if (programmed >= count) resolve();
      },
    });
  });
  await Promise.all(reflectors.map(({ synced }) => synced));
  return {
    programmed: () => programmed,
    async reaches(count) {
      if (programmed >= count) return;
      await new Promise<void>((resolve) => {
        waits.push({ count, resolve });
      });
    },
    close: async () => void (await Promise.all(reflectors.map((reflector) => reflector.close()))),
  };
}

function isProgrammed({ metadata, status }: KubeObject): boolean {
  if (!isRecord(status) || !Array.isArray(status.conditions)) return false;
  return status.conditions.some(
    (one) =>
      isRecord(one) &&
      one.type === 'Programmed' &&
      one.status === 'True' &&
      one.observedGeneration === metadata.generation,
  );
}
