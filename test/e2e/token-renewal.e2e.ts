// Do tokens of Google and of Entra that end within seconds fail no request, while the token of the pod changes too?

import { expect, test } from 'vitest';
import { seatRows } from '../../gateway/upstream/seats.ts';
import { vertexSeats } from '../../gateway/upstream/vertex-ai/index.ts';
import { startAzure } from '../../simulator/clouds/azure.ts';
import { clusterIssuer } from '../../simulator/clouds/cluster-issuer.ts';
import { startEntra } from '../../simulator/clouds/entra.ts';
import { startGoogleTokens } from '../../simulator/clouds/google-tokens.ts';
import { startVertex } from '../../simulator/clouds/vertex.ts';
import { startSimulator } from '../../simulator/server.ts';
import { type RigTarget, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { type MountedFolder, mountFolder } from '../gateway/upstream/identity/scene.ts';
import { startLoad } from '../support/load/start.ts';
import { openScorecard } from './scorecard.ts';

/** Five exchanges: the longest time between two is 2.8 seconds. */
const loadMs = 12_000;
const lifetimeS = 4;
const podLifetimeS = 3;
const account = 'models@my-project.iam.gserviceaccount.com';
const issuer = clusterIssuer();

interface Cloud {
  readonly target: RigTarget;
  readonly options: Parameters<typeof startRig>[1];
  /** What kubelet keeps in the folder. */
  files(): Record<string, string>;
  exchanges(): number;
}

type StartCloud = (parts: AsyncDisposableStack, folder: MountedFolder, upstream: string) => Promise<Cloud>;

const google: StartCloud = async (parts, folder, upstream) => {
  const tokens = parts.use(await startGoogleTokens({ issuer }));
  tokens.lifetimeS = lifetimeS;
  tokens.impersonable.add(account);
  const place = { project: 'my-project', location: 'global' };
  const takes = (token: string): boolean => tokens.takes(token) && tokens.ownerOf(token) === account;
  const vertex = parts.use(await startVertex({ ...place, upstream, takes }));
  const dialects: RigTarget['dialects'] = ['google-generate-content'];
  const file = {
    type: 'external_account',
    audience: tokens.audience,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: 'https://sts.googleapis.com/v1/token',
    credential_source: { file: folder.pathOf('token') },
  };
  const audience = `https:${tokens.audience}`;
  return {
    target: {
      baseUrl: vertex.url,
      upstreamModel: 'gemini-3.8-flash',
      dialects,
      providerEntry: {
        type: 'VertexAI',
        dialects,
        settings: { identity: 'GCP', impersonate: account, ...place },
      },
    },
    options: {
      seats: new Map([...seatRows, ['VertexAI', vertexSeats(tokens.services)] as const]),
      identity: { GOOGLE_APPLICATION_CREDENTIALS: folder.pathOf('credentials.json') },
    },
    files: () => ({
      'credentials.json': JSON.stringify(file),
      token: issuer.token({ audience, lifetimeS: podLifetimeS }),
    }),
    exchanges: () => tokens.exchanges,
  };
};

const azure: StartCloud = async (parts, folder, upstream) => {
  const entra = parts.use(await startEntra({ issuer }));
  entra.lifetimeS = lifetimeS;
  const takes = (token: string): boolean => entra.takes(token);
  const resource = parts.use(
    await startAzure({ key: 'no-key-is-used', deployments: { 'gpt-5.5': 'sim' }, upstream, takes }),
  );
  const dialects: RigTarget['dialects'] = ['openai-chat'];
  return {
    target: {
      baseUrl: resource.url,
      upstreamModel: 'gpt-5.5',
      dialects,
      providerEntry: { type: 'AzureOpenAI', dialects, settings: { identity: 'Azure' } },
    },
    options: {
      identity: {
        AZURE_CLIENT_ID: entra.clientId,
        AZURE_TENANT_ID: entra.tenantId,
        AZURE_AUTHORITY_HOST: entra.url,
        AZURE_FEDERATED_TOKEN_FILE: folder.pathOf('token'),
      },
    },
    files: () => ({
      token: issuer.token({ audience: 'api://AzureADTokenExchange', lifetimeS: podLifetimeS }),
    }),
    exchanges: () => entra.exchanges,
  };
};

test.each([
  ['Google, as a service account', google],
  ['Azure', azure],
] as const)(
  '200 requests a second meet tokens of four seconds and a pod token of three, and none fails: %s',
  async (name, start) => {
    await using parts = new AsyncDisposableStack();
    const simulator = await startSimulator();
    parts.defer(() => simulator.close());
    const folder = parts.use(await mountFolder());
    const cloud = await start(parts, folder, simulator.url);
    await folder.mount(cloud.files());
    let mounted = Promise.resolve();
    const kubelet = setInterval(() => {
      mounted = mounted.then(() => folder.mount(cloud.files()));
    }, 1_000);
    parts.defer(() => mounted);
    parts.defer(() => clearInterval(kubelet));
    const rig = await startRig(tableOf([cloud.target]), cloud.options);
    parts.defer(() => rig.close());
    const models = { request: 'm', stream: 'm' };
    const load = await startLoad({
      urls: [rig.url],
      key: testKey,
      requestsPerSecond: 200,
      streams: 4,
      models,
    });
    await new Promise((resolve) => setTimeout(resolve, loadMs));
    const figures = await load.stop();
    const card = openScorecard('Renewed tokens');
    card.add({
      what: `no request fails while tokens end every four seconds: ${name}`,
      tried: figures.requests,
      failed: figures.failed + figures.cut,
      fired: cloud.exchanges(),
      figures: `${cloud.exchanges()} exchanges; ${figures.streams} streams; p99 ${figures.p99Ms} ms; ${figures.reasons.join('; ')}`,
    });
    card.print();
    expect(figures.reasons).toEqual([]);
    expect([figures.failed, figures.cut]).toEqual([0, 0]);
    expect(figures.requests).toBeGreaterThan(1_500);
    expect(cloud.exchanges()).toBeGreaterThan(4);
  },
);
