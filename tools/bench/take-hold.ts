// How much memory does an open stream cost? A target just started, warmed a little, then many streams at once.

import { setTimeout as delay } from 'node:timers/promises';
import { holdStreams, type LoadClient, runLoad } from './load.ts';
import { readRssKib } from './measure/memory.ts';
import { processTree } from './measure/process-tree.ts';
import type { HoldMeasurement } from './measurement.ts';
import type { HoldScenario } from './scenarios.ts';
import type { RunningTarget } from './targets/target.ts';
import { readUpstreamStats } from './upstream.ts';

const WARM_SECONDS = 1;
/** Streams begin over this time: all in one instant would measure a burst, not a steady state. */
const RAMP_MS = 500;
const SETTLE_MS = 1500;
const OPEN_MS_MAX = 15_000;

/**
 * The target must be fresh: a heap that once was large takes streams without growing.
 *
 * @throws Error when the streams do not all reach the upstream.
 */
export async function takeHold(
  client: LoadClient,
  target: RunningTarget,
  scenario: HoldScenario,
  at: { round: number; upstreamPort: number },
): Promise<HoldMeasurement> {
  const common = {
    port: target.port,
    bodyBytes: scenario.bodyBytes,
    ...(target.authorization === undefined ? {} : { authorization: target.authorization }),
  };
  const warm = {
    model: target.modelName('burst-20'),
    events: 20,
    connections: 16,
    seconds: WARM_SECONDS,
    leadMs: 0,
  };
  await runLoad(client, { ...common, ...warm }, () => undefined);
  await awaitOpenStreams(at.upstreamPort, 0);
  await delay(SETTLE_MS);
  const pids = processTree(target.process.pid);
  const beforeKib = readRssKib(pids);
  const { result, held: openKib } = await holdStreams(
    client,
    {
      ...common,
      model: target.modelName(scenario.model),
      connections: scenario.streams,
      seconds: 0,
      leadMs: 0,
      rampMs: RAMP_MS,
    },
    async () => {
      await awaitOpenStreams(at.upstreamPort, scenario.streams);
      await delay(SETTLE_MS);
      return readRssKib(pids);
    },
  );
  return {
    kind: 'hold',
    round: at.round,
    scenario: scenario.name,
    target: target.name,
    streams: scenario.streams,
    rssKibPerStream: (openKib - beforeKib) / scenario.streams,
    rssMibBefore: beforeKib / 1024,
    rssMibOpen: openKib / 1024,
    client: result,
  };
}

async function awaitOpenStreams(upstreamPort: number, wanted: number): Promise<void> {
  const endsAtMs = Date.now() + OPEN_MS_MAX;
  for (;;) {
    const { openStreams } = await readUpstreamStats(upstreamPort);
    if (openStreams === wanted) return;
    if (Date.now() > endsAtMs) {
      throw new Error(`the upstream has ${openStreams} open streams where ${wanted} were expected`);
    }
    await delay(50);
  }
}
