// Do credentials of AWS that end within seconds fail no request, while the projected token changes too?

import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startAwsTokens } from '../../simulator/clouds/aws-tokens.ts';
import { startBedrock } from '../../simulator/clouds/bedrock.ts';
import { startSimulator } from '../../simulator/server.ts';
import { type RigTarget, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { startLoad } from '../support/load/start.ts';
import { openScorecard } from './scorecard.ts';

const model = 'us.amazon.nova-pro-v1:0';
const podRole = 'arn:aws:iam::123456789012:role/penstock-gateway';
const teamRole = 'arn:aws:iam::210987654321:role/team';
const loadMs = 45_000;

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

test('200 requests a second meet credentials of ten seconds and projected tokens of six, and none fails', async () => {
  await using parts = new AsyncDisposableStack();
  const simulator = await startSimulator();
  parts.defer(() => simulator.close());
  const roles = { [podRole]: {}, [teamRole]: {} };
  const tokens = parts.use(
    await startAwsTokens({ region: 'us-east-1', service: 'bedrock', roles, keys: [] }),
  );
  tokens.lifetimeS = 10;
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
  const rig = await startRig(tableOf([target(bedrock.url, { identity: 'AWS', roleArn: teamRole })]), {
    identity,
  });
  parts.defer(() => rig.close());
  const models = { request: 'm', stream: 'm' };
  const load = await startLoad({ urls: [rig.url], key: testKey, requestsPerSecond: 200, streams: 4, models });
  await new Promise((resolve) => setTimeout(resolve, loadMs));
  const figures = await load.stop();
  const card = openScorecard('Renewed credentials');
  card.add({
    what: 'no request fails while credentials of AWS end every ten seconds',
    tried: figures.requests,
    failed: figures.failed + figures.cut,
    fired: tokens.asked.length,
    figures: `${tokens.asked.length} exchanges with ${new Set(tokens.shown).size} projected tokens; ${figures.streams} streams; p99 ${figures.p99Ms} ms; ${figures.reasons.join('; ')}`,
  });
  card.print();
  expect(figures.reasons).toEqual([]);
  expect([figures.failed, figures.cut]).toEqual([0, 0]);
  expect(figures.requests).toBeGreaterThan(2_000);
  expect(new Set(tokens.shown).size).toBeGreaterThan(4);
});
