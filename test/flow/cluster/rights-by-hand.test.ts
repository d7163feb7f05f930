// Does everything work where Helm wrote no role, and somebody applied the file of the guide instead? Nobody is refused anything.

import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { accounts, userOf } from './accounts.ts';
import { askGateway, readIssuedKey } from './ask.ts';
import { startHelmTest, startPoliciesJob } from './errands.ts';
import { describeUse, isRole } from './grants.ts';
import { namespace, tableNamespace, useInstallation } from './installation.ts';
import { credentialSecret, issuedApiKey, modelRoute, provider } from './manifests.ts';
import { useSimulator } from './simulator.ts';

const simulator = useSimulator();
const installation = useInstallation({
  operators: 1,
  gateways: 1,
  hasLedger: true,
  namespaces: [namespace, tableNamespace, 'team-a'],
  appliedBefore: [fileURLToPath(new URL('../../../docs/examples/rights/roles.yaml', import.meta.url))],
  values: { rbac: { create: false }, tableNamespace: { create: false } },
});

test('models, issued keys, sums, the policies Job and helm test work, and no account is refused anything', async () => {
  const { apply, awaitCondition, gateways, ledger, plane, rendered } = installation();
  expect(rendered.filter(isRole)).toEqual([]);
  expect((await (await startPoliciesJob(installation())).exit).code).toBe(0);
  await apply(
    credentialSecret('team-a', 'sim', simulator().url, 'sk-one'),
    provider('team-a', 'sim', simulator().url, 'sim'),
    modelRoute('team-a', 'small', ['sim']),
    issuedApiKey('team-a', 'bot'),
  );
  for (const ref of ['modelroute/small', 'apikey/bot']) await awaitCondition(ref, 'Programmed', 'team-a');
  const key = await readIssuedKey(installation(), 'team-a', 'bot');
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('there is no gateway');
  const answered = await askGateway(gateway, key, 'small');
  expect(answered.status).toBe(200);

  // The ledger is ready with its certificate from the operator, and asks the API server who asks.
  await ledger().process.answering(`${ledger().metricsUrl}/readyz`);
  const headers = { authorization: `Bearer ${plane.adminToken}` };
  await until(async () => {
    const sums = await fetch(`${ledger().url}/v1/sums?namespace=team-a&by=apiKey`, { headers });
    return sums.ok && (await sums.text()).includes('"team-a/bot"');
  });

  const noModel = { PENSTOCK_MODEL: '', PENSTOCK_PATIENCE_MS: '20000' };
  expect((await (await startHelmTest(installation(), noModel)).exit).code).toBe(0);
  expect(
    await plane.mustKubectl([
      'get',
      'pod',
      'penstock-test',
      '-n',
      namespace,
      '-o',
      'jsonpath={..ownerReferences}',
    ]),
  ).toContain('"penstock-test"');

  const users = accounts.map(userOf);
  const asked = (await plane.audit()).filter(({ user }) => users.includes(user));
  // The demo is left out.
  expect(new Set(asked.map(({ user }) => user)).size).toBe(users.length - 1);
  expect(asked.filter(({ status }) => status === 403).map(describeUse)).toEqual([]);
}, 120_000);
