// Which provider do the gateways of a suite call? A simulator that runs while its tests do.

import { afterAll, beforeAll } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';

export function useSimulator(): () => Simulator {
  let simulator: Simulator | undefined;
  beforeAll(async () => {
    simulator = await startSimulator();
  });
  afterAll(() => simulator?.close());
  return () => {
    if (simulator === undefined) throw new Error('the simulator runs only while tests and hooks do');
    return simulator;
  };
}
