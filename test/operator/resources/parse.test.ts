// Does the run-time check take what the API takes, refuse what it refuses, and say what to do?

import { describe, expect, test } from 'vitest';
import { apiKeyResource, parseApiKey } from '../../../operator/resources/api-key.ts';
import { type CrdSchema, rootSchema } from '../../../operator/resources/crd.ts';
import { modelRouteResource, parseModelRoute } from '../../../operator/resources/model-route.ts';
import type { Parsed } from '../../../operator/resources/parse.ts';
import { parseProvider, providerResource } from '../../../operator/resources/provider.ts';
import { route, target } from '../make.ts';
import { ACCEPTED, COMPLETE } from './accepted.ts';
import { parseObject } from './parse-object.ts';
import { API_KEY_REFUSALS, MODEL_ROUTE_REFUSALS, PROVIDER_REFUSALS } from './refusals.ts';

function problems(parsed: Parsed<unknown>): Record<string, string> {
  if (parsed.ok) return {};
  return Object.fromEntries(parsed.problems.map(({ path, message }) => [path, message]));
}

describe('a Provider is refused where', () => {
  test.each(PROVIDER_REFUSALS)('%s', (_, object, path, part) => {
    expect(problems(parseProvider(object))[path]).toContain(part);
  });
});

describe('a ModelRoute is refused where', () => {
  test.each(MODEL_ROUTE_REFUSALS)('%s', (_, object, path, part) => {
    expect(problems(parseModelRoute(object))[path]).toContain(part);
  });
});

describe('an ApiKey is refused where', () => {
  test.each(API_KEY_REFUSALS)('%s', (_, object, path, part) => {
    expect(problems(parseApiKey(object))[path]).toContain(part);
  });
});

describe('the API accepts', () => {
  test.each(ACCEPTED)('%s', (_, object) => {
    expect(problems(parseObject(object))).toEqual({});
  });

  test.each(COMPLETE)('every field of %s', (_, object) => {
    const parsed = parseObject(object);
    expect(parsed.ok && parsed.value).toEqual(object);
  });

  test('an empty object gets every default', () => {
    const parsed = parseModelRoute(route());
    expect(parsed.ok && parsed.value.spec).toEqual({
      model: 'chat',
      visibility: 'Listed',
      allowedNamespaces: { from: 'Same' },
      suspended: false,
      unpriced: 'MeterOnly',
      responseModel: 'Served',
      delivery: 'Stream',
      upstreamStreaming: 'Auto',
      targets: [{ ...target(), priority: 0, weight: 1 }],
      failover: {
        retryOn: [
          'ConnectFailure',
          'Timeout',
          'RateLimited',
          'ServerError',
          'Overloaded',
          'AuthFailure',
          'ModelNotFound',
          'ContextLengthExceeded',
        ],
        maxAttempts: 3,
        attemptsPerTarget: 1,
        backoff: { base: '100ms', max: '2s' },
        honorRetryAfter: true,
        affinity: 'None',
      },
    });
  });
});

test('every rule of the API is broken by a case above, so that its run-time form is tested', () => {
  const said = [
    ...PROVIDER_REFUSALS.map(([, object]) => problems(parseProvider(object))),
    ...MODEL_ROUTE_REFUSALS.map(([, object]) => problems(parseModelRoute(object))),
    ...API_KEY_REFUSALS.map(([, object]) => problems(parseApiKey(object))),
  ].flatMap((found) => Object.values(found).map(withoutNumbers));
  const silent = [providerResource, modelRouteResource, apiKeyResource]
    .flatMap((resource) => levelsOf(rootSchema(resource)))
    .flatMap((schema) => schema['x-kubernetes-validations'] ?? [])
    // Only the API server has the old object, and refuses old names in what is new.
    .filter(({ rule }) => !rule.includes('oldSelf') && rule !== 'false')
    .map(({ message }) => message)
    .filter((message) => !said.includes(withoutNumbers(message)));
  expect(silent).toEqual([]);
});

/** One rule is in many fields with other bounds: one case for all of them. */
function withoutNumbers(message: string): string {
  return message.replaceAll(/\d+(ms|s|m|h)?/g, 'N');
}

function levelsOf(schema: CrdSchema): CrdSchema[] {
  const below = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties];
  return [schema, ...below.flatMap((child) => (child === undefined ? [] : levelsOf(child)))];
}
