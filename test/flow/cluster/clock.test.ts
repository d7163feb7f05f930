// What if the clock of the operator is wrong, by five minutes in either way? Nobody is refused and nothing is served for longer than
// it says: when a key ends is judged by each gateway, and who leads, and which table is newer, by nobody's clock.
//
// The operator's processes get a `Date` that is shifted, loaded before them; timers run as ever, as with a clock that was set wrong.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { mergePatch } from '../../../core/kube/patch.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { runs, some } from '../../support/runs.ts';
import { askGateway, askUntil } from './ask.ts';
import { type OperatorProcess, useInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  provider,
} from './manifests.ts';
import { startTraffic } from './traffic.ts';

const installation = useInstallation({ operators: 0, gateways: runs(2), namespaces: ['team-a'] });
let simulator: Simulator;
let operator: OperatorProcess;

beforeAll(async () => {
  simulator = await startSimulator();
  operator = await startOperator(0);
  const { apply, awaitCondition, gatewaysAreReady } = installation();
  await gatewaysAreReady();
  await apply(
    credentialSecret('team-a', 'sim', simulator.url, 'sk-one'),
    provider('team-a', 'sim', simulator.url, 'sim'),
    modelRoute('team-a', 'm', ['sim']),
    importedApiKey('team-a', 'bot'),
  );
  for (const ref of ['modelroute/m', 'apikey/bot']) await awaitCondition(ref, 'Ready', 'team-a');
}, 60_000);
afterAll(() => simulator?.close());

const minutes = 60_000;

const clocks: readonly (readonly [string, number])[] = [
  ['ahead', 5 * minutes],
  ['behind', -5 * minutes],
];

test.each(some(clocks, 2))(
  'an operator with a clock five minutes %s takes over and changes arrive; keys expire on the second, and overlaps have their length',
  async (which, shiftMs) => {
    const { apply, awaitCondition, gateways, plane } = installation();
    const traffic = startTraffic(gateways, importedKey('team-a', 'bot'), 'm');
    const before = await generationServed();
    await operator.process.stop(20_000);
    const startedMs = performance.now();
    operator = await startOperator(shiftMs);

    const name = `made-${which}`;
    const endMs = Math.ceil(Date.now() / 1_000) * 1_000 + 10_000;
    await mergePatch(plane.client, '/apis/penstock.dev/v1alpha1/namespaces/team-a/modelroutes/m', {
      spec: { targets: [{ name: 'sim', providerRef: { name: 'sim' }, upstreamModel: name }] },
    });
    await apply(
      importedApiKey('team-a', name),
      importedApiKey('team-a', `${name}-ends`, { expiresAt: new Date(endMs).toISOString() }),
      issuedApiKey('team-a', name.replace('made', 'issued'), { rotation: { overlap: '1h' } }),
    );
    for (const ref of [`modelroute/m`, `apikey/${name}`, `apikey/${name.replace('made', 'issued')}`])
      await awaitCondition(ref, 'Programmed', 'team-a', 40);
    const arrivedMs = performance.now() - startedMs;
    // Numbers never go back, whatever the time is.
    expect(await generationServed()).toBeGreaterThan(before);
    for (const gateway of gateways)
      expect((await askGateway(gateway, importedKey('team-a', name), 'm')).model).toBe(name);

    // The operator ahead holds it for over; gateways do not.
    const ending = importedKey('team-a', `${name}-ends`);
    const ended = await Promise.all(
      gateways.map(async (gateway) => {
        await askUntil(gateway, ending, 'm', ({ status }) => status === 200 || Date.now() >= endMs);
        await askUntil(gateway, ending, 'm', ({ status }) => status === 401);
        return Date.now() - endMs;
      }),
    );

    const issued = name.replace('made', 'issued');
    const first = await readKey(issued);
    await mergePatch(plane.client, `/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys/${issued}`, {
      spec: { rotation: { trigger: 'now', overlap: '1h' } },
    });
    await plane.mustKubectl([
      ...[
        'wait',
        `secret/${issued}-key`,
        '-n',
        'team-a',
        '--for=jsonpath={.data.previousApiKey}',
        '--timeout=40s',
      ],
    ]);
    for (const key of [first, await readKey(issued)]) {
      for (const gateway of gateways) expect((await askGateway(gateway, key, 'm')).status).toBe(200);
    }

    const { asked, bad } = await traffic.stop();
    console.log(
      `an operator with its clock 5 minutes ${which}: ${bad.length} of ${asked} requests failed; it led and changes were everywhere ` +
        `after ${Math.round(arrivedMs)} ms; a key was refused ${ended.map(Math.round).join(' and ')} ms after its end`,
    );
    expect(bad).toEqual([]);
    for (const lateMs of ended) {
      expect(lateMs).toBeGreaterThanOrEqual(0);
      expect(lateMs).toBeLessThan(2_000);
    }
  },
  120_000,
);

function startOperator(shiftMs: number): Promise<OperatorProcess> {
  // Nothing of the product knows of it: it is as if the node were wrong.
  const shifted = `const Real = Date; globalThis.Date = class extends Real {
    constructor(...given) { super(...(given.length === 0 ? [Real.now() + ${shiftMs}] : given)); }
    static now() { return Real.now() + ${shiftMs}; }
  };`;
  const preload = `data:text/javascript,${encodeURIComponent(shifted)}`;
  return installation().startOperator(shiftMs === 0 ? {} : { NODE_OPTIONS: `--import=${preload}` });
}

async function readKey(name: string): Promise<string> {
  const secret = ['get', 'secret', `${name}-key`, '-n', 'team-a', '-o', 'jsonpath={.data.apiKey}'];
  return Buffer.from(await installation().plane.mustKubectl(secret), 'base64').toString();
}

async function generationServed(): Promise<number> {
  const [gateway] = installation().gateways;
  if (gateway === undefined) throw new Error('an installation has gateways');
  return (await askGateway(gateway, importedKey('team-a', 'bot'), 'm')).generation ?? Number.NaN;
}
