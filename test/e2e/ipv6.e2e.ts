// Does a cluster that has IPv6 alone get its answers, statuses and spend? API server, operator, gateway and ledger listen on `::1`, and the
// upstream on an address of this machine, which a policy opens: what dials an address of IPv4 finds nobody.

import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { askGateway } from '../flow/cluster/ask.ts';
import { useInstallation } from '../flow/cluster/installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from '../flow/cluster/manifests.ts';
import { until } from '../support/until.ts';

const installation = useInstallation({
  operators: 1,
  gateways: 1,
  hasLedger: true,
  plane: { host: '::1' },
  values: { egress: { allow: [{ cidr: `${ownAddress()}/128`, namespaces: ['*'] }] } },
});
const sumsSchema = z.object({ rows: z.array(z.object({ requests: z.number() })) });
let upstream: Simulator | undefined;

beforeAll(async () => {
  upstream = await startSimulator({ host: ownAddress() });
});
afterAll(() => upstream?.close());

test('objects become Ready, a call is answered, and the ledger has its record', async () => {
  const { apply, awaitCondition, gateways, ledger, plane } = installation();
  const [gateway] = gateways;
  if (gateway === undefined || upstream === undefined) throw new Error('not all of it runs');
  await apply(
    namespaceOf('team-a'),
    credentialSecret('team-a', 'sim', upstream.url, 'sk-sim'),
    provider('team-a', 'sim', upstream.url, 'sim'),
    modelRoute('team-a', 'm', ['sim']),
    importedApiKey('team-a', 'caller'),
  );
  for (const ref of ['provider/sim', 'modelroute/m', 'apikey/caller'])
    await awaitCondition(ref, 'Ready', 'team-a');

  expect(await askGateway(gateway, importedKey('team-a', 'caller'), 'm')).toMatchObject({ status: 200 });
  const headers = { authorization: `Bearer ${plane.adminToken}` };
  await until(async () => {
    const sums = await (await fetch(`${ledger().url}/v1/sums?namespace=team-a`, { headers })).json();
    return sumsSchema.parse(sums).rows.some(({ requests }) => requests === 1);
  });
}, 60_000);

test('no process listens on IPv4', async () => {
  const { gateways, ledger, operators, plane } = installation();
  const urls = [
    plane.url,
    ledger().url,
    ...gateways.flatMap(({ url, metricsUrl }) => [url, metricsUrl]),
    ...operators.map(({ metricsUrl }) => metricsUrl),
  ];
  for (const url of urls) {
    const { hostname, port } = new URL(url);
    expect(hostname).toBe('[::1]');
    const dialled = connect({ host: '127.0.0.1', port: Number(port) });
    const [error] = await once(dialled, 'error');
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
  }
});

/** Loopback addresses of IPv6 are opened by nothing. */
function ownAddress(): string {
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal, scopeid }) => family === 'IPv6' && !internal && scopeid === 0);
  if (found === undefined) throw new Error('This test needs an IPv6 address: run where a network has one');
  return found.address;
}
