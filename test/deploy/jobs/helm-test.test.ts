// Does the test of a release pass on a gateway that answers and hears of an operator, and fail on one that does not?

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { run } from '../../cluster/run.ts';
import { type Rig, startRig, tableOf, testKey } from '../../gateway/rig.ts';
import { bareEnvironment } from '../../support/bare-environment.ts';

const script = fileURLToPath(new URL('../../../deploy/jobs/helm-test/main.ts', import.meta.url));

let simulator: Simulator;
let rig: Rig;
let folder: string;
const alive = () => Date.now();
/** Unix milliseconds of the operator's last sign of life. */
let operatorSeenMs: () => number | undefined = alive;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-helm-test-'));
  simulator = await startSimulator();
  rig = await startRig(tableOf([{ baseUrl: `${simulator.url}/v1` }]), {
    operatorSeenMs: () => operatorSeenMs(),
  });
});
afterEach(() => {
  operatorSeenMs = alive;
});
afterAll(async () => {
  await rig.close();
  await simulator.close();
  await rm(folder, { recursive: true });
});

async function testRelease(env: Readonly<Record<string, string>>) {
  const { KEY, ...rest } = env;
  const keyFile = join(folder, 'key');
  if (KEY !== undefined) await writeFile(keyFile, `${KEY}\n`);
  return run(process.execPath, [script], {
    env: {
      ...bareEnvironment(),
      PENSTOCK_PATIENCE_MS: '0',
      PENSTOCK_BASE_URL: rig.baseUrl,
      PENSTOCK_METRICS_URL: `${rig.gateway.metricsUrl}/metrics`,
      ...rest,
      ...(KEY === undefined ? {} : { PENSTOCK_KEY_FILE: keyFile }),
    },
  });
}

test('without a key it is enough that the public models are listed', async () => {
  const { code, stdout } = await testRelease({});
  expect([code, stdout]).toEqual([0, expect.stringContaining('no completion was asked for')]);
});

test('a new heartbeat proves an operator alive, even if its clock is behind', async () => {
  let looks = 0;
  operatorSeenMs = () => Date.now() - 300_000 + 10_000 * looks++;
  const { code, stdout } = await testRelease({ PENSTOCK_PATIENCE_MS: '20000' });
  expect([code, stdout]).toEqual([0, expect.stringContaining('every gateway hears of an operator')]);
});

test.each([
  [
    'is dead',
    () => Date.now() - 95_000,
    /gateway 127\.0\.0\.1 heard of an operator 9\d s ago; .*look at the pods/,
  ],
  ['was never there', () => undefined, /gateway 127\.0\.0\.1 has never heard of an operator; .*look at/],
])('it fails where gateways answer and the operator %s', async (_, seenMs, words) => {
  operatorSeenMs = seenMs;
  const { code, stdout, stderr } = await testRelease({ KEY: testKey, PENSTOCK_MODEL: 'm' });
  expect([code, stdout, stderr]).toEqual([
    1,
    expect.stringContaining('model m streamed'),
    expect.stringMatching(words),
  ]);
});

test('with a key, a completion is streamed to its end', async () => {
  const { code, stdout } = await testRelease({ KEY: testKey, PENSTOCK_MODEL: 'm' });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/model m streamed: \S/)]);
  expect(stdout).not.toContain(testKey);
});

test('if its Pod cannot get an owner, the test still passes, and the token is not shown', async () => {
  await writeFile(join(folder, 'token'), 'not.a-token.of-an-account');
  const { code, stderr } = await testRelease({
    PENSTOCK_POD: 'penstock-system/penstock-test',
    PENSTOCK_SERVICE_ACCOUNT_DIR: folder,
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: '1',
  });
  expect([code, stderr.trim()]).toEqual([
    0,
    `this Pod will be left by helm uninstall: ${join(folder, 'token')} is not the token of a ServiceAccount`,
  ]);
});

test.each([
  ['an invalid key', { KEY: 'psk_wrong', PENSTOCK_MODEL: 'm' }, /model m answered 401/],
  ['an unknown model', { KEY: testKey, PENSTOCK_MODEL: 'no' }, /model no answered 404/],
  [
    'a stream that breaks off',
    { KEY: testKey, PENSTOCK_MODEL: 'm' },
    /the stream of model m (broke off|ended early)/,
  ],
  [
    'an invalid address',
    { PENSTOCK_POD: 'penstock-test' },
    /PENSTOCK_POD must be <namespace>\/<name>, not penstock-test/,
  ],
  ['no listener', { PENSTOCK_BASE_URL: 'http://127.0.0.1:1/v1' }, /the test failed/],
  ['missing metrics', { PENSTOCK_METRICS_URL: 'http://127.0.0.1:1/metrics' }, /the test failed/],
] as const)('it fails on %s', async (what, env, words) => {
  if (what === 'a stream that breaks off') simulator.script('*', 'fault=cut-after:3');
  const { code, stderr } = await testRelease(env);
  simulator.script('*', null);
  expect([code, stderr]).toEqual([1, expect.stringMatching(words)]);
});
