// Who spends what? A request through a real gateway, its record in a real ledger, and what kubectl shows of it a moment later.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { serviceAccountToken } from '../../cluster/identities.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { askGateway } from './ask.ts';
import { type Installation, startInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { eventsOf } from './reported.ts';

let simulator: Simulator;
let installation: Installation;

beforeAll(async () => {
  simulator = await startSimulator();
  installation = await startInstallation({
    operators: 1,
    gateways: 2,
    hasLedger: true,
    values: { tenants: [{ namespace: 'team-b', budgets: [{ period: 'Month', limit: '0.01' }] }] },
  });
  // Dollars for a million tokens, so high that a few tokens are seen in a column.
  const pricing = { inputPerMillion: '100000', outputPerMillion: '200000' };
  await installation.apply(
    namespaceOf('platform'),
    namespaceOf('team-a'),
    namespaceOf('team-b'),
    credentialSecret('platform', 'sim', simulator.url, 'any'),
    provider('platform', 'sim', simulator.url, 'sim'),
    // Calls with its own provider would cost the tenant nothing.
    modelRoute('platform', 'm', ['sim'], { pricing, allowedNamespaces: { from: 'All' } }),
    importedApiKey('team-a', 'busy', { owner: { name: 'Ada' } }),
    importedApiKey('team-a', 'idle'),
    importedApiKey('team-a', 'known'),
    importedApiKey('team-a', 'limited'),
    importedApiKey('team-b', 'one'),
    importedApiKey('team-b', 'two'),
  );
  for (const key of ['busy', 'idle', 'known', 'limited'])
    await installation.awaitCondition(`apikey/${key}`, 'Ready', 'team-a');
  for (const key of ['one', 'two']) await installation.awaitCondition(`apikey/${key}`, 'Ready', 'team-b');
  await installation.awaitCondition('modelroute/m', 'Ready', 'platform');
}, clusterWaitMs);

/** Settled when a call of the key was answered; gives what it cost, in dollars. */
async function spendWith(namespace: string, name: string): Promise<string> {
  const [gateway] = installation.gateways;
  if (gateway === undefined) throw new Error('no gateway');
  const said = await askGateway(gateway, importedKey(namespace, name), 'm');
  expect(said.status, said.text).toBe(200);
  const { usage } = JSON.parse(said.text);
  // In hundred-thousandths and two hundred-thousandths of a million: tenths of a dollar, and two of them.
  return ((usage.prompt_tokens + 2 * usage.completion_tokens) / 10).toFixed(2);
}

afterAll(async () => {
  await installation?.stop();
  await simulator?.close();
}, 60_000);

test('a request shows in kubectl get apikeys, with its cost and time', async () => {
  const { plane, operators } = installation;
  const dollars = await spendWith('team-a', 'busy');
  const rows = await until(async () => {
    const table = await plane.mustKubectl(['get', 'apikeys', '-n', 'team-a']);
    const lines = table.split('\n').map((line) => line.split(/\s{2,}/));
    return lines.some(([name, ...cells]) => name === 'busy' && cells.includes(dollars)) && lines;
  });
  const [head = [], busy = [], idle = []] = rows;
  const column = head.indexOf('LAST-USED');
  expect(head.slice(0, 7)).toEqual(['NAME', 'STATE', 'READY', 'HINT', 'OWNER', 'SPEND', 'LAST-USED']);
  expect(busy).toEqual(expect.arrayContaining(['busy', 'True', 'Ada', dollars]));
  expect(busy[column]).toMatch(/^\d\S*$/);
  expect(idle[0]).toBe('idle');
  expect(idle.join(' ')).not.toContain(dollars);

  const { port } = new URL(operators[0]?.metricsUrl ?? '');
  const { text } = await rawCall({ port: Number(port) }, { path: '/metrics' });
  expect(text).toMatch(/^penstock_operator_spend_age_seconds \d/m);
  expect(text).toMatch(/^penstock_operator_exhausted_keys \d/m);
});

test('a used-up budget is reported by its condition and an event, and ends with a higher limit', async () => {
  const { plane } = installation;
  await spendWith('team-a', 'limited');
  const limit = (dollars: string) =>
    plane.mustKubectl([
      ...['patch', 'apikeys.penstock.dev/limited', '-n', 'team-a', '--type=merge', '-p'],
      JSON.stringify({ spec: { budgets: [{ period: 'Month', limit: dollars }] } }),
    ]);
  const conditions = async (): Promise<{ type: string; message: string }[]> => {
    const text = await plane.mustKubectl([
      ...['get', 'apikeys.penstock.dev/limited', '-n', 'team-a', '-o', 'jsonpath={.status.conditions}'],
    ]);
    return JSON.parse(text);
  };
  await limit('0.01');
  await installation.awaitCondition('apikey/limited', 'BudgetExhausted', 'team-a');
  const reported = (await conditions()).find(({ type }) => type === 'BudgetExhausted')?.message;
  expect(reported).toMatch(/^Monthly budget used up: \$\d+\.\d+ of \$0\.01 since .*-01\. Calls/);
  const limited = { kind: 'ApiKey', namespace: 'team-a', name: 'limited' };
  await eventsOf(plane, limited, 'BudgetExhausted');
  // The limit is in the usage at once, though it was written a moment ago.
  await until(async () => {
    const path = 'jsonpath={.status.usage.periods[0].limit}';
    return (
      (await plane.mustKubectl(['get', 'apikeys.penstock.dev/limited', '-n', 'team-a', '-o', path])) ===
      '0.01'
    );
  });
  await limit('1000');
  await until(async () => (await conditions()).every(({ type }) => type !== 'BudgetExhausted'));
});

test('a namespace budget used up by one key rejects the next key at another gateway, with an event of the namespace', async () => {
  const { plane, gateways } = installation;
  const [, other] = gateways;
  if (other === undefined) throw new Error('no second gateway');
  // What was spent before the operator has heard of the ledger is no news.
  await spendWith('team-a', 'known');
  await until(async () => {
    const path = 'jsonpath={.status.usage.spend}';
    return (await plane.mustKubectl(['get', 'apikeys/known', '-n', 'team-a', '-o', path])) !== '';
  });
  await spendWith('team-b', 'one');
  const reported = await eventsOf(
    plane,
    { kind: 'Namespace', namespace: 'team-b', name: 'team-b' },
    'TenantBudgetExhausted',
  );
  expect(reported.map(({ reason }) => reason)).toEqual(['TenantBudgetExhausted']);
  // The gateway asks the ledger by itself, a moment before the operator or after it.
  const refused = await until(async () => {
    const said = await askGateway(other, importedKey('team-b', 'two'), 'm');
    return said.status === 429 && said;
  });
  expect(JSON.parse(refused.text).error.code, refused.text).toBe('insufficient_quota');
});

test('the ledger shows the spend of a namespace budget and its worst overshoot, to readers of the keys there', async () => {
  const { plane } = installation;
  const subject = { kind: 'ServiceAccount', namespace: 'team-b', name: 'ada' };
  await installation.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: 'team-b', name: 'ada' } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { namespace: 'team-b', name: 'ada' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'penstock-view' },
      subjects: [subject],
    },
  );
  const token = await serviceAccountToken(plane, 'team-b', 'ada');
  const ask = (namespace: string) =>
    fetch(`${installation.ledger().url}/v1/budgets?namespace=${namespace}`, {
      headers: { authorization: `Bearer ${token}` },
    });
  const { budgets } = JSON.parse(await (await ask('team-b')).text());
  expect(budgets).toEqual([
    expect.objectContaining({
      namespace: 'team-b',
      period: 'Month',
      action: 'Block',
      limitUsd: '0.01',
      costUsd: expect.stringMatching(/^\d+[.]\d+$/),
      usedShare: expect.any(Number),
      atWorst: { requests: 2, dollars: '0.005' },
    }),
  ]);
  expect(budgets[0].usedShare).toBeGreaterThan(1);
  expect((await ask('team-a')).status).toBe(403);
});
