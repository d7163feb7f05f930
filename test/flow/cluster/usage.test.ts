// Who spends what? A request through a real gateway, its record in a real ledger, and what kubectl shows of it a moment later.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
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
import { eventsOf } from './told.ts';

let simulator: Simulator;
let installation: Installation;

beforeAll(async () => {
  simulator = await startSimulator();
  installation = await startInstallation({ operators: 1, gateways: 1, hasLedger: true });
  // Dollars for a million tokens, so high that a few tokens are seen in a column.
  const pricing = { inputPerMillion: '100000', outputPerMillion: '200000' };
  await installation.apply(
    namespaceOf('platform'),
    namespaceOf('team-a'),
    credentialSecret('platform', 'sim', simulator.url, 'any'),
    provider('platform', 'sim', simulator.url, 'sim'),
    // Calls with its own provider would cost the tenant nothing.
    modelRoute('platform', 'm', ['sim'], { pricing, allowedNamespaces: { from: 'All' } }),
    importedApiKey('team-a', 'busy', { owner: { name: 'Ada' } }),
    importedApiKey('team-a', 'idle'),
  );
  for (const key of ['busy', 'idle']) await installation.awaitCondition(`apikey/${key}`, 'Ready', 'team-a');
  await installation.awaitCondition('modelroute/m', 'Ready', 'platform');
}, clusterWaitMs);

afterAll(async () => {
  await installation?.stop();
  await simulator?.close();
}, 60_000);

test('a request shows in kubectl get apikeys, with what it cost and when it was', async () => {
  const { plane, gateways, operators } = installation;
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('no gateway');
  const said = await askGateway(gateway, importedKey('team-a', 'busy'), 'm');
  expect(said.status, said.text).toBe(200);
  const { usage } = JSON.parse(said.text);
  // In hundred-thousandths and two hundred-thousandths of a million: tenths of a dollar, and two of them.
  const dollars = ((usage.prompt_tokens + 2 * usage.completion_tokens) / 10).toFixed(2);
  const rows = await until(async () => {
    const table = await plane.mustKubectl(['get', 'apikeys', '-n', 'team-a']);
    return table.includes(dollars) && table.split('\n').map((line) => line.split(/\s{2,}/));
  });
  const [head = [], busy = [], idle = []] = rows;
  expect(head.slice(0, 6)).toEqual(['NAME', 'READY', 'HINT', 'OWNER', 'SPEND', 'LAST-USED']);
  expect(busy).toEqual(expect.arrayContaining(['busy', 'True', 'Ada', dollars]));
  expect(busy.join(' ')).toMatch(/ \d+s /);
  expect(idle.join(' ')).not.toContain(dollars);

  const { port } = new URL(operators[0]?.metricsUrl ?? '');
  const { text } = await rawCall({ port: Number(port) }, { path: '/metrics' });
  expect(text).toMatch(/^penstock_operator_spend_age_seconds \d/m);
  expect(text).toMatch(/^penstock_operator_exhausted_keys 0$/m);
});

test('a budget that is used up is told by its condition and an event, and goes with a higher limit', async () => {
  const { plane } = installation;
  const limit = (dollars: string) =>
    plane.mustKubectl([
      ...['patch', 'apikeys.penstock.dev/busy', '-n', 'team-a', '--type=merge', '-p'],
      JSON.stringify({ spec: { budgets: [{ period: 'Month', limit: dollars }] } }),
    ]);
  const conditions = async (): Promise<{ type: string; message: string }[]> => {
    const text = await plane.mustKubectl([
      ...['get', 'apikeys.penstock.dev/busy', '-n', 'team-a', '-o', 'jsonpath={.status.conditions}'],
    ]);
    return JSON.parse(text);
  };
  await limit('0.01');
  await installation.awaitCondition('apikey/busy', 'BudgetExhausted', 'team-a');
  const told = (await conditions()).find(({ type }) => type === 'BudgetExhausted')?.message;
  expect(told).toMatch(
    /^the budget for the month is used up: of 0\.01 dollars \d+\.\d+ were spent since .*-01; calls/,
  );
  const busy = { kind: 'ApiKey', namespace: 'team-a', name: 'busy' };
  await eventsOf(plane, busy, 'BudgetExhausted');
  // The limit stands in the usage at once, though it was written a moment ago.
  await until(async () => {
    const path = 'jsonpath={.status.usage.periods[0].limit}';
    return (
      (await plane.mustKubectl(['get', 'apikeys.penstock.dev/busy', '-n', 'team-a', '-o', path])) === '0.01'
    );
  });
  await limit('1000');
  await until(async () => (await conditions()).every(({ type }) => type !== 'BudgetExhausted'));
});
