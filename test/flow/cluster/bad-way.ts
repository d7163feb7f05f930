// What if the way to the API server is bad, and what it says is bad too? Both at once, by a seed: connections are slowed, cut, reset
// and corrupted by the byte, calls are refused, and watches break, stall, and tell garbled, old and repeated events.

import { z } from 'zod';
import { mergePatch } from '../../../core/kube/patch.ts';
import { type ApiProxy, type Passing, startApiProxy } from '../../cluster/api-proxy.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import { createRandom, type Random } from '../../security/random.ts';
import {
  type FaultProxy,
  type LinkFaultType,
  seededSchedule,
  startFaultProxy,
} from '../../support/fault-proxy.ts';
import { until } from '../../support/until.ts';
import { askGateway } from './ask.ts';
import type { Installation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { startTraffic } from './traffic.ts';

export interface BadWayOptions {
  readonly seed: number;
  readonly linkFaults: readonly LinkFaultType[];
  /** Watches that fall silent are noticed after more than a minute. */
  readonly canStall: boolean;
}

export interface BadWay {
  readonly url: string;
  /** How often each fault has happened so far. */
  fired(): ReadonlyMap<string, number>;
  /** A good one until then: it begins with a cut of every connection. */
  harm(): void;
  /** A good one again, and what was harmed is cut. */
  heal(): void;
  close(): Promise<void>;
}

export async function startBadWay(plane: ControlPlane, options: BadWayOptions): Promise<BadWay> {
  const { seed, linkFaults, canStall } = options;
  const random = createRandom(seed);
  const said = new Map<string, number>();
  let isGood = true;
  /** The line before, by watch: what is reported again too late. */
  const before = new WeakMap<Passing, string>();
  const note = (what: string): void => void said.set(what, (said.get(what) ?? 0) + 1);
  const proxy: ApiProxy = await startApiProxy(plane, {
    refusal() {
      const status = isGood ? undefined : [429, 500, 503][random(30)];
      if (status !== undefined) note(`a call answered with ${status}`);
      return status;
    },
    watchLine(passing, line) {
      const older = before.get(passing) ?? line;
      before.set(passing, line);
      const fault = isGood ? undefined : drawLineFault(random, passing, canStall);
      if (fault === undefined) return [line];
      note(`a watch: ${fault}`);
      switch (fault) {
        case 'garbled':
          return [line.slice(0, Math.ceil(line.length / 2))];
        case 'an event twice':
          return [line, line];
        case 'an older event':
          return [line, older];
        case 'cut':
        case 'stall':
          return fault;
      }
    },
  });
  const link: FaultProxy = await startFaultProxy({ port: Number(new URL(proxy.url).port) });
  return {
    url: `https://127.0.0.1:${link.port}`,
    fired() {
      const all = new Map(said);
      for (const { fault, isFired } of link.passages)
        if (isFired)
          all.set(`a connection: ${fault.type}`, (all.get(`a connection: ${fault.type}`) ?? 0) + 1);
      return all;
    },
    harm() {
      isGood = false;
      link.schedule(seededSchedule({ seed, types: linkFaults, bytesMax: { down: 60_000, up: 12_000 } }));
      proxy.cutAll();
    },
    heal() {
      isGood = true;
      link.schedule({ type: 'none' });
      proxy.cutAll();
    },
    async close() {
      await link.close();
      await proxy.close();
    },
  };
}

const lineFaults = ['garbled', 'an event twice', 'an older event', 'cut', 'stall'] as const;

/** Of leases nothing is harmed: they change by themselves and often, and what we wait for is in the others. */
function drawLineFault(random: Random, { path }: Passing, canStall: boolean) {
  if (path.includes('/leases')) return undefined;
  return lineFaults.slice(0, canStall ? 5 : 4)[random(30)];
}

const key = importedKey('platform', 'bot');
const folder = '/apis/penstock.dev/v1alpha1/namespaces/platform';
const routePath = `${folder}/modelroutes/m`;
const keyPath = `${folder}/apikeys/bot`;

const programmedSchema = z.object({
  metadata: z.object({ generation: z.number() }),
  status: z.object({
    programmed: z.object({ runningPods: z.number(), readyPods: z.number() }).optional(),
    conditions: z.array(
      z.object({ type: z.string(), status: z.string(), observedGeneration: z.number().optional() }),
    ),
  }),
});

/**
 * In its present form. Asked again and again: kubectl waits no longer than a minute, and silences are noticed later.
 *
 * @param pods Of how many gateways that is said; default: of all that are ready.
 */
async function isProgrammed({ client }: ControlPlane, path: string, pods?: number): Promise<boolean> {
  const read = programmedSchema.safeParse(await client.call({ method: 'GET', path }));
  const condition = read.data?.status.conditions.find(({ type }) => type === 'Programmed');
  const isNow =
    condition?.status === 'True' && condition.observedGeneration === read.data?.metadata.generation;
  const { runningPods, readyPods } = read.data?.status.programmed ?? {};
  return isNow && (pods === undefined || (runningPods === pods && readyPods === pods));
}

export interface BadWayRun {
  readonly asked: number;
  readonly bad: readonly string[];
  /** Milliseconds that each change took until every gateway was said to serve it. */
  readonly tookMs: readonly number[];
  /** Changes that were said to be served by a gateway that did not. */
  readonly untrue: readonly string[];
}

/**
 * Changes a route again and again while every gateway is called; each change has to arrive.
 *
 * @param changes At least.
 * @param harm Called when all gateways are known to be ready: nobody calls those that are not, and nobody waits for them.
 * @param isEnough Until then there are more.
 */
export async function changeOnBadWay(
  { plane, apply, gateways }: Installation,
  upstreamUrl: string,
  changes: number,
  harm: () => void,
  isEnough = () => true,
): Promise<BadWayRun> {
  await apply(
    namespaceOf('platform'),
    credentialSecret('platform', 'sim', upstreamUrl, 'sk-one'),
    provider('platform', 'sim', upstreamUrl, 'sim'),
    modelRoute('platform', 'm', ['sim']),
    importedApiKey('platform', 'bot'),
  );
  for (const path of [routePath, keyPath]) await until(() => isProgrammed(plane, path), 50);
  // What was said of how many stays, as long as nothing changes: it is said again of another form.
  for (let form = 1; !(await isProgrammed(plane, routePath, gateways.length)); form++) {
    await changeModel(plane, `ready-${form}`);
    await until(() => isProgrammed(plane, routePath), 50);
  }
  harm();
  const traffic = startTraffic(gateways, key, 'm');
  const tookMs: number[] = [];
  const untrue: string[] = [];
  for (let change = 1; change <= changes || !isEnough(); change++) {
    const model = `change-${change}`;
    const startedMs = performance.now();
    await changeModel(plane, model);
    await until(() => isProgrammed(plane, routePath), 50);
    tookMs.push(performance.now() - startedMs);
    for (const gateway of gateways) {
      const said = await askGateway(gateway, key, 'm');
      if (said.status !== 200 || said.model !== model)
        untrue.push(`${gateway.name}: ${said.status} ${said.model}`);
    }
  }
  return { ...(await traffic.stop()), tookMs, untrue };
}

async function changeModel({ client }: ControlPlane, upstreamModel: string): Promise<void> {
  await mergePatch(client, routePath, {
    spec: { targets: [{ name: 'sim', providerRef: { name: 'sim' }, upstreamModel }] },
  });
}
