// May an object be so? What an API server with our CRDs would say, before anything is written. Pure.

import { isRecord } from '../../core/kube/object.ts';
import { parseApiKey } from '../../operator/resources/api-key.ts';
import { parseModelRoute } from '../../operator/resources/model-route.ts';
import type { Parsed } from '../../operator/resources/parse.ts';
import type { Problem } from '../../operator/resources/problems.ts';
import { parseProvider } from '../../operator/resources/provider.ts';
import type { OwnKind } from './objects.ts';

const parsers: Readonly<Record<OwnKind, (value: unknown) => Parsed<{ readonly spec: unknown }>>> = {
  ApiKey: parseApiKey,
  Provider: parseProvider,
  ModelRoute: parseModelRoute,
};

/** The transition rules of the CRDs: what an update may not change. */
export const LASTING: Readonly<
  Record<OwnKind, readonly { readonly field: string; readonly what: string }[]>
> = {
  Provider: [{ field: 'spec.type', what: 'type cannot be changed; create a new object instead' }],
  ModelRoute: [{ field: 'spec.model', what: 'model cannot be changed; create a new object instead' }],
  ApiKey: [
    { field: 'spec.secret.name', what: 'secret.name cannot be changed; create a new ApiKey instead' },
    { field: 'spec.secret.key', what: 'secret.key cannot be changed; create a new ApiKey instead' },
  ],
};

const defaults: Readonly<Record<string, unknown>> = { 'spec.secret.key': 'apiKey' };

/** @param before The object so far; undefined where it is to be created. */
export function judgeObject(kind: OwnKind, object: unknown, before: unknown): readonly Problem[] {
  const parsed = parsers[kind](object);
  if (!parsed.ok) return parsed.problems;
  if (before === undefined) return [];
  return LASTING[kind].flatMap(({ field, what }) => {
    const isSame = valueAt(object, field) === valueAt(before, field);
    return isSame ? [] : [{ path: field, message: what }];
  });
}

function valueAt(object: unknown, field: string): unknown {
  const value = field.split('.').reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), object);
  return value ?? defaults[field];
}

const secretMembers = ['apiVersion', 'kind', 'metadata', 'type', 'data', 'stringData', 'immutable'];
const dnsName = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Never with a value. */
export function judgeSecret(secret: Readonly<Record<string, unknown>>): readonly Problem[] {
  const { metadata, type, immutable, data, stringData } = secret;
  const problems: Problem[] = Object.keys(secret)
    .filter((member) => !secretMembers.includes(member))
    .map((member) => ({ path: member, message: 'unknown field' }));
  const expect = (isFine: boolean, path: string, message: string): void => {
    if (!isFine) problems.push({ path, message });
  };
  const { name, labels, annotations } = isRecord(metadata) ? metadata : {};
  expect(typeof name === 'string' && dnsName.test(name), 'metadata.name', 'must be a lower-case DNS name');
  expect(type === undefined || typeof type === 'string', 'type', 'must be a string');
  expect(immutable === undefined || typeof immutable === 'boolean', 'immutable', 'must be true or false');
  const maps = { 'metadata.labels': labels, 'metadata.annotations': annotations, data, stringData };
  for (const [path, map] of Object.entries(maps)) {
    expect(
      map === undefined || map === null || isRecord(map),
      path,
      'must be an object of names and strings',
    );
    for (const [key, value] of Object.entries(isRecord(map) ? map : {})) {
      expect(typeof value === 'string', `${path}.${key}`, 'must be a string');
      if (map === data && typeof value === 'string')
        expect(base64.test(value), `data.${key}`, 'must be base64');
    }
  }
  return problems;
}
