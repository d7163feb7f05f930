// Do credentials of AWS that end within seconds fail no request, while the projected token changes too? And does a token service that is not ours
// understand what it is asked?

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { buildTableView } from '../../gateway/table/view.ts';
import { Credentials } from '../../gateway/upstream/credentials.ts';
import { UpstreamPools } from '../../gateway/upstream/pools.ts';
import { seatRows } from '../../gateway/upstream/seats.ts';
import { startAwsTokens } from '../../simulator/clouds/aws-tokens.ts';
import { startBedrock } from '../../simulator/clouds/bedrock.ts';
import { startSimulator } from '../../simulator/server.ts';
import { type RigTarget, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { startLoad } from '../support/load/start.ts';
import { pythonWith } from '../support/python.ts';
import { until } from '../support/until.ts';
import { openScorecard } from './scorecard.ts';

const model = 'us.amazon.nova-pro-v1:0';
const podRole = 'arn:aws:iam::123456789012:role/penstock-gateway';
const teamRole = 'arn:aws:iam::210987654321:role/team';
const loadMs = 45_000;
const lifetimeS = 10;

function target(
  baseUrl: string,
  settings: Readonly<Record<string, string>>,
  more: Partial<RigTarget> = {},
): RigTarget {
  const dialects: RigTarget['dialects'] = ['bedrock-converse'];
  const auth = more.keys ? { auth: { header: 'authorization', prefix: 'Bearer ' } } : {};
  const providerEntry = {
    type: 'Bedrock',
    dialects,
    ...auth,
    settings: { region: 'us-east-1', ...settings },
  };
  return { baseUrl, provider: 'team-a/bedrock', upstreamModel: model, dialects, ...more, providerEntry };
}

test.each([
  ['of one session', {}],
  ['of a session for each ApiKey', { sessionTags: 'ApiKey' }],
])(
  '200 requests a second use credentials of ten seconds and projected tokens of six, and none fails: %s',
  async (whose, tagging) => {
    await using parts = new AsyncDisposableStack();
    const simulator = await startSimulator();
    parts.defer(() => simulator.close());
    const roles = { [podRole]: {}, [teamRole]: { takesTags: true } };
    const tokens = parts.use(
      await startAwsTokens({ region: 'us-east-1', service: 'bedrock', roles, keys: [] }),
    );
    tokens.lifetimeS = lifetimeS;
    const { url: upstream } = simulator;
    const sessionOf = (id: string) => tokens.sessionOf(id);
    const bedrock = parts.use(
      await startBedrock({ key: 'none', sessionOf, models: { [model]: 'sim' }, upstream }),
    );
    const folder = mkdtempSync(join(tmpdir(), 'projected-'));
    parts.defer(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'token');
    const project = (): void => {
      writeFileSync(join(folder, 'next'), tokens.project(6_000));
      renameSync(join(folder, 'next'), file);
    };
    project();
    const kubelet = setInterval(project, 2_000);
    parts.defer(() => clearInterval(kubelet));
    const identity = {
      AWS_REGION: 'us-east-1',
      AWS_ROLE_ARN: podRole,
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ENDPOINT_URL_STS: tokens.url,
    };
    const rig = await startRig(
      tableOf([target(bedrock.url, { identity: 'AWS', roleArn: teamRole, ...tagging })]),
      {
        identity,
      },
    );
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
    const card = openScorecard('Renewed credentials');
    card.add({
      what: `no request fails while credentials of AWS end every ten seconds: ${whose}`,
      tried: figures.requests,
      failed: figures.failed + figures.cut,
      fired: tokens.asked.length,
      figures: `${tokens.asked.length} exchanges with ${new Set(tokens.shown).size} projected tokens; ${figures.streams} streams; p99 ${figures.p99Ms} ms; ${figures.reasons.join('; ')}`,
    });
    card.print();
    expect(figures.reasons).toEqual([]);
    expect([figures.failed, figures.cut]).toEqual([0, 0]);
    expect(figures.requests).toBeGreaterThan(2_000);
    // The credentials of the pod are renewed before each end, with the token of that moment.
    expect(new Set(tokens.shown).size).toBeGreaterThanOrEqual(Math.floor(loadMs / 1_000 / lifetimeS));
  },
);

describe('moto', () => {
  let moto: ChildProcess;
  let url: string;

  beforeAll(async () => {
    const python = await pythonWith(['moto[server]==5.2.5']);
    moto = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', '0'], { env: bareEnvironment() });
    let said = '';
    moto.stderr?.on('data', (piece) => {
      said += String(piece);
    });
    await until(async () => /Running on http:\/\/127\.0\.0\.1:\d+/.test(said));
    url = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1] ?? '';
  });
  afterAll(async () => {
    if (moto.exitCode === null && moto.kill()) await once(moto, 'exit');
  });

  test.each([
    ['AssumeRoleWithWebIdentity', { identity: 'AWS' }, undefined, podRole],
    ['AssumeRoleWithWebIdentity and AssumeRole', { identity: 'AWS', roleArn: teamRole }, undefined, teamRole],
    [
      'AssumeRole with session tags',
      { identity: 'AWS', roleArn: teamRole, sessionTags: 'ApiKey' },
      undefined,
      teamRole,
    ],
    ['AssumeRole with access keys', { roleArn: teamRole, externalId: 'ours' }, 'keys', teamRole],
  ])('accepts %s', async (_, settings, keys, role) => {
    await using parts = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'projected-'));
    parts.defer(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'token');
    writeFileSync(
      file,
      `${['{"alg":"RS256"}', '{"sub":"gateway"}', 's'].map((part) => Buffer.from(part).toString('base64url')).join('.')}\n`,
    );
    const pools = new UpstreamPools();
    parts.defer(() => pools.close());
    const environment = {
      AWS_REGION: 'us-east-1',
      AWS_ROLE_ARN: podRole,
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ENDPOINT_URL_STS: url,
    };
    const credentials = new Credentials({ clock: systemClock, pools, seats: seatRows, environment });
    parts.defer(() => credentials.close());
    const main =
      '[default]\naws_access_key_id = AKIDEXAMPLE0123456\naws_secret_access_key = secret-of-the-key\n';
    const entry = target(
      'https://bedrock-runtime.us-east-1.amazonaws.com',
      settings,
      keys ? { keys: { main } } : {},
    );
    credentials.adopt(buildTableView(tableOf([entry])));
    await until(async () => credentials.report().length > 0);
    const identity = `${role.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/team-a.bedrock`;
    expect(credentials.report()).toMatchObject([{ state: 'valid', identity }]);
  });
});
