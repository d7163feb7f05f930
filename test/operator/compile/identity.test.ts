// Who may use the identity of the gateway at a cloud, through which role, and what do gateways get to know of it?

import { describe, expect, test } from 'vitest';
import { applyPolicies } from '../../../operator/compile/apply-policies.ts';
import type { CompileResult } from '../../../operator/compile/compile.ts';
import { createPolicyJudge } from '../../../operator/compile/judge-policies.ts';
import type { PlatformSettings, RawObject, SecretRecord } from '../../../operator/watch/snapshot.ts';
import { makeCertificate } from '../../core/egress/certificates.ts';
import { namespace, PLATFORM, provider, route, secret, snapshot, target, tenantPolicy } from '../make.ts';
import { compileOnce, condition } from './support.ts';
import { startTerm } from './term.ts';

const role = 'arn:aws:iam::123456789012:role/models';
const account = 'models@my-project.iam.gserviceaccount.com';
const tenantID = '11111111-2222-3333-4444-555555555555';
const clientID = '66666666-7777-8888-9999-000000000000';

type Fields = Readonly<Record<string, unknown>>;
const clouds = {
  AWS: { type: 'Bedrock', baseURL: 'https://bedrock-runtime.us-east-1.amazonaws.com' },
  GCP: { type: 'VertexAI', options: { project: 'my-project' } },
  Azure: { type: 'AzureOpenAI', baseURL: 'https://acme.openai.azure.com' },
};
const keyless = (cloud: keyof typeof clouds, auth: Fields = {}, fields: Fields = {}, meta: Fields = {}) =>
  provider(
    { ...clouds[cloud], auth: { type: cloud, ...auth }, ...fields },
    { namespace: 'platform', ...meta },
  );
const ofTeam = (cloud: keyof typeof clouds, auth: Fields = {}, fields: Fields = {}) =>
  keyless(cloud, auth, fields, { namespace: 'team-a' });

function rights(...lists: readonly (readonly object[])[]): PlatformSettings {
  const policies = lists.map((cloudIdentities, at) =>
    tenantPolicy({ cloudIdentities }, { name: `policy-${at}` }),
  );
  const judged = createPolicyJudge(PLATFORM)(policies);
  expect(judged.flatMap(({ problems }) => problems)).toEqual([]);
  const specs = judged.flatMap(({ spec }) => spec ?? []);
  return applyPolicies(PLATFORM, specs, [namespace('team-a')]);
}

function compiled(
  object: RawObject,
  platform = PLATFORM,
  secrets: readonly SecretRecord[] = [],
): CompileResult {
  return compileOnce({ ...snapshot({ providers: [object], secrets }), platform });
}

const accepted = (result: CompileResult, namespaceName = 'team-a') =>
  condition(result, 'Provider', `${namespaceName}/openai`, 'Accepted');

describe('a Provider without keys in the table', () => {
  test.each<[string, RawObject, Fields]>([
    ['by which identity it signs in', keyless('AWS'), { identity: 'AWS' }],
    [
      'which role it takes',
      keyless('AWS', { aws: { roleARN: role, externalID: 'acme' } }),
      { identity: 'AWS', roleArn: role, externalId: 'acme' },
    ],
    [
      'what tags the sessions of its role have',
      keyless('AWS', { aws: { roleARN: role, sessionTags: 'Namespace' } }),
      { identity: 'AWS', roleArn: role, sessionTags: 'Namespace' },
    ],
    [
      'as which service account it acts, beside its options',
      keyless('GCP', { gcp: { serviceAccount: account } }),
      { identity: 'GCP', impersonate: account, project: 'my-project' },
    ],
    [
      'which app it is, and for what its tokens are',
      keyless('Azure', { azure: { tenantID, clientID, scope: 'https://ai.azure.com/.default' } }),
      { identity: 'Azure', tenantId: tenantID, clientId: clientID, scope: 'https://ai.azure.com/.default' },
    ],
  ])('%s', (_, object, settings) => {
    const { table } = compiled(object);
    expect(table.providers).toMatchObject([{ keys: [], settings }]);
    expect(table.providers[0]?.settings).toEqual(settings);
    expect(table.providers[0]).not.toHaveProperty('auth');
    expect(table.credentials).toEqual([]);
  });
});

test('access keys with a role belong to the namespace: they need no right to an identity', () => {
  const keys = [{ name: 'main', secretRef: { name: 'openai', key: 'key' } }];
  const value = '[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = abc\n';
  const annotations = { 'penstock.dev/allowed-hosts': 'bedrock-runtime.us-east-1.amazonaws.com' };
  const object = ofTeam('AWS', { keys, aws: { roleARN: role } });
  const { table } = compiled(object, PLATFORM, [secret({ annotations, data: { key: value } })]);
  expect(table.providers).toMatchObject([{ keys: [{ name: 'main' }], settings: { roleArn: role } }]);
  expect(table.providers[0]?.settings).not.toHaveProperty('identity');
});

describe('a tenant namespace', () => {
  test.each<[string, RawObject, PlatformSettings]>([
    ['has a right to the cloud', ofTeam('AWS'), rights([{ type: 'AWS' }])],
    [
      'has a right to the cloud, and names a role',
      ofTeam('AWS', { aws: { roleARN: role } }),
      rights([{ type: 'AWS' }]),
    ],
    [
      'names a role that it has a right to',
      ofTeam('AWS', { aws: { roleARN: role } }),
      rights([{ type: 'AWS', roles: [role] }]),
    ],
    [
      'names a role that begins as those it has a right to',
      ofTeam('GCP', { gcp: { serviceAccount: account } }),
      rights([{ type: 'GCP', roles: ['models@*'] }]),
    ],
    [
      'has the right of another policy',
      ofTeam('Azure', { azure: { clientID } }),
      rights([{ type: 'Azure', roles: [tenantID] }], [{ type: 'Azure', roles: [clientID] }]),
    ],
    [
      'is at an address of the cloud through a proxy that sees nothing',
      ofTeam('Azure', {}, { proxy: { url: 'http://proxy.example:3128' } }),
      rights([{ type: 'Azure' }]),
    ],
  ])('is served if it %s', (_, object, platform) => {
    const result = compiled(object, platform);
    expect(accepted(result)).toMatchObject({ status: 'True' });
    expect(result.table.providers).toHaveLength(1);
  });

  test.each<[string, RawObject, PlatformSettings, string]>([
    [
      'has no right',
      ofTeam('AWS'),
      PLATFORM,
      'the namespace team-a may not use the identity of the gateway at AWS. Set spec.auth.keys, or ask the platform team for cloudIdentities in a TenantPolicy',
    ],
    ['has a right to another cloud', ofTeam('AWS'), rights([{ type: 'GCP' }]), 'may not use the identity'],
    [
      'names no role, and has a right to one alone',
      ofTeam('AWS'),
      rights([{ type: 'AWS', roles: [role] }]),
      `the namespace team-a may use the identity of the gateway at AWS through ${role} alone. Set spec.auth.aws.roleARN to such a role, or ask the platform team for another`,
    ],
    [
      'names another role, which begins alike',
      ofTeam('AWS', { aws: { roleARN: `${role}-admin` } }),
      rights([{ type: 'AWS', roles: [role] }]),
      'alone. Set spec.auth.aws.roleARN',
    ],
    [
      'would send tokens to its own server',
      ofTeam('Azure', {}, { baseURL: 'https://acme.openai.azure.com.evil.example' }),
      rights([{ type: 'Azure' }]),
      'acme.openai.azure.com.evil.example is not an address of Azure, and a tenant may send the identity of the gateway to Azure alone',
    ],
    [
      "would send tokens to a service of the cloud that may be anybody's",
      ofTeam('AWS', {}, { baseURL: 'https://evil.s3.amazonaws.com', options: { region: 'us-east-1' } }),
      rights([{ type: 'AWS' }]),
      'is not an address of AWS',
    ],
    [
      'lets its own proxy read them',
      ofTeam('Azure', {}, { proxy: { url: 'http://proxy.example:3128' }, tls: { insecureSkipVerify: true } }),
      rights([{ type: 'Azure' }]),
      'proxy.example:3128 is not an address of Azure',
    ],
    [
      'decides itself which server is the cloud',
      ofTeam('GCP', {}, { tls: { insecureSkipVerify: true } }),
      rights([{ type: 'GCP' }]),
      'spec.tls changes which server is trusted, and a tenant may not send the identity of the gateway to such a server. Remove',
    ],
  ])('is refused if it %s', (_, object, platform, words) => {
    const result = compiled(object, platform);
    expect(accepted(result)).toMatchObject({ status: 'False', reason: 'IdentityNotAllowed' });
    expect(accepted(result).message).toContain(words);
    expect(result.table.providers).toEqual([]);
  });
});

test('a right of all namespaces includes future ones', () => {
  const [spec] = createPolicyJudge(PLATFORM)([
    tenantPolicy({ namespaces: { selector: {} }, cloudIdentities: [{ type: 'AWS' }] }),
  ]).map((policy) => policy.spec);
  const platform = applyPolicies(PLATFORM, spec === undefined ? [] : [spec], []);
  expect(accepted(compiled(ofTeam('AWS'), platform))).toMatchObject({ status: 'True' });
});

describe('a Provider without keys in an invalid form', () => {
  const good = ofTeam('AWS', { aws: { roleARN: role } });
  const platform = rights([{ type: 'AWS', roles: [role] }]);
  const withGeneration = (object: RawObject, generation: number) => ({
    ...object,
    metadata: { ...object.metadata, generation },
  });
  const edited = (auth: Fields) => withGeneration(ofTeam('AWS', auth), 2);
  const start = () => {
    const run = startTerm();
    run({ ...snapshot({ providers: [withGeneration(good, 1)] }), platform });
    return (object: RawObject, now = platform) =>
      run({ ...snapshot({ providers: [object] }), platform: now }).table;
  };

  test.each([
    ['a role that the namespace has no right to', { aws: { roleARN: `${role}-admin` } }],
    ['a field that is unknown', { aws: { roleARN: role }, bogus: true }],
  ])('serves its last good form: %s', (_, auth) => {
    expect(start()(edited(auth)).providers).toMatchObject([{ settings: { identity: 'AWS', roleArn: role } }]);
  });

  test.each([
    ['of each model', undefined, ['bedrock-converse']],
    ['that it says itself', ['ChatCompletions'], ['openai-chat']],
  ])('is called in the dialects %s as before', (_, apis, dialects) => {
    const fields = apis === undefined ? {} : { apis };
    const edit = (generation: number, auth: Fields) =>
      withGeneration(ofTeam('AWS', { aws: { roleARN: role }, ...auth }, fields), generation);
    const nova = route({
      targets: [target({ upstreamModel: 'us.amazon.nova-pro-v1:0' })],
      pricing: { inputPerMillion: '1', outputPerMillion: '1' },
    });
    const run = startTerm();
    for (const object of [edit(1, {}), edit(2, { bogus: true })]) {
      const { table } = run({ ...snapshot({ providers: [object], modelRoutes: [nova] }), platform });
      expect(table.routes).toMatchObject([{ targets: [{ dialects }] }]);
    }
  });

  test('leaves service at once if the right is gone', () => {
    expect(start()(edited({ bogus: true }), PLATFORM).providers).toEqual([]);
    expect(start()(withGeneration(good, 1), PLATFORM).providers).toEqual([]);
  });
});

describe('a key of type Azure is stored as one text', () => {
  const keys = [{ name: 'main', secretRef: { name: 'openai', key: 'key' } }];
  const annotations = { 'penstock.dev/allowed-hosts': 'acme.openai.azure.com' };
  const app = ofTeam('Azure', { keys, azure: { tenantID, clientID } });
  const given = (value: string) => compiled(app, PLATFORM, [secret({ annotations, data: { key: value } })]);
  const issuer = makeCertificate({ name: 'authority', isCa: true });
  const { cert, key } = makeCertificate({ name: 'app', issuer, keyType: 'rsa' });
  const other = makeCertificate({ name: 'other' });

  test.each<[string, string, Fields]>([
    ['a client secret', 'abc~DEF.123\n', { clientSecret: 'abc~DEF.123' }],
    [
      'a private key with its certificate, in any order',
      `${key}\n${cert}`,
      { certificate: cert.trim(), privateKey: key.trim() },
    ],
  ])('%s', (_, value, written) => {
    const { table } = given(value);
    expect(table.providers).toMatchObject([
      {
        auth: { header: 'Authorization', prefix: 'Bearer ' },
        settings: { tenantId: tenantID, clientId: clientID },
      },
    ]);
    expect(JSON.parse(Buffer.from(table.credentials[0]?.value ?? '', 'base64').toString())).toEqual(written);
  });

  test.each([
    ['a certificate alone', cert],
    ['the key of another certificate', `${cert}${other.key}`],
    ['a secret in two lines', 'abc\ndef'],
  ])('and refused, without being shown: %s', (_, value) => {
    const { reason, message } = condition(given(value), 'Provider', 'team-a/openai', 'ResolvedRefs');
    expect(reason).toBe('SecretValueInvalid');
    expect(message).not.toMatch(/BEGIN|abc/);
  });

  test.each([
    ['as PKCS 8', other.key],
    ['as SEC 1', other.privateKey.export({ type: 'sec1', format: 'pem' }).toString()],
  ])('and refused, with what to do, where the key of the certificate is an EC key %s', (_, ec) => {
    const result = given(`${other.cert}${ec}`);
    expect(condition(result, 'Provider', 'team-a/openai', 'ResolvedRefs')).toMatchObject({
      status: 'False',
      reason: 'SecretValueInvalid',
      message:
        'spec.auth.keys[main]: the value of key in Secret openai has a private key that is not RSA, and Entra accepts only RSA. ' +
        'Make a certificate with an RSA key, or write a client secret',
    });
    expect(result.table.providers).toEqual([]);
  });

  test('also while its last good form is held', () => {
    const run = startTerm();
    const at = (generation: number, fields: Fields, value: string) =>
      run(
        snapshot({
          providers: [
            provider(
              { ...clouds.Azure, auth: { type: 'Azure', keys, azure: { tenantID, clientID } }, ...fields },
              { generation },
            ),
          ],
          secrets: [secret({ annotations, data: { key: value } })],
        }),
      ).table.credentials.map((one) => Buffer.from(one.value, 'base64').toString());
    expect(at(1, {}, 'one')).toEqual(['{"clientSecret":"one"}']);
    expect(at(2, { bogus: true }, 'two')).toEqual(['{"clientSecret":"two"}']);
  });
});
