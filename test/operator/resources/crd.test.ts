// Is what we generate a CRD that Kubernetes takes, and that explains itself?

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { apiKeyResource } from '../../../operator/resources/api-key.ts';
import {
  type CrdSchema,
  crd,
  rootSchema,
  structural,
  withDefaults,
} from '../../../operator/resources/crd.ts';
import { modelRouteResource } from '../../../operator/resources/model-route.ts';
import { providerResource } from '../../../operator/resources/provider.ts';
import { tenantPolicyResource } from '../../../operator/resources/tenant-policy.ts';

const RESOURCES = [providerResource, modelRouteResource, apiKeyResource, tenantPolicyResource];

/** Every level of a schema with its path, the entries of lists and maps included. */
function levels(schema: CrdSchema, path = ''): { path: string; schema: CrdSchema }[] {
  return [
    { path, schema },
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => levels(child, `${path}.${name}`)),
    ...(schema.items === undefined ? [] : levels(schema.items, `${path}[]`)),
    ...(schema.additionalProperties === undefined ? [] : levels(schema.additionalProperties, `${path}{}`)),
  ];
}

describe.each(RESOURCES.map((resource) => [resource.kind, resource] as const))('%s', (_, resource) => {
  const all = levels(rootSchema(resource));
  const failing = (isWrong: (schema: CrdSchema) => boolean) =>
    all.filter(({ schema }) => isWrong(schema)).map(({ path }) => path);

  test('every field has a text, so that kubectl explain answers', () => {
    // Metadata is the API server's own, and it knows its texts.
    const fields = all.filter(({ path }) => !/^\.metadata|(\[\]|\{\})$/.test(path));
    expect(fields.filter(({ schema }) => !schema.description?.endsWith('.')).map(({ path }) => path)).toEqual(
      [],
    );
  });

  test('every text of a field with a default names it, since kubectl explain shows nothing else', () => {
    const fields = levels(withDefaults(rootSchema(resource))).filter(
      ({ schema }) => schema.default !== undefined && schema.type !== 'object',
    );
    const silent = fields.filter(({ schema }) => !/ Default: .+\.$/.test(schema.description ?? ''));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  test('everything that a rule iterates over has a limit', () => {
    const inSpec = all.filter(({ path }) => path.startsWith('.spec'));
    const isOpen = (schema: CrdSchema) =>
      (schema.type === 'string' && schema.maxLength === undefined && schema.enum === undefined) ||
      (schema.type === 'array' && schema.maxItems === undefined) ||
      (schema.additionalProperties !== undefined && schema.maxProperties === undefined);
    expect(inSpec.filter(({ schema }) => isOpen(schema)).map(({ path }) => path)).toEqual([]);
  });

  test('every list says how it merges, and by a key that each entry has', () => {
    expect(
      failing((schema) => schema.type === 'array' && schema['x-kubernetes-list-type'] === undefined),
    ).toEqual([]);
    const keyless = failing((schema) =>
      (schema['x-kubernetes-list-map-keys'] ?? []).some((key) => !schema.items?.required?.includes(key)),
    );
    expect(keyless).toEqual([]);
  });

  test('no default is an empty object: a rule would read missing fields', () => {
    const isEmpty = (value: unknown): boolean =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
    expect(failing((schema) => isEmpty(schema.default))).toEqual([]);
  });

  test('a default of an object spells out every default inside', () => {
    const complete = (schema: CrdSchema, value: unknown): boolean =>
      Object.entries(schema.properties ?? {}).every(([name, child]) => {
        const inner = (value as Record<string, unknown>)[name];
        return child.default === undefined || (inner !== undefined && complete(child, inner));
      });
    expect(
      failing(
        (schema) =>
          schema.type === 'object' && schema.default !== undefined && !complete(schema, schema.default),
      ),
    ).toEqual([]);
  });

  test('every pattern is valid in Go too', () => {
    // RE2 has no look-around, no back-references and no \u escapes.
    expect(failing((schema) => /\(\?[=!<]|\\[1-9]|\\u/.test(schema.pattern ?? ''))).toEqual([]);
  });

  test('rules check for optional fields', () => {
    const unguarded = all.flatMap(({ path, schema }) =>
      (schema['x-kubernetes-validations'] ?? []).flatMap(({ rule }) =>
        [...rule.matchAll(/\b(?:self|oldSelf)\.([a-zA-Z]+)(?!\()\b(?!\()/g)].flatMap(([, name = '']) => {
          const field = schema.properties?.[name];
          // Metadata is there on every object.
          if (name === 'metadata') return [];
          if (field === undefined) return [`${path}: ${name} is no field (${rule})`];
          const isThere = schema.required?.includes(name) === true || field.default !== undefined;
          return isThere || rule.includes(`has(self.${name})`) ? [] : [`${path}: ${name} has no guard`];
        }),
      ),
    );
    expect(unguarded).toEqual([]);
  });

  test('no field name is a boolean in old YAML parsers', () => {
    expect(
      failing((schema) =>
        Object.keys(schema.properties ?? {}).some((name) => /^(y|n|yes|no|on|off)$/i.test(name)),
      ),
    ).toEqual([]);
  });

  test('field selectors and columns name existing fields', () => {
    const paths = new Set(all.map(({ path }) => path));
    const [version] = crd(resource, '0').spec.versions;
    const pointed = [
      ...(version?.selectableFields ?? []).map(({ jsonPath }) => jsonPath),
      ...resource.columns.map(({ jsonPath }) => jsonPath.replace(/\[\?.*\]/, '[]')),
    ].filter((path) => !path.startsWith('.metadata'));
    expect(pointed.filter((path) => !paths.has(path))).toEqual([]);
    expect(version?.selectableFields.length).toBeLessThanOrEqual(8);
  });
});

test('kinds, short names and the category are as documented', () => {
  const names = RESOURCES.map((resource) => crd(resource, '0').spec.names);
  expect(names.map(({ kind, shortNames, categories }) => [kind, shortNames, categories])).toEqual([
    ['Provider', ['mprov'], ['penstock']],
    ['ModelRoute', ['mroute'], ['penstock']],
    ['ApiKey', ['akey'], ['penstock']],
    ['TenantPolicy', ['tpol'], []],
  ]);
});

test.each(
  RESOURCES.map(
    (resource) =>
      [
        resource.kind,
        resource.columns
          .filter(({ priority }) => priority === undefined)
          .map(({ name }) => name.toUpperCase()),
      ] as const,
  ),
)('the columns of %s', (kind, columns) => {
  const expected: Record<string, string[]> = {
    Provider: ['TYPE', 'STATE', 'READY', 'HEALTHY', 'ROUTES', 'AGE', 'MESSAGE'],
    ModelRoute: ['MODEL', 'VISIBILITY', 'STATE', 'READY', 'USABLE', 'TARGETS', 'AGE', 'MESSAGE'],
    ApiKey: ['STATE', 'READY', 'HINT', 'OWNER', 'SPEND', 'LAST-USED', 'AGE', 'MESSAGE'],
    TenantPolicy: ['STATE', 'READY', 'NAMESPACES', 'USED-UP', 'AGE'],
  };
  expect(columns).toEqual(expected[kind]);
});

test('the API server keeps the displayName of an ApiKey, which only people read', () => {
  expect(structural(apiKeyResource.spec).properties?.displayName).toMatchObject({ type: 'string' });
});

test.each([
  ['a union', z.strictObject({ a: z.union([z.string(), z.int()]) })],
  ['two patterns', z.strictObject({ a: z.string().regex(/a/).regex(/b/) })],
  ['an unknown', z.strictObject({ a: z.unknown() })],
])('%s is refused, because a CRD cannot express it', (_, schema) => {
  expect(() => structural(schema)).toThrow(/no structural schema/);
});
