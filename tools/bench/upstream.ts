// How does a run start its mock upstream, and what does the mock know about itself?

import { get } from './get.ts';
import type { Launched, Launcher } from './launcher.ts';

export type Upstream = { process: Launched; port: number };

type UpstreamStats = { openStreams: number; requests: number; refused: number };

export async function startUpstream(launcher: Launcher, program: string, core?: number): Promise<Upstream> {
  const launched = await launcher.start({
    name: 'mock',
    command: program,
    args: ['0'],
    stdout: 'lines',
    ...(core === undefined ? {} : { core }),
  });
  for await (const line of launched.lines) {
    const port = /^listening (\d+)$/.exec(line)?.[1];
    if (port !== undefined) return { process: launched, port: Number(port) };
  }
  throw new Error(`the mock upstream ended before it listened: ${launched.logTail()}`);
}

export async function readUpstreamStats(port: number): Promise<UpstreamStats> {
  const stats: unknown = JSON.parse(await get(port, '/bench/stats'));
  if (!isStats(stats)) throw new Error('the mock upstream answered no statistics');
  return stats;
}

function isStats(value: unknown): value is UpstreamStats {
  return typeof value === 'object' && value !== null && 'openStreams' in value && 'requests' in value;
}
