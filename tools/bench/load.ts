// How is one load put on a port, and what came of it? Runs the C client and reads its JSON lines.

import { z } from 'zod';
import type { Launched, Launcher } from './launcher.ts';
import type { ClientDialect } from './scenarios.ts';

export type Load = {
  port: number;
  /** The model name the target expects. */
  model: string;
  bodyBytes: number;
  connections: number;
  seconds: number;
  leadMs: number;
  ratePerSecond?: number;
  events?: number;
  dialect?: ClientDialect;
  rampMs?: number;
  authorization?: string;
  /** A 503 of an overloaded target is a refusal, and no bad answer. */
  mayRefuse?: boolean;
  /** The result has `latenciesMs`. */
  everyLatency?: boolean;
};

const quantilesSchema = z
  .object({ count: z.number(), mean: z.number(), p50: z.number(), p99: z.number(), max: z.number() })
  .nullable();

const resultSchema = z.object({
  event: z.literal('result'),
  seconds: z.number(),
  good: z.number(),
  /** Answered 503 for too much load; counted with `mayRefuse` only. */
  refused: z.number(),
  bad: z.number(),
  /** The client stopped early because nearly everything failed. */
  gaveUp: z.boolean(),
  /** Stream events inside the window. */
  events: z.number(),
  /** Open loop: due inside the window, not answered when it closed. */
  unfinished: z.number(),
  reconnects: z.number(),
  /** Held streams that ended or broke. */
  lost: z.number(),
  badReasons: z.record(z.string(), z.number()),
  /** The start of the first bad answer. */
  firstBad: z.string(),
  latencyMs: quantilesSchema,
  /** Each, ascending; with `everyLatency` only. */
  latenciesMs: z.array(z.number()).default([]),
  firstEventMs: quantilesSchema,
  /** From the mock's send to the client's read. */
  eventDelayMs: quantilesSchema,
  refusalMs: quantilesSchema,
});

export type LoadResult = z.infer<typeof resultSchema>;

/** A client that runs; `core` pins it. */
export type LoadClient = { launcher: Launcher; program: string; core?: number };

/** Beyond its window a client needs moments; one that takes this long hangs, and the run says so. */
const HANG_MS = 60_000;

/** Runs the load; `probe` is called when the measured window opens and when it closes, with all connections still up. */
export async function runLoad<T>(
  client: LoadClient,
  load: Load,
  probe: () => T,
): Promise<{ result: LoadResult; before: T; after: T }> {
  const running = await startClient(client, load, ['--seconds', String(load.seconds)]);
  const windowMs = load.seconds * 1000 + load.leadMs + (load.rampMs ?? 0);
  return await bounded(running, windowMs + HANG_MS, async () => {
    let before: { value: T } | undefined;
    for await (const line of running.lines) {
      const message: unknown = JSON.parse(line);
      if (isEvent(message, 'measuring')) {
        before = { value: probe() };
        continue;
      }
      const after = probe();
      if (before === undefined) break;
      return { result: resultSchema.parse(message), before: before.value, after };
    }
    throw new Error(`the load client ended without a result: ${running.logTail()}`);
  });
}

/** Opens streams, calls `whileOpen` when all are requested, then closes them. */
export async function holdStreams<T>(
  client: LoadClient,
  load: Load,
  whileOpen: () => Promise<T>,
): Promise<{ result: LoadResult; held: T }> {
  const running = await startClient(client, load, ['--hold']);
  return await bounded(running, load.leadMs + (load.rampMs ?? 0) + HANG_MS, async () => {
    let held: { value: T } | undefined;
    for await (const line of running.lines) {
      const message: unknown = JSON.parse(line);
      if (isEvent(message, 'open')) {
        held = { value: await whileOpen() };
        running.stdin.end();
      } else if (held !== undefined) {
        return { result: resultSchema.parse(message), held: held.value };
      }
    }
    throw new Error(`the load client ended without a result: ${running.logTail()}`);
  });
}

async function startClient(client: LoadClient, load: Load, mode: string[]): Promise<Launched> {
  const optional: [string, string | number | undefined][] = [
    ['--rate', load.ratePerSecond],
    ['--events', load.events],
    ['--dialect', load.dialect],
    ['--ramp-ms', load.rampMs],
    ['--authorization', load.authorization],
  ];
  return await client.launcher.start({
    name: 'client',
    command: client.program,
    args: [
      ...['--port', String(load.port), '--model', load.model, '--body-bytes', String(load.bodyBytes)],
      ...['--connections', String(load.connections), '--lead-ms', String(load.leadMs)],
      ...(load.mayRefuse ? ['--may-refuse'] : []),
      ...(load.everyLatency ? ['--every-latency'] : []),
      ...optional.flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)])),
      ...mode,
    ],
    stdout: 'lines',
    ...(client.core === undefined ? {} : { core: client.core }),
  });
}

async function bounded<T>(running: Launched, boundMs: number, work: () => Promise<T>): Promise<T> {
  let isHung = false;
  const timer = setTimeout(() => {
    isHung = true;
    void running.stop();
  }, boundMs);
  try {
    return await work();
  } catch (cause) {
    if (isHung) throw new Error(`the load client gave no result within ${boundMs} ms`, { cause });
    throw cause;
  } finally {
    clearTimeout(timer);
    await running.stop();
  }
}

function isEvent(message: unknown, name: string): boolean {
  return typeof message === 'object' && message !== null && 'event' in message && message.event === name;
}
