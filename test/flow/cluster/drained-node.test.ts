// Does a gateway that goes together with the ledger, as on a node that is drained, hand its last records over? The ledger reads on
// until the gateway has ended.

import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { askGateway } from './ask.ts';
import { useInstallation } from './installation.ts';
import { credentialSecret, importedApiKey, importedKey, modelRoute, provider } from './manifests.ts';
import { useSimulator } from './simulator.ts';

const simulator = useSimulator();
const installation = useInstallation({
  operators: 1,
  gateways: 1,
  hasLedger: true,
  namespaces: ['team-a'],
  // So long it answers after the signal.
  gatewayEnv: { PENSTOCK_DRAIN_ACCEPT_MS: '3000' },
});

test('the ledger reads on until the gateway has ended, and no record goes to the log', async () => {
  const { apply, awaitCondition, gateways, ledger, plane } = installation();
  await apply(
    credentialSecret('team-a', 'sim', simulator().url, 'sk-one'),
    provider('team-a', 'sim', simulator().url, 'sim'),
    modelRoute('team-a', 'small', ['sim']),
    importedApiKey('team-a', 'bot'),
  );
  for (const ref of ['modelroute/small', 'apikey/bot']) await awaitCondition(ref, 'Programmed', 'team-a');
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('there is no gateway');
  const ask = async () =>
    expect(await askGateway(gateway, importedKey('team-a', 'bot'), 'small')).toMatchObject({ status: 200 });
  const headers = { authorization: `Bearer ${plane.adminToken}` };
  const requests = async () => {
    const sums = await fetch(`${ledger().url}/v1/sums?namespace=team-a&by=apiKey`, { headers });
    return /"requests":(\d+)/.exec(await sums.text())?.[1];
  };
  await ask();
  await until(async () => (await requests()) === '1');

  // As the node does it: both are marked as deleted, and both get the signal.
  await gateway.pod.startDeletion();
  const startedMs = performance.now();
  ledger().process.signal('SIGTERM');
  gateway.process.signal('SIGTERM');
  await gateway.process.line(/"draining"/);
  await ask();
  await ask();
  expect((await gateway.process.exit).code).toBe(0);
  console.log(
    `the gateway ended after ${Math.round(performance.now() - startedMs)} ms, of which it accepted for 3000`,
  );
  expect(gateway.process.stdout()).not.toContain('a ledger record was not acknowledged');
  expect(await requests()).toBe('3');
  await gateway.pod.remove();
  expect((await ledger().process.exit).code).toBe(0);
}, 60_000);
