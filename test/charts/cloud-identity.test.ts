// Do gateways find in their pods what the clouds' identities need: variables, tokens, labels and annotations?

import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readCredentialFile } from '../../gateway/upstream/identity/google/credential-file.ts';
import { deploymentOf, render, template, useHelm, type Values } from './helm.ts';
import { MANAGED_IDENTITIES, TOKEN_IDENTITIES } from './value-sets.ts';

const plane = useHelm();

const volumeSchema = z.object({
  name: z.string(),
  projected: z
    .object({
      sources: z.array(
        z.object({
          serviceAccountToken: z.object({ path: z.string(), audience: z.string().optional() }).optional(),
          configMap: z.object({ name: z.string() }).optional(),
        }),
      ),
    })
    .optional(),
});

async function gatewayIn(values: Values) {
  const objects = await render(plane(), values);
  const { env, template: pod } = deploymentOf(objects, 'penstock-gateway');
  const volumes = z.array(volumeSchema).parse(pod.spec.volumes);
  const own = volumes.find(({ name }) => name === 'cloud-identity')?.projected?.sources ?? [];
  const account = objects.find(
    ({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === 'penstock-gateway',
  );
  const isCloud = ([name]: readonly [string, string]) => /^(AWS|AZURE|GOOGLE)_/.test(name);
  return {
    objects,
    own,
    variables: Object.fromEntries(Object.entries(env).filter(isCloud)),
    labels: pod.metadata.labels,
    print: pod.metadata.annotations?.['penstock.dev/cloud-identity'],
    annotations: account?.metadata.annotations ?? {},
  };
}

const at = '/var/run/secrets/penstock-cloud-identity';

test('with tokens of the cluster each cloud has its variables, and a token for its own audience', async () => {
  const { variables, own, objects } = await gatewayIn({ gateway: { cloudIdentity: TOKEN_IDENTITIES } });
  const { aws, gcp, azure } = TOKEN_IDENTITIES;
  expect(variables).toEqual({
    AWS_REGION: aws.region,
    AWS_ROLE_ARN: aws.roleARN,
    AWS_WEB_IDENTITY_TOKEN_FILE: `${at}/aws-token`,
    GOOGLE_APPLICATION_CREDENTIALS: `${at}/gcp.json`,
    AZURE_CLIENT_ID: azure.clientID,
    AZURE_TENANT_ID: azure.tenantID,
    AZURE_AUTHORITY_HOST: 'https://login.microsoftonline.com/',
    AZURE_FEDERATED_TOKEN_FILE: `${at}/azure-token`,
  });
  expect(own.flatMap(({ serviceAccountToken }) => serviceAccountToken ?? [])).toEqual([
    { path: 'aws-token', audience: 'sts.amazonaws.com' },
    { path: 'gcp-token', audience: `https:${gcp.audience}` },
    { path: 'azure-token', audience: 'api://AzureADTokenExchange' },
  ]);
  // The gateway reads the file as it is mounted.
  const [name] = own.flatMap(({ configMap }) => configMap?.name ?? []);
  const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
  const { data } = z.object({ data: z.object({ 'gcp.json': z.string() }) }).parse(map);
  const file = readCredentialFile(data['gcp.json']);
  expect(file).toMatchObject({
    kind: 'federated',
    audience: gcp.audience,
    tokenFile: `${at}/gcp-token`,
    impersonates: gcp.serviceAccount,
  });
  expect(dirname(file.kind === 'federated' ? file.tokenFile : '')).toBe(at);
});

test("on the clouds' own clusters their webhooks find a label and annotations, and the chart mounts nothing", async () => {
  const { variables, own, labels, annotations } = await gatewayIn({
    gateway: { cloudIdentity: MANAGED_IDENTITIES },
  });
  expect([variables, own]).toEqual([{}, []]);
  expect(labels).toMatchObject({ 'azure.workload.identity/use': 'true' });
  expect(annotations).toEqual({
    'iam.gke.io/gcp-service-account': MANAGED_IDENTITIES.gcp.serviceAccount,
    'azure.workload.identity/client-id': MANAGED_IDENTITIES.azure.clientID,
  });
});

// On EKS and AKS a webhook adds variables and a token to pods as they are created: pods from before would stay without.
test('an identity that is added, removed or changed makes new pods, beside annotations of their own', async () => {
  const podAnnotations = { own: 'yes' };
  const roleARN = TOKEN_IDENTITIES.aws.roleARN;
  const identities = [
    { aws: { source: 'PodIdentity' } },
    { aws: { source: 'IRSA', roleARN } },
    { aws: { source: 'IRSA', roleARN: `${roleARN}-2` } },
    { gcp: { source: 'GKE' } },
  ];
  const rendered = await Promise.all(
    identities.map((cloudIdentity) => gatewayIn({ gateway: { podAnnotations, cloudIdentity } })),
  );
  const prints = rendered.map(({ print }) => print);
  expect(prints).toEqual(identities.map(() => expect.stringMatching(/^[0-9a-f]{16}$/)));
  expect(new Set(prints).size).toBe(identities.length);
  for (const { objects } of rendered)
    expect(deploymentOf(objects, 'penstock-gateway').template.metadata.annotations).toMatchObject(
      podAnnotations,
    );
});

test('without an identity pods have no variable, token, label or annotation of a cloud', async () => {
  const { variables, own, labels, annotations, print } = await gatewayIn({});
  expect([variables, own, annotations, print]).toEqual([{}, [], {}, undefined]);
  expect(Object.keys(labels).join(' ')).not.toContain('azure');
});

test.each<[string, object, string]>([
  ['a role', { aws: { source: 'Token' } }, 'roleARN'],
  ['a role', { aws: { source: 'IRSA' } }, 'roleARN'],
  ['a provider of a pool', { gcp: { source: 'Token' } }, 'audience'],
  ['a client id', { azure: { source: 'AKS' } }, 'clientID'],
  ['a tenant', { azure: { source: 'Token', clientID: '1' } }, 'tenantID'],
])('without %s nothing is rendered: %j', async (_, cloudIdentity, field) => {
  const { code, stderr } = await template(plane(), { gateway: { cloudIdentity } });
  expect(code).not.toBe(0);
  expect(stderr).toContain(field);
});
