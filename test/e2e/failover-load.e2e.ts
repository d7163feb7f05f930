// What does it cost callers when a provider fails, and what does it cost the provider? Gateways as processes, with the timers they
// have in a cluster, in front of walls that count.
//
// PENSTOCK_DEAD_SECONDS (default 60) says how long the first provider is dead under load.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDeadPrimary } from '../flow/dead-primary/run.ts';
import {
  type Folder,
  type ListeningProcess,
  launchListening,
  makeFolder,
} from '../gateway/process/gateway-process.ts';
import { type RigTarget, tableOf, testKey } from '../gateway/rig.ts';
import { openRaw, type RawConnection, rawCall, writeRequest } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { type Behaviour, closedPort, startWall, type Wall } from '../support/wall.ts';
import { type Claim, openScorecard } from './scorecard.ts';

const deadSeconds = Number(process.env.PENSTOCK_DEAD_SECONDS ?? 60);
const failovers = 1_000;
const quickMs = 50;
const silentCalls = 40;

/** A breaker that never opens: each request fails over. */
const noBreaker = { consecutiveFailures: 0, openForMs: 5_000, maxOpenMs: 25_000, rateLimitCooldownMs: 1 };
const breaker = { consecutiveFailures: 5, openForMs: 5_000, maxOpenMs: 25_000, rateLimitCooldownMs: 20_000 };

let folder: Folder;
let gateway: ListeningProcess;
let first: Wall;
let second: Wall;

beforeAll(async () => {
  [first, second] = await Promise.all([startWall(), startWall()]);
  folder = await makeFolder();
  await folder.putTable(tableWith(first.baseUrl));
  gateway = await launchListening(folder);
  await gateway.process.line(/routing table in use/);
});
afterAll(async () => {
  await gateway?.process.stop();
  await Promise.all([first?.close(), second?.close()]);
  await folder?.remove();
});

let generation = 0;
function tableWith(firstUrl: string) {
  const targets: RigTarget[] = [
    // A key of its own with each table: what an earlier one earned is not held against it.
    { baseUrl: firstUrl, keys: { only: `key-${generation}` }, providerEntry: { breaker: noBreaker } },
    { baseUrl: second.baseUrl },
  ];
  const table = tableOf(targets);
  // Two attempts for two targets: none is left for a second call to the first one, so that what is measured is one failover.
  const routes = table.routes.map((route) => ({ ...route, failover: { ...route.failover, maxAttempts: 2 } }));
  return { ...table, routes, generation: ++generation };
}

const requestOf = (isStream: boolean) => ({
  path: '/v1/chat/completions',
  headers: { authorization: `Bearer ${testKey}` },
  body: { model: 'm', stream: isStream, messages: [{ role: 'user', content: 'three plain words' }] },
});

interface Answered {
  readonly tookMs: number;
  readonly isRight: boolean;
}

/** Right: a good answer, at the second attempt, or at as many as are given. */
async function askOn(connection: RawConnection, isStream: boolean, attempts = 2): Promise<Answered> {
  const beganMs = performance.now();
  await connection.send(writeRequest(requestOf(isStream)));
  const answer = await connection.answer();
  const { text, ending } = await answer.finished;
  return {
    tookMs: performance.now() - beganMs,
    isRight:
      answer.status === 200 &&
      answer.headers['x-penstock-attempts'] === String(attempts) &&
      (isStream ? text.includes('data: [DONE]') && ending === 'last-chunk' : text.includes('"choices"')),
  };
}

function quantileOf(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.POSITIVE_INFINITY;
}

const inMs = (value: number): string => `${value.toFixed(1)} ms`;

/** Prints the claims, and expects that all of them hold. */
function judge(title: string, claims: readonly Claim[]): void {
  const card = openScorecard(title);
  for (const claim of claims) card.add(claim);
  card.print();
  expect(card.misses()).toEqual([]);
}

/** At p99: one in a hundred may take longer. */
function quickly(what: string, took: readonly number[], fired: number): Claim {
  const failed = took.filter((ms) => ms >= quickMs).length;
  const figures = `p50 ${inMs(quantileOf(took, 0.5))}, p99 ${inMs(quantileOf(took, 0.99))}, at most ${inMs(Math.max(...took))}`;
  return { what, tried: took.length, failed, allowed: Math.floor(took.length / 100), fired, figures };
}

const portOf = (): number => Number(new URL(gateway.url).port);

const faults: readonly [string, Behaviour, boolean][] = [
  ['503', { type: 'status', status: 503 }, false],
  ['a reset', { type: 'reset' }, false],
  ['an HTML page', { type: 'html' }, false],
  ['an error as the first event', { type: 'error-event', error: { type: 'overloaded_error' } }, true],
  ['a role, then a FIN', { type: 'cut', after: { events: 1 } }, true],
];

test('the baseline without a failover', async () => {
  first.script({ type: 'answer' });
  const connection = await openRaw({ port: portOf() });
  const took: number[] = [];
  let wrong = 0;
  for (let index = 0; index < failovers; index++) {
    const { tookMs, isRight } = await askOn(connection, index % 2 === 0, 1);
    took.push(tookMs);
    if (!isRight) wrong++;
  }
  connection.close();
  const figures = `p50 ${inMs(quantileOf(took, 0.5))}, p99 ${inMs(quantileOf(took, 0.99))}`;
  judge('no failover', [{ what: 'answered at the first attempt', tried: failovers, failed: wrong, figures }]);
});

test.each(faults)('one failover from %s adds less than 50 ms at p99', async (name, fault, isStream) => {
  first.script(fault);
  const connection = await openRaw({ port: portOf() });
  // Not counted: a connection kept from before may be reset, and is replaced by a fresh one.
  await askOn(connection, isStream);
  const from = first.calls.length;
  const added: number[] = [];
  let wrong = 0;
  for (let index = 0; index < failovers; index++) {
    const { tookMs, isRight } = await askOn(connection, isStream);
    const failed = first.calls[from + index];
    if (!isRight || failed?.endedAtMs === undefined) wrong++;
    // All that the caller waited beyond the failed call, the second one included.
    else added.push(tookMs - (failed.endedAtMs - failed.startedAtMs));
  }
  connection.close();
  const fired = first.calls.length - from;
  judge(`failover from ${name}`, [
    { what: 'answered by the next, at the second attempt', tried: failovers, failed: wrong, fired },
    quickly(`waited beyond the failed call, less than ${quickMs} ms at p99`, added, fired),
  ]);
});

test('the next provider answers within 50 ms after a provider that refuses', async () => {
  const nobody = await closedPort();
  const connection = await openRaw({ port: portOf() });
  try {
    await folder.putTable(tableWith(`${nobody.url}/v1`));
    await gateway.process.nextLine(/routing table in use/);
    const took: number[] = [];
    let wrong = 0;
    for (let index = 0; index < failovers; index++) {
      const { tookMs, isRight } = await askOn(connection, index % 2 === 0);
      if (isRight) took.push(tookMs);
      else wrong++;
    }
    // A second attempt says that the first one was made, and nobody was there.
    const fired = took.length;
    judge('a refused provider', [
      { what: 'answered by the next, at the second attempt', tried: failovers, failed: wrong, fired },
      quickly(`the whole answer, within ${quickMs} ms at p99`, took, fired),
    ]);
  } finally {
    connection.close();
    await nobody.close();
    await folder.putTable(tableWith(first.baseUrl));
    await gateway.process.nextLine(/routing table in use/);
  }
});

test.each(['before-headers', 'after-headers'] as const)(
  'a provider that is silent %s: of a stream, the next answers within 12.1 s',
  async (when) => {
    first.script({ type: 'hang', when });
    const from = first.calls.length;
    const askOne = async (): Promise<number | undefined> => {
      const beganMs = performance.now();
      const answer = await rawCall({ port: portOf() }, requestOf(true));
      const isRight = answer.status === 200 && answer.headers['x-penstock-attempts'] === '2';
      return isRight && answer.text.includes('[DONE]') ? performance.now() - beganMs : undefined;
    };
    const asked: Promise<number | undefined>[] = [];
    for (let count = 1; count <= silentCalls; count++) {
      asked.push(askOne());
      // Not all at once: what is measured is one failover.
      await until(async () => first.calls.length - from >= count);
    }
    const took = await Promise.all(asked);
    const late = took.filter((ms) => ms === undefined || ms > 12_100).length;
    const fired = first.calls.length - from;
    const figures = `${inMs(Math.max(...took.map((ms) => ms ?? 0)))} at most`;
    judge(`a provider silent ${when}`, [
      {
        what: 'streams answered by the next within 12.1 s (of a plain answer, silence is no sign)',
        tried: silentCalls,
        failed: late,
        fired,
        figures,
      },
      {
        what: 'asked once for each request',
        tried: silentCalls,
        failed: Math.abs(fired - silentCalls),
        fired,
      },
    ]);
  },
);

test(`the first provider is dead for ${deadSeconds} s at 200 requests a second over 4 gateways, then back`, async () => {
  const seen = await runDeadPrimary({
    gateways: 4,
    requestsPerSecond: 200,
    deadMs: deadSeconds * 1_000,
    breaker,
    backMaxMs: 40_000,
  });
  const { dead, back, upstreamCalls, deadCalls, pods } = seen;
  const fired = deadCalls;
  const claims: Claim[] = [];
  claims.push({
    what: 'success while the first provider is dead, 99.9 %',
    tried: dead.requests,
    failed: dead.failed,
    allowed: Math.floor(dead.requests / 1_000),
    fired,
    figures: `p50 ${dead.p50Ms} ms, p99 ${dead.p99Ms} ms, ${dead.maxMs} ms at most; ${dead.reasons.join('; ')}`,
  });
  claims.push({
    what: 'upstream calls beyond one for each request, 10 %',
    tried: dead.requests,
    failed: upstreamCalls - dead.requests,
    allowed: Math.floor(dead.requests / 10),
    fired,
    figures: `${(upstreamCalls / dead.requests).toFixed(4)} upstream calls a request`,
  });
  const probesMax = Math.ceil(dead.seconds / 5);
  for (const [index, { untilOpen, inFlight, probes, leastPauseMs, backAfterMs }] of pods.entries()) {
    const allowed = breaker.consecutiveFailures + inFlight + probesMax;
    claims.push({
      what: `calls of gateway ${index} to the dead provider: 5, those in flight, and a probe in 5 s`,
      tried: dead.requests,
      failed: untilOpen + probes,
      allowed,
      fired,
      figures: `${untilOpen} until the breaker opened (${inFlight} in flight), ${probes} probes, at least ${Math.round(leastPauseMs ?? 0)} ms apart`,
    });
    claims.push({
      what: `gateway ${index} is back on it within 30 s`,
      tried: 1,
      failed: backAfterMs === undefined || backAfterMs > 30_000 ? 1 : 0,
      figures: `after ${Math.round(backAfterMs ?? -1)} ms`,
    });
    // Half a second of its requests: else a breaker that does nothing would be allowed all of them.
    claims.push({
      what: `few of gateway ${index} were in flight when it opened`,
      tried: dead.requests,
      failed: inFlight,
      allowed: 25,
      fired,
    });
  }
  claims.push({
    what: 'success when it is back',
    tried: back.requests,
    failed: back.failed,
    allowed: 0,
    figures: `p99 ${back.p99Ms} ms; ${back.reasons.join('; ')}`,
  });
  judge('a dead provider under load', claims);
});
