// Does the gateway sign in at Azure by Entra: as itself, and as apps with a secret or a certificate? At an Entra that refuses what it refuses,
// and at a resource that takes only tokens that it has given.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { authorityOf, scopeOf } from '../../../../gateway/upstream/identity/entra/defaults.ts';
import { entraRefusals } from '../../../../gateway/upstream/identity/entra/refusals.ts';
import { refused } from '../../../../gateway/upstream/identity/refusals.ts';
import { seatRows } from '../../../../gateway/upstream/seats.ts';
import { type Azure, startAzure } from '../../../../simulator/clouds/azure.ts';
import { clusterIssuer } from '../../../../simulator/clouds/cluster-issuer.ts';
import { type Entra, startEntra } from '../../../../simulator/clouds/entra.ts';
import { type Simulator, startSimulator } from '../../../../simulator/server.ts';
import { makeCertificate } from '../../../core/egress/certificates.ts';
import { ask, textOf } from '../../../flow/ask.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../../rig.ts';
import { headersOf, type MountedFolder, mountFolder, openScene } from './scene.ts';

const second = 1_000;
const minute = 60 * second;
const podAudience = 'api://AzureADTokenExchange';
const modelScope = 'https://cognitiveservices.azure.com/.default';

const issuer = clusterIssuer();
const authority = makeCertificate({ name: 'authority', isCa: true });
const app = makeCertificate({ name: 'app', issuer: authority, keyType: 'rsa' });
let simulator: Simulator;
let entra: Entra;
let azure: Azure;
let folder: MountedFolder;
const rigs: Rig[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
  entra = await startEntra({ issuer });
  const deployments = { 'gpt-5.5': 'sim', 'claude-sonnet-5': 'sim' };
  const takes = (token: string): boolean => entra.takes(token);
  azure = await startAzure({ key: 'no-key-is-used', deployments, upstream: simulator.url, takes });
  folder = await mountFolder();
});
afterAll(async () => {
  for (const part of [azure, entra, folder]) await part[Symbol.asyncDispose]();
  await simulator.close();
});
beforeEach(async () => {
  Object.assign(entra, { exchanges: 0, lifetimeS: 3599, isAway: false });
  Object.assign(entra, { certificate: app.cert, subject: issuer.subject });
  entra.forms.length = 0;
  azure.calls.length = 0;
  entra.revoke();
  await mountToken();
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function mountToken(token = issuer.token({ audience: podAudience })): Promise<void> {
  await folder.mount({ 'azure-identity-token': token });
}

/** As the webhook of Azure sets it. */
const onAks = (more: Record<string, string> = {}) => ({
  AZURE_CLIENT_ID: entra.clientId,
  AZURE_TENANT_ID: entra.tenantId,
  AZURE_AUTHORITY_HOST: entra.url,
  AZURE_FEDERATED_TOKEN_FILE: folder.pathOf('azure-identity-token'),
  ...more,
});

function target(
  more: { settings?: Record<string, string>; key?: object; dialects?: readonly DialectName[] } = {},
): RigTarget {
  const { settings = {}, key, dialects = ['openai-chat', 'openai-responses'] } = more;
  const isClaude = dialects.includes('anthropic-messages');
  const own = { tenantId: entra.tenantId, clientId: entra.clientId };
  return {
    baseUrl: azure.url,
    upstreamModel: isClaude ? 'claude-sonnet-5' : 'gpt-5.5',
    dialects: [...dialects],
    // As the operator writes it into the table.
    ...(key ? { keys: { main: Buffer.from(JSON.stringify(key)).toString('base64') } } : {}),
    providerEntry: {
      type: 'AzureOpenAI',
      dialects: [...dialects],
      ...(key ? { auth: { header: 'Authorization', prefix: 'Bearer ' } } : {}),
      settings: { ...(key ? own : { identity: 'Azure' }), ...settings },
    },
  };
}

const bySecret = () => target({ key: { clientSecret: entra.clientSecret } });
const byCertificate = (one = app) => target({ key: { certificate: one.cert, privateKey: one.key } });

async function rigOf(one: RigTarget, identity: Record<string, string> = onAks()): Promise<Rig> {
  const rig = await startRig(tableOf([one]), { identity });
  rigs.push(rig);
  return rig;
}

/** What came of one exchange. */
async function outcomeOf(one: RigTarget, environment: Record<string, string> = onAks()) {
  await using scene = openScene({ target: one, seats: seatRows, environment });
  await scene.exchanged();
  const [state] = scene.report();
  return { ...state, headers: headersOf(scene.credential.lease) };
}

describe('a request is signed in', () => {
  test.each<[string, () => RigTarget]>([
    ['as the pod itself', () => target()],
    ['as an app with a secret', bySecret],
    ['as an app with a certificate', byCertificate],
  ])('%s, and the app is reported', async (_, one) => {
    const rig = await rigOf(one());
    for (const endpoint of ['chat', 'responses', 'messages'] as const) {
      const seen = await ask(rig, { endpoint, isStream: true });
      expect(seen.status).toBe(200);
      expect(textOf(seen)).not.toBe('');
    }
    expect(entra.exchanges).toBe(1);
    expect(await outcomeOf(one())).toMatchObject({ state: 'valid', identity: entra.clientId });
  });

  test('at the surface of Claude in Foundry, with the same token', async () => {
    const rig = await rigOf(target({ dialects: ['anthropic-messages'] }));
    for (const endpoint of ['messages', 'chat'] as const)
      expect((await ask(rig, { endpoint })).status).toBe(200);
    expect(azure.calls).toEqual(['/anthropic/v1/messages', '/anthropic/v1/messages']);
  });

  test('as another app of another tenant where the Provider names them', async () => {
    const settings = { tenantId: entra.tenantId, clientId: entra.clientId };
    const elsewhere = onAks({ AZURE_CLIENT_ID: 'app-of-the-pod', AZURE_TENANT_ID: 'tenant-of-the-pod' });
    expect(await outcomeOf(target({ settings }), elsewhere)).toMatchObject({
      state: 'valid',
      identity: entra.clientId,
    });
    expect(await outcomeOf(target(), elsewhere)).toMatchObject({ state: 'failed' });
  });
});

describe('cloud 12: authority and scope', () => {
  test.each<[string, string, string, string]>([
    ['team.openai.azure.com', '', 'https://login.microsoftonline.com/', modelScope],
    ['team.services.ai.azure.com', '/anthropic', 'https://login.microsoftonline.com/', modelScope],
    [
      'team.services.ai.azure.com',
      '/api/projects/search',
      'https://login.microsoftonline.com/',
      'https://ai.azure.com/.default',
    ],
    [
      'team.openai.azure.us',
      '',
      'https://login.microsoftonline.us/',
      'https://cognitiveservices.azure.us/.default',
    ],
    [
      'team.openai.azure.cn:443',
      '',
      'https://login.chinacloudapi.cn/',
      'https://cognitiveservices.azure.cn/.default',
    ],
    ['openai.azure.us.example', '', 'https://login.microsoftonline.com/', modelScope],
  ])('of %s%s are %s and %s', (host, path, expected, scope) => {
    expect([authorityOf(host, undefined), scopeOf(host, path)]).toEqual([expected, scope]);
  });

  test('come from the platform and the Provider if they set them', async () => {
    expect(authorityOf('models.internal', 'https://login.microsoftonline.us')).toBe(
      'https://login.microsoftonline.us/',
    );
    expect(authorityOf('team.openai.azure.us', 'https://login.microsoftonline.com/')).toBe(
      'https://login.microsoftonline.us/',
    );
    await outcomeOf(target());
    await outcomeOf(target({ settings: { scope: 'https://ai.azure.com/.default' } }));
    expect(entra.forms.map((form) => form.get('scope'))).toEqual([
      modelScope,
      'https://ai.azure.com/.default',
    ]);
  });
});

describe('a refusal is reported with its remedy', () => {
  const fit = 'No federated credential of the app fits';

  test.each<[string, () => Promise<RigTarget>, string]>([
    [
      'a pod token for another audience',
      async () => {
        await mountToken(issuer.token({ audience: 'https://kubernetes.default.svc' }));
        return target();
      },
      `400 (AADSTS700212). ${fit}`,
    ],
    [
      'a pod token of another cluster',
      async () => {
        await mountToken(clusterIssuer().token({ audience: podAudience }));
        return target();
      },
      `400 (AADSTS700211). ${fit}`,
    ],
    [
      'a subject in another case',
      async () => {
        entra.subject = issuer.subject.replace('gateway', 'Gateway');
        return target();
      },
      `400 (AADSTS700213). ${fit}`,
    ],
    [
      'a pod token that has ended',
      async () => {
        await mountToken(issuer.token({ audience: podAudience, lifetimeS: -60 }));
        return target();
      },
      "401 (AADSTS700024). The pod's token has expired or is not valid yet. Check that kubelet renews the projected file",
    ],
    [
      'another tenant',
      async () => target({ settings: { tenantId: 'other' } }),
      '400 (AADSTS90002). The tenant does not exist. Correct auth.azure.tenantID',
    ],
    [
      'another app',
      async () => target({ settings: { clientId: 'other' } }),
      '400 (AADSTS700016). The app does not exist in the tenant. Correct auth.azure.clientID',
    ],
    [
      'another scope',
      async () => target({ settings: { scope: 'https://graph.example/.default' } }),
      '400 (AADSTS500011). Entra gives no token for the scope. Correct auth.azure.scope',
    ],
    [
      'a wrong secret',
      async () => target({ key: { clientSecret: 'wrong-secret-of-the-app' } }),
      "401 (AADSTS7000215). The client secret is wrong. Write the secret's value, not its id",
    ],
    [
      'a certificate that the app does not know',
      async () => byCertificate(makeCertificate({ name: 'other', issuer: authority, keyType: 'rsa' })),
      '401 (AADSTS700027). The app does not know the certificate, or it has expired. Upload ',
    ],
  ])('of %s', async (_, one, words) => {
    const outcome = await outcomeOf(await one());
    expect(outcome).toMatchObject({ state: 'failed', message: expect.stringContaining(words) });
    expect(outcome.message).not.toMatch(/eyJ|wrong-secret|Trace ID/);
  });

  test('if the pod has no identity', async () => {
    expect(await outcomeOf(target(), {})).toMatchObject({
      state: 'failed',
      message:
        'The pod has no AZURE_TENANT_ID. Label it azure.workload.identity/use: "true", and annotate its service account.',
    });
  });

  test('if the token of the pod is not mounted', async () => {
    const environment = onAks({ AZURE_FEDERATED_TOKEN_FILE: folder.pathOf('nothing') });
    expect(await outcomeOf(target(), environment)).toMatchObject({
      message: 'The file of AZURE_FEDERATED_TOKEN_FILE cannot be read (ENOENT). Mount it into the gateway.',
    });
  });

  test('if the private key cannot sign', async () => {
    const [curve] = [makeCertificate({ name: 'curve' })];
    expect(await outcomeOf(byCertificate(curve))).toMatchObject({
      message: 'The certificate or its private key cannot be read. Write both in PEM, the key an RSA key.',
    });
  });

  test('with a message that fits into a report, in every case', () => {
    const host = new URL('https://login.microsoftonline.com');
    for (const { code, words } of entraRefusals)
      expect(refused(entraRefusals, host, 400, code).message.endsWith(words), code).toBe(true);
  });
});

describe('a token', () => {
  test('cloud 8: is exchanged for the latest token of kubelet', async () => {
    await using scene = openScene({ target: target(), seats: seatRows, environment: onAks() });
    await scene.exchanged();
    const next = issuer.token({ audience: podAudience });
    await mountToken(next);
    await scene.pass(56 * minute);
    expect(entra.forms.map((form) => form.get('client_assertion') === next)).toEqual([false, true]);
  });

  test('cloud 9: is requested once for a hundred first calls', async () => {
    const rig = await rigOf(target());
    const seen = await Promise.all(Array.from({ length: 100 }, () => ask(rig)));
    expect(seen.filter(({ status }) => status !== 200)).toEqual([]);
    expect(entra.exchanges).toBe(1);
  });

  test('cloud 11: that gets 401 is renewed once, and the request is sent again', async () => {
    const rig = await rigOf(bySecret());
    await ask(rig);
    entra.revoke();
    expect((await ask(rig)).status).toBe(200);
    expect([azure.calls.length, entra.exchanges]).toEqual([3, 2]);
  });

  test('is renewed before its end, and works through an outage of Entra of five minutes', async () => {
    await using scene = openScene({ target: byCertificate(), seats: seatRows, environment: onAks() });
    await scene.exchanged();
    entra.isAway = true;
    await scene.pass(50 * minute);
    for (let seconds = 0; seconds < 300; seconds += 10) {
      await scene.pass(10 * second);
      expect(scene.report()).toMatchObject([{ state: 'valid' }]);
      expect(scene.credential.lease?.endsAtMs).toBeGreaterThan(scene.clock.wallMs());
    }
    expect(entra.exchanges).toBeGreaterThan(3);
    await scene.pass(10 * minute);
    expect(scene.report()).toMatchObject([
      { state: 'failed', message: expect.stringContaining('answered 503') },
    ]);
  });

  test('is in no record, metric, report or answer, and neither is the token that it was exchanged for', async () => {
    const podToken = issuer.token({ audience: podAudience });
    await mountToken(podToken);
    const rig = await rigOf(target());
    const served = await ask(rig);
    const wrong = await rigOf(target({ key: { clientSecret: 'wrong-secret-of-the-app' } }));
    const refusedAnswer = await ask(wrong);
    const metrics = await (await fetch(`${rig.gateway.metricsUrl}/metrics`)).text();
    expect([served.status, refusedAnswer.status]).toEqual([200, 502]);
    const records = [rig, wrong].flatMap((one) => [one.records, one.failures.map(String)]);
    const said = JSON.stringify([served.text, refusedAnswer.text, metrics, records]);
    expect(said).not.toMatch(/eyJ|simulated-entra|wrong-secret/);
    for (const part of podToken.split('.')) expect(said).not.toContain(part);
  });
});
