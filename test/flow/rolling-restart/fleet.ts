// A few gateways at addresses that stay, and a provider behind them; one after the other can be restarted, as a rolling update does.

import { fileURLToPath } from 'node:url';
import type { RouteEntry, RoutingTable } from '../../../core/contract/routing-table.ts';
import { freePort } from '../../cluster/free-port.ts';
import {
  type Folder,
  type ListeningProcess,
  launchListening,
  makeFolder,
} from '../../gateway/process/gateway-process.ts';
import { tableOf, testKey } from '../../gateway/rig.ts';
import type { LoadPlan } from '../../support/load/figures.ts';
import { type RunningProcess, startProcess } from '../../support/process.ts';

export interface FleetOptions {
  readonly gateways: number;
  /** How long one that leaves goes on accepting: longer than its balancer takes to see it. */
  readonly drainAcceptMs: number;
  /** Directives of the provider for a stream. */
  readonly stream: string;
}

export interface Member {
  readonly port: number;
  /** Of `/readyz`. */
  readonly readyPort: number;
}

export interface Fleet {
  readonly members: readonly Member[];
  /** What callers of the fleet need to know beside its address. */
  readonly plan: Pick<LoadPlan, 'key' | 'models'>;
  /** SIGTERM; when it has ended, another begins in its place. Settled when that one is ready. */
  restart(index: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  await using started = new AsyncDisposableStack();
  const provider = await startProcess(fileURLToPath(new URL('../../../simulator/main.ts', import.meta.url)), {
    env: { PORT: '0' },
  });
  started.defer(async () => void (await provider.stop()));
  const said = await provider.line(/listening on/);
  const table = tableFor(`${said.slice(said.indexOf('http'))}/v1`, options.stream);

  const members: (Member & { readonly folder: Folder; process: RunningProcess })[] = [];
  for (let index = 0; index < options.gateways; index++) {
    const folder = await makeFolder();
    started.defer(() => folder.remove());
    await folder.putTable(table);
    const at = { port: await freePort(), readyPort: await freePort() };
    const { process } = await launchAt(folder, at);
    members.push({ ...at, folder, process });
    started.defer(async () => void (await members[index]?.process.stop()));
  }
  const parts = started.move();

  async function launchAt(folder: Folder, { port, readyPort }: Member): Promise<ListeningProcess> {
    const gateway = await launchListening(folder, {
      PENSTOCK_PORT: String(port),
      PENSTOCK_METRICS_PORT: String(readyPort),
      PENSTOCK_DRAIN_ACCEPT_MS: String(options.drainAcceptMs),
    });
    await gateway.process.answering(`${gateway.metricsUrl}/readyz`);
    return gateway;
  }

  return {
    members,
    plan: { key: testKey, models: { request: 'm', stream: 'slow' } },
    async restart(index) {
      const member = members[index];
      if (member === undefined) throw new RangeError(`there is no gateway ${index}`);
      member.process.signal('SIGTERM');
      const { code, signal } = await member.process.exit;
      if (code !== 0) throw new Error(`it ended with ${signal ?? code}:\n${member.process.stdout()}`);
      const { process } = await launchAt(member.folder, member);
      member.process = process;
    },
    stop: () => parts.disposeAsync(),
  };
}

/** `m` answers at once, `slow` as the directives say. */
function tableFor(baseUrl: string, stream: string): RoutingTable {
  const table = tableOf([{ baseUrl, upstreamModel: 'demo+tokens=3' }]);
  const slow: Partial<RouteEntry> = { id: 'team/slow', model: 'slow' };
  const [target] = tableOf([{ baseUrl, upstreamModel: `demo+${stream}` }]).routes;
  return { ...table, routes: [...table.routes, ...(target ? [{ ...target, ...slow }] : [])] };
}
