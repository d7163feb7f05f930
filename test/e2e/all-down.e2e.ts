// How quickly is a caller reported that every target is down? A gateway as a process, every breaker open, and a load that goes on for a minute:
// callers are answered at once, but for the one a second that finds out. Callers and gateway share the machine; the figure says how busy it was.
//
// PENSTOCK_DOWN_SECONDS (default 60) says for how long, PENSTOCK_DOWN_RATE (default 300) how many requests a second.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Endpoint, errorOf, requestOf, type Seen } from '../flow/ask.ts';
import {
  type Folder,
  type ListeningProcess,
  launchListening,
  makeFolder,
} from '../gateway/process/gateway-process.ts';
import { tableOf } from '../gateway/rig.ts';
import { openRaw, type RawConnection, rawCall, writeRequest } from '../support/raw-client.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { load } from './scale/readings.ts';
import { openScorecard } from './scorecard.ts';

const seconds = Number(process.env.PENSTOCK_DOWN_SECONDS ?? 60);
const rate = Number(process.env.PENSTOCK_DOWN_RATE ?? 300);
const quickMs = 50;

const endpoints: readonly Endpoint[] = ['chat', 'completions', 'messages', 'responses'];
const dialects = ['openai-chat', 'openai-completions', 'anthropic-messages', 'openai-responses'] as const;
const kinds = endpoints.flatMap((endpoint) => [true, false].map((isStream) => ({ endpoint, isStream })));

let folder: Folder;
let gateway: ListeningProcess;
let walls: readonly Wall[];

beforeAll(async () => {
  walls = [await startWall({ type: 'status', status: 503 }), await startWall({ type: 'reset' })];
  folder = await makeFolder();
  await folder.putTable(
    tableOf(
      walls.map(({ baseUrl }) => ({
        baseUrl,
        dialects: [...dialects],
        providerEntry: { dialects: [...dialects] },
      })),
    ),
  );
  gateway = await launchListening(folder);
  await gateway.process.line(/routing table in use/);
});
afterAll(async () => {
  await gateway?.process.stop();
  for (const wall of walls ?? []) await wall.close();
  await folder?.remove();
});

const portOf = (): number => Number(new URL(gateway.url).port);
const callsMade = (): number => walls.reduce((sum, { calls }) => sum + calls.length, 0);

/** Reported without a call: that nobody is there, when to come back, and not to ask again by itself. */
function isTold(seen: Seen): boolean {
  const after = Number(seen.headers['retry-after']);
  return (
    seen.status === 503 &&
    errorOf(seen)?.code === 'upstream_unavailable' &&
    Number.isInteger(after) &&
    after >= 1 &&
    after <= 60 &&
    seen.headers['x-should-retry'] === 'false' &&
    seen.headers['x-penstock-attempts'] === '0'
  );
}

/** Found out for all others. */
function hasTried(seen: Seen): boolean {
  return Number(seen.headers['x-penstock-attempts']) > 0 && [502, 503].includes(seen.status);
}

/** A caller a connection; who is free takes the next request, and its wait counts from when it was due. */
async function askAll(count: number): Promise<readonly { readonly seen: Seen; readonly tookMs: number }[]> {
  const beganMs = performance.now();
  const answers: { seen: Seen; tookMs: number }[] = [];
  let next = 0;
  const call = async (connection: RawConnection): Promise<void> => {
    while (next < count) {
      const index = next++;
      const dueMs = beganMs + (index * 1_000) / rate;
      const earlyMs = dueMs - performance.now();
      if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
      await connection.send(writeRequest(requestOf(kinds[index % kinds.length])));
      const answer = await connection.answer();
      const seen = { ...answer, ...(await answer.finished) };
      answers.push({ seen, tookMs: performance.now() - dueMs });
    }
  };
  const connections = await Promise.all(Array.from({ length: 32 }, () => openRaw({ port: portOf() })));
  await Promise.all(connections.map(call));
  for (const connection of connections) connection.close();
  return answers;
}

test(`every breaker is open for ${seconds} s at ${rate} requests a second: all callers are answered at once`, async () => {
  for (let asked = 0; asked < 100; asked++) {
    if (isTold(await rawCall({ port: portOf() }, requestOf()))) break;
  }
  const before = callsMade();
  expect(before).toBeGreaterThan(0);

  const answers = await askAll(seconds * rate);
  const reported = answers.filter(({ seen }) => isTold(seen));
  const tried = answers.filter(({ seen }) => hasTried(seen));
  const calls = callsMade() - before;
  const metrics = await rawCall({ port: Number(new URL(gateway.metricsUrl).port) }, { path: '/metrics' });
  const counted = Number(/^penstock_no_target_total\{[^}]*\} (\d+)/m.exec(metrics.text)?.[1]);

  const took = answers.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  const quantile = (share: number): string =>
    `${(took[Math.floor(took.length * share)] ?? Number.NaN).toFixed(1)} ms`;
  const card = openScorecard(`all targets down, ${rate} requests a second for ${seconds} s`);
  card.add({
    what: 'reported 503 with a time to come back and no call, or one of the few that found out',
    tried: answers.length,
    failed: answers.length - reported.length - tried.length,
    fired: reported.length,
    figures: `${reported.length} reported, ${tried.length} found out`,
  });
  card.add({
    what: `reported within ${quickMs} ms of when it was due, at p99`,
    tried: answers.length,
    failed: took.filter((ms) => ms >= quickMs).length,
    allowed: Math.floor(answers.length / 100),
    fired: reported.length,
    figures: `p50 ${quantile(0.5)}, p99 ${quantile(0.99)}, p99.9 ${quantile(0.999)}, at most ${took.at(-1)?.toFixed(1)} ms; load of the machine ${load()}`,
  });
  card.add({
    what: 'upstream calls: one a second at the least bad, and each breaker’s own probe in 5 s',
    tried: answers.length,
    failed: calls,
    allowed: seconds + 1 + walls.length * Math.ceil(seconds / 5),
    fired: reported.length,
  });
  card.add({
    what: 'counted by penstock_no_target_total, with those before',
    tried: counted,
    failed: counted < reported.length ? reported.length - counted : 0,
  });
  card.print();
  expect(card.misses()).toEqual([]);
});
