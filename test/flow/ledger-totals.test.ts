// Does the ledger say what the provider says? The simulator counts its own tokens; over every fault, streamed and not,
// in both endpoints, given up by the client and not, the records must come to the same, to the token.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { type Call, type Simulator, startSimulator } from '../../simulator/server.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { type AskOptions, ask, askOpen, type Endpoint, isBag } from './ask.ts';

/** The first provider fails in all ways, or not; the second answers. */
let first: Simulator;
let second: Simulator;
let rig: Rig;

beforeAll(async () => {
  [first, second] = await Promise.all([startSimulator(), startSimulator()]);
  second.script('sim-small', 'cached=2,reasoning=5');
  rig = await startRig(tableFor(0), { random: () => 0 });
});

afterAll(async () => {
  await rig.close();
  await Promise.all([first.close(), second.close()]);
});

/** A new value of the key with each table: a rest of the old one, earned by a fault, is no longer of interest. */
function tableFor(serial: number, { isPatient = false, isTranslated = false } = {}) {
  const dialects: DialectName[] = isTranslated ? ['openai-chat'] : ['openai-chat', 'openai-completions'];
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };
  return tableOf([
    {
      baseUrl: `${first.url}/v1`,
      upstreamModel: 'sim-small',
      dialects,
      keys: { only: `key-number-${serial}` },
      providerEntry: { breaker },
      // Where the client is to give up, the gateway must not do so before.
      timeouts: isPatient ? {} : { firstEventMs: 60, livenessMs: 60 },
    },
    { baseUrl: `${second.url}/v1`, upstreamModel: 'sim-small', dialects },
  ]);
}

const faults = [
  '',
  'reasoning=7',
  'cached=3',
  'noise',
  'crlf',
  'chunk=3',
  'fault=no-done',
  'fault=error-500',
  'fault=error-503',
  'fault=error-529',
  'fault=error-429,retry-after=7',
  'fault=error-429,code=insufficient_quota',
  'fault=error-401',
  'fault=error-403',
  'fault=error-402',
  'fault=error-400',
  'fault=error-404',
  'fault=error-413',
  'fault=reset-before-headers',
  'fault=reset-after:0',
  'fault=reset-after:4',
  'fault=cut-after:0',
  'fault=cut-after:4',
  'fault=cut-after:9999',
  'fault=fin-after:4',
  'fault=error-first',
  'fault=error-first,status=429',
  'fault=error-after:4',
  'fault=garbage-at:1',
  'fault=garbage-at:5',
  'fault=garbage-at:9999',
  'fault=html',
  'fault=empty',
  'fault=truncated',
  'fault=redirect',
];
/** Only a stream shows that these are silent; the client gives up the plain ones. */
const silences = ['fault=hang', 'fault=hang-after-headers', 'fault=stall-after:0', 'fault=stall-after:4'];

/** How a call ends that gave all of its answer. */
const whole: readonly string[] = ['complete', 'no-done'];

interface Asked {
  readonly user: string;
  readonly directives: string;
  readonly records: readonly LedgerRecord[];
  readonly calls: readonly Call[];
}

test('ledger and provider agree to the token, over all faults', async () => {
  const asked: Asked[] = [];
  let serial = 0;
  let round = 0;

  async function request(directives: string, endpoint: Endpoint, isStream: boolean, leaves: boolean) {
    serial++;
    const user = `user-${serial}`;
    first.script('sim-small', directives === '' ? null : directives);
    // Only silence is waited out: on a busy machine any other answer can take longer than these timeouts.
    const isPatient = leaves || !silences.includes(directives);
    rig.offer(tableFor(serial, { isPatient, isTranslated: round === 1 }));
    const from = rig.records.length;
    const options = { endpoint, isStream, more: { user } };
    if (leaves) await leave(options, user, directives);
    else await ask(rig, options);
    const calls = [first, second].flatMap((simulator) =>
      simulator.calls().filter(({ body }) => isBag(body) && body.user === user),
    );
    asked.push({ user, directives, records: rig.records.slice(from), calls });
  }

  async function leave(options: AskOptions, user: string, directives: string): Promise<void> {
    const isOurs = ({ body }: Call): boolean => isBag(body) && body.user === user;
    const { connection, answer } = await askOpen(rig, options);
    answer.catch(() => {});
    await first.nextArrival(isOurs);
    // Where content comes, it is waited for: then tokens have been generated when the client leaves.
    if (options.isStream && directives.includes('stall-after:4')) await (await answer).nextEvent();
    connection.abort();
    await first.nextCall(isOurs);
  }

  for (; round < 2; round++) {
    for (const endpoint of ['chat', 'completions'] as const) {
      for (const isStream of [true, false]) {
        for (const directives of faults) await request(directives, endpoint, isStream, false);
        for (const directives of silences) {
          if (isStream) await request(directives, endpoint, isStream, false);
          await request(directives, endpoint, isStream, true);
        }
      }
    }
  }

  expect(serial).toBeGreaterThan(300);
  for (const { user, directives, records, calls } of asked) {
    const what = `${user} ${directives}`;
    expect(records.length, `one record for each call of ${what}`).toBe(calls.length);
    expect(records.map(({ attempt }) => attempt)).toEqual(records.map((_, index) => index + 1));
    for (const [index, record] of records.entries()) {
      const call = calls[index];
      if (record.outcome === 'answered') {
        expect([record.isEstimated, usageOf(record)], what).toEqual([false, call?.tokens]);
        expect(whole, what).toContain(call?.ending);
      }
      if (record.outcome === 'failed') {
        expect(record.payer, what).toBe('platform');
        // What broke before anybody saw its content has cost something all the same.
        if (record.firstContentMs === undefined) expect(record.costPicodollars, what).toBe(0);
      } else expect(record.payer, what).toBe('tenant');
    }
  }

  const answered = rig.records.filter(({ outcome }) => outcome === 'answered');
  // What the provider gave in full, but too late for the gateway's timers, was not delivered.
  const isLate = (record: LedgerRecord | undefined): boolean =>
    record?.failure?.startsWith('timeout') === true;
  const delivered = asked.flatMap(({ calls, records }) =>
    calls.filter(({ ending }, index) => ending !== null && whole.includes(ending) && !isLate(records[index])),
  );
  expect(sum(answered.map(usageOf)), `over ${answered.length} answers of ${serial} requests`).toEqual(
    sum(delivered.map(({ tokens }) => tokens)),
  );
  expect(answered.length).toBe(delivered.length);
  expect(new Set(rig.records.map(({ id }) => id)).size, 'ids are unique').toBe(rig.records.length);
  const callsMade = first.counts().calls + second.counts().calls;
  expect(rig.records.length, 'one record for each upstream call').toBe(callsMade);
  const outcomes = new Set(rig.records.map(({ outcome }) => outcome));
  expect(outcomes).toEqual(new Set(['answered', 'failed', 'broken-off', 'cancelled']));
  expect(rig.failures).toEqual([]);
});

type Tokens = Call['tokens'];

function usageOf({ usage }: LedgerRecord): Tokens {
  return {
    input: usage.input,
    cached: usage.cachedInput,
    cacheWrite: usage.cacheWrite,
    output: usage.output,
    reasoning: usage.reasoning,
  };
}

function sum(tokens: readonly Tokens[]): Tokens {
  const total = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };
  for (const each of tokens) {
    total.input += each.input;
    total.cached += each.cached;
    total.cacheWrite += each.cacheWrite;
    total.output += each.output;
    total.reasoning += each.reasoning;
  }
  return total;
}
