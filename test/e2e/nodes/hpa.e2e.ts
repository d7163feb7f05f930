// Do gateways become more when there is more to do, and fewer again, and does nobody who calls notice either?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadEgress, type OwnedCluster, openTeam, startLoad } from './load.ts';
import { openOwnNodes } from './own-nodes.ts';
import { awaitState, inRelease, installChart, smallPods } from './release.ts';
import { stopwatch } from './stopwatch.ts';
import { watchValue } from './watch.ts';

let cluster: OwnedCluster;
let key: string;
const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);

const [fewest, most] = [2, 4];
const gateways = 'deployment/penstock-gateway';

beforeAll(async () => {
  cluster = await openOwnNodes({ say, hasMetrics: true });
  await installChart(cluster, {
    egress: loadEgress,
    operator: smallPods,
    gateway: {
      ...smallPods,
      autoscaling: {
        type: 'HPA',
        minReplicas: fewest,
        maxReplicas: most,
        targetCpuPercent: 60,
        scaleDownStabilizationSeconds: 30,
      },
    },
  });
  key = await openTeam(cluster);
  // Before that it knows nothing of anybody's use.
  await awaitState(cluster, 'hpa/penstock-gateway', 'condition=ScalingActive', 180);
});
afterAll(() => cluster?.stop());

test('under load the maximum of pods runs, and afterwards the minimum: no request fails, no stream is cut', async () => {
  const replicas = await watchValue(cluster, 'replicas', [gateways, ...inRelease], '.spec.replicas');
  await awaitState(cluster, gateways, `jsonpath={.spec.replicas}=${fewest}`, 180);

  const much = await startLoad(cluster, 'much', { key });
  const since = stopwatch();
  await awaitState(cluster, gateways, `jsonpath={.status.readyReplicas}=${most}`, 240);
  say(`${most} gateways are ready after ${since()} s of load`);
  const little = await startLoad(cluster, 'little', { key, requestsPerSecond: 5, streams: 5 });
  const ofMuch = await much.stop();
  say(`much: ${JSON.stringify(ofMuch)}`);

  const ended = stopwatch();
  await awaitState(cluster, gateways, `jsonpath={.spec.replicas}=${fewest}`, 240);
  say(`${fewest} gateways are asked for ${ended()} s after the load has ended`);
  await awaitState(cluster, gateways, 'jsonpath={.status.terminatingReplicas}=0', 120);
  const ofLittle = await little.stop();
  say(`little: ${JSON.stringify(ofLittle)}`);
  say(`replicas asked for: ${distinct(await replicas.values()).join(', ')}`);
  await replicas.end();

  for (const figures of [ofMuch, ofLittle]) expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
});

/** Without what only comes again. */
function distinct(values: readonly string[]): string[] {
  return values.filter((value, index) => value !== values[index - 1]);
}
