// Which figures are recorded of one target in one scenario in one round?

import type { LoadResult } from './load.ts';
import type { TargetName } from './targets/target.ts';

export type LoadMeasurement = {
  kind: 'load';
  round: number;
  scenario: string;
  target: TargetName;
  /** Requests, responses or events, as the scenario counts. */
  units: number;
  unitsPerSecond: number;
  cpuUsPerUnit: number;
  /** Cores that the target's processes used. */
  coresUsed: number;
  /** Share of time in which the proxy's core and the core of client and mock were busy, over all processes. */
  proxyCoreBusy: number;
  loadCoreBusy: number;
  /** Threads whose last CPU time could not be read: above 0, the CPU figure is too low. */
  threadsEnded: number;
  rssMib: number;
  client: LoadResult;
};

export type HoldMeasurement = {
  kind: 'hold';
  round: number;
  scenario: string;
  target: TargetName;
  streams: number;
  rssKibPerStream: number;
  rssMibBefore: number;
  rssMibOpen: number;
  client: LoadResult;
};

export type Measurement = LoadMeasurement | HoldMeasurement;
