// Is a manifest as its schema asks for? Judged by kubeconform, without a cluster's word on the manifest and without the internet:
// the schemas are the API server's own OpenAPI, and those of our CustomResourceDefinitions.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { isRecord } from '../../core/kube/object.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { run } from '../cluster/run.ts';
import type { GoTool } from '../support/go-tool.ts';

export const kubeconform: GoTool = {
  package: 'github.com/yannh/kubeconform/cmd/kubeconform',
  version: 'v0.8.0',
};

const ROOT = join(import.meta.dirname, '../..');

const SERVER_GROUPS = [
  'api/v1',
  ...[
    'apps/v1',
    'batch/v1',
    'policy/v1',
    'autoscaling/v2',
    'networking.k8s.io/v1',
    'rbac.authorization.k8s.io/v1',
  ],
  ...['admissionregistration.k8s.io/v1', 'apiextensions.k8s.io/v1', 'coordination.k8s.io/v1'],
].map((path) => (path === 'api/v1' ? path : `apis/${path}`));

const openApi = z.looseObject({
  components: z.looseObject({
    schemas: z.record(
      z.string(),
      z.looseObject({
        'x-kubernetes-group-version-kind': z
          .array(z.object({ group: z.string(), version: z.string(), kind: z.string() }))
          .optional(),
      }),
    ),
  }),
});

const crdSchema = z.object({
  spec: z.object({
    group: z.string(),
    names: z.object({ kind: z.string() }),
    versions: z.tuple([z.object({ name: z.string(), schema: z.object({ openAPIV3Schema: z.unknown() }) })]),
  }),
});

/** A file for each kind; gives their folder. */
export async function writeSchemas(plane: ControlPlane): Promise<string> {
  const folder = join(plane.folder, 'schemas');
  await mkdir(folder, { recursive: true });
  const write = (group: string, version: string, kind: string, schema: unknown) =>
    writeFile(join(folder, `${group}_${version}_${kind.toLowerCase()}.json`), JSON.stringify(schema));

  for (const path of SERVER_GROUPS) {
    const said = await plane.client.call({ method: 'GET', path: `/openapi/v3/${path}` });
    const { components } = openApi.parse(said);
    const closed = { schemas: closedSchema(components.schemas) };
    for (const [name, { 'x-kubernetes-group-version-kind': kinds }] of Object.entries(components.schemas)) {
      const [kind, ...others] = kinds ?? [];
      // Those with several kinds are the options of calls.
      if (kind === undefined || others.length > 0) continue;
      // What has no group is looked for under its version.
      await write(kind.group || kind.version, kind.version, kind.kind, {
        $ref: `#/components/schemas/${name}`,
        components: closed,
      });
    }
  }
  for (const file of await readdir(join(ROOT, 'crds'))) {
    const { spec } = crdSchema.parse(parseYaml(await readFile(join(ROOT, 'crds', file), 'utf8')));
    const [version] = spec.versions;
    await write(spec.group, version.name, spec.names.kind, closedSchema(version.schema.openAPIV3Schema));
  }
  return folder;
}

/** An object takes its properties and no others; metadata of our kinds is the API server's own. */
function closedSchema(node: unknown, name = ''): unknown {
  if (Array.isArray(node)) return node.map((child) => closedSchema(child));
  if (!isRecord(node)) return node;
  const copy = Object.fromEntries(
    Object.entries(node).map(([key, child]) => [key, closedSchema(child, key)]),
  );
  const isOpen = name === 'metadata' || node['x-kubernetes-preserve-unknown-fields'] === true;
  const isObject = node.type === 'object' && isRecord(node.properties);
  return isObject && !isOpen && node.additionalProperties === undefined
    ? { ...copy, additionalProperties: false }
    : copy;
}

/** The manifests of the quickstart. */
export async function quickstart(): Promise<unknown[]> {
  const folder = join(ROOT, 'docs/examples/quickstart');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml'));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document): unknown => document.toJS()));
}

const verdictSchema = z.object({
  resources: z.array(z.looseObject({ kind: z.string(), name: z.string(), msg: z.string() })).nullable(),
  summary: z.object({ valid: z.int(), skipped: z.int() }),
});

export async function judgeBySchemas(
  program: string,
  folder: string,
  objects: readonly unknown[],
): Promise<{ valid: number; faults: string[] }> {
  const location = join(folder, '{{ .Group }}_{{ .ResourceAPIVersion }}_{{ .ResourceKind }}.json');
  const said = await run(
    program,
    ['-strict', '-summary', '-output', 'json', '-schema-location', location, '-'],
    { stdin: objects.map((object) => JSON.stringify(object)).join('\n---\n') },
  );
  const { resources, summary } = verdictSchema.parse(JSON.parse(said.stdout));
  const faults = (resources ?? []).map(({ kind, name, msg }) => `${kind} ${name}: ${msg}`);
  return { valid: summary.valid, faults };
}
