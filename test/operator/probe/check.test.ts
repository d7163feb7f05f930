// What does a check send, and what does its answer say?

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { ProviderEntry } from '../../../core/contract/routing-table.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { CheckRequest } from '../../../operator/compile/health-check.ts';
import { buildCheck, judgeCheck } from '../../../operator/probe/check.ts';
import { root } from '../../architecture/project.ts';
import { provider, secret, snapshot } from '../make.ts';

function compiled(spec: object) {
  const { table, healthChecks } = createCompiler()(
    snapshot({ providers: [provider({ ...spec })], secrets: [secret()] }),
    0,
  );
  return { entry: table.providers[0], credentials: table.credentials, healthChecks };
}

function callOf(spec: object, active?: object) {
  const { entry, credentials, healthChecks } = compiled({
    ...spec,
    ...(active && { healthCheck: { active } }),
  });
  const [check] = healthChecks;
  if (entry === undefined || check === undefined) throw new Error('the Provider is not in the table');
  const reveal = (id: string) => credentials.find((credential) => credential.id === id)?.value;
  return buildCheck(check.request, entry, entry.keys[0]?.credential, reveal);
}

describe('a check asks for', () => {
  // An operator from before there were checks refuses the field: it must stand in no object that does not name it.
  test('a list of the models by default, without defaults of the CRD', () => {
    const silent = provider();
    expect(silent).not.toHaveProperty('spec.healthCheck');
    const { healthChecks } = createCompiler()(snapshot({ providers: [silent], secrets: [secret()] }), 0);
    expect(healthChecks).toMatchObject([{ request: { type: 'ListModels' }, intervalMs: 60_000 }]);
    const kind: unknown = parse(readFileSync(join(root, 'crds/provider.yaml'), 'utf8'));
    const member = 'spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.healthCheck';
    expect(kind).toHaveProperty(`${member}.properties.active`);
    for (const place of [member, `${member}.properties.active`])
      expect(kind).not.toHaveProperty(`${place}.default`);
  });

  test('a list of the models with the own key, unless the object says otherwise', () => {
    const { method, url, headers, body } = callOf({});
    expect({ method, url, body }).toEqual({
      method: 'GET',
      url: 'https://api.openai.com/v1/models',
      body: undefined,
    });
    expect(headers.authorization).toBe('Bearer sk-upstream');
  });

  test('Anthropic’s list with Anthropic’s headers', () => {
    const { url, headers } = callOf({ type: 'Anthropic' });
    expect(url).toBe('https://api.anthropic.com/v1/models');
    expect(headers).toMatchObject({ 'x-api-key': 'sk-upstream', 'anthropic-version': '2023-06-01' });
  });

  test('the list with further headers of the Provider', () => {
    expect(callOf({ headers: [{ name: 'X-Team', value: 'a' }] }).headers['x-team']).toBe('a');
  });

  test('a path of the host', () => {
    expect(callOf({}, { type: 'HTTPGet', path: '/health?deep=1' }).url).toBe(
      'https://api.openai.com/health?deep=1',
    );
  });

  test.each([
    [{ apis: ['ChatCompletions'] }, '/chat/completions', 'max_completion_tokens'],
    [{ type: 'Mistral' }, '/chat/completions', 'max_tokens'],
    [{ type: 'Anthropic' }, '/messages', 'max_tokens'],
    [{ apis: ['Responses'] }, '/responses', 'max_output_tokens'],
    [{ apis: ['Completions'] }, '/completions', 'max_tokens'],
  ])('one token of a model, as %j takes it', (spec, path, limit) => {
    const { method, url, body = '' } = callOf(spec, { type: 'Completion', model: 'gpt-x' });
    expect(method).toBe('POST');
    expect(url.endsWith(path)).toBe(true);
    expect(JSON.parse(body)).toMatchObject({ model: 'gpt-x', [limit]: path === '/responses' ? 16 : 1 });
  });

  test('nothing of a Provider that disables checks, or is out of service', () => {
    expect(compiled({ healthCheck: { active: { type: 'Disabled' } } }).healthChecks).toEqual([]);
    expect(compiled({ suspended: true }).healthChecks).toEqual([]);
  });
});

describe('the result of an answer', () => {
  const list: CheckRequest = { type: 'ListModels' };
  const path: CheckRequest = { type: 'HTTPGet', path: '/health' };
  const completion: CheckRequest = { type: 'Completion', model: 'm' };
  test.each([
    [list, 200, 'works'],
    // Not every server lists its models.
    [list, 404, 'works'],
    [list, 429, 'works'],
    // Nor may every key list them.
    [list, 403, 'works'],
    [list, 401, 'refused'],
    [list, 500, 'fails'],
    [path, 204, 'works'],
    [path, 302, 'works'],
    [path, 404, 'fails'],
    [path, 401, 'refused'],
    [completion, 200, 'works'],
    [completion, 429, 'works'],
    [completion, 403, 'refused'],
    [completion, 404, 'fails'],
    [completion, 503, 'fails'],
  ] as const)('%j answered with %i: %s', (request, status, type) => {
    expect(judgeCheck(request, callOf({}), { type: 'status', status }).type).toBe(type);
  });

  const badKey = 'API key not valid. Please pass a valid API key.';
  const scopes = 'You have insufficient permissions for this operation. Missing scopes: api.model.read.';
  test.each([
    // Google and xAI refuse a key with 400, in a list of one object and in a plain text.
    ['Google', list, 400, [{ error: { code: 400, message: badKey, status: 'INVALID_ARGUMENT' } }], 'refused'],
    ['Google', completion, 400, { error: { code: 400, message: badKey } }, 'refused'],
    [
      'xAI',
      list,
      400,
      { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***' },
      'refused',
    ],
    ['anybody', list, 400, { error: { message: 'page_size is odd' } }, 'works'],
    ['anybody', list, 400, { error: { message: `x: "${badKey}" is odd` } }, 'works'],
    ['a page', list, 400, '<html>', 'works'],
    // A key that is good for other things, and one that is good for nothing.
    ['OpenAI', list, 401, { error: { message: scopes, type: 'invalid_request_error' } }, 'works'],
    ['OpenAI', completion, 401, { error: { message: scopes, type: 'invalid_request_error' } }, 'refused'],
    ['OpenAI', list, 403, { error: { message: '', code: 'account_deactivated' } }, 'refused'],
    ['OpenAI', list, 403, { error: { message: scopes, type: 'invalid_request_error' } }, 'works'],
  ] as const)('%s: %j answered with %i and %j: %s', (_who, request, status, body, type) => {
    const answer = { type: 'status', status, body: JSON.stringify(body) } as const;
    expect(judgeCheck(request, callOf({}), answer).type).toBe(type);
  });

  test('no message contains the key', () => {
    const outcome = judgeCheck(list, callOf({}), { type: 'status', status: 401 });
    expect(JSON.stringify(outcome)).toContain('401');
    expect(JSON.stringify(outcome)).not.toContain('sk-upstream');
  });

  test('no answer: the reason', () => {
    expect(judgeCheck(list, callOf({}), { type: 'none', reason: 'nobody is there' })).toEqual({
      type: 'fails',
      message: 'nobody is there',
    });
  });
});

test('a header from a Secret is sent with the check', () => {
  const entry: ProviderEntry | undefined = compiled({
    headers: [{ name: 'X-Token', valueFrom: { secretKeyRef: { name: 'openai', key: 'key' } } }],
  }).entry;
  if (entry === undefined) throw new Error('the Provider is not in the table');
  expect(buildCheck({ type: 'ListModels' }, entry, undefined, (id) => `<${id}>`).headers['x-token']).toBe(
    '<team-a/openai/header:X-Token>',
  );
});
