// Does anybody who calls notice `helm upgrade` and `helm rollback` of operator and gateways?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHART, mustHelm, RELEASE_NAMESPACE, type Values } from '../../charts/helm.ts';
import { loadEgress, type OwnedCluster, openTeam, startLoad } from './load.ts';
import { openOwnNodes } from './own-nodes.ts';
import { inRelease, installChart, smallPods, withoutVolume } from './release.ts';
import { stopwatch } from './stopwatch.ts';

let cluster: OwnedCluster;
let key: string;
const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);

const values = (revision: string): Values => ({
  ...withoutVolume,
  egress: loadEgress,
  operator: { ...smallPods, podAnnotations: { revision } },
  gateway: { ...smallPods, replicas: 3, podAnnotations: { revision } },
});

beforeAll(async () => {
  cluster = await openOwnNodes({ say });
  await installChart(cluster, values('one'));
  key = await openTeam(cluster);
});
afterAll(() => cluster?.stop());

test.each([
  ['upgrade', ['upgrade', 'penstock', CHART], values('two')],
  ['rollback', ['rollback', 'penstock', '1'], undefined],
])(
  'under 100 requests a second and 100 open streams, helm %s fails and cuts none',
  async (name, command, given) => {
    const load = await startLoad(cluster, name, { key });
    const before = await podNames();
    const since = stopwatch();
    await mustHelm(cluster, [...command, ...inRelease, '--wait', '--timeout', '5m'], given);
    const rolledS = since();
    // The old ones, until each has ended its streams.
    await cluster.mustKubectl(['wait', ...before, ...inRelease, '--for=delete', '--timeout=3m'], {
      timeoutMs: 200_000,
    });
    const goneS = since();
    const figures = await load.stop();
    say(
      `helm ${name}: new pods after ${rolledS} s, old ones gone after ${goneS} s; ${JSON.stringify(figures)}`,
    );
    expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
    expect(figures.requests).toBeGreaterThan(1_000);
    expect(figures.streams).toBeGreaterThanOrEqual(100);
    expect((await podNames()).filter((pod) => before.includes(pod))).toEqual([]);
  },
);

/** Of operator and gateways. The ledger does not change, and its pod stays. */
async function podNames(): Promise<string[]> {
  const ofDeployments = ['-l', 'pod-template-hash,app.kubernetes.io/component!=ledger'];
  const names = await cluster.mustKubectl([
    'get',
    'pods',
    '-n',
    RELEASE_NAMESPACE,
    ...ofDeployments,
    '-o',
    'name',
  ]);
  return names.trim().split('\n');
}
