// How does a kind look to the API server? Our schemas as a CustomResourceDefinition.
//
// zod gives OpenAPI 3.0 that is nearly structural; what Kubernetes refuses or would warn about is taken
// out here. What it cannot give (rules, list types) travels in the metadata of the schemas.

import { stringify } from 'yaml';
import { z } from 'zod';
import { isLoose } from './loose.ts';
import { API_GROUP, API_VERSION } from './metadata.ts';
import { type Resource, rootRules } from './resource.ts';
import type { CelRule } from './rule.ts';

/** The part of a structural schema that we write. */
export interface CrdSchema {
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, CrdSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: CrdSchema;
  readonly items?: CrdSchema;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
  readonly 'x-kubernetes-list-type'?: 'map' | 'set' | 'atomic';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic';
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
  /** Its defaults, and those of all that is inside, are the operator's to apply: they are never written into an object. */
  readonly 'x-penstock-unstored'?: true;
}

const TEXTS = {
  apiVersion: `Version of this form of the object: ${API_GROUP}/${API_VERSION}.`,
  kind: 'Kind of the object.',
  spec: 'Desired state.',
  status: 'Observed state, written by the operator.',
};

/**
 * The status of an object that no operator has looked at. Without it, tools that wait would take one that has just been
 * applied for one of which there is nothing to wait for.
 */
const UNSEEN = {
  state: 'Pending',
  conditions: [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'Pending',
      message: 'the operator has not processed this object yet',
      lastTransitionTime: '1970-01-01T00:00:00Z',
    },
  ],
};

/** The CRD of a resource as YAML, with the version of the bundle it belongs to. */
export function crdYaml(resource: Resource, bundleVersion: string): string {
  const text = stringify(crd(resource, bundleVersion), {
    lineWidth: 0,
    aliasDuplicateObjects: false,
    // Quoted, what a reader of the older version would take for something else than text.
    compat: 'yaml-1.1',
  });
  return `${GENERATED_NOTE}${text}`;
}

const GENERATED_NOTE = '# Generated from operator/resources by `npm run generate`; do not edit.\n';

/**
 * The same as a template of a chart, behind its switch `crds.keep`.
 *
 * @throws {TypeError} where a text would be taken for a template.
 */
export function crdTemplate(resource: Resource, bundleVersion: string): string {
  const text = crdYaml(resource, bundleVersion);
  if (text.includes('{{')) throw new TypeError(`${resource.kind}: "{{" means something else in a template`);
  const annotations = '  annotations:\n';
  const keep = '    {{- if .Values.crds.keep }}\n    helm.sh/resource-policy: keep\n    {{- end }}\n';
  return text.replace(annotations, annotations + keep);
}

/** And behind `crds.install`, where the chart holds more than these. */
export function optionalCrdTemplate(resource: Resource, bundleVersion: string): string {
  return `{{- if .Values.crds.install }}\n${crdTemplate(resource, bundleVersion)}{{- end }}\n`;
}

export function crd(resource: Resource, bundleVersion: string) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${resource.plural}.${API_GROUP}`,
      annotations: { 'penstock.dev/bundle-version': bundleVersion },
    },
    spec: {
      group: API_GROUP,
      scope: resource.scope ?? 'Namespaced',
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular: resource.kind.toLowerCase(),
        shortNames: [resource.shortName],
        // A tenant that may not read policies would get an error from the category.
        categories: resource.scope === 'Cluster' ? [] : ['penstock'],
      },
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: withDefaults(rootSchema(resource)) },
          subresources: { status: {} },
          additionalPrinterColumns: resource.columns,
          selectableFields: resource.selectableFields.map((jsonPath) => ({ jsonPath })),
        },
      ],
    },
  };
}

/** The whole object as the API server checks it. */
export function rootSchema(resource: Resource): CrdSchema {
  const rules = rootRules(resource);
  return {
    type: 'object',
    description: resource.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: TEXTS.apiVersion },
      kind: { type: 'string', description: TEXTS.kind },
      // The API server knows its own metadata, texts included, and refuses to hear more about it.
      // A rule that names a field needs that field in the schema.
      metadata: { type: 'object', ...(rules.length > 0 ? { properties: { name: { type: 'string' } } } : {}) },
      spec: { description: TEXTS.spec, ...structural(resource.spec) },
      status: { description: TEXTS.status, default: UNSEEN, ...structural(resource.status) },
    },
    ...(rules.length > 0 ? { 'x-kubernetes-validations': rules } : {}),
  };
}

/**
 * The schema as the API server gets it. `kubectl explain` shows descriptions alone, so each says the default of its
 * field; an object has those of its fields. What the operator fills in is said there and is no default of the kind.
 */
export function withDefaults(schema: CrdSchema, isStoredOutside = true): CrdSchema {
  const { 'x-penstock-unstored': isUnstored, default: byDefault, ...rest } = schema;
  const { description, properties, items } = rest;
  const isStored = isStoredOutside && isUnstored !== true;
  const isSaid = byDefault === undefined || description === undefined || schema.type === 'object';
  return {
    ...rest,
    ...(isSaid ? {} : { description: `${description} Default: ${defaultText(byDefault)}.` }),
    ...(byDefault === undefined || !isStored ? {} : { default: byDefault }),
    ...(items === undefined ? {} : { items: withDefaults(items, isStored) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, child]) => [name, withDefaults(child, isStored)]),
          ),
        }),
  };
}

function defaultText(value: unknown): string {
  if (value === '') return 'empty';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** A zod schema as a structural schema. */
export function structural(schema: z.ZodType): CrdSchema {
  return clean(z.toJSONSchema(schema, { io: 'input', target: 'openapi-3.0' }));
}

const KEPT = [
  'description',
  'type',
  'format',
  'enum',
  'default',
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
  'x-penstock-unstored',
] as const;
const HANDLED = ['$schema', 'properties', 'required', 'additionalProperties', 'items'];

/**
 * @throws {TypeError} on a keyword that a structural schema cannot hold: a schema uses a zod construct
 *   which Kubernetes has no word for, and dropping it would leave a rule unchecked.
 */
function clean(node: unknown): CrdSchema {
  if (!isLoose(node) || typeof node.type !== 'string') {
    throw new TypeError(`no structural schema: every level needs one type, here is ${JSON.stringify(node)}`);
  }
  const stray = Object.keys(node).filter(
    (key) => !HANDLED.includes(key) && !KEPT.some((kept) => kept === key),
  );
  if (stray.length > 0)
    throw new TypeError(`no structural schema: ${stray.join(', ')} in ${JSON.stringify(node)}`);

  const result: Record<string, unknown> = {};
  for (const key of KEPT) if (node[key] !== undefined) result[key] = node[key];
  if (node.type === 'integer' && result.format === undefined) result.format = integerFormat(node);
  if (Array.isArray(node.required) && node.required.length > 0) result.required = node.required;
  if (isLoose(node.properties) && Object.keys(node.properties).length > 0) {
    result.properties = Object.fromEntries(
      Object.entries(node.properties).map(([name, child]) => [name, clean(child)]),
    );
  }
  // `false` (strict objects) excludes `properties` there; pruning and strict field validation do its work.
  // Beside preserve-unknown-fields it says nothing more.
  const open = node['x-kubernetes-preserve-unknown-fields'] === true;
  if (isLoose(node.additionalProperties) && !open) {
    result.additionalProperties = clean(node.additionalProperties);
  }
  if (node.items !== undefined) result.items = clean(node.items);
  // Checked above: `type` is there, and nothing but members of CrdSchema.
  return result as unknown as CrdSchema;
}

function integerFormat(node: Readonly<Record<string, unknown>>): string {
  return typeof node.maximum === 'number' && node.maximum <= 2 ** 31 - 1 ? 'int32' : 'int64';
}
