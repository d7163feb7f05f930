// Generates docs/api.md and docs/reasons.md: every field, rule, column, condition and reason, from the schemas.

import { CONDITIONS, REASONS } from '../../core/catalog/conditions.ts';
import { type CrdSchema, rootSchema } from './crd.ts';
import { EVENT_REASONS } from './event-reasons.ts';
import { code, row, table } from './markdown.ts';
import { API_GROUP, API_VERSION } from './metadata.ts';
import type { Resource } from './resource.ts';
import { UNSUPPORTED } from './unsupported.ts';

const GENERATED = '<!-- Generated from operator/resources by `npm run generate`; do not edit. -->';

/** The field reference of all kinds. */
export function apiReference(resources: readonly Resource[]): string {
  return [
    GENERATED,
    '# API reference',
    '',
    `Group \`${API_GROUP}\`, version \`${API_VERSION}\`, all kinds but TenantPolicy namespaced, with the category \`penstock\`: \`kubectl get penstock\` shows them all. TenantPolicy belongs to the cluster.`,
    'For conditions and their reasons, see [reasons.md](reasons.md).',
    '',
    'Durations are written `500ms`, `30s`, `1m30s` or `2160h`; money as decimal strings, never as numbers; times as RFC 3339.',
    '',
    ...resources.flatMap(kindSection),
  ].join('\n');
}

const shownInWords = {
  always: 'always',
  'when-true': 'only when true',
  exchanged: 'if credentials are exchanged',
} as const;

/** The list of conditions and reasons. */
export function reasonsReference(): string {
  const conditions = Object.entries(CONDITIONS).map(([type, facts]) =>
    row([code(type), facts.kinds.join(', '), shownInWords[facts.shown], facts.text]),
  );
  const reasons = Object.entries(REASONS).map(([reason, facts]) =>
    row([code(reason), facts.conditions.join(', '), facts.text]),
  );
  const events = Object.entries(EVENT_REASONS).map(([reason, facts]) =>
    row([code(reason), facts.of, facts.type, facts.text]),
  );
  return [
    GENERATED,
    '# Conditions and reasons',
    '',
    'Every condition carries `observedGeneration`, and its message says what is wrong and what to do.',
    '',
    '## Conditions',
    '',
    ...table(['Condition', 'Kinds', 'Shown', 'Meaning'], conditions),
    '## Reasons',
    '',
    ...table(['Reason', 'Of', 'Meaning'], reasons),
    '## Events of their own',
    '',
    'Each change of a condition is an event with its reason. These are the other events. The pointer is the Secret that says which table is in use, `<instance>-current` in the namespace of the tables:',
    '',
    ...table(['Reason', 'Of', 'Type', 'Meaning'], events),
  ].join('\n');
}

function kindSection(resource: Resource): string[] {
  const root = rootSchema(resource);
  const fields = fieldsOf(root).filter((field) => /^(spec|status)/.test(field.path));
  return [
    `## ${resource.kind}`,
    '',
    `${resource.description} Short name \`${resource.shortName}\`: \`kubectl get ${resource.shortName}\`.`,
    '',
    `### ${resource.kind} fields`,
    '',
    ...table(['Field', 'Type', 'Default', 'Bounds', 'Meaning'], fields.map(fieldRow)),
    ...rulesSection(resource, root),
    ...unsupportedSection(resource),
    `### ${resource.kind} columns`,
    '',
    ...table(
      ['Column', 'Shown', 'Meaning'],
      resource.columns.map((column) =>
        row([column.name, column.priority === 1 ? 'with `-o wide`' : 'always', column.description]),
      ),
    ),
    `Field selectors: ${resource.selectableFields.map((path) => code(path.slice(1))).join(', ')}.`,
    '',
  ];
}

function rulesSection(resource: Resource, root: CrdSchema): string[] {
  const rules = [{ path: 'metadata.name', schema: root }, ...fieldsOf(root)].flatMap(({ path, schema }) =>
    (schema['x-kubernetes-validations'] ?? []).map(({ message }) => row([code(path), message])),
  );
  return [`### ${resource.kind} rules`, '', ...table(['On', 'Rule'], rules)];
}

function unsupportedSection(resource: Resource): string[] {
  const rows = UNSUPPORTED.filter((entry) => entry.kind === resource.kind).map((entry) =>
    row([code(entry.path), entry.values?.map(code).join(', ') ?? 'the whole field']),
  );
  if (rows.length === 0) return [];
  return [
    `### ${resource.kind}: not in this version`,
    '',
    'These are part of the API but have no effect yet. Using one gives `Accepted=False` with the reason `UnsupportedValue`; nothing is ever ignored.',
    '',
    ...table(['Field', 'Refused'], rows),
  ];
}

export interface Field {
  readonly path: string;
  readonly schema: CrdSchema;
  readonly isRequired: boolean;
}

/** Every field below a schema, depth first; `[]` means the entries of a list. */
export function fieldsOf(schema: CrdSchema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    const below = child.items === undefined ? fieldsOf(child, path) : fieldsOf(child.items, `${path}[]`);
    return [{ path, schema: child, isRequired }, ...below];
  });
}

function fieldRow(field: Field): string {
  const { schema, isRequired } = field;
  const byDefault = schema.default === undefined ? (isRequired ? '**required**' : '') : defaultText(schema);
  return row([code(field.path), typeText(schema), byDefault, boundsText(schema), schema.description ?? '']);
}

function defaultText(schema: CrdSchema): string {
  return schema.type === 'object' ? 'as its fields' : code(JSON.stringify(schema.default));
}

function typeText(schema: CrdSchema): string {
  if (schema.items !== undefined) {
    const listType = schema['x-kubernetes-list-type'];
    const keys = schema['x-kubernetes-list-map-keys']?.join(', ');
    if (listType === 'set') return `set of ${schema.items.type}`;
    return keys === undefined ? `list of ${schema.items.type}` : `list of ${schema.items.type}, by ${keys}`;
  }
  if (schema.additionalProperties !== undefined) return `map of ${schema.additionalProperties.type}`;
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return 'free-form object';
  return schema.format === 'date-time' ? 'time' : schema.type;
}

function boundsText(schema: CrdSchema): string {
  const bounds = [
    ...(schema.enum ?? schema.items?.enum ?? []).map(code),
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' entries'),
    range(undefined, schema.maxProperties, ' entries'),
    // What a time looks like, its type says.
    schema.pattern === undefined || schema.format === 'date-time' ? '' : code(schema.pattern),
  ];
  return bounds.filter((bound) => bound !== '').join(', ');
}

function range(min: number | undefined, max: number | undefined, unit: string): string {
  if (max === undefined) return min === undefined ? '' : `≥ ${min}${unit}`;
  return min === undefined ? `≤ ${max}${unit}` : `${min} to ${max}${unit}`;
}
