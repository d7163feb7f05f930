// Does the form of a provider of one's own say the same as the kinds, and are its objects what the guide shows?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PROVIDER_TYPES as rows, typesThat } from '../../../core/catalog/provider-types.ts';
import {
  buildProviderObjects,
  checkProviderEdit,
  checkProviderForm,
  emptyProviderForm,
  hostToAllow,
  nextSecretName,
  type ProviderForm,
  providerFormOf,
  providerPatch,
  routeNameOf,
} from '../../../dashboard/pages/providers/provider-form.ts';
import { PROVIDER_TYPES, SIGN_INS } from '../../../dashboard/pages/words/choices.ts';
import type { Provider } from '../../../dashboard/pages/words/kube.ts';
import { mergePatch } from '../../../dashboard/pages/words/merge-patch.ts';
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

test('the form offers every provider type, self-hosted ones first', () => {
  expect(Object.keys(PROVIDER_TYPES).sort()).toEqual([...typesThat()].sort());
  expect(Object.keys(PROVIDER_TYPES).slice(0, 2)).toEqual(['OpenAICompatible', 'Ollama']);
});

test.each(typesThat())('the operator accepts what the form accepts for %s', (type) => {
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

describe.each(Object.entries(SIGN_INS))(
  'an identity of the cloud of %s',
  (type, { cloud, member, fields, choices, requiredWithKeys }) => {
    const values = {
      roleARN: 'arn:aws:iam::123456789012:role/models',
      externalID: 'team-a',
      sessionTags: 'ApiKey',
      serviceAccount: 'models@my-project.iam.gserviceaccount.com',
      tenantID: 'example.onmicrosoft.com',
      clientID: '01234567-89ab-cdef-0123-456789abcdef',
      scope: 'https://ai.azure.com/.default',
    } as Record<string, string>;
    const identity = Object.fromEntries(fields.map((name) => [name, values[name] ?? '']));
    const places = {
      Bedrock: { region: 'eu-central-1' },
      VertexAI: { project: 'my-project', location: 'global' },
    };
    const options = Object.entries(places).find(([name]) => name === type)?.[1] ?? {};
    const given = {
      ...form,
      type: type as ProviderForm['type'],
      options,
      hasIdentity: true,
      key: '',
    } as ProviderForm;

    test.each([
      ['itself', given],
      ['through all of its fields', { ...given, identity }],
      ['with credentials', { ...given, identity, key: 'line 1\nline 2' }],
    ])('%s: the operator accepts it, and the form of it is the same', (_, one) => {
      expect(checkProviderForm(one)).toEqual({});
      const { provider } = buildProviderObjects(one);
      expect(provider.spec.auth).toMatchObject({ type: cloud });
      expect(parseProvider(provider)).toMatchObject({ ok: true });
      expect(providerFormOf(provider as unknown as Provider)).toMatchObject({
        hasIdentity: true,
        identity: one.identity,
      });
    });

    test('the operator accepts each value that is offered', () => {
      for (const [name, values = []] of Object.entries(choices))
        for (const value of values) {
          const { provider } = buildProviderObjects({ ...given, identity: { ...identity, [name]: value } });
          expect(parseProvider(provider), value).toMatchObject({ ok: true });
        }
    });

    test('credentials with missing fields are refused', () => {
      expect(Object.keys(checkProviderForm({ ...given, key: 'k' }))).toEqual(
        requiredWithKeys.map((name) => `auth.${member}.${name}`),
      );
    });

    test('an edit changes to it and back, and leaves no field of the other type', () => {
      const { provider } = buildProviderObjects({ ...given, identity });
      const before = provider as unknown as Provider;
      const keyed = { ...providerFormOf(before), hasIdentity: false, secret: 'keys' };
      const after = mergePatch(provider, providerPatch(before, keyed)) as unknown as Provider;
      expect(after.spec.auth).toEqual({
        type: 'ApiKey',
        keys: [{ name: 'main', secretRef: { name: 'keys', key: 'key' } }],
      });
      const back = { ...providerFormOf(after), hasIdentity: true, identity, secret: '' };
      const again = mergePatch(after, providerPatch(after, back)) as unknown as Provider;
      expect(again.spec.auth).toEqual(provider.spec.auth);
      const bare = {
        ...providerFormOf(again),
        identity: Object.fromEntries(fields.map((name) => [name, ''])),
      };
      expect((mergePatch(again, providerPatch(again, bare)) as unknown as Provider).spec.auth).toEqual({
        type: cloud,
      });
    });
  },
);

test('addresses that the CRD refuses are refused, and produce no objects', () => {
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
      if (checkProviderForm(given).baseURL !== undefined) return;
      expect(parseProvider(buildProviderObjects(given).provider), given.baseUrl).toMatchObject({ ok: true });
    }),
    { numRuns: 2000 },
  );
});

describe('the Secret', () => {
  test('is shared to Providers and bound to the host, as the guide says', () => {
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

  test('is the only place of the key', () => {
    const { provider, route } = buildProviderObjects(form);
    expect(JSON.stringify([provider, route])).not.toContain('sk-own');
  });

  test('names plain http with its scheme, and a port that is not the default', () => {
    expect(hostToAllow('http://ollama.example.com:11434/v1')).toBe('http://ollama.example.com:11434');
    expect(hostToAllow('https://models.example.com:8443/v1')).toBe('models.example.com:8443');
    expect(hostToAllow('')).toBeUndefined();
  });
});

describe('refusals of the CRDs are shown before anything is sent', () => {
  test.each<[Partial<ProviderForm>, string]>([
    [{ namespace: 'Team A' }, 'namespace'],
    [{ name: 'own models' }, 'name'],
    [{ baseUrl: '' }, 'baseURL'],
    [{ baseUrl: 'https://models.example.com/v1/' }, 'baseURL'],
    [{ baseUrl: 'models.example.com' }, 'baseURL'],
    [{ type: 'OpenAI', baseUrl: 'http://api.example.com/v1' }, 'baseURL'],
    [{ type: 'Anthropic', baseUrl: '', key: '' }, 'auth'],
    [{ key: 'sk own\n' }, 'auth'],
    [{ apis: [] }, 'apis'],
    [{ model: '/llama' }, 'model'],
    [{ upstreamModel: '' }, 'targets[0].upstreamModel'],
    [{ secret: 'Own_Secret' }, 'secret'],
    [{ caName: 'Own_CA' }, 'tls.caRef'],
    [{ check: 'HTTPGet', checkPath: 'health' }, 'healthCheck.active.path'],
    [{ check: 'Completion' }, 'healthCheck.active.model'],
    [{ callers: 'Selector', callerNames: 'team-a, Team' }, 'allowedNamespaces.names'],
  ])('%j', (changes, name) => {
    expect(Object.keys(checkProviderForm({ ...form, ...changes }))).toEqual([name]);
  });
});

test('a model id gives its route a name that Kubernetes accepts', () => {
  expect(routeNameOf('own/Llama-4:70b')).toBe('own-llama-4-70b');
  const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,199}$/);
  fc.assert(
    fc.property(id, (model) => {
      expect(routeNameOf(model)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    }),
  );
});

const text = (...choices: readonly string[]) => fc.constantFrom('', ...choices);
/** What its fields can hold. */
const forms: fc.Arbitrary<ProviderForm> = fc
  .record({
    baseUrl: fc.constantFrom('https://models.example.com/v1', 'http://models.example.com:8000/v1'),
    apis: fc.constantFrom<ProviderForm['apis']>(['ChatCompletions'], ['Messages', 'Responses']),
    key: text('sk-own'),
    secret: text('own-secret'),
    secretKey: text('token'),
    caKind: fc.constantFrom<ProviderForm['caKind']>('ConfigMap', 'Secret'),
    caName: text('own-ca'),
    caKey: text('root.pem'),
    check: fc.constantFrom<ProviderForm['check']>('', 'ListModels', 'HTTPGet', 'Completion', 'Disabled'),
    checkPath: fc.constantFrom('/health'),
    checkModel: fc.constantFrom('llama-4'),
    callers: fc.constantFrom<ProviderForm['callers']>('Same', 'All', 'Selector'),
    callerNames: fc.constantFrom('team-a', 'team-a, team-b'),
  })
  .map((changes) => ({ ...form, ...changes }));

const providerOf = (given: ProviderForm, spec: object = {}): Provider => {
  const { provider } = buildProviderObjects(given);
  return { ...provider, spec: { ...provider.spec, ...spec } } as Provider;
};

describe('a Provider that is edited', () => {
  test('is not changed by an unchanged form', () => {
    fc.assert(
      fc.property(forms, (given) => {
        const provider = providerOf(given);
        expect(providerPatch(provider, providerFormOf(provider))).toEqual({ spec: {} });
      }),
    );
  });

  test('is as the form would have made it, and the operator accepts it', () => {
    fc.assert(
      fc.property(forms, forms, (first, then) => {
        const before = providerOf(first);
        const wanted = { ...then, key: '' };
        const after = mergePatch(before, providerPatch(before, wanted)) as Provider;
        expect(parseProvider(after)).toMatchObject({ ok: true });
        const unset = { ...emptyProviderForm, key: '' };
        const shown = (of: ProviderForm) => ({
          ...of,
          model: unset.model,
          upstreamModel: unset.upstreamModel,
          // A field whose own choice is not made says nothing.
          ...(of.secret === '' ? { secretKey: '' } : { secretKey: of.secretKey || 'key' }),
          ...(of.caName === '' ? { caKind: unset.caKind, caKey: '' } : {}),
          ...(of.check === 'HTTPGet' ? {} : { checkPath: '' }),
          ...(of.check === 'Completion' ? {} : { checkModel: '' }),
          ...(of.callers === 'Selector' ? {} : { callerNames: '' }),
        });
        expect(shown(providerFormOf(after))).toEqual(shown(wanted));
      }),
    );
  });

  test('keeps everything that the form does not show', () => {
    const keys = [
      { name: 'eu', secretRef: { name: 'eu', key: 'key' }, weight: 3 },
      { name: 'us', secretRef: { name: 'us', key: 'key' } },
    ];
    const tls = { caRef: { name: 'own-ca' }, serverName: 'models.internal' };
    const before = providerOf(form, { auth: { type: 'ApiKey', keys }, tls, timeouts: { connect: '1s' } });
    const changed = { ...providerFormOf(before), secret: 'eu-2', caName: 'new-ca' };
    const { spec } = mergePatch(before, providerPatch(before, changed)) as Provider;
    expect(spec).toMatchObject({
      auth: { keys: [{ name: 'eu', weight: 3, secretRef: { name: 'eu-2', key: 'key' } }, keys[1]] },
      tls: { caRef: { name: 'new-ca' }, serverName: 'models.internal' },
      timeouts: { connect: '1s' },
    });
  });

  test('keeps the type of its keys, with another Secret too', () => {
    const keys = [{ name: 'main', secretRef: { name: 'aws', key: 'credentials' } }];
    const before = providerOf(form, { auth: { type: 'AWS', keys } });
    const moved = { ...providerFormOf(before), secret: 'aws-2' };
    expect(providerPatch(before, moved)).toEqual({
      spec: {
        auth: { type: 'AWS', keys: [{ name: 'main', secretRef: { name: 'aws-2', key: 'credentials' } }] },
      },
    });
  });

  test('gets a new key in a new Secret, since no Secret is changed here', () => {
    const before = providerOf(form);
    const same = { ...providerFormOf(before), key: 'sk-new' };
    expect(Object.keys(checkProviderEdit(same, before))).toEqual(['secret']);
    const next = { ...same, secret: nextSecretName(same.secret) };
    expect(checkProviderEdit(next, before)).toEqual({});
    expect(next.secret).toBe('own-models-2');
    expect(nextSecretName('own-models-2')).toBe('own-models-3');
    expect(JSON.stringify(providerPatch(before, next))).not.toContain('sk-new');
  });
});
