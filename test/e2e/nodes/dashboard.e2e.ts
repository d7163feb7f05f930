// Does the dashboard of the chart work in pods of real nodes? Two replicas, whose account may do nothing, and a person with a token.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { RELEASE_NAMESPACE } from '../../charts/helm.ts';
import type { OwnCluster } from '../../cluster/nodes/start.ts';
import { keepSecret } from '../../support/reported-secrets.ts';
import { openOwnNodes } from './own-nodes.ts';
import { demoKey, demoNamespace, inRelease, installChart, smallPods } from './release.ts';

const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);
const name = 'penstock-dashboard';

let cluster: OwnCluster;
let url: string;
let token: string;

beforeAll(async () => {
  cluster = await openOwnNodes({ say });
  await cluster.mustKubectl(['create', 'namespace', RELEASE_NAMESPACE]);
  const keys = Buffer.alloc(32, 7).toString('base64');
  await cluster.mustKubectl([
    'create',
    'secret',
    'generic',
    'session',
    ...inRelease,
    `--from-literal=keys=${keys}`,
  ]);
  await installChart(cluster, {
    demo: { enabled: true },
    operator: smallPods,
    gateway: smallPods,
    dashboard: { enabled: true, replicas: 2, session: { existingSecret: 'session' }, ...smallPods },
  });
  await demoKey(cluster);
  const inDemo = ['-n', demoNamespace];
  await cluster.mustKubectl(['create', 'serviceaccount', 'ada', ...inDemo]);
  const binding = [
    'rolebinding',
    'ada',
    '--clusterrole=penstock-tenant',
    `--serviceaccount=${demoNamespace}:ada`,
  ];
  await cluster.mustKubectl(['create', ...binding, ...inDemo]);
  token = (await cluster.mustKubectl(['create', 'token', 'ada', ...inDemo])).trim();
  keepSecret(token);
  url = await cluster.reach({ namespace: RELEASE_NAMESPACE, service: name, port: 80 });
});
afterAll(() => cluster?.stop());

const sessionSchema = z.object({
  csrf: z.string(),
  user: z.object({ name: z.string() }),
  hasLedger: z.literal(true),
});

interface SignedIn {
  readonly cookie: string;
  readonly csrf: string;
}

async function signIn(): Promise<SignedIn> {
  const answer = await fetch(`${url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ token }),
  });
  expect(answer.status).toBe(200);
  const { csrf, user } = sessionSchema.parse(await answer.json());
  expect(user.name).toBe(`system:serviceaccount:${demoNamespace}:ada`);
  const cookie = answer.headers.getSetCookie().map((one) => one.split(';')[0]);
  return { cookie: cookie.join('; '), csrf };
}

test('both pods serve the page, and no data without a session', async () => {
  const page = await fetch(`${url}/keys`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script')]);
  expect((await fetch(`${url}/api/session`)).status).toBe(401);
  const ready = ['get', 'deployment', name, ...inRelease, '-o', 'jsonpath={.status.readyReplicas}'];
  expect(await cluster.mustKubectl(ready)).toBe('2');
});

test('both pods accept a session; Kubernetes and the ledger answer its person', async () => {
  const { cookie } = await signIn();
  const keys = `/api/kube/apis/penstock.dev/v1alpha1/namespaces/${demoNamespace}/apikeys`;
  // Each on a connection of its own: the Service leads to one pod or the other.
  const ask = async (path: string) => {
    const { status } = await fetch(`${url}${path}`, { headers: { cookie, connection: 'close' } });
    return status;
  };
  const asked = await Promise.all(Array.from({ length: 12 }, () => ask(keys)));
  expect(new Set(asked)).toEqual(new Set([200]));
  expect(await ask(`/api/ledger/v1/sums?namespace=${demoNamespace}`)).toBe(200);
  expect(await ask('/api/ledger/v1/sums?namespace=kube-system')).toBe(403);
  expect(await ask(keys.replace(demoNamespace, 'kube-system'))).toBe(403);
});

test('no pod has a token of its account, and the account has no rights', async () => {
  const account = `--as=system:serviceaccount:${RELEASE_NAMESPACE}:${name}`;
  for (const what of [
    ['list', 'secrets'],
    ['get', 'apikeys.penstock.dev'],
    ['create', 'tokenreviews'],
  ]) {
    const { stdout } = await cluster.kubectl(['auth', 'can-i', ...what, account, '-A']);
    expect(stdout.trim()).toBe('no');
  }
  const look = "try { require('fs').readdirSync('/var/run/secrets') } catch (error) { error.code }";
  const found = await cluster.mustKubectl([
    'exec',
    `deployment/${name}`,
    ...inRelease,
    '--',
    'node',
    '-p',
    look,
  ]);
  expect(found.trim()).toBe('ENOENT');
});
