// Is Bedrock reached without a key: with the role of the pod, through a role that the Provider names, at a token service that refuses what AWS
// refuses?

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type CredentialState,
  EXCHANGE_PATH,
  exchangeResponseSchema,
} from '../../../core/contract/exchange.ts';
import type { ReadableJournal } from '../../../gateway/meter/journal.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { bedrockCredential } from '../../../gateway/upstream/bedrock/credential.ts';
import { roleRefusals, tokenRefusals } from '../../../gateway/upstream/bedrock/sts-refusals.ts';
import { HostClocks } from '../../../gateway/upstream/identity/host-clocks.ts';
import { refused } from '../../../gateway/upstream/identity/refusals.ts';
import { seatRows } from '../../../gateway/upstream/seats.ts';
import { indexCredentials } from '../../../operator/status/credentials-of.ts';
import { type AwsTokens, startAwsTokens } from '../../../simulator/clouds/aws-tokens.ts';
import { type Bedrock, startBedrock } from '../../../simulator/clouds/bedrock.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { ask, errorOf } from '../../flow/ask.ts';
import { provider } from '../../operator/make.ts';
import { heard, judge, runs } from '../../operator/status/status-support.ts';
import { until } from '../../support/until.ts';
import { keyEntry, type Rig, type RigTarget, startRig, tableOf } from '../rig.ts';
import { openScene } from './identity/scene.ts';

const model = 'us.amazon.nova-pro-v1:0';
const podRole = 'arn:aws:iam::123456789012:role/penstock-gateway';
const teamRole = 'arn:aws:iam::210987654321:role/team';
const taggedRole = 'arn:aws:iam::210987654321:role/tagged';
const accessKey = {
  accessKeyId: 'AKIDEXAMPLE0123456',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const keyFile = `[default]\naws_access_key_id = ${accessKey.accessKeyId}\naws_secret_access_key = ${accessKey.secretAccessKey}\n`;

let simulator: Simulator;
let tokens: AwsTokens;
let bedrock: Bedrock;
let folder: string;
let bedrockAheadMs = 0;
const rigs: Rig[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());
beforeEach(async () => {
  bedrockAheadMs = 0;
  folder = mkdtempSync(join(tmpdir(), 'projected-'));
  tokens = await startAwsTokens({
    region: 'us-east-1',
    service: 'bedrock',
    roles: {
      [podRole]: {},
      [teamRole]: { externalId: 'team-of-ours' },
      [taggedRole]: { takesTags: true },
    },
    keys: [accessKey],
  });
  bedrock = await startBedrock({
    key: 'no-key',
    signing: { ...accessKey, region: 'us-east-1', service: 'bedrock' },
    sessionOf: (id) => tokens.sessionOf(id),
    nowMs: () => Date.now() + bedrockAheadMs,
    models: { [model]: 'sim' },
    upstream: simulator.url,
  });
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
  await bedrock[Symbol.asyncDispose]();
  await tokens[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const tokenFile = (): string => join(folder, 'token');

/** As the kubelet does: the file is a link, and the link is swapped. */
async function project(token: string): Promise<void> {
  const [file, link] = [join(folder, `version-${token.length}-${Math.random()}`), join(folder, 'next')];
  writeFileSync(file, `${token}\n`);
  symlinkSync(file, link);
  await rename(link, tokenFile());
}

const region = { AWS_REGION: 'us-east-1' };

const irsa = () => ({
  ...region,
  AWS_ROLE_ARN: podRole,
  AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile(),
  AWS_ENDPOINT_URL_STS: tokens.url,
});
const podIdentity = () => ({
  ...region,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: tokens.agentUrl,
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile(),
  AWS_ENDPOINT_URL_STS: tokens.url,
});

function target(settings: Readonly<Record<string, string>>, more: Partial<RigTarget> = {}): RigTarget {
  return {
    baseUrl: bedrock.url,
    provider: 'team-a/bedrock',
    upstreamModel: model,
    dialects: ['bedrock-converse'],
    ...more,
    providerEntry: {
      type: 'Bedrock',
      dialects: ['bedrock-converse'],
      ...(more.keys ? { auth: { header: 'authorization', prefix: 'Bearer ' } } : {}),
      settings: { region: 'us-east-1', ...settings },
    },
  };
}

const own = (settings: Readonly<Record<string, string>> = {}): RigTarget =>
  target({ identity: 'AWS', ...settings });
const throughRole = { roleArn: teamRole, externalId: 'team-of-ours' };

const journal: ReadableJournal = {
  begin: () => {},
  append: () => {},
  flush: async () => {},
  close: async () => {},
  read: async () => undefined,
  onWritten: () => () => {},
};

async function rigOf(
  identity: Readonly<Record<string, string>>,
  ...targets: readonly RigTarget[]
): Promise<Rig> {
  const exchange = { port: 0, journal, token: () => 'exchange-token' };
  const rig = await startRig(tableOf(targets), { identity, exchange });
  rigs.push(rig);
  return rig;
}

/** As the operator is answered. */
async function reported({ gateway }: Rig): Promise<readonly CredentialState[]> {
  const answer = await fetch(`${gateway.internalUrl}${EXCHANGE_PATH}`, {
    method: 'POST',
    headers: { authorization: 'Bearer exchange-token', 'content-type': 'application/json' },
    body: JSON.stringify({ waitMs: 0, readyPods: 1 }),
  });
  return exchangeResponseSchema.parse(await answer.json()).credentials ?? [];
}

async function untilReported(rig: Rig, state: string): Promise<readonly CredentialState[]> {
  await until(async () => (await reported(rig)).some((line) => line.state === state));
  return reported(rig);
}

describe('a gateway', () => {
  const sessionIn = (role: string): string =>
    `${role.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/team-a.bedrock`;

  test('with a role for its ServiceAccount exchanges the projected token when the table arrives, and reports its identity', async () => {
    await project(tokens.project(60_000));
    const rig = await rigOf(irsa(), own());
    expect(await untilReported(rig, 'valid')).toEqual([
      { provider: 'team-a/bedrock', state: 'valid', identity: sessionIn(podRole) },
    ]);
    expect(bedrock.calls).toEqual([]);
    for (const isStream of [false, true]) expect((await ask(rig, { isStream })).status).toBe(200);
    expect([tokens.asked, tokens.sessions]).toEqual([['AssumeRoleWithWebIdentity'], ['team-a.bedrock']]);
  });

  test('with Pod Identity asks the agent with the projected token', async () => {
    await project(tokens.project(60_000, 'pods.eks.amazonaws.com'));
    const rig = await rigOf(podIdentity(), own());
    expect((await ask(rig)).status).toBe(200);
    expect(tokens.asked).toEqual(['credentials']);
  });

  test.each([
    ['a projected token', irsa, 'sts.amazonaws.com', ['AssumeRoleWithWebIdentity', 'AssumeRole']],
    ['Pod Identity', podIdentity, 'pods.eks.amazonaws.com', ['credentials', 'AssumeRole']],
  ] as const)('with %s assumes the role that the Provider names', async (_, environment, audience, asked) => {
    await project(tokens.project(60_000, audience));
    const rig = await rigOf(environment(), own(throughRole));
    expect((await ask(rig)).status).toBe(200);
    expect(tokens.asked).toEqual(asked);
    expect(await untilReported(rig, 'valid')).toMatchObject([{ identity: sessionIn(teamRole) }]);
  });

  test('with access keys of the Provider assumes its role', async () => {
    const rig = await rigOf(
      { AWS_ENDPOINT_URL_STS: tokens.url },
      target(throughRole, { keys: { main: keyFile } }),
    );
    expect((await ask(rig)).status).toBe(200);
    expect([tokens.asked, await untilReported(rig, 'valid')]).toEqual([
      ['AssumeRole'],
      [{ provider: 'team-a/bedrock', key: 'main', state: 'valid', identity: sessionIn(teamRole) }],
    ]);
  });

  test('with access keys in its environment needs no exchange', async () => {
    const keys = {
      AWS_ACCESS_KEY_ID: accessKey.accessKeyId,
      AWS_SECRET_ACCESS_KEY: accessKey.secretAccessKey,
    };
    const rig = await rigOf({ ...irsa(), ...keys }, own());
    expect((await ask(rig)).status).toBe(200);
    expect([tokens.asked, await untilReported(rig, 'valid')]).toEqual([
      [],
      [{ provider: 'team-a/bedrock', state: 'valid' }],
    ]);
  });

  test('names its session after the Provider, in as many characters as AWS allows', async () => {
    await project(tokens.project(60_000));
    const name = 'b'.repeat(100);
    const rig = await rigOf(
      irsa(),
      { ...own(), provider: `team-a/${name}1` },
      { ...own(), provider: `team-a/${name}2` },
    );
    await until(async () => (await reported(rig)).length === 2);
    expect(new Set(tokens.sessions).size).toBe(2);
    for (const session of tokens.sessions) expect(session).toMatch(/^team-a\.b{48}-[0-9a-f]{8}$/);
  });

  test('without a Provider that needs its identity calls no service', async () => {
    await project(tokens.project(60_000));
    const rig = await rigOf(irsa(), target({}, { keys: { main: keyFile } }));
    expect((await ask(rig)).status).toBe(200);
    expect([tokens.asked, await reported(rig)]).toEqual([[], []]);
  });
});

describe('credentials of AWS', () => {
  test('cloud 9: are exchanged once for a hundred first calls', async () => {
    await project(tokens.project(60_000));
    const rig = await rigOf(irsa(), own());
    const seen = await Promise.all(Array.from({ length: 100 }, () => ask(rig)));
    expect(seen.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));
    expect(tokens.asked).toEqual(['AssumeRoleWithWebIdentity']);
  });

  test('cloud 8: are exchanged with the present projected token', async () => {
    const [first, second] = [tokens.project(60_000), tokens.project(60_000)];
    await project(first);
    const rig = await rigOf(irsa(), own());
    await ask(rig);
    await project(second);
    tokens.revoke();
    expect((await ask(rig)).status).toBe(200);
    expect(tokens.shown).toEqual([first, second]);
  });

  test('are exchanged again if the projected token was renewed in between', async () => {
    const [ended, renewed] = [tokens.project(-1), tokens.project(60_000)];
    await project(ended);
    tokens.onAsk = () => writeFileSync(tokenFile(), renewed);
    const rig = await rigOf(irsa(), own());
    expect((await ask(rig)).status).toBe(200);
    expect(tokens.shown).toEqual([ended, renewed]);
  });

  test.each(['ended', 'unknown'])(
    'that Bedrock refuses as %s are renewed once, and the request is sent again',
    async (how) => {
      await project(tokens.project(60_000));
      const rig = await rigOf(irsa(), own());
      await untilReported(rig, 'valid');
      if (how === 'ended') tokens.end();
      else tokens.revoke();
      const seen = await ask(rig, { isStream: true });
      expect([seen.status, bedrock.calls.length, tokens.asked.length]).toEqual([200, 2, 2]);
      expect(rig.records.map(({ outcome }) => outcome)).toEqual(['answered']);
    },
  );

  test('are used during an outage of the token service', async () => {
    await project(tokens.project(60_000));
    const rig = await rigOf(irsa(), own());
    await ask(rig);
    tokens.isAway = true;
    const seen = await Promise.all(Array.from({ length: 50 }, () => ask(rig)));
    expect(seen.filter(({ status }) => status !== 200)).toEqual([]);
    expect(await reported(rig)).toMatchObject([{ state: 'valid' }]);
  });

  test('are renewed before their end, and serve through five minutes without the token service', async () => {
    await project(tokens.project(60_000));
    await using scene = openScene({ target: own(), seats: seatRows, environment: irsa() });
    await scene.exchanged();
    tokens.isAway = true;
    await scene.pass(50 * 60_000);
    for (let seconds = 0; seconds < 300; seconds += 10) {
      await scene.pass(10_000);
      expect(scene.report()).toMatchObject([{ state: 'valid' }]);
      expect(scene.credential.lease?.endsAtMs).toBeGreaterThan(scene.clock.wallMs());
    }
    expect(tokens.asked.length).toBeGreaterThan(3);
    tokens.isAway = false;
    await scene.pass(60_000);
    expect(scene.credential.lease?.endsAtMs).toBeGreaterThan(scene.clock.wallMs() + 50 * 60_000);
  });

  test.each([
    [
      'AccessDenied',
      "127.0.0.1:PORT answered 403 (AccessDenied). The role does not exist, or does not trust the gateway. Allow sts:AssumeRoleWithWebIdentity in its trust policy to the gateway's ServiceAccount.",
    ],
    [
      'InvalidIdentityToken',
      '127.0.0.1:PORT answered 400 (InvalidIdentityToken). AWS does not trust the issuer of the projected token, or its audience is another. Create an identity provider in IAM for both.',
    ],
    [
      'IDPCommunicationError',
      '127.0.0.1:PORT answered 400 (IDPCommunicationError). AWS cannot reach the issuer of the projected token. Make the keys of the issuer readable from the internet.',
    ],
    ['SomethingNew', '127.0.0.1:PORT answered 400 (SomethingNew). Look the code up at the service.'],
  ])('that are refused with %s are reported in our own words', async (code, words) => {
    const projected = tokens.project(60_000);
    await project(projected);
    tokens.refusal = code;
    const rig = await rigOf(irsa(), own());
    const message = words.replace('PORT', new URL(tokens.url).port);
    const credentials = await untilReported(rig, 'failed');
    expect(credentials).toEqual([{ provider: 'team-a/bedrock', state: 'failed', message }]);
    const ofProvider = indexCredentials(...heard([runs(1, { credentials: [...credentials] })]));
    const verdict = judge('Provider', {
      providers: [provider({}, { namespace: 'team-a', name: 'bedrock' })],
    });
    expect(ofProvider(verdict)).toEqual({ reason: 'CredentialsRefused', message });
    const seen = await ask(rig);
    expect([seen.status, errorOf(seen)?.code, bedrock.calls]).toEqual([502, 'upstream_error', []]);
    const metrics = await (await fetch(`${rig.gateway.metricsUrl}/metrics`)).text();
    const said = [seen.text, metrics, JSON.stringify(rig.failures), JSON.stringify(rig.records)].join('\n');
    expect(said).not.toContain(projected);
    expect(said).not.toContain('projected-number');
  });

  test('that are refused have a short message with a remedy, in every case', () => {
    const url = new URL(`https://${'sts.'.repeat(20)}us-gov-west-1.amazonaws.com/`);
    for (const rows of [tokenRefusals, roleRefusals])
      for (const { code, words } of rows)
        expect(refused(rows, url, 400, code).message).toMatch(new RegExp(`\\(${code}\\)\\. ${words}$`));
  });

  test('of an expired session are reported as such, if they assume a role', async () => {
    tokens.refusal = 'ExpiredToken';
    const rig = await rigOf(
      { AWS_ENDPOINT_URL_STS: tokens.url },
      target(throughRole, { keys: { main: keyFile } }),
    );
    const [line] = await untilReported(rig, 'failed');
    expect(line?.message).toMatch(
      / \(ExpiredToken\)\. The session token has expired\. Use a lasting access key/,
    );
  });

  test.each([
    [
      'a token of another audience',
      () => project(tokens.project(60_000, 'https://kubernetes.default.svc')),
      'InvalidIdentityToken',
    ],
    ['a token that has ended', () => project(tokens.project(-1)), 'ExpiredTokenException'],
    ['no token', async () => {}, 'The projected token cannot be read (ENOENT). Mount it'],
  ])('are refused for %s', async (_, prepare, words) => {
    await prepare();
    const rig = await rigOf(irsa(), own());
    const [line] = await untilReported(rig, 'failed');
    expect(line?.message).toContain(words);
  });

  test('are refused in a pod without an identity, and by an agent at another address', async () => {
    const rig = await rigOf(region, own());
    const [line] = await untilReported(rig, 'failed');
    expect(line?.message).toBe(
      'The gateway has no AWS identity. Give its ServiceAccount a role, or a pod identity association.',
    );
    await project(tokens.project(60_000, 'pods.eks.amazonaws.com'));
    const other = { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://agent.example/v1/credentials' };
    const elsewhere = await rigOf({ ...podIdentity(), ...other }, own());
    const [refused] = await untilReported(elsewhere, 'failed');
    expect(refused?.message).toBe(
      'AWS_CONTAINER_CREDENTIALS_FULL_URI is not the address of an agent. Use https, or the address that EKS sets.',
    );
  });

  test('of a role are refused without its external id', async () => {
    await project(tokens.project(60_000));
    const rig = await rigOf(irsa(), own({ roleArn: teamRole }));
    const [line] = await untilReported(rig, 'failed');
    expect(line?.message).toMatch(
      /\(AccessDenied\)\. .* Allow sts:AssumeRole and sts:TagSession in its trust policy, compare the external id, /,
    );
  });

  test('are removed from error texts of Bedrock', async () => {
    await project(tokens.project(60_000));
    const rig = await rigOf(irsa(), own({ region: 'eu-west-1' }));
    const seen = await ask(rig);
    expect(seen.status).toBe(502);
    expect(seen.text).not.toMatch(/session\/token|secret\/access/);
  });
});

describe('session tags', () => {
  const keyOf = (id: string): string => `psk_${id.replace('/', '').padEnd(49, 'x')}`;
  const callers = ['team-a/app', 'team-a/batch', 'team-b/app'];

  async function rigFor(sessionTags: string, more: Readonly<Record<string, string>> = {}): Promise<Rig> {
    await project(tokens.project(60_000));
    const target = own({ roleArn: taggedRole, sessionTags, ...more });
    const table = tableOf([target], { sharedWith: '*' });
    const keys = callers.map((id) => keyEntry(keyOf(id), id));
    const exchange = { port: 0, journal, token: () => 'exchange-token' };
    const rig = await startRig({ ...table, keys }, { identity: irsa(), exchange });
    rigs.push(rig);
    return rig;
  }
  const askAs = (rig: Rig, id: string) => ask(rig, { headers: { authorization: `Bearer ${keyOf(id)}` } });
  /** Of what each call was signed with. */
  const tagsSeen = () =>
    bedrock.calls.map(({ headers }) => {
      const [, id = ''] = /Credential=([^/]+)/.exec(headers.authorization ?? '') ?? [];
      return Object.values(tokens.tagsOf(id)).join(' ');
    });
  const assumed = (): number => tokens.asked.filter((action) => action === 'AssumeRole').length;

  test.each([
    // The Provider is in team-a: its own session is that of its callers there.
    ['Namespace', ['team-a', 'team-a', 'team-b'], 2],
    ['ApiKey', ['team-a app', 'team-a batch', 'team-b app'], 4],
  ] as const)('of each %s are those of the caller, in one session each', async (by, tags, sessions) => {
    const rig = await rigFor(by);
    await untilReported(rig, 'valid');
    for (let round = 0; round < 2; round++)
      for (const id of callers) expect((await askAs(rig, id)).status).toBe(200);
    expect(tagsSeen()).toEqual([...tags, ...tags]);
    expect(assumed()).toBe(sessions);
    // The pod's own credentials are taken once for all of them.
    expect(tokens.asked).toHaveLength(sessions + 1);
    rig.offer({ hints: [] });
    for (const id of callers) expect((await askAs(rig, id)).status).toBe(200);
    expect(assumed()).toBe(sessions);
  });

  test('are exchanged once by a hundred first calls of one caller', async () => {
    const rig = await rigFor('ApiKey');
    await untilReported(rig, 'valid');
    const seen = await Promise.all(Array.from({ length: 100 }, () => askAs(rig, 'team-b/app')));
    expect([seen.filter(({ status }) => status !== 200), assumed()]).toEqual([[], 2]);
  });

  test('stay the caller’s after its session is refused as ended', async () => {
    const rig = await rigFor('ApiKey');
    await askAs(rig, 'team-b/app');
    tokens.end();
    expect((await askAs(rig, 'team-b/app')).status).toBe(200);
    // Asked, refused, and asked once more.
    expect(tagsSeen()).toEqual(['team-b app', 'team-b app', 'team-b app']);
  });

  test('of one caller that the role does not take fail its calls alone', async () => {
    const rig = await rigFor('ApiKey');
    await untilReported(rig, 'valid');
    expect((await askAs(rig, 'team-a/app')).status).toBe(200);
    tokens.refusal = 'AccessDenied';
    for (let call = 0; call < 6; call++) {
      const seen = await askAs(rig, 'team-b/app');
      expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_error']);
    }
    expect(new Set(rig.records.slice(1).map(({ failure }) => failure))).toEqual(new Set(['session_failed']));
    expect((await askAs(rig, 'team-a/app')).status).toBe(200);
  });

  test('that the role does not take are reported before anybody calls', async () => {
    const rig = await rigFor('Namespace', throughRole);
    const [line] = await untilReported(rig, 'failed');
    expect(line?.message).toMatch(
      /\(AccessDenied\)\. .* Allow sts:AssumeRole and sts:TagSession in its trust policy/,
    );
  });

  test('take the secrets of the caller’s session out of Bedrock’s messages', async () => {
    const rig = await rigFor('ApiKey', { region: 'eu-west-1' });
    const seen = await askAs(rig, 'team-b/app');
    expect([seen.status, tagsSeen()]).toEqual([502, ['team-b app']]);
    expect(seen.text).not.toMatch(/session\/token|secret\/access/);
  });
});

describe('cloud 6: a clock that is ten minutes off', () => {
  test.each([10, -10])('is corrected by the date of Bedrock’s answer, once (%i)', async (minutes) => {
    bedrockAheadMs = minutes * 60_000;
    const rig = await rigOf({}, target({}, { keys: { main: keyFile } }));
    const seen = [];
    for (let call = 0; call < 3; call += 1) seen.push((await ask(rig)).status);
    expect([seen, bedrock.calls.length]).toEqual([[200, 200, 200], 4]);
    const times = bedrock.calls.map(({ headers }) => headers['x-amz-date']);
    expect(times[0]).not.toBe(times[1]);
  });

  test('is corrected for the token service too, whose credentials end by its clock', async () => {
    tokens.aheadMs = 10 * 60_000;
    bedrockAheadMs = 10 * 60_000;
    const rig = await rigOf(
      { AWS_ENDPOINT_URL_STS: tokens.url },
      target(throughRole, { keys: { main: keyFile } }),
    );
    expect((await ask(rig)).status).toBe(200);
    expect(tokens.asked).toEqual(['AssumeRole', 'AssumeRole']);
  });

  test('does not send a request with a wrong secret twice if the clock is right', async () => {
    const wrong = keyFile.replace('wJalr', 'xJalr');
    const rig = await rigOf({}, target({}, { keys: { main: wrong } }));
    expect([(await ask(rig)).status, bedrock.calls.length]).toEqual([502, 1]);
  });
});

describe('the token service', () => {
  function originFor(hostRegion: string, environment: Readonly<Record<string, string>>): Promise<string> {
    const entry = own({ region: hostRegion });
    const [provider] = buildTableView(tableOf([entry])).providers.values();
    const [endpoint] = provider?.endpoints ?? [];
    return new Promise((resolve, reject) => {
      if (!provider || !endpoint) throw new Error('the table has a provider');
      const pool = (kind: string) => (origin: string) => {
        resolve(`${kind} ${origin}`);
        throw new Error('nothing is dialled');
      };
      const byProvider = pool('provider');
      bedrockCredential(provider, endpoint, {
        pools: { tokenPool: (_, origin) => byProvider(origin), platformPool: pool('platform') },
        environment: { AWS_ROLE_ARN: podRole, AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile(), ...environment },
        clocks: new HostClocks(),
        nowMs: Date.now,
        renewed(_, __, exchange) {
          exchange().catch(reject);
          return { lease: undefined, renew: () => Promise.reject(new Error('nothing is asked')) };
        },
      });
    });
  }

  test.each([
    ['eu-west-1', {}, 'provider https://sts.eu-west-1.amazonaws.com'],
    ['eu-west-1', { AWS_REGION: 'us-west-2' }, 'provider https://sts.us-west-2.amazonaws.com'],
    ['cn-north-1', {}, 'provider https://sts.cn-north-1.amazonaws.com.cn'],
    ['us-gov-west-1', {}, 'provider https://sts.us-gov-west-1.amazonaws.com'],
    ['eusc-de-east-1', {}, 'provider https://sts.eusc-de-east-1.amazonaws.eu'],
    ['us-isob-east-1', {}, 'provider https://sts.us-isob-east-1.sc2s.sgov.gov'],
    [
      'eu-west-1',
      { AWS_ENDPOINT_URL_STS: 'https://vpce-1.sts.example' },
      'platform https://vpce-1.sts.example',
    ],
  ])('of a host in %s, in the environment %j, is %s', async (hostRegion, environment, origin) => {
    expect(await originFor(hostRegion, environment)).toBe(origin);
  });

  test.each(['', 'x.example/', 'x@evil.example'])('is not asked in the region %j', async (hostRegion) => {
    await expect(originFor(hostRegion, {})).rejects.toThrow('The region of the token service is unknown.');
  });
});

describe('a Provider', () => {
  test.each([
    'http://169.254.170.23',
    'http://[fd00:ec2::23]',
    'http://169.254.169.254',
    'http://169.254.170.2',
  ])('at %s is not called, though the gateway itself may call it', async (baseUrl) => {
    await project(tokens.project(60_000));
    const rig = await rigOf(irsa(), { ...own(), baseUrl });
    const seen = await ask(rig);
    expect([seen.status, rig.records.at(-1)?.failure]).toEqual([502, 'egress_denied']);
  });
});
