// The floor relay: the least that Node can do, but all of that.

import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Load, runLoad } from '../../../tools/bench/load.ts';
import { awaitAnswer } from '../../../tools/bench/targets/await-answer.ts';
import { floor } from '../../../tools/bench/targets/floor.ts';
import { createFloorRelay, type FloorRelay } from '../../../tools/bench/targets/floor-relay.ts';
import { readUpstreamStats } from '../../../tools/bench/upstream.ts';
import { type Bench, makeLoad, startBench } from './support.ts';

let bench: Bench;
let relay: FloorRelay;
let port: number;
beforeAll(async () => {
  bench = await startBench();
  relay = createFloorRelay(`http://127.0.0.1:${bench.upstream.port}`);
  relay.server.listen(0, '127.0.0.1');
  await once(relay.server, 'listening');
  const address = relay.server.address();
  if (address === null || typeof address === 'string') throw new Error('the system gave no port');
  port = address.port;
});
afterAll(async () => {
  await relay.close();
  await bench.close();
});

describe('the floor relay', () => {
  test.each<[string, Partial<Load>]>([
    ['unary answers', {}],
    ['large bodies', { bodyBytes: 256 * 1024 }],
    ['burst streams', { model: 'burst-20', events: 20 }],
    ['paced streams', { model: 'paced-5x2', events: 5, connections: 5 }],
  ])('passes on %s whole', async (_, difference) => {
    const client = { launcher: bench.launcher, program: bench.programs.client };
    // The relay shares this process with the tests: on a busy machine its first answer may take a while.
    const load = makeLoad({ port, seconds: 1, ...difference });
    const { result } = await runLoad(client, load, () => undefined);
    expect(result).toMatchObject({ bad: 0, badReasons: {} });
    expect(result.good).toBeGreaterThan(0);
  });

  test('leaves the upstream when its client disconnects', async () => {
    const client = { launcher: bench.launcher, program: bench.programs.client };
    // The window closes in the middle of every stream.
    const load = makeLoad({ port, model: 'paced-1000x20', events: 1000, connections: 3 });
    await runLoad(client, load, () => undefined);
    await expect.poll(async () => (await readUpstreamStats(bench.upstream.port)).openStreams).toBe(0);
  });

  test('runs as its own process and ends on a signal', async () => {
    const target = await floor.start({
      launcher: bench.launcher,
      upstream: bench.upstream,
      cacheFolder: bench.workFolder,
      workFolder: bench.workFolder,
      models: ['unary'],
    });
    await awaitAnswer(target);
    await target.stop();
    expect(target.process.hasExited()).toBe(true);
  });
});
