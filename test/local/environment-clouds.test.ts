// Does local mode serve models of the clouds whose usual variables are set? Providers and routes out of the environment, and their calls.

import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { readEnvironmentProviders } from '../../local/environment-providers.ts';
import { readSettings } from '../../local/settings.ts';
import { parseProvider } from '../../operator/resources/provider.ts';
import { startAzure } from '../../simulator/clouds/azure.ts';
import { startBedrock } from '../../simulator/clouds/bedrock.ts';
import { startBedrockControl } from '../../simulator/clouds/bedrock-control.ts';
import { clusterIssuer } from '../../simulator/clouds/cluster-issuer.ts';
import { startEntra } from '../../simulator/clouds/entra.ts';
import { startSimulator } from '../../simulator/server.ts';
import { makeCertificate } from '../core/egress/certificates.ts';
import { startTlsFront } from '../support/tls-front.ts';
import { type LocalRig, startLocalRig } from './rig.ts';

let rig: LocalRig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

async function foundIn(environment: Record<string, string>) {
  const { manifests, notes } = await readEnvironmentProviders(readSettings(environment), 8080, 0);
  expect(manifests.providers.map((provider) => parseProvider(provider).ok)).toEqual(
    manifests.providers.map(() => true),
  );
  return {
    notes,
    specs: manifests.providers.map(({ spec }) => spec),
    models: manifests.modelRoutes.map(({ spec }) => (spec as { model: string }).model),
    secrets: manifests.secrets,
  };
}

const accessKeys = {
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'secret-of-the-access-key',
  AWS_SESSION_TOKEN: 'session',
};
const google = { GOOGLE_APPLICATION_CREDENTIALS: '/keys/google.json', GOOGLE_CLOUD_PROJECT: 'my-project' };
const azure = { AZURE_OPENAI_ENDPOINT: 'https://res.openai.azure.com/' };
const app = {
  AZURE_TENANT_ID: '11111111-1111-4111-8111-111111111111',
  AZURE_CLIENT_ID: '22222222-2222-4222-8222-222222222222',
};

describe('the usual variables of', () => {
  test('AWS make a Provider of the region, signed in by the environment', async () => {
    const models = { PENSTOCK_BEDROCK_MODELS: 'amazon.nova-pro-v1:0, eu.anthropic.claude-sonnet-5' };
    const found = await foundIn({ ...accessKeys, AWS_REGION: 'eu-central-1', ...models });
    expect(found).toEqual({
      notes: ['bedrock: 2 models of bedrock-runtime.eu-central-1.amazonaws.com as bedrock/…'],
      specs: [
        {
          type: 'Bedrock',
          baseURL: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
          auth: { type: 'AWS' },
          options: { region: 'eu-central-1' },
        },
      ],
      models: ['bedrock/amazon.nova-pro-v1:0', 'bedrock/eu.anthropic.claude-sonnet-5'],
      secrets: [],
    });
  });

  test.each([
    ['global', 'https://aiplatform.googleapis.com/v1'],
    ['eu', 'https://aiplatform.eu.rep.googleapis.com/v1'],
    ['europe-west4', 'https://europe-west4-aiplatform.googleapis.com/v1'],
  ])('Google make a Provider of the location %s', async (location, baseURL) => {
    const more = { GOOGLE_CLOUD_LOCATION: location, PENSTOCK_VERTEX_MODELS: 'gemini-3.8-flash' };
    const { specs, models } = await foundIn({ ...google, ...more });
    expect(specs).toEqual([
      { type: 'VertexAI', baseURL, auth: { type: 'GCP' }, options: { project: 'my-project', location } },
    ]);
    expect(models).toEqual(['vertex/gemini-3.8-flash']);
  });

  test.each([
    ['a key', { AZURE_OPENAI_API_KEY: 'key-of-the-resource', ...app }, undefined, 'key-of-the-resource'],
    ['an app', { ...app, AZURE_CLIENT_SECRET: 'secret-of-the-app' }, 'Azure', 'secret-of-the-app'],
    ['a token', { ...app, AZURE_FEDERATED_TOKEN_FILE: '/token' }, 'Azure', undefined],
  ])('Azure make a Provider with %s', async (_, more, type, secret) => {
    const found = await foundIn({ ...azure, ...more, PENSTOCK_AZURE_MODELS: 'my-gpt' });
    expect(found.specs).toMatchObject([
      {
        type: 'AzureOpenAI',
        baseURL: 'https://res.openai.azure.com',
        auth: type === undefined ? {} : { type },
      },
    ]);
    expect(found.models).toEqual(['azure/my-gpt']);
    expect(found.secrets.map(({ data }) => data?.apiKey)).toEqual(secret === undefined ? [] : [secret]);
    expect(found.notes.join()).not.toContain('secret');
  });
});

test.each([
  [{ ...accessKeys, PENSTOCK_BEDROCK_MODELS: 'm' }, 'bedrock is not served: set AWS_REGION.'],
  [
    { AWS_REGION: 'us-east-1', PENSTOCK_BEDROCK_MODELS: 'm' },
    'bedrock is not served: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK.',
  ],
  [{ ...google }, 'vertex is not served yet: name its models in PENSTOCK_VERTEX_MODELS.'],
  [{ PENSTOCK_VERTEX_MODELS: 'm' }, 'vertex is not served: set GOOGLE_APPLICATION_CREDENTIALS.'],
  [{ PENSTOCK_AZURE_MODELS: 'm' }, 'azure is not served: set AZURE_OPENAI_ENDPOINT.'],
  [{ ...google, GOOGLE_CLOUD_PROJECT: '' }, 'vertex is not served: set GOOGLE_CLOUD_PROJECT.'],
  [
    { ...azure, ...app },
    'azure is not served: set AZURE_OPENAI_API_KEY, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET.',
  ],
])('the missing variable beside %o is named', async (environment, note) => {
  expect(await foundIn(environment)).toMatchObject({ notes: [note], specs: [], models: [], secrets: [] });
});

test('access keys alone, which a shell may have for other uses, are ignored', async () => {
  expect(await foundIn({ ...accessKeys, AWS_REGION: 'us-east-1' })).toMatchObject({ notes: [], specs: [] });
});

test('names that are not model ids are counted', async () => {
  const names = { PENSTOCK_VERTEX_MODELS: 'claude-opus-5, ä' };
  const { models, notes } = await foundIn({ ...google, ...names });
  expect(models).toEqual(['vertex/claude-opus-5']);
  expect(notes).toEqual([expect.stringContaining('(1 left out: their names do not fit a model id)')]);
});

test('an invalid address is reported, and stops nothing else', async () => {
  const wrong = {
    AZURE_OPENAI_ENDPOINT: 'res',
    AZURE_OPENAI_API_KEY: 'key',
    PENSTOCK_AZURE_MODELS: 'my-gpt',
  };
  const found = await foundIn({ ...wrong, ...google, PENSTOCK_VERTEX_MODELS: 'claude-opus-5' });
  expect(found.notes[1]).toMatch(/^azure is not served: spec\.baseURL .+\.$/);
  expect(found.models).toEqual(['vertex/claude-opus-5']);
});

describe('an API key of Bedrock alone', () => {
  const key = 'key-of-the-account-0123456789';
  const listed = {
    key,
    models: [
      { id: 'amazon.nova-pro-v1:0', isOnDemand: true, output: 'TEXT' },
      { id: 'anthropic.claude-sonnet-5', isOnDemand: false, output: 'TEXT' },
      { id: 'amazon.titan-embed-text-v2:0', isOnDemand: true, output: 'EMBEDDING' },
      { id: 'stability.sd3-5-large-v1:0', isOnDemand: false, output: 'IMAGE' },
    ],
    profiles: [
      'us.amazon.nova-pro-v1:0',
      'us.anthropic.claude-sonnet-5',
      'global.anthropic.claude-sonnet-5',
      'us.stability.sd3-5-large-v1:0',
    ],
  } as const;

  const found = async (url: string, more: Record<string, string> = {}) =>
    foundIn({
      AWS_REGION: 'us-east-1',
      AWS_BEARER_TOKEN_BEDROCK: key,
      AWS_ENDPOINT_URL_BEDROCK: url,
      ...more,
    });

  test('serves the text models of its region, by their ids and profiles', async () => {
    await using control = await startBedrockControl(listed);
    const { models, notes } = await found(control.url);
    expect(models).toEqual([
      'bedrock/amazon.nova-pro-v1:0',
      'bedrock/us.amazon.nova-pro-v1:0',
      'bedrock/us.anthropic.claude-sonnet-5',
      'bedrock/global.anthropic.claude-sonnet-5',
    ]);
    expect(notes).toEqual(['bedrock: 4 models of bedrock-runtime.us-east-1.amazonaws.com as bedrock/…']);
  });

  test('is asked at the address that is set, with a slash at its end too', async () => {
    await using control = await startBedrockControl(listed);
    const { models } = await found(`${control.url}/`);
    expect(models).toHaveLength(4);
  });

  test('is not asked with the key of another server', async () => {
    const { models, notes, specs } = await foundIn({
      AWS_REGION: 'us-east-1',
      AWS_BEARER_TOKEN_BEDROCK: key,
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: 'https://bedrock.example/',
    });
    expect([models, specs, notes]).toEqual([
      [],
      [],
      ['bedrock is not served yet: name its models in PENSTOCK_BEDROCK_MODELS.'],
    ]);
  });

  test('is not asked for models if they are named', async () => {
    const { models } = await found('http://127.0.0.1:9', { PENSTOCK_BEDROCK_MODELS: 'amazon.nova-pro-v1:0' });
    expect(models).toEqual(['bedrock/amazon.nova-pro-v1:0']);
  });

  test('says why there is no list, with the remedy', async () => {
    await using control = await startBedrockControl({ ...listed, key: 'another' });
    const name = 'Name them in PENSTOCK_BEDROCK_MODELS.';
    const { notes, models } = await found(control.url);
    expect([notes, models]).toEqual([
      [`bedrock is not served: its models could not be listed: it answered 403. ${name}`],
      [],
    ]);
    const { notes: gone } = await found('http://127.0.0.1:9');
    expect(gone.join()).toMatch(/^bedrock is not served: its models could not be listed: .+\. Name them in/);
  });
});

test('models of clouds are served by local mode, to callers with a key', async () => {
  const key = 'key-of-the-account-0123456789';
  const { clouds } = readSettings({
    AWS_REGION: 'us-east-1',
    AWS_BEARER_TOKEN_BEDROCK: key,
    PENSTOCK_BEDROCK_MODELS: 'amazon.nova-pro-v1:0',
    ...azure,
    AZURE_OPENAI_API_KEY: key,
    PENSTOCK_AZURE_MODELS: 'my-gpt',
  });
  rig = await startLocalRig({ settings: { clouds } });
  const names = ['bedrock/amazon.nova-pro-v1:0', 'azure/my-gpt'];
  // A route without a usable target would not be listed.
  expect(await rig.models(rig.key)).toEqual(expect.arrayContaining(names));
  // Paid by the account of this terminal: not for everybody who can reach the port.
  for (const name of names) expect(await rig.models()).not.toContain(name);
  expect((await rig.ask('azure/my-gpt', '')).status).toBe(401);
  expect(rig.printed.join('\n')).not.toContain(key);
});

test('calls of local mode reach clouds, signed in by the variables of a terminal', async () => {
  await using fronts = new AsyncDisposableStack();
  // Keys go to clouds by TLS alone.
  const ca = makeCertificate({ name: 'authority', isCa: true });
  const { cert, key } = makeCertificate({ name: 'cloud', ipv4: ['127.0.0.1'], issuer: ca });
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, ca.cert]);
  fronts.defer(() => setDefaultCACertificates(trusted));
  const overTls = async (url: string): Promise<string> => {
    const front = fronts.adopt(await startTlsFront(Number(new URL(url).port), { cert, key }), (one) =>
      one.close(),
    );
    return `https://127.0.0.1:${front.port}`;
  };
  const simulator = fronts.adopt(await startSimulator(), (one) => one.close());
  const signing = {
    accessKeyId: 'AKIDEXAMPLE0123456',
    secretAccessKey: 'secret-of-the-access-key-0123456789',
    region: 'eu-central-1',
    service: 'bedrock',
  };
  const upstream = simulator.url;
  const nova = 'eu.amazon.nova-pro-v1:0';
  const bedrock = fronts.use(
    await startBedrock({ key: 'none', signing, models: { [nova]: 'sim' }, upstream }),
  );
  const entra = fronts.use(await startEntra({ issuer: clusterIssuer() }));
  const takes = (token: string): boolean => entra.takes(token);
  const deployments = { 'my-gpt': 'sim' };
  const resource = fronts.use(await startAzure({ key: 'none', deployments, upstream, takes }));
  const { clouds, identity } = readSettings({
    AWS_ACCESS_KEY_ID: signing.accessKeyId,
    AWS_SECRET_ACCESS_KEY: signing.secretAccessKey,
    AWS_REGION: signing.region,
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: await overTls(bedrock.url),
    PENSTOCK_BEDROCK_MODELS: nova,
    AZURE_OPENAI_ENDPOINT: await overTls(resource.url),
    AZURE_TENANT_ID: entra.tenantId,
    AZURE_CLIENT_ID: entra.clientId,
    AZURE_CLIENT_SECRET: entra.clientSecret,
    AZURE_AUTHORITY_HOST: entra.url,
    PENSTOCK_AZURE_MODELS: 'my-gpt',
  });
  rig = await startLocalRig({ settings: { clouds, identity } });
  for (const model of [`bedrock/${nova}`, 'azure/my-gpt']) {
    const { status, text } = await rig.ask(model);
    expect([model, status, text]).toEqual([model, 200, expect.stringContaining('"usage"')]);
  }
  expect(bedrock.calls.map(({ url }) => url)).toEqual([`/model/${encodeURIComponent(nova)}/converse`]);
  expect([resource.calls, entra.exchanges]).toEqual([['/openai/v1/chat/completions'], 1]);
});
