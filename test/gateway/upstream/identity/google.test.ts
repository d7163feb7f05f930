// Does the gateway sign in at Google as itself, and as service accounts that it may act as? At token services that refuse what Google refuses,
// and at a Vertex AI that takes only tokens that they have given.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { geminiSeats } from '../../../../gateway/upstream/gemini/index.ts';
import { readCredentialFile } from '../../../../gateway/upstream/identity/google/credential-file.ts';
import {
  accountRefusals,
  federationRefusals,
  impersonationRefusals,
  metadataRefusals,
} from '../../../../gateway/upstream/identity/google/refusals.ts';
import { refused } from '../../../../gateway/upstream/identity/refusals.ts';
import { seatRows, type UpstreamSeats } from '../../../../gateway/upstream/seats.ts';
import { vertexSeats } from '../../../../gateway/upstream/vertex-ai/index.ts';
import { clusterIssuer } from '../../../../simulator/clouds/cluster-issuer.ts';
import { type Gemini, startGemini } from '../../../../simulator/clouds/gemini.ts';
import { type GkeMetadata, startGkeMetadata } from '../../../../simulator/clouds/gke-metadata.ts';
import { type GoogleTokens, startGoogleTokens } from '../../../../simulator/clouds/google-tokens.ts';
import { startVertex, type Vertex } from '../../../../simulator/clouds/vertex.ts';
import { ask, errorOf } from '../../../flow/ask.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../../rig.ts';
import { headersOf, type MountedFolder, mountFolder, openScene } from './scene.ts';

const second = 1_000;
const minute = 60 * second;
const project = 'my-project';
const account = 'models@my-project.iam.gserviceaccount.com';

const issuer = clusterIssuer();
let tokens: GoogleTokens;
let metadata: GkeMetadata;
let vertex: Vertex;
let folder: MountedFolder;
/** As `x-goog-user-project` of the last call at Vertex AI. */
let quotaProject: unknown;
const rigs: Rig[] = [];

beforeAll(async () => {
  metadata = await startGkeMetadata();
  tokens = await startGoogleTokens({ issuer, takesToo: (token) => metadata.takes(token) });
  vertex = await startVertex({
    project,
    location: 'global',
    upstream: 'http://127.0.0.1:9',
    takes(token, headers) {
      quotaProject = headers['x-goog-user-project'];
      return tokens.takes(token) || metadata.takes(token);
    },
  });
  folder = await mountFolder();
});
afterAll(async () => {
  for (const part of [vertex, tokens, metadata, folder]) await part[Symbol.asyncDispose]();
});
beforeEach(async () => {
  Object.assign(tokens, { exchanges: 0, lifetimeS: 3599, isAway: false });
  Object.assign(metadata, {
    lifetimeS: 3599,
    notReady: 0,
    isUnbound: false,
    isForeign: false,
    nowMs: Date.now,
  });
  metadata.calls.length = 0;
  tokens.calls.length = 0;
  vertex.calls.length = 0;
  tokens.impersonable.clear();
  tokens.revoke();
  metadata.revoke();
  await mountFile();
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

const podAudience = (): string => `https:${tokens.audience}`;

/** The credential file and the token of the pod, as the chart mounts them. */
async function mountFile(
  more: object = {},
  token: string = issuer.token({ audience: podAudience() }),
): Promise<void> {
  const file = {
    type: 'external_account',
    audience: tokens.audience,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: 'https://sts.googleapis.com/v1/token',
    credential_source: { file: folder.pathOf('token') },
    ...more,
  };
  await folder.mount({ 'credentials.json': JSON.stringify(file), token });
}

const target = (more: Partial<RigTarget> = {}, settings: Record<string, string> = {}): RigTarget => ({
  baseUrl: vertex.url,
  upstreamModel: 'gemini-3.8-flash',
  dialects: ['google-generate-content'],
  ...more,
  providerEntry: {
    type: 'VertexAI',
    dialects: ['google-generate-content'],
    ...(more.keys ? { auth: { header: 'Authorization', prefix: 'Bearer ' } } : {}),
    settings: { ...(more.keys ? {} : { identity: 'GCP' }), project, location: 'global', ...settings },
  },
});

const impersonating = { impersonate: account };
const seats = () =>
  new Map<string, UpstreamSeats>([
    ...seatRows,
    ['Gemini', geminiSeats(tokens.services)],
    ['VertexAI', vertexSeats(tokens.services)],
  ]);
const onGke = () => ({ GCE_METADATA_HOST: metadata.host });
const federated = () => ({ GOOGLE_APPLICATION_CREDENTIALS: folder.pathOf('credentials.json') });

async function rigOf(one: RigTarget, identity: Record<string, string>): Promise<Rig> {
  const rig = await startRig(tableOf([one]), { seats: seats(), identity });
  rigs.push(rig);
  return rig;
}

/** What came of one exchange. */
async function outcomeOf(one: RigTarget, environment: Record<string, string>) {
  await using scene = openScene({ target: one, seats: seats(), environment });
  await scene.exchanged();
  const [state] = scene.report();
  return { ...state, headers: headersOf(scene.credential.lease) };
}

describe('on GKE', () => {
  test('the token of the metadata server signs in, and its service account is reported', async () => {
    const rig = await rigOf(target(), onGke());
    expect((await ask(rig)).status).toBe(200);
    expect(quotaProject).toBeUndefined();
    expect(await outcomeOf(target(), onGke())).toMatchObject({ state: 'valid', identity: metadata.email });
    expect(tokens.exchanges).toBe(0);
  });

  test('the metadata server is asked again in the first seconds of a pod', async () => {
    metadata.notReady = 2;
    await using scene = openScene({ target: target(), seats: seats(), environment: onGke() });
    await scene.exchanged();
    expect(scene.report()).toMatchObject([{ state: 'failed' }]);
    for (let seconds = 0; seconds < 10 && scene.credential.lease === undefined; seconds += 1) {
      scene.clock.advance(second);
      await scene.exchanged();
    }
    expect(scene.report()).toMatchObject([{ state: 'valid', identity: metadata.email }]);
    expect(metadata.calls.filter((path) => path.endsWith('/token'))).toHaveLength(3);
  });

  test('a server without the header of the metadata server is refused', async () => {
    metadata.isForeign = true;
    expect(await outcomeOf(target(), onGke())).toEqual({
      provider: 'platform/p0',
      state: 'failed',
      message: `${metadata.host} is not a Google metadata server. Enable Workload Identity on GKE, or set GOOGLE_APPLICATION_CREDENTIALS.`,
      headers: {},
    });
  });

  test('a pod without a service account is reported', async () => {
    metadata.isUnbound = true;
    expect(await outcomeOf(target(), onGke())).toMatchObject({
      state: 'failed',
      message: `${metadata.host} answered 404. GKE finds no service account for the pod. Bind its Kubernetes service account to one that exists.`,
    });
  });

  test('cloud 10: a token that is the same until five minutes before its end is renewed in time, with few requests', async () => {
    await using scene = openScene({ target: target(), seats: seats(), environment: onGke() });
    metadata.nowMs = scene.clock.wallMs;
    await scene.exchanged();
    const seen = new Set<string | undefined>();
    for (let minutes = 0; minutes < 180; minutes += 1) {
      await scene.pass(minute);
      expect(scene.credential.lease?.endsAtMs).toBeGreaterThan(scene.clock.wallMs());
      seen.add(headersOf(scene.credential.lease).authorization);
    }
    expect(seen.size).toBeGreaterThan(3);
    expect(metadata.calls.length).toBeLessThan(40);
  });
});

describe('with the token of another cluster', () => {
  test('that a pool trusts, it signs in, at the quota of the project', async () => {
    const rig = await rigOf(target(), federated());
    expect((await ask(rig)).status).toBe(200);
    expect(quotaProject).toBe(project);
    expect(tokens.calls).toEqual(['/v1/token']);
    const identity = tokens.audience.slice(2);
    expect(await outcomeOf(target(), federated())).toMatchObject({ state: 'valid', identity });
  });

  test('the file names another project for its quota', async () => {
    await mountFile({ quota_project_id: 'other-project' });
    const { headers } = await outcomeOf(target(), federated());
    expect(headers['x-goog-user-project']).toBe('other-project');
  });

  test('the file names a service account to act as', async () => {
    tokens.impersonable.add(account);
    const address = 'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts';
    await mountFile({ service_account_impersonation_url: `${address}/${account}:generateAccessToken` });
    const rig = await rigOf(target(), federated());
    expect((await ask(rig)).status).toBe(200);
    expect(quotaProject).toBeUndefined();
    expect(await outcomeOf(target(), federated())).toMatchObject({ state: 'valid', identity: account });
  });

  test('the token is read from a member of a JSON file', async () => {
    const source = {
      file: folder.pathOf('token'),
      format: { type: 'json', subject_token_field_name: 'jwt' },
    };
    const token = JSON.stringify({ jwt: issuer.token({ audience: podAudience() }) });
    await mountFile({ credential_source: source }, token);
    expect(await outcomeOf(target(), federated())).toMatchObject({ state: 'valid' });
    await mountFile({ credential_source: source }, '{}');
    expect(await outcomeOf(target(), federated())).toMatchObject({
      message: 'The file of credential_source has no text under jwt.',
    });
  });

  test('cloud 8: a token that kubelet has replaced is used by the next exchange', async () => {
    await using scene = openScene({ target: target(), seats: seats(), environment: federated() });
    await scene.exchanged();
    await mountFile({}, issuer.token({ audience: podAudience(), lifetimeS: -60 }));
    scene.clock.advance(58 * minute);
    expect(await scene.exchanged()).toBeUndefined();
    expect(scene.report()).toMatchObject([
      {
        state: 'failed',
        message: expect.stringMatching(
          /answered 400 \(invalid_grant\)\. The pod's token is too old\. Check that kubelet renews the file, /,
        ),
      },
    ]);
    await mountFile();
    scene.clock.advance(minute);
    expect(await scene.exchanged()).toBeDefined();
    expect(scene.report()).toMatchObject([{ state: 'valid' }]);
  });

  test.each<[string, () => Promise<void>, RegExp]>([
    [
      'for another audience',
      () => mountFile({}, issuer.token({ audience: 'https://kubernetes.default.svc' })),
      /^127\.0\.0\.1:\d+ answered 400 \(invalid_grant\)\. The pod's token is for another audience\. Project one /,
    ],
    [
      'of another cluster',
      () => mountFile({}, clusterIssuer().token({ audience: podAudience() })),
      /\(invalid_grant\)\. Google cannot verify the pod's token\. Check the issuer and its keys /,
    ],
    [
      'of another service account',
      () =>
        mountFile({}, issuer.token({ audience: podAudience(), subject: 'system:serviceaccount:team:other' })),
      /\(unauthorized_client\)\. The condition of the pool's provider rejects the pod\. Allow its namespace /,
    ],
    [
      'for a pool that does not exist',
      () => mountFile({ audience: '//iam.googleapis.com/projects/1/locations/global/x' }),
      /\(invalid_target\)\. The identity pool or its provider does not exist, or is disabled\. Correct the audience /,
    ],
  ])('a token %s is refused, and reported with its remedy', async (_, mount, message) => {
    await mount();
    const outcome = await outcomeOf(target(), federated());
    expect(outcome).toMatchObject({ state: 'failed', message: expect.stringMatching(message) });
    expect(outcome.message).not.toMatch(/eyJ/);
  });

  test('a file that is not mounted is reported', async () => {
    const environment = { GOOGLE_APPLICATION_CREDENTIALS: folder.pathOf('nothing.json') };
    expect(await outcomeOf(target(), environment)).toMatchObject({
      state: 'failed',
      message:
        'The file of GOOGLE_APPLICATION_CREDENTIALS cannot be read (ENOENT). Mount it into the gateway.',
    });
  });
});

describe('a credential file', () => {
  const iam = 'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts';

  test.each<[string, object]>([
    ['token_url', { token_url: 'https://tokens.example/v1/token' }],
    ['token_url', { token_url: 'https://sts.googleapis.com.example/v1/token' }],
    ['token_url', { token_url: 'http://sts.googleapis.com/v1/token' }],
    ['token_url', { token_url: 'https://sts.googleapis.com/v1/token?to=https://tokens.example' }],
    ['token_url', { token_url: undefined }],
    ['universe_domain', { universe_domain: 'tokens.example' }],
    ['credential_source.file', { credential_source: { url: 'http://169.254.169.254/token' } }],
    ['credential_source', { credential_source: { file: '/token', url: 'http://169.254.169.254/token' } }],
    ['credential_source.file', { credential_source: { executable: { command: 'cat /etc/passwd' } } }],
    ['credential_source.file', { credential_source: { environment_id: 'aws1' } }],
    [
      'service_account_impersonation_url',
      { service_account_impersonation_url: `https://tokens.example/v1/${account}:generateAccessToken` },
    ],
    [
      'service_account_impersonation_url',
      { service_account_impersonation_url: `${iam}/../../x/${account}:generateAccessToken` },
    ],
    ['audience', { audience: 'https://tokens.example' }],
  ])('with a foreign %s is refused, and no service is called', async (member, more) => {
    await mountFile(more);
    const { message, state } = await outcomeOf(target(), federated());
    expect([state, tokens.calls]).toEqual(['failed', []]);
    expect(message).toContain(`The file of GOOGLE_APPLICATION_CREDENTIALS has no valid ${member}. Write `);
    expect(message).not.toMatch(/example|169\.254|passwd/);
  });

  test.each<[string, string]>([
    ['nothing', ''],
    ['{}', '{}'],
    ['a list', '[]'],
    ['a person', JSON.stringify({ type: 'authorized_user', refresh_token: 'of-a-person' })],
  ])('with %s in it is refused', (_, text) => {
    expect(() => readCredentialFile(text)).toThrow(
      /^The file of GOOGLE_APPLICATION_CREDENTIALS .+\. Write .+\.$/,
    );
  });

  test('of a service account signs in with its key', async () => {
    await folder.mount({ 'credentials.json': JSON.stringify(tokens.key) });
    expect(await outcomeOf(target(), federated())).toMatchObject({
      state: 'valid',
      identity: tokens.key.client_email,
    });
    expect(tokens.calls).toEqual(['/token']);
  });

  test('of a service account with a foreign token service is refused', async () => {
    const key = { ...tokens.key, token_uri: 'https://tokens.example/token' };
    await folder.mount({ 'credentials.json': JSON.stringify(key) });
    expect(await outcomeOf(target(), federated())).toMatchObject({
      state: 'failed',
      message:
        "The file of GOOGLE_APPLICATION_CREDENTIALS has no valid token_uri. Write Google's own token_uri.",
    });
    expect(tokens.calls).toEqual([]);
  });
});

describe('as another service account', () => {
  /** As the operator writes it into the table. */
  function key(): string {
    const { client_email, private_key, private_key_id } = tokens.key;
    return Buffer.from(JSON.stringify({ client_email, private_key, private_key_id })).toString('base64');
  }

  test.each<[string, () => RigTarget, () => Record<string, string>]>([
    ['the pod of GKE', () => target({}, impersonating), onGke],
    ['the pod of any cluster', () => target({}, impersonating), federated],
    ['a service account with its key', () => target({ keys: { main: key() } }, impersonating), () => ({})],
  ])('%s signs in if it may', async (_, one, environment) => {
    tokens.impersonable.add(account);
    const rig = await rigOf(one(), environment());
    expect((await ask(rig)).status).toBe(200);
    expect(quotaProject).toBeUndefined();
    const outcome = await outcomeOf(one(), environment());
    expect(outcome).toMatchObject({ state: 'valid', identity: account });
    const token = outcome.headers.authorization?.replace('Bearer ', '') ?? '';
    expect(tokens.ownerOf(token)).toBe(account);
  });

  test('without the right is refused, and reported with the role that is missing', async () => {
    const outcome = await outcomeOf(target({}, impersonating), onGke());
    expect(outcome).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(
        /answered 403 \(PERMISSION_DENIED\)\. Grant the identity roles\/iam\.serviceAccountTokenCreator /,
      ),
    });
    expect(JSON.stringify(outcome)).not.toMatch(/ya29/);
  });
});

describe('at the Gemini API', () => {
  let gemini: Gemini;
  beforeAll(async () => {
    const takes = (token: string): boolean => tokens.takes(token) || metadata.takes(token);
    gemini = await startGemini({ key: 'no key', models: { 'gemini-3.8-flash': 'sim' }, takes });
  });
  afterAll(() => gemini[Symbol.asyncDispose]());

  const atGemini = (settings: Record<string, string>, keys?: Record<string, string>): RigTarget => ({
    baseUrl: gemini.url,
    upstreamModel: 'gemini-3.8-flash',
    dialects: ['google-generate-content'],
    ...(keys && { keys }),
    providerEntry: {
      type: 'Gemini',
      dialects: ['google-generate-content'],
      ...(keys && { auth: { header: 'Authorization', prefix: 'Bearer ' } }),
      settings,
    },
  });
  const written = (): Record<string, string> => ({
    main: Buffer.from(JSON.stringify(tokens.key)).toString('base64'),
  });

  test.each([
    ['the metadata server of GKE', () => atGemini({ identity: 'GCP' }), onGke],
    ['the token of any cluster', () => atGemini({ identity: 'GCP' }), federated],
    ['another service account', () => atGemini({ identity: 'GCP', ...impersonating }), federated],
    ['the key of a service account', () => atGemini({}, written()), () => ({})],
  ] as const)('%s signs in, also for streams', async (_, one, environment) => {
    tokens.impersonable.add(account);
    const rig = await rigOf(one(), environment());
    for (const isStream of [false, true]) expect((await ask(rig, { isStream })).status).toBe(200);
  });

  test('cloud 11: a refused token is renewed once, and the request is sent again', async () => {
    const rig = await rigOf(atGemini({ identity: 'GCP' }), federated());
    await ask(rig);
    tokens.revoke();
    const before = gemini.calls.length;
    expect([(await ask(rig)).status, gemini.calls.length - before, tokens.exchanges]).toEqual([200, 2, 2]);
  });

  test.each([
    'authorization',
    // As an older operator writes it.
    'Authorization',
  ])('a plain key in the header %s is no service account', async (header) => {
    const plain = atGemini({}, { main: 'key-of-an-api-gateway-0123456789' });
    const auth = { header, prefix: 'Bearer ' };
    const rig = await rigOf({ ...plain, providerEntry: { ...plain.providerEntry, auth } }, {});
    const seen = await ask(rig);
    // Sent as it is: this server takes tokens alone.
    expect([seen.status, errorOf(seen)?.code, tokens.calls]).toEqual([502, 'upstream_auth_failed', []]);
  });
});

describe('a token', () => {
  test('cloud 9: is requested once for a hundred first calls', async () => {
    const rig = await rigOf(target(), federated());
    const seen = await Promise.all(Array.from({ length: 100 }, () => ask(rig)));
    expect(seen.filter(({ status }) => status !== 200)).toEqual([]);
    expect(tokens.exchanges).toBe(1);
  });

  test('cloud 11: that gets 401 is renewed once, and the request is sent again', async () => {
    const rig = await rigOf(target(), federated());
    await ask(rig);
    tokens.revoke();
    expect((await ask(rig)).status).toBe(200);
    expect(vertex.calls.map(({ isLetIn }) => isLetIn)).toEqual([true, false, true]);
    expect(tokens.exchanges).toBe(2);
  });

  test('is renewed before its end, and works through an outage of the token service of five minutes', async () => {
    await using scene = openScene({ target: target(), seats: seats(), environment: federated() });
    await scene.exchanged();
    tokens.isAway = true;
    await scene.pass(50 * minute);
    for (let seconds = 0; seconds < 300; seconds += 10) {
      await scene.pass(10 * second);
      expect(scene.report()).toMatchObject([{ state: 'valid' }]);
      expect(scene.credential.lease?.endsAtMs).toBeGreaterThan(scene.clock.wallMs());
    }
    expect(tokens.exchanges).toBeGreaterThan(3);
    tokens.isAway = false;
    await scene.pass(minute);
    expect(scene.credential.lease?.endsAtMs).toBeGreaterThan(scene.clock.wallMs() + 50 * minute);
  });

  test('is in no record, metric, report or answer, and neither is the token that it was exchanged for', async () => {
    const podToken = issuer.token({ audience: 'https://elsewhere.example' });
    await mountFile({}, podToken);
    const rig = await rigOf(target(), federated());
    const refusedAnswer = await ask(rig);
    await mountFile();
    const metrics = await (await fetch(`${rig.gateway.metricsUrl}/metrics`)).text();
    const outcome = await outcomeOf(target({}, impersonating), federated());
    const said = JSON.stringify([
      refusedAnswer.text,
      rig.records,
      rig.failures.map(String),
      metrics,
      outcome.message,
    ]);
    expect(refusedAnswer.status).toBe(502);
    expect(said).not.toMatch(/ya29|eyJ/);
    for (const part of podToken.split('.')) expect(said).not.toContain(part);
  });
});

test('every known refusal has a message that fits into a report', () => {
  const rows = { accountRefusals, federationRefusals, impersonationRefusals, metadataRefusals };
  const host = new URL('https://iamcredentials.googleapis.com');
  for (const row of Object.values(rows).flat()) {
    const { message } = refused([{ code: row.code, words: row.words }], host, 403, row.code);
    expect(message.endsWith(row.words), message).toBe(true);
  }
});
