// Does the form of a provider of one's own say the same as the kinds, and are its objects what the guide shows?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PROVIDER_TYPES as rows, typesThat } from '../../../core/catalog/provider-types.ts';
import {
  buildProviderObjects,
  checkProviderForm,
  emptyProviderForm,
  hostToAllow,
  type ProviderForm,
  routeNameOf,
} from '../../../dashboard/pages/providers/provider-form.ts';
import { PROVIDER_TYPES } from '../../../dashboard/pages/words/choices.ts';
import { parseModelRoute } from '../../../operator/resources/model-route.ts';
import { parseProvider } from '../../../operator/resources/provider.ts';

const form: ProviderForm = {
  ...emptyProviderForm,
  namespace: 'team-a',
  name: 'own-models',
  baseUrl: 'https://models.example.com/v1',
  key: 'sk-own',
  model: 'llama',
  upstreamModel: 'llama-4',
};

test('the form offers every provider type, and first those that people run themselves', () => {
  expect(Object.keys(PROVIDER_TYPES).sort()).toEqual([...typesThat()].sort());
  expect(Object.keys(PROVIDER_TYPES).slice(0, 2)).toEqual(['OpenAICompatible', 'Ollama']);
});

test.each(typesThat())('what is let through for %s, the operator takes', (type) => {
  const { baseUrl, isSelfHosted } = rows[type];
  const less = { ...(isSelfHosted ? { key: '' } : {}), ...(baseUrl === undefined ? {} : { baseUrl: '' }) };
  for (const given of [form, { ...form, ...less }]) {
    expect(checkProviderForm({ ...given, type })).toEqual({});
    const { provider, route, secret } = buildProviderObjects({ ...given, type });
    expect(parseProvider(provider)).toMatchObject({ ok: true });
    expect(parseModelRoute(route)).toMatchObject({ ok: true });
    expect(secret === undefined).toBe(given.key === '');
  }
});

test('addresses that the kind refuses are refused, and no other objects come of it', () => {
  const part = fc.constantFrom(
    'https://',
    'http://',
    'ftp://',
    'HTTPS://',
    'a',
    'models.example.com',
    'user:pw@',
    ':8443',
    ':99999',
    '/',
    '/v1',
    '/..',
    '/.',
    '?q',
    '#f',
    ' ',
    '0x7f.1',
    '10.0.0.1',
    '[::1]',
    'ü.example',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
      const given = { ...form, key: '', baseUrl: parts.join('') };
      if (checkProviderForm(given).baseUrl !== undefined) return;
      expect(parseProvider(buildProviderObjects(given).provider), given.baseUrl).toMatchObject({ ok: true });
    }),
    { numRuns: 2000 },
  );
});

describe('the Secret', () => {
  test('is lent to Providers and bound to the host, as the guide says', () => {
    expect(buildProviderObjects(form).secret).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'own-models',
        namespace: 'team-a',
        labels: { 'penstock.dev/provider-credential': 'true' },
        annotations: { 'penstock.dev/allowed-hosts': 'models.example.com' },
      },
      type: 'Opaque',
      stringData: { key: 'sk-own' },
    });
  });

  test('alone holds the key', () => {
    const { provider, route } = buildProviderObjects(form);
    expect(JSON.stringify([provider, route])).not.toContain('sk-own');
  });

  test('names plain http with its scheme and a port that is not the usual one', () => {
    expect(hostToAllow('http://ollama.example.com:11434/v1')).toBe('http://ollama.example.com:11434');
    expect(hostToAllow('https://models.example.com:8443/v1')).toBe('models.example.com:8443');
    expect(hostToAllow('')).toBeUndefined();
  });
});

describe('what the kinds refuse is said before anything is sent', () => {
  test.each<[Partial<ProviderForm>, keyof ProviderForm]>([
    [{ namespace: 'Team A' }, 'namespace'],
    [{ name: 'own models' }, 'name'],
    [{ baseUrl: '' }, 'baseUrl'],
    [{ baseUrl: 'https://models.example.com/v1/' }, 'baseUrl'],
    [{ baseUrl: 'models.example.com' }, 'baseUrl'],
    [{ type: 'OpenAI', baseUrl: 'http://api.example.com/v1' }, 'baseUrl'],
    [{ type: 'Anthropic', baseUrl: '', key: '' }, 'key'],
    [{ key: 'sk own\n' }, 'key'],
    [{ apis: [] }, 'apis'],
    [{ model: '/llama' }, 'model'],
    [{ upstreamModel: '' }, 'upstreamModel'],
  ])('%j', (changes, name) => {
    expect(Object.keys(checkProviderForm({ ...form, ...changes }))).toEqual([name]);
  });
});

test('a model id gives its route a name that Kubernetes takes', () => {
  expect(routeNameOf('own/Llama-4:70b')).toBe('own-llama-4-70b');
  const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,199}$/);
  fc.assert(
    fc.property(id, (model) => {
      expect(routeNameOf(model)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    }),
  );
});
