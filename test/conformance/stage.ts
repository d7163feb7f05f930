// Where do SDKs meet the gateway? In front of the simulator, with one model for each thing that can happen.

import type { ProviderEntry } from '../../core/contract/routing-table.ts';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';

export interface Stage {
  readonly rig: Rig;
  readonly simulator: Simulator;
  close(): Promise<void>;
}

/** Models that fail, and how the simulator is asked to. */
export const failing = {
  'fails-400': 'fault=error-400+message=Too%20hot+code=too_hot',
  'fails-401': 'fault=error-401',
  'fails-422': 'fault=error-422+message=Not%20so',
  'fails-429': 'fault=error-429+retry-after=30',
  'fails-500': 'fault=error-500',
  'fails-503': 'fault=error-503',
  'fails-html': 'fault=html',
  'fails-first': 'fault=error-first+status=503',
  'fails-late': 'fault=error-after:3',
  'fails-cut': 'fault=cut-after:3',
} as const;

/** Its id has a slash, as those of the service itself have. */
export const slashedModel = 'penstock/hello';

export async function startStage(): Promise<Stage> {
  const simulator = await startSimulator();
  const baseUrl = `${simulator.url}/v1`;
  const providerEntry: Partial<ProviderEntry> = {
    breaker: { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 0 },
  };
  // Each with a provider of its own: what one earns, such as a rest, is not for the others.
  const tables = [
    tableFor('m', 'sim-small'),
    tableFor(slashedModel, 'sim-small'),
    tableFor('own', 'sim-small+fault=error-401', false),
    ...Object.entries(failing).map(([model, directives]) => tableFor(model, `sim-small+${directives}`)),
  ];
  function tableFor(model: string, upstreamModel: string, isPlatform = true) {
    const name = model.replace('/', '-');
    const provider = `${isPlatform ? 'platform' : 'team'}/${name}`;
    return tableOf([{ baseUrl, provider, providerEntry: { ...providerEntry, isPlatform }, upstreamModel }], {
      id: `team/${name}`,
      model,
    });
  }
  const rig = await startRig(
    {
      ...tableOf([]),
      providers: tables.flatMap(({ providers }) => providers),
      routes: tables.flatMap(({ routes }) => routes),
    },
    { random: () => 0 },
  );
  return {
    rig,
    simulator,
    async close() {
      await rig.close();
      await simulator.close();
    },
  };
}
