// Counts what a request costs a process that relays it: of one that is warm, alone, with one request after the other.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bareEnvironment } from '../../support/bare-environment.ts';
import type { Ask, Counts, Heard, Meter } from './counts.ts';
import { type Client, openClient, openUpstream, type Script } from './ends.ts';

/** Enough for the compiler to have seen the code in all its tiers: before the last of them, loops and pieces of objects are allocated that are not later. */
const warmParts = 2_500;
const countedRequests = 400;

/** Each count of `Counts`, for one request. */
export type Figures = Readonly<Required<Omit<Counts, 'collections'>>>;

/** @returns Of each script. */
export async function measure(kind: 'floor' | 'gateway', scripts: readonly Script[]): Promise<Figures[]> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-cost-'));
  await mkdir(join(folder, 'journal'));
  const upstream = await openUpstream();
  const child = fork(
    fileURLToPath(new URL('subject.ts', import.meta.url)),
    [kind, String(upstream.port), folder],
    {
      env: bareEnvironment(),
      // Room for all that is made while it is counted, also as far as the collector foresees it.
      execArgv: [
        '--expose-gc',
        // A quarter of the calls that it takes elsewhere until code is in its last tier, and compiled before it goes on: as many fewer
        // requests warm the process, also beside others.
        '--no-concurrent-recompilation',
        '--invocation-count-for-maglev=100',
        '--invocation-count-for-turbofan=750',
        '--minimum-invocations-after-ic-update=125',
        '--initial-old-space-size=1024',
        '--min-semi-space-size=256',
        '--max-semi-space-size=256',
      ],
    },
  );
  const ended = once(child, 'exit');
  try {
    const { port } = await hear(child, 'listening');
    const client = await openClient(port, upstream);
    try {
      for (const script of scripts) await client.send(script, Math.ceil(warmParts / (1 + script.events)));
      const figures: Figures[] = [];
      for (const script of scripts) {
        const count = (meter: Meter) => countDuring(child, meter, client, script);
        figures.push({ ...none, ...(await count('work')), ...(await count('allocation')) });
      }
      return figures;
    } finally {
      client.close();
    }
  } finally {
    child.kill();
    await Promise.all([ended, upstream.close()]);
    await rm(folder, { recursive: true, force: true });
  }
}

const none: Figures = { bytes: 0, promises: 0, timers: 0, listeners: 0, writes: 0 };

async function countDuring(
  child: ChildProcess,
  meter: Meter,
  client: Client,
  script: Script,
): Promise<Counts> {
  const ask = async (type: Ask['type']): Promise<Counts> => {
    child.send({ type, meter } satisfies Ask);
    return (await hear(child, 'counts')).counts;
  };
  await ask('begin');
  await client.send(script, countedRequests);
  const { collections, ...sums } = await ask('end');
  if (collections) throw new Error('garbage was collected: what was allocated is not known');
  return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / countedRequests]));
}

function hear<Type extends Heard['type']>(
  child: ChildProcess,
  type: Type,
): Promise<Extract<Heard, { type: Type }>> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      child.off('message', onMessage).off('exit', onExit);
    };
    const onMessage = (heard: Heard): void => {
      settle();
      if (heard.type === type) resolve(heard as Extract<Heard, { type: Type }>);
      else reject(new Error(`${heard.type} came where ${type} was due`));
    };
    const onExit = (code: number | null): void => {
      settle();
      reject(new Error(`the process that is counted ended with ${code}`));
    };
    child.on('message', onMessage).on('exit', onExit);
  });
}
