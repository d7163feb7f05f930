// What is a target? Something to send requests to: the upstream itself, or a proxy in front of it.

import type { Launched, Launcher } from '../launcher.ts';

export const targetNames = ['direct', 'nginx', 'envoy', 'floor', 'gateway'] as const;
export type TargetName = (typeof targetNames)[number];

export type TargetContext = {
  launcher: Launcher;
  upstream: { port: number; process: Launched };
  /** Where downloads and builds are kept between runs. */
  cacheFolder: string;
  /** An empty folder of this run. */
  workFolder: string;
  /** The core the proxy has for itself; absent in tests. */
  core?: number;
  /** Upstream model names that requests will ask for. */
  models: readonly string[];
  /** Extra arguments for Node, for targets that run on it: a profiler. */
  nodeArgs?: readonly string[];
};

export type RunningTarget = {
  name: TargetName;
  port: number;
  /** The process whose tree does the work. */
  process: Launched;
  authorization?: string;
  /** How the target calls this upstream model. */
  modelName(upstreamModel: string): string;
  stop(): Promise<void>;
};

export type Target = {
  name: TargetName;
  /** Name and version, for the report. */
  describe(context: Pick<TargetContext, 'cacheFolder' | 'launcher'>): Promise<string>;
  start(context: TargetContext): Promise<RunningTarget>;
};

/** A target that is one process and passes model names through. */
export function runningTarget(name: TargetName, port: number, launched: Launched): RunningTarget {
  return {
    name,
    port,
    process: launched,
    modelName: (upstreamModel) => upstreamModel,
    stop: () => launched.stop(),
  };
}

/** `{ core }` where there is one: an absent option is not an undefined one. */
export function pinned(context: TargetContext): { core?: number } {
  return context.core === undefined ? {} : { core: context.core };
}
