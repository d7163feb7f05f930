// What becomes of requests whose provider falls into a black hole: packets to it and from it are dropped, and nobody says so? Runs in a
// network of its own, where that harms nobody: walls, gateways as processes, iptables, and then the facts.

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { RouteEntry } from '../../../core/contract/routing-table.ts';
import { type Endpoint, endsWell, errorOf, requestOf, textOf, wallText } from '../../flow/ask.ts';
import { type ListeningProcess, launchListening, makeFolder } from '../../gateway/process/gateway-process.ts';
import { tableOf } from '../../gateway/rig.ts';
import { rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { type Answer, startWall, type Wall } from '../../support/wall.ts';

/** One request, and what came of it. */
export interface Course {
  readonly isStream: boolean;
  readonly tookMs: number;
  /** Its answer is whole and ends well. */
  readonly isWhole: boolean;
  readonly attempts: number;
  /** The code of the error that it ended with. */
  readonly error: string | undefined;
}

export interface Hole {
  /** From when the packets were dropped, or from when they were asked where that was before. */
  readonly courses: readonly Course[];
  /** By the kernel, to the provider and from it. */
  readonly droppedPackets: number;
  /** Requests that the provider saw, and the one behind it. */
  readonly calls: number;
  readonly callsOfNext: number;
}

export interface Facts {
  readonly atConnect: Hole;
  /** With the breaker of the same provider open; and of a route that never had it, to compare with. */
  readonly behindBreaker: readonly Course[];
  readonly without: readonly Course[];
  readonly onKeptConnections: Hole;
  readonly beforeContent: Hole;
  readonly midStream: Hole;
  readonly midStreamHeld: Hole;
}

const endpoints: readonly Endpoint[] = ['chat', 'completions', 'messages', 'responses'];
const dialects = ['openai-chat', 'openai-completions', 'anthropic-messages', 'openai-responses'] as const;
const everyWay = endpoints.flatMap((endpoint) => [true, false].map((isStream) => ({ endpoint, isStream })));
const streams = everyWay.filter(({ isStream }) => isStream);
type Way = (typeof everyWay)[number];

/** Each way so often, at once. */
const timesEach = 5;
const quickCalls = 1_000;
/** Longer than all of them take. */
const breaker = {
  consecutiveFailures: 5,
  openForMs: 25_000,
  maxOpenMs: 25_000,
  rateLimitCooldownMs: 20_000,
};

const { dist } = z
  .object({ dist: z.string() })
  .parse(JSON.parse(await readFile(String(process.argv[2]), 'utf8')));
const run = promisify(execFile);
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };

async function iptables(...args: readonly string[]): Promise<string> {
  try {
    return (await run('iptables', ['--wait', ...args], { env })).stdout;
  } catch (error) {
    throw new Error('iptables has to work in a network of its own (apt-get install iptables)', {
      cause: error,
    });
  }
}

async function drop(host: string): Promise<void> {
  await iptables('--insert', 'INPUT', '--destination', host, '--jump', 'DROP');
  await iptables('--insert', 'INPUT', '--source', host, '--jump', 'DROP');
}

async function droppedAt(host: string): Promise<number> {
  const rules = await iptables('--list', 'INPUT', '--numeric', '--verbose', '--exact');
  return rules
    .split('\n')
    .filter((rule) => rule.includes(` ${host} `))
    .reduce((sum, rule) => sum + Number(rule.trim().split(/\s+/)[0]), 0);
}

/** A provider at an address of its own, so that what is dropped there is no other's, and a good one behind it. */
interface Stage {
  readonly host: string;
  readonly lost: Wall;
  readonly next: Wall;
  /** The two in their order; and the good one alone. */
  readonly gateway: ListeningProcess;
}

let hosts = 1;

async function openStage(
  parts: AsyncDisposableStack,
  answer: Answer = {},
  route: Partial<RouteEntry> = {},
): Promise<Stage> {
  const host = `127.0.1.${++hosts}`;
  const lost = await startWall({ type: 'answer', ...answer }, { host });
  parts.defer(() => lost.close());
  const next = await startWall();
  parts.defer(() => next.close());
  const gateway = await launchFor(parts, [lost, next], route);
  return { host, lost, next, gateway };
}

async function launchFor(
  parts: AsyncDisposableStack,
  walls: readonly Wall[],
  route: Partial<RouteEntry>,
): Promise<ListeningProcess> {
  const folder = await makeFolder();
  parts.defer(() => folder.remove());
  const common = { dialects: [...dialects], providerEntry: { dialects: [...dialects], breaker } };
  const targets = walls.map(({ baseUrl }) => ({ ...common, baseUrl }));
  await folder.putTable(tableOf(targets, route));
  const gateway = await launchListening(folder, { PENSTOCK_DRAIN_GRACE_MS: '1000' }, [], dist);
  parts.defer(async () => void (await gateway.process.stop()));
  await gateway.process.line(/routing table in use/);
  return gateway;
}

/** @param since Asked before: what it took counts from then. */
async function course({ url }: ListeningProcess, way: Way, since?: Promise<number>): Promise<Course> {
  const beganMs = performance.now();
  const seen = await rawCall({ port: Number(new URL(url).port) }, requestOf(way));
  const endedMs = performance.now();
  const isRight = seen.status === 200 && textOf(seen) === wallText;
  return {
    isStream: way.isStream,
    tookMs: endedMs - ((await since) ?? beganMs),
    isWhole: isRight && (way.isStream ? endsWell(seen) : seen.ending === 'length-complete'),
    attempts: Number(seen.headers['x-penstock-attempts']),
    error: errorOf(seen)?.code ?? undefined,
  };
}

const often = (ways: readonly Way[]): readonly Way[] => Array.from({ length: timesEach }, () => ways).flat();

async function holeOf(stage: Stage, courses: readonly Promise<Course>[]): Promise<Hole> {
  return {
    courses: await Promise.all(courses),
    droppedPackets: await droppedAt(stage.host),
    calls: stage.lost.calls.length,
    callsOfNext: stage.next.calls.length,
  };
}

async function playConnect(): Promise<Pick<Facts, 'atConnect' | 'behindBreaker' | 'without'>> {
  await using parts = new AsyncDisposableStack();
  // No connection is kept, so that each request needs one of its own.
  const stage = await openStage(parts, { afterwards: 'close' });
  const alone = await launchFor(parts, [stage.next], {});
  // What a process does for the first time takes longer.
  for (const way of often(everyWay)) await course(stage.gateway, way);
  const callsBefore = stage.lost.calls.length;
  await drop(stage.host);
  const inFlight: Promise<Course>[] = [];
  for (const way of often(everyWay)) {
    inFlight.push(course(stage.gateway, way));
    // One after the other, and all of them before the first has failed.
    await pause(50);
  }
  const hole = await holeOf(stage, inFlight);
  const atConnect = { ...hole, calls: hole.calls - callsBefore };
  const behindBreaker: Course[] = [];
  const without: Course[] = [];
  for (let count = 0; count < quickCalls; count++) {
    const way = everyWay[count % everyWay.length] ?? { endpoint: 'chat', isStream: false };
    // In turn, so that whatever else the machine does is in both.
    without.push(await course(alone, way));
    behindBreaker.push(await course(stage.gateway, way));
  }
  return { atConnect, behindBreaker, without };
}

/** Connections that were good a moment ago: the request goes out, and nothing ever comes back. */
async function playKept(): Promise<Hole> {
  await using parts = new AsyncDisposableStack();
  const stage = await openStage(parts, {}, { upstreamStreaming: 'Always' });
  await Promise.all(often(everyWay).map((way) => course(stage.gateway, way)));
  await drop(stage.host);
  return await holeOf(
    stage,
    often(everyWay).map((way) => course(stage.gateway, way)),
  );
}

/** Drops when all requests have got so far. Without it they would be answered whole by the first provider. */
async function playInFlight(
  answer: Answer,
  ways: readonly Way[],
  route: Partial<RouteEntry>,
  hasGotFar: (wall: Wall) => boolean,
): Promise<Hole> {
  await using parts = new AsyncDisposableStack();
  const stage = await openStage(parts, answer, route);
  const dropped = Promise.withResolvers<number>();
  const courses = often(ways).map((way) => course(stage.gateway, way, dropped.promise));
  await until(async () => stage.lost.calls.length === courses.length && hasGotFar(stage.lost));
  await drop(stage.host);
  dropped.resolve(performance.now());
  return await holeOf(stage, courses);
}

const slowly = { betweenEvents: { ms: 1_000 } };
const hasSaid = (events: number) => (wall: Wall) =>
  wall.calls.every(({ eventsWritten }) => eventsWritten >= events);

const connecting = await playConnect();
const [onKeptConnections, beforeContent, midStream, midStreamHeld] = await Promise.all([
  playKept(),
  playInFlight({ beforeFirstEvent: { ms: 5_000 } }, everyWay, { upstreamStreaming: 'Always' }, (wall) =>
    wall.calls.every(({ bytesWritten }) => bytesWritten > 0),
  ),
  playInFlight(slowly, streams, {}, hasSaid(6)),
  playInFlight(slowly, everyWay, { delivery: 'Assured', upstreamStreaming: 'Always' }, hasSaid(6)),
]);
const facts: Facts = { ...connecting, onKeptConnections, beforeContent, midStream, midStreamHeld };
await writeFile(String(process.argv[3]), JSON.stringify(facts));
process.exit(0);
