// Does a gateway read keys of clouds as the operator writes them into the table?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { seatRows } from '../../../../gateway/upstream/seats.ts';
import { vertexSeats } from '../../../../gateway/upstream/vertex-ai/index.ts';
import { clientSecretKind } from '../../../../operator/compile/client-secret.ts';
import type { CredentialKind } from '../../../../operator/compile/credentials.ts';
import { serviceAccountKind } from '../../../../operator/compile/service-account.ts';
import { clusterIssuer } from '../../../../simulator/clouds/cluster-issuer.ts';
import { type Entra, startEntra } from '../../../../simulator/clouds/entra.ts';
import { type GoogleTokens, startGoogleTokens } from '../../../../simulator/clouds/google-tokens.ts';
import { makeCertificate } from '../../../core/egress/certificates.ts';
import { openScene } from './scene.ts';

const app = makeCertificate({
  name: 'app',
  issuer: makeCertificate({ name: 'authority', isCa: true }),
  keyType: 'rsa',
});
const use = { field: 'spec.auth.keys[0]', namespace: 'team', secret: 'cloud', key: 'key' };
let entra: Entra;
let tokens: GoogleTokens;

beforeAll(async () => {
  entra = await startEntra({ issuer: clusterIssuer() });
  entra.certificate = app.cert;
  tokens = await startGoogleTokens();
});
afterAll(async () => {
  for (const part of [entra, tokens]) await part[Symbol.asyncDispose]();
});

async function outcomeOf(
  kind: CredentialKind,
  value: string,
  type: string,
  settings: Record<string, string>,
) {
  expect(kind.isValid(value)).toBeUndefined();
  await using scene = openScene({
    target: {
      baseUrl: 'https://models.example',
      keys: { main: kind.write?.(value) ?? '' },
      providerEntry: { type, auth: { header: 'Authorization', prefix: 'Bearer ' }, settings },
    },
    seats: new Map([...seatRows, ['VertexAI', vertexSeats(tokens.services)] as const]),
    environment: { AZURE_AUTHORITY_HOST: entra.url },
  });
  await scene.exchanged();
  return scene.report();
}

test.each([
  ['a client secret', () => entra.clientSecret],
  ['a certificate with its key', () => `${app.cert}\n${app.key}`],
  ['a certificate after its key', () => app.key + app.cert],
])('%s of an app', async (_, value) => {
  const { tenantId, clientId } = entra;
  expect(await outcomeOf(clientSecretKind(use), value(), 'AzureOpenAI', { tenantId, clientId })).toEqual([
    { provider: 'platform/p0', key: 'main', state: 'valid', identity: clientId },
  ]);
});

test('the JSON key of a service account', async () => {
  const settings = { project: 'my-project', location: 'global' };
  expect(await outcomeOf(serviceAccountKind(use), JSON.stringify(tokens.key), 'VertexAI', settings)).toEqual([
    { provider: 'platform/p0', key: 'main', state: 'valid', identity: tokens.key.client_email },
  ]);
});
