// What do we read of a Kubernetes object's metadata?

import { z } from 'zod';

export const API_GROUP = 'penstock.dev';
export const API_VERSION = 'v1alpha1';

/** The part of ObjectMeta that is ours to read; the rest (managedFields, owner references, …) is left alone. */
export const objectMetaSchema = z.looseObject({
  name: z
    .string()
    .min(1)
    .max(253)
    .regex(
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
      'must be a lower-case DNS name such as ci-bot',
    ),
  namespace: z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be a lower-case DNS label such as team-a'),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  /** RFC 3339; absent only where no API server has stored the object yet. */
  creationTimestamp: z.string().nullish(),
  generation: z.int().min(0).optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  deletionTimestamp: z.string().optional(),
});
export type ObjectMeta = z.infer<typeof objectMetaSchema>;
