// What does Kubernetes say of every field of a kind? All of it as the API server publishes it; one level also as `kubectl explain`
// prints it, which reads the same.

import { z } from 'zod';
import type { ControlPlane } from '../control-plane.ts';

interface Published {
  readonly description?: string | undefined;
  readonly items?: Published | undefined;
  readonly properties?: Readonly<Record<string, Published>> | undefined;
}

const publishedSchema: z.ZodType<Published> = z.lazy(() =>
  z.looseObject({
    description: z.string().optional(),
    items: publishedSchema.optional(),
    properties: z.record(z.string(), publishedSchema).optional(),
  }),
);

const documentSchema = z.object({
  components: z.object({
    schemas: z.record(
      z.string(),
      z.intersection(
        publishedSchema,
        z.looseObject({
          'x-kubernetes-group-version-kind': z.array(z.looseObject({ kind: z.string() })).optional(),
        }),
      ),
    ),
  }),
});

/** Text, without its spaces, by path such as `spec.auth.keys.name`. */
export async function publishedFields(plane: ControlPlane, kind: string): Promise<Map<string, string>> {
  const path = '/openapi/v3/apis/penstock.dev/v1alpha1';
  const { schemas } = documentSchema.parse(await plane.client.call({ method: 'GET', path })).components;
  const schema = Object.values(schemas).find((one) =>
    one['x-kubernetes-group-version-kind']?.some((of) => of.kind === kind),
  );
  if (schema === undefined) throw new Error(`${path} has no ${kind}`);
  return new Map(fieldsBelow(schema, ''));
}

function fieldsBelow({ items, properties }: Published, path: string): [string, string][] {
  if (items !== undefined) return fieldsBelow(items, path);
  return Object.entries(properties ?? {}).flatMap(([name, field]) => {
    const own = path === '' ? name : `${path}.${name}`;
    return [[own, (field.description ?? '').replaceAll(/\s/g, '')], ...fieldsBelow(field, own)];
  });
}

/** The fields right below a path such as `apikeys.spec`, by name; text without its spaces, which kubectl breaks where it likes. */
export async function explained(plane: ControlPlane, path: string): Promise<Map<string, string>> {
  const [, listed = ''] = (await plane.mustKubectl(['explain', path])).split('\nFIELDS:\n');
  // Lines `  name<tab><type> …`, sometimes with the values of an enum below, then the text, further in, broken anywhere.
  const fields = listed.split(/^(?= {2}\S+\t<)/m).map((block) => {
    const [head = '', ...lines] = block.split('\n');
    const text = lines.filter((line) => line.startsWith('    '));
    return [/^ {2}(\S+)\t</.exec(head)?.[1] ?? '', text.join('').replaceAll(/\s/g, '')] as const;
  });
  return new Map(fields);
}
