// What does the journal say of a gateway that is killed again and again under load? The callers' own log and that of the providers
// are held against it.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import { type Folder, launchListening, makeFolder } from '../../gateway/process/gateway-process.ts';
import { tableOf, testKey } from '../../gateway/rig.ts';
import type { Random } from '../../simulation/random.ts';
import { openRaw, type RawTarget, writeRequest } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { type Call, startWall } from '../../support/wall.ts';
import { isBag } from '../ask.ts';

export interface KilledGateway {
  readonly kills: number;
  /** Says when the next kill comes. */
  readonly random: Random;
}

/** A request as its caller saw it. */
export interface Asked {
  readonly user: string;
  /** Undefined where no head of an answer came. */
  readonly requestId: string | undefined;
  readonly attempts: number;
  /** The answer came to its good end. */
  readonly isWhole: boolean;
  /** Where it is not: what came instead, in words. */
  readonly fault?: string;
  /** Unix time at which it ended for the caller, and at which the gateway was killed. */
  readonly endedMs: number;
  readonly killedMs: number;
}

/** What of a provider's own log is held against the journal. */
export type CallSeen = Pick<Call, 'behaviour' | 'tokens'>;

export interface KilledGatewaySeen {
  readonly asked: readonly Asked[];
  readonly records: readonly LedgerRecord[];
  /** Of both providers, by the user that the request was made for. */
  readonly calls: ReadonlyMap<string, readonly CallSeen[]>;
  readonly callsMade: number;
  /** For each call, how long before the kill of its gateway it arrived; Infinity where none came. */
  readonly agesMs: ReadonlyMap<CallSeen, number>;
  /** Of how many lives the end was the kill. */
  readonly killed: number;
}

const callers = 12;
/** From the first group of records that a gateway has written to its kill: each meets another moment of a group. */
const lifeMsMax = 350;

export async function runKilledGateway({ kills: wanted, random }: KilledGateway): Promise<KilledGatewaySeen> {
  await using parts = new AsyncDisposableStack();
  const folder = await makeFolder();
  parts.defer(() => folder.remove());
  // Every third call fails: its request has a record of two attempts.
  const first = await startWall(({ number }) =>
    number % 3 === 0
      ? { type: 'status', status: 503 }
      : { type: 'answer', betweenEvents: { ms: number % 2 === 0 ? 20 : 0 } },
  );
  parts.defer(() => first.close());
  const second = await startWall();
  parts.defer(() => second.close());
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };
  await folder.putTable(
    tableOf([{ baseUrl: first.baseUrl, providerEntry: { breaker } }, { baseUrl: second.baseUrl }]),
  );

  const asked: Asked[] = [];
  const kills: { readonly killedMs: number; readonly endedMs: number }[] = [];
  let killed = 0;
  let serial = 0;
  for (let life = 0; life < wanted; life++) {
    const bytes = await bytesOf(folder);
    const { process, url } = await launchListening(folder);
    await process.line(/routing table in use/);
    const seen: Omit<Asked, 'killedMs'>[] = [];
    let isOver = false;
    const calling = Array.from({ length: callers }, async () => {
      while (!isOver) seen.push(await askOne({ port: Number(new URL(url).port) }, serial++));
    });
    await until(async () => (await bytesOf(folder)) > bytes, 5);
    await pause(random.between(0, lifeMsMax));
    const killedMs = Date.now();
    process.signal('SIGKILL');
    isOver = true;
    const { signal } = await process.exit;
    kills.push({ killedMs, endedMs: Date.now() });
    if (signal === 'SIGKILL') killed++;
    await Promise.all(calling);
    asked.push(...seen.map((one) => ({ ...one, killedMs })));
  }
  const made = [...first.calls, ...second.calls];
  return {
    asked,
    records: await readAfterRestart(folder),
    calls: Map.groupBy(made, userOf),
    callsMade: made.length,
    agesMs: new Map(made.map((call) => [call, ageOf(performance.timeOrigin + call.startedAtMs, kills)])),
    killed,
  };
}

async function bytesOf({ path }: Folder): Promise<number> {
  const journal = await stat(join(path, 'journal', 'journal.jsonl')).catch(() => undefined);
  return journal?.size ?? 0;
}

/** The next opening of the journal cuts off half a line. */
async function readAfterRestart(folder: Folder): Promise<readonly LedgerRecord[]> {
  const { process } = await launchListening(folder);
  await process.stop();
  return folder.records();
}

/** Every other request a stream. Never rejects: no answer is a result. */
export async function askOne(
  door: RawTarget,
  serial: number,
  key = testKey,
): Promise<Omit<Asked, 'killedMs'>> {
  const user = `user-${serial}`;
  const isStream = serial % 2 === 0;
  let requestId: string | undefined;
  let attempts = 0;
  try {
    const connection = await openRaw(door);
    try {
      await connection.send(
        writeRequest({
          path: '/v1/chat/completions',
          headers: { authorization: `Bearer ${key}` },
          body: {
            model: 'm',
            user,
            stream: isStream,
            messages: [{ role: 'user', content: 'three plain words' }],
          },
        }),
      );
      const answer = await connection.answer();
      requestId = answer.headers['x-request-id'];
      attempts = Number(answer.headers['x-penstock-attempts']);
      const { text, ending } = await answer.finished;
      const isWhole = isStream
        ? text.trimEnd().endsWith('data: [DONE]') && ending === 'last-chunk'
        : ending === 'length-complete';
      const fault = isWhole ? {} : { fault: `${answer.status}, ${ending}: ${text.slice(-200)}` };
      return { user, requestId, attempts, isWhole, ...fault, endedMs: Date.now() };
    } finally {
      connection.close();
    }
  } catch (error) {
    // The gateway is gone, or not there any more.
    return { user, requestId, attempts, isWhole: false, fault: String(error), endedMs: Date.now() };
  }
}

/** How long before the next kill a Unix time is. What arrives while the gateway ends is of no age. */
export function ageOf(
  ms: number,
  kills: readonly { readonly killedMs: number; readonly endedMs: number }[],
): number {
  const next = kills.find(({ endedMs }) => endedMs >= ms);
  return next === undefined ? Infinity : Math.max(0, next.killedMs - ms);
}

/** For whom a call was made. */
export function userOf({ json }: Call): string {
  return isBag(json) ? String(json.user) : '';
}
