// The builders make valid objects, show only what differs, and never share state between two tests.

import { describe, expect, test } from 'vitest';
import { parseApiKey } from '../../operator/resources/api-key.ts';
import { parseModelRoute } from '../../operator/resources/model-route.ts';
import { parseProvider } from '../../operator/resources/provider.ts';
import { make } from '../support/make.ts';
import { makeParsed } from '../support/make-parsed.ts';

test.each([
  ['provider', parseProvider(make.provider())],
  ['route', parseModelRoute(make.route())],
  ['key', parseApiKey(make.key())],
])('a %s without arguments is valid', (_kind, parsed) => {
  expect(parsed).toMatchObject({ ok: true });
});

test('the defaults fit together', () => {
  const [provider, route, secret] = [makeParsed.provider(), makeParsed.route(), make.secret()];
  const key = provider.spec.auth.keys?.[0];
  expect(route.spec.targets[0]?.providerRef.name).toBe(provider.metadata.name);
  expect(key?.secretRef.name).toBe(secret.metadata.name);
  expect(secret.data).toHaveProperty(key?.secretRef.key ?? '');
  expect(secret.metadata.annotations?.['penstock.dev/allowed-hosts']).toBe(
    new URL(provider.spec.baseURL ?? '').host,
  );
});

describe('what differs', () => {
  test('is merged into objects, replaces lists, and undefined takes a field away', () => {
    const provider = make.provider(
      { auth: { keys: undefined, type: 'None' }, apis: ['Messages'], timeouts: { connect: '1s' } },
      { name: 'other', labels: { a: 'b' } },
    );
    expect(provider.metadata).toEqual({ name: 'other', namespace: 'platform', labels: { a: 'b' } });
    expect(provider.spec).toMatchObject({
      auth: { type: 'None' },
      apis: ['Messages'],
      type: 'OpenAICompatible',
    });
    expect(provider.spec.auth).not.toHaveProperty('keys');
  });

  test('does not reach the next object', () => {
    const first = make.route();
    first.spec.targets = [];
    Object.assign(make.provider().spec.auth ?? {}, { type: 'None' });
    expect(make.route().spec.targets).toHaveLength(1);
    expect(make.provider().spec.auth).not.toHaveProperty('type');
  });

  test('an invalid object is refused with its field where a parsed one is wanted', () => {
    expect(() => makeParsed.provider({ type: 'NoSuchType' })).toThrow('spec.type');
  });
});

test('a secret holds its values in base64, as the API server hands them out', () => {
  const secret = make.secret(
    { token: 'grün' },
    { name: 'mine', labels: { 'penstock.dev/provider-credential': undefined } },
  );
  expect(Buffer.from(secret.data.token ?? '', 'base64').toString()).toBe('grün');
  expect(secret.metadata).toMatchObject({ name: 'mine', labels: {} });
});

test('a namespace carries its name as a label', () => {
  expect(make.namespace('team-a').metadata).toEqual({
    name: 'team-a',
    labels: { 'kubernetes.io/metadata.name': 'team-a' },
  });
});
