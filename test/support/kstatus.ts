// How do Helm, Flux and everything else that waits read an object of ours? The published rules of kstatus for a kind that it does
// not know by name.

import { z } from 'zod';

export type KStatus = 'InProgress' | 'Failed' | 'Current' | 'Terminating';

const objectSchema = z.object({
  metadata: z.object({ generation: z.number().optional(), deletionTimestamp: z.string().optional() }),
  status: z
    .object({
      observedGeneration: z.number().optional(),
      conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
    })
    .optional(),
});

/** The first rule that holds decides. */
export function kstatusOf(object: unknown): KStatus {
  const { metadata, status } = objectSchema.parse(object);
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  const observed = status?.observedGeneration;
  // Only where both are there.
  if (metadata.generation !== undefined && observed !== undefined && observed !== metadata.generation) {
    return 'InProgress';
  }
  const conditions = status?.conditions ?? [];
  for (const condition of conditions) {
    if (condition.status !== 'True') continue;
    if (condition.type === 'Reconciling') return 'InProgress';
    if (condition.type === 'Stalled') return 'Failed';
  }
  const ready = conditions.find(({ type }) => type === 'Ready');
  // The trap: what says nothing of Ready counts as done.
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress';
}
