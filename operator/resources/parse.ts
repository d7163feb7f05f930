// Is this unknown value one of our objects? If not: which field is wrong, and what should stand there?

import { z } from 'zod';
import { type CrdSchema, rootSchema } from './crd.ts';
import { API_GROUP, API_VERSION, objectMetaSchema } from './metadata.ts';
import { withoutNulls } from './nulls.ts';
import { type Problem, toProblems } from './problems.ts';
import type { Resource } from './resource.ts';

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Checks an object of one kind and fills in its defaults. Strict with what users write: an unknown
 * field is a problem. Lenient with status, which only we write: one that cannot be read is left out.
 */
export function parseResource<T>(resource: Resource, value: unknown): Parsed<T> {
  const { schema, crdSchema } = schemasOf(resource);
  const given = withoutNulls(value, crdSchema);
  const parsed = schema.safeParse(given);
  if (!parsed.success) return { ok: false, problems: toProblems(parsed.error.issues, schema, given) };
  const { status: rawStatus, ...object } = parsed.data;
  const status = resource.status.safeParse(rawStatus);
  // The schemas of the resource were the check; T is the type that was inferred from them.
  return { ok: true, value: (status.success ? { ...object, status: status.data } : object) as T };
}

interface Schemas {
  readonly schema: ReturnType<typeof buildObjectSchema>;
  /** How the API server sees it. */
  readonly crdSchema: CrdSchema;
}

const schemas = new WeakMap<Resource, Schemas>();

function schemasOf(resource: Resource): Schemas {
  const known = schemas.get(resource);
  if (known !== undefined) return known;
  const built = { schema: buildObjectSchema(resource), crdSchema: rootSchema(resource) };
  schemas.set(resource, built);
  return built;
}

function buildObjectSchema(resource: Resource) {
  const { nameRule } = resource;
  const metaSchema: z.ZodType<{ readonly name: string }> =
    resource.scope === 'Cluster' ? objectMetaSchema.omit({ namespace: true }) : objectMetaSchema;
  const metadata =
    nameRule === undefined
      ? metaSchema
      : metaSchema.superRefine((meta, context) => {
          if (nameRule.check !== 'needs-old-object' && !nameRule.check(meta.name)) {
            context.addIssue({ code: 'custom', path: ['name'], message: nameRule.message });
          }
        });
  return z.strictObject({
    apiVersion: z.literal(`${API_GROUP}/${API_VERSION}`),
    kind: z.literal(resource.kind),
    metadata,
    spec: resource.spec,
    status: z.unknown().optional(),
  });
}
