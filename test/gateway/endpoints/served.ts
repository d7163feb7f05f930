// A gateway whose one model is served by the simulator in one dialect.

import type { DialectName, RouteEntry } from '../../../core/contract/routing-table.ts';
import {
  type Call,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../../simulator/server.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../rig.ts';

export interface Served {
  readonly rig: Rig;
  readonly simulator: Simulator;
  /** What the simulator has received last, as JSON. */
  latest(): Call;
  close(): Promise<void>;
}

export async function serveFrom(
  dialect: DialectName,
  more: {
    readonly route?: Partial<RouteEntry>;
    readonly target?: Partial<RigTarget>;
    readonly simulator?: SimulatorOptions;
  } = {},
): Promise<Served> {
  const simulator = await startSimulator(more.simulator);
  const baseUrl = `${simulator.url}/v1`;
  const target: RigTarget = { baseUrl, dialects: [dialect], upstreamModel: 'sim-small', ...more.target };
  const rig = await startRig(
    tableOf([{ ...target, providerEntry: { dialects: [dialect], ...target.providerEntry } }], more.route),
  );
  return {
    rig,
    simulator,
    latest() {
      const call = simulator.calls().at(-1);
      if (!call) throw new Error('The upstream was not called');
      return call;
    },
    async close() {
      await rig.close();
      await simulator.close();
    },
  };
}
