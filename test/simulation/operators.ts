// What does a replica of the operator do, from its start to its end? The whole of `startOperator`, without its metrics and its port;
// it may die at any write, or be frozen for longer than its lease lasts.

import { Registry } from 'prom-client';
import type { KubeClient } from '../../core/kube/client.ts';
import type { OperatorMetrics } from '../../operator/metrics.ts';
import type { AskPod } from '../../operator/pods/exchange.ts';
import { startOperator } from '../../operator/start.ts';
import type { ApiServer } from './api-client.ts';
import type { Random } from './random.ts';
import { settingsOf } from './settings.ts';
import type { Process, World } from './world.ts';

export interface OperatorsOptions {
  readonly world: World;
  readonly server: ApiServer;
  readonly random: Random;
  readonly count: number;
  /** Of all writes, those at which a replica dies. */
  deaths(): number;
  readonly askPod: (caller: Process) => AskPod;
  /** A broken one shows whether it would be noticed. */
  changeClient?(client: KubeClient, process: Process): KubeClient;
}

export interface Operators {
  freeze(index: number, ms: number): void;
  /** At the next write of the table that one of them begins; undefined: at none. */
  stumble(ms: number | undefined): void;
  kill(index: number): void;
  /** Those that run now. */
  processes(): readonly Process[];
}

const quietMetrics: OperatorMetrics = {
  registry: new Registry(),
  queues: { opened() {}, added() {}, retried() {}, started() {}, ended() {}, panicked() {} },
  calls: { waited() {}, ended() {} },
  onPublished() {},
  onPublishFailed() {},
  onTableRejected() {},
  onEvent() {},
  onHealthCheck() {},
  onWatchRestart() {},
};

export function startOperators(options: OperatorsOptions): Operators {
  const { world, server, random, count } = options;
  const running: (Process | undefined)[] = Array.from({ length: count }, () => undefined);
  let lives = 0;
  let stumbleMs: number | undefined;
  for (let index = 0; index < count; index += 1) start(index);

  return {
    freeze(index, ms) {
      const process = running[index];
      if (process === undefined) return;
      world.note(`${process.name} is frozen for ${ms} ms`);
      process.freeze(ms);
    },
    stumble(ms) {
      stumbleMs = ms;
    },
    kill(index) {
      const process = running[index];
      if (process === undefined) return;
      world.note(`${process.name} dies`);
      process.kill();
      startLater(index);
    },
    processes: () => running.flatMap((process) => process ?? []),
  };

  function startLater(index: number): void {
    running[index] = undefined;
    world.after(random.between(300, 6_000), () => start(index));
  }

  function start(index: number): void {
    lives += 1;
    const skewMs = random.chance(0.1) ? random.between(-600_000, 600_000) : 0;
    const process = world.startProcess(`operator-${lives}`, skewMs);
    running[index] = process;
    const draws = random.fork();
    const client = server.connect(process, {
      dies: () => (random.chance(options.deaths()) ? random.pick(['before', 'after']) : undefined),
      stumbles() {
        const ms = stumbleMs;
        stumbleMs = undefined;
        return ms;
      },
      onDeath: () => startLater(index),
    });
    world.note(`${process.name} starts`);
    process.after(0, () => {
      startOperator({
        client: options.changeClient?.(client, process) ?? client,
        serverHost: 'simulated',
        clock: process.clock,
        random: draws.next,
        randomBytes: draws.bytes,
        settings: settingsOf(process.name),
        log(level, message, more) {
          if (world.isTold) world.note(`${process.name} ${level}: ${message} ${JSON.stringify(more ?? {})}`);
        },
        seams: {
          openMetrics: () => quietMetrics,
          listen: async () => 'nowhere',
          askPod: options.askPod(process),
          sendCheck: async () => ({ type: 'status', status: 200 }),
        },
      }).catch((error: unknown) => world.fail(`${process.name} did not start: ${String(error)}`));
    });
  }
}
