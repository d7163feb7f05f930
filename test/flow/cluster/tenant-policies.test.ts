// Does what the platform says in TenantPolicies hold in every gateway a moment later, without a restart of anything?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { until } from '../../support/until.ts';
import { askGateway } from './ask.ts';
import { startPoliciesJob } from './errands.ts';
import { type Installation, startInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
  tenantPolicy,
} from './manifests.ts';

const teams = ['team-a', 'team-b', 'team-c'] as const;

let simulator: Simulator;
let installation: Installation;

beforeAll(async () => {
  simulator = await startSimulator();
  installation = await startInstallation({
    operators: 1,
    gateways: 2,
    hasLedger: true,
    values: {
      egress: { allow: [{ cidr: '127.0.0.0/8', namespaces: ['platform'] }] },
      tenants: [{ namespace: 'team-c', budgets: [{ period: 'Total', limit: '0' }] }],
    },
  });
  const pricing = { inputPerMillion: '100000', outputPerMillion: '200000' };
  await installation.apply(
    namespaceOf('platform'),
    namespaceOf('team-a', { tier: 'gold' }),
    namespaceOf('team-b'),
    namespaceOf('team-c'),
    credentialSecret('platform', 'sim', simulator.url, 'any'),
    provider('platform', 'sim', simulator.url, 'sim'),
    modelRoute('platform', 'm', ['sim'], { pricing, allowedNamespaces: { from: 'All' } }),
    ...teams.map((team) => importedApiKey(team, 'one')),
  );
  for (const team of teams) await installation.awaitCondition('apikey/one', 'Ready', team);
  await installation.awaitCondition('modelroute/m', 'Ready', 'platform');
}, clusterWaitMs);

afterAll(async () => {
  await installation?.stop();
  await simulator?.close();
}, 60_000);

const ready = (name: string) => installation.awaitCondition(`tenantpolicy/${name}`, 'Ready', 'default');
const remove = (name: string) => installation.plane.mustKubectl(['delete', 'tpol', name]);

/** What the gateways answer to the key of a team: code of the error, or 200. */
async function answers(team: string): Promise<readonly unknown[]> {
  const said = await Promise.all(
    installation.gateways.map((gateway) => askGateway(gateway, importedKey(team, 'one'), 'm')),
  );
  return said.map(({ status, text }) => (status === 200 ? 200 : JSON.parse(text).error.code));
}

test('a limit by label holds in every gateway once the policy is Ready, for these namespaces alone', async () => {
  const gold = { selector: { matchLabels: { tier: 'gold' } } };
  await installation.apply(tenantPolicy('gold', { namespaces: gold, limits: { requestsPerMinute: 1 } }));
  await ready('gold');
  await answers('team-a');
  await until(async () => (await answers('team-a')).every((answer) => answer === 'rate_limit_exceeded'));
  expect(await answers('team-b')).toEqual([200, 200]);
  const shown = await installation.plane.mustKubectl(['get', 'tpol', 'gold']);
  expect(shown.split('\n')[1]).toMatch(/^gold\s+Serving\s+True\s+1\s/);

  // Its label is what it hangs on.
  await installation.plane.mustKubectl(['label', 'namespace', 'team-a', 'tier-', '--overwrite']);
  await until(async () => (await answers('team-a')).every((answer) => answer === 200));
  await remove('gold');
});

test('a range and a prefix are opened and closed without a restart', async () => {
  const { plane } = installation;
  const pids = [...installation.operators, ...installation.gateways].map((one) => one.process.pid);
  const rights = { namespaces: { names: ['team-b'] }, egress: { allow: ['127.0.0.0/8'] } };
  await installation.apply(
    credentialSecret('team-b', 'own', simulator.url, 'any'),
    provider('team-b', 'own', simulator.url, 'own'),
    tenantPolicy('rights', { ...rights, modelPrefixes: ['acme'] }),
  );
  await installation.awaitCondition('provider/own', 'Ready', 'team-b');
  await installation.apply({
    ...modelRoute('team-b', 'acme', ['own'], { model: 'acme/small' }),
    metadata: { namespace: 'team-b', name: 'acme' },
  });
  await installation.awaitCondition('modelroute/acme', 'Ready', 'team-b');
  await installation.apply({
    ...modelRoute('team-a', 'acme', ['own'], { model: 'acme/large' }),
    metadata: { namespace: 'team-a', name: 'acme' },
  });
  await installation.awaitCondition('modelroute/acme', 'Ready=False', 'team-a');
  expect(
    await plane.mustKubectl([
      ...[
        'get',
        'modelroute/acme',
        '-n',
        'team-a',
        '-o',
        'jsonpath={.status.conditions[?(@.type=="Ready")].reason}',
      ],
    ]),
  ).toBe('ReservedPrefix');
  await remove('rights');
  await installation.awaitCondition('provider/own', 'Ready=False', 'team-b');
  expect([...installation.operators, ...installation.gateways].map((one) => one.process.pid)).toEqual(pids);
});

test('a namespace that a policy makes a platform namespace may share at kubectl apply too, until that policy is deleted', async () => {
  const { plane } = installation;
  const shared = {
    ...modelRoute('team-b', 'shared', ['own'], {
      model: 'penstock/shared',
      visibility: 'Public',
      allowedNamespaces: { from: 'All' },
    }),
    metadata: { namespace: 'team-b', name: 'shared' },
  };
  const dryRun = () =>
    plane.kubectl(['create', '--dry-run=server', '-f', '-'], { stdin: JSON.stringify(shared) });
  const isRefused = async () =>
    (await dryRun()).stderr.includes('platform namespaces, and team-b is not one');
  // As the Job of the chart applies it.
  await installation.apply(
    tenantPolicy('penstock-platform', { namespaces: { names: ['platform', 'default'] }, role: 'Platform' }),
  );
  await until(isRefused);

  await installation.apply(tenantPolicy('second', { namespaces: { names: ['team-b'] }, role: 'Platform' }));
  await ready('second');
  await until(async () => (await dryRun()).code === 0);
  await remove('second');
  await until(isRefused);
});

test('a used-up namespace budget refuses calls, and shows on the policy and on no key', async () => {
  const { plane } = installation;
  await installation.apply(
    tenantPolicy('spend', {
      namespaces: { names: ['team-b'] },
      budgets: [{ period: 'Month', limit: '0.01' }],
    }),
  );
  await installation.awaitCondition('tenantpolicy/spend', 'BudgetExhausted', 'default');
  await until(async () => (await answers('team-b')).every((answer) => answer === 'insufficient_quota'));
  const usage = JSON.parse(
    await plane.mustKubectl(['get', 'tpol', 'spend', '-o', 'jsonpath={.status.usage}']),
  );
  expect(usage).toMatchObject({
    exhaustedNamespaces: 1,
    budgets: [{ namespace: 'team-b', period: 'Month', limit: '0.01' }],
  });
  const conditions = await plane.mustKubectl([
    'get',
    'apikeys/one',
    '-n',
    'team-b',
    '-o',
    'jsonpath={.status.conditions[*].type}',
  ]);
  expect(conditions.split(' ')).not.toContain('BudgetExhausted');
  await plane.mustKubectl([
    ...['patch', 'tpol', 'spend', '--type=merge', '-p'],
    JSON.stringify({ spec: { budgets: [{ period: 'Month', limit: '1000' }] } }),
  ]);
  await until(async () => (await answers('team-b')).every((answer) => answer === 200));
});

test('a wrong edit shows on the policy, and the previous form stays in force', async () => {
  const bound = { namespaces: { names: ['team-a'] }, limits: { requestsPerMinute: 1 } };
  await installation.apply(tenantPolicy('bound', bound));
  await ready('bound');
  await until(async () => (await answers('team-a')).every((answer) => answer === 'rate_limit_exceeded'));
  await installation.apply(
    tenantPolicy('bound', {
      ...bound,
      limits: { requestsPerMinute: 9999 },
      egress: { allow: ['169.254.169.254/32'] },
    }),
  );
  await installation.awaitCondition('tenantpolicy/bound', 'Accepted=False', 'default');
  const message = await installation.plane.mustKubectl([
    ...['get', 'tpol', 'bound', '-o', 'jsonpath={.status.conditions[?(@.type=="Accepted")].message}'],
  ]);
  expect(message).toMatch(/^spec\.egress\.allow\[0\]: .*generation 1 stays in force$/);
  expect(await answers('team-a')).toContain('rate_limit_exceeded');
});

test('a limit in the values holds before and while the Job makes an object of it; then the object counts', async () => {
  const isRefused = (answer: unknown) => answer === 'insufficient_quota';
  await until(async () => (await answers('team-c')).every(isRefused));
  const job = await startPoliciesJob(installation);
  let hasEnded = false;
  const ended = job.exit.then((exit) => {
    hasEnded = true;
    return exit;
  });
  const seen: unknown[] = [];
  while (!hasEnded) {
    seen.push(...(await answers('team-c')));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect((await ended).code).toBe(0);
  await installation.awaitCondition('tenantpolicy/penstock-tenant-team-c', 'Ready', 'default');
  seen.push(...(await answers('team-c')));
  expect(seen.filter((answer) => !isRefused(answer))).toEqual([]);

  await installation.plane.mustKubectl([
    ...['patch', 'tpol', 'penstock-tenant-team-c', '--type=merge', '-p'],
    JSON.stringify({ spec: { budgets: [{ period: 'Total', limit: '1000' }] } }),
  ]);
  await until(async () => (await answers('team-c')).every((answer) => answer === 200));
  // The values still say it: a bound is not lost with its object.
  await remove('penstock-tenant-team-c');
  await until(async () => (await answers('team-c')).every(isRefused));
});
