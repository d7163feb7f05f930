// Are the token services of the simulator those that the clouds' own libraries know? Google's and Microsoft's get tokens from them in each flow,
// and sign the same claims as we do.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { expect, test } from 'vitest';
import { Secret } from '../../gateway/table/secret.ts';
import { exchangeProof } from '../../gateway/upstream/identity/entra/exchange.ts';
import { clusterIssuer } from '../../simulator/clouds/cluster-issuer.ts';
import { startEntra } from '../../simulator/clouds/entra.ts';
import { startGkeMetadata } from '../../simulator/clouds/gke-metadata.ts';
import { startGoogleTokens } from '../../simulator/clouds/google-tokens.ts';
import { makeCertificate } from '../core/egress/certificates.ts';
import { mountFolder } from '../gateway/upstream/identity/scene.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { pythonWith } from '../support/python.ts';

const pins = ['google-auth==2.63.0', 'requests==2.34.2', 'msal==1.39.0', 'cryptography==50.0.2'];
const account = 'models@my-project.iam.gserviceaccount.com';

async function judge(facts: object, metadataHost: string): Promise<Record<string, string>> {
  const python = await pythonWith(pins);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const env = { ...bareEnvironment(), GCE_METADATA_HOST: metadataHost, GCE_METADATA_IP: '127.0.0.1' };
  const script = join(import.meta.dirname, 'clouds/token_judge.py');
  const child = execFile(python, [script], { env }, (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  );
  child.stdin?.end(JSON.stringify(facts));
  return JSON.parse(await promise) as Record<string, string>;
}

test('libraries of Google and Microsoft get tokens in every flow, with the same claims as ours', async () => {
  const issuer = clusterIssuer();
  const authority = 'https://login.microsoftonline.com/';
  const app = makeCertificate({
    name: 'app',
    issuer: makeCertificate({ name: 'authority', isCa: true }),
    keyType: 'rsa',
  });
  await using metadata = await startGkeMetadata();
  await using tokens = await startGoogleTokens({ issuer });
  await using entra = await startEntra({ issuer, authority });
  await using folder = await mountFolder();
  entra.certificate = app.cert;
  tokens.impersonable.add(account);
  await folder.mount({ token: issuer.token({ audience: `https:${tokens.audience}` }) });
  const { services, key, audience } = tokens;
  const { url, tenantId, clientId, clientSecret } = entra;
  const impersonationUrl = `${services.iamCredentials}/v1/projects/-/serviceAccounts/${account}:generateAccessToken`;
  const podToken = issuer.token({ audience: 'api://AzureADTokenExchange' });
  const said = await judge(
    {
      google: { services, key, audience, tokenFile: folder.pathOf('token'), impersonationUrl },
      entra: {
        url,
        authority,
        tenantId,
        clientId,
        clientSecret,
        podToken,
        certificate: app.cert,
        privateKey: app.key,
      },
    },
    metadata.host,
  );
  const { claim = '', account: ofAccount = '', metadata: ofMetadata = '', pool = '', ...rest } = said;
  expect([ofAccount, pool, rest.impersonated ?? ''].map((token) => tokens.ownerOf(token))).toEqual([
    key.client_email,
    'federated',
    account,
  ]);
  expect(metadata.takes(ofMetadata)).toBe(true);
  for (const flow of ['secret', 'pod', 'certificate'])
    expect(entra.takes(rest[flow] ?? ''), rest[flow]).toBe(true);

  let ours = '';
  const privateKey = new Secret(app.key);
  await exchangeProof(
    async (_, { body }) => {
      ours = new URLSearchParams(body).get('client_assertion') ?? '';
      return { status: 200, text: '{"access_token":"a-token"}', header: () => undefined };
    },
    { tenantId, clientId, scope: 'any', authority },
    { kind: 'certificate', certificate: app.cert, privateKey },
    Date.now(),
  );
  const { alg, typ, ...header } = decodeProtectedHeader(claim);
  expect(decodeProtectedHeader(ours)).toMatchObject({
    alg,
    typ,
    'x5t#S256': String(header['x5t#S256']).replace(/=+$/, ''),
  });
  const { aud, iss, sub } = decodeJwt(claim);
  expect(decodeJwt(ours)).toMatchObject({ aud, iss, sub });
});
