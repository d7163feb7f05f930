// What becomes of a request whose first provider fails? For every fault, streamed and not, in every dialect and through
// translations: what the caller gets, which calls are made, what is written down. `npm test` plays half of each dialect and a few of each
// translation (failover.test.ts); `npm run e2e -- fault-matrix` all of them, several times.

import { expect } from 'vitest';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { type Rig, type RigTarget, tableOf } from '../gateway/rig.ts';
import type { Wall } from '../support/wall.ts';
import { ask, type Endpoint, endsWell, errorOf, lineOf, type Seen, textOf, wallText } from './ask.ts';
import {
  type BreaksOff,
  type Ends,
  type Mode,
  type MovesOn,
  modes,
  type Reported,
  type Row,
  rowsOf,
} from './faults.ts';
import type { House } from './house.ts';
import { addSums, expectSameTokens } from './same-tokens.ts';

/** What a caller speaks, and what the upstreams. */
export interface Variant {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** The dialect of the upstreams. */
  readonly upstream: DialectName;
}

export const nativeVariants: readonly Variant[] = [
  { name: 'chat', endpoint: 'chat', upstream: 'openai-chat' },
  { name: 'completions', endpoint: 'completions', upstream: 'openai-completions' },
  { name: 'messages', endpoint: 'messages', upstream: 'anthropic-messages' },
  { name: 'responses', endpoint: 'responses', upstream: 'openai-responses' },
];

export const translatedVariants: readonly Variant[] = [
  { name: 'completions from chat upstreams', endpoint: 'completions', upstream: 'openai-chat' },
  { name: 'messages from chat upstreams', endpoint: 'messages', upstream: 'openai-chat' },
  { name: 'responses from messages upstreams', endpoint: 'responses', upstream: 'anthropic-messages' },
  { name: 'chat from responses upstreams', endpoint: 'chat', upstream: 'openai-responses' },
];

/** One request and what is to become of it. */
export interface FaultCase {
  readonly fault: string;
  readonly mode: Mode;
  readonly name: string;
  /** Gives how often the fault has happened. @throws where anything is not as it should be. */
  play(house: House): Promise<number>;
}

export function faultCasesOf(variant: Variant): readonly FaultCase[] {
  return modes.flatMap((mode) =>
    rowsOf(variant.upstream)
      .filter(({ modes }) => modes?.includes(mode) !== false)
      .flatMap((row) => casesOf(row, variant, mode)),
  );
}

function casesOf(row: Row, variant: Variant, mode: Mode): readonly FaultCase[] {
  const common = { fault: row.name, mode };
  switch (row.effect) {
    case 'moves-on':
      return [
        {
          ...common,
          name: `${row.name}: the next provider answers`,
          play: (house) => movesOn(house, row, variant, mode),
        },
        {
          ...common,
          name: `${row.name} of the only provider: ${row.alone.status} ${row.alone.code}`,
          play: (house) => failsAlone(house, row, variant, mode),
        },
      ];
    case 'ends':
      return [
        {
          ...common,
          name: `${row.name}: ${reportedOf(row, variant).status} after one call`,
          play: (house) => ends(house, row, variant, mode),
        },
      ];
    case 'breaks-off':
      return [
        {
          ...common,
          name: `${row.name}: an error frame and no good end`,
          play: (house) => breaksOff(house, row, variant),
        },
      ];
  }
}

/** One record for each call, and where the provider has counted, what it has counted. */
function settleTokens(house: House, { rig, first, second }: Stage): void {
  house.tokens = addSums(house.tokens, expectSameTokens(rig, { t0: first, t1: second }));
}

interface Stage {
  readonly rig: Rig;
  readonly first: Wall | undefined;
  readonly second: Wall | undefined;
}

/** The failing provider, and a good one behind it where asked for. */
async function stageOf(house: House, row: Row, { upstream }: Variant, hasSecond: boolean): Promise<Stage> {
  const first = row.fault === 'refused' ? undefined : await house.wallThat(row.fault);
  const second = hasSecond ? await house.wallThat({ type: 'answer' }) : undefined;
  const common = {
    dialects: [upstream],
    // A machine that has much else to do may be slow to connect.
    timeouts: { connectMs: 30_000, ...row.timeouts },
  };
  const [firstLength, secondLength] = row.contextLengths ?? [];
  const targets: RigTarget[] = [
    { ...common, ...lengthOf(firstLength), baseUrl: first ? first.baseUrl : await house.nowhere() },
  ];
  // The good one has time: only the one deadline of the request is common to both.
  const { totalMs } = row.timeouts ?? {};
  const timeouts = { connectMs: 30_000, ...(totalMs !== undefined && { totalMs }) };
  if (second) targets.push({ ...common, ...lengthOf(secondLength), timeouts, baseUrl: second.baseUrl });
  const { failover } = tableOf([]).routes[0] ?? {};
  if (!failover) throw new Error('the table of the rig has no route');
  const route = row.retryOn ? { failover: { ...failover, retryOn: row.retryOn } } : {};
  return { rig: await house.rigOf(targets, route), first, second };
}

function lengthOf(contextLength: number | undefined): Pick<RigTarget, 'contextLength'> {
  return contextLength === undefined ? {} : { contextLength };
}

async function movesOn(house: House, row: MovesOn, variant: Variant, mode: Mode): Promise<number> {
  const stage = await stageOf(house, row, variant, true);
  const { rig, first, second } = stage;
  const seen = await ask(rig, { endpoint: variant.endpoint, isStream: mode === 'stream' });
  expectWhole(seen, mode);
  // What may help at once, or within moments, is tried also where there is another.
  const calls = row.alone.calls;
  const numbers = calls === 2 ? [1, 2] : [1];
  expect(seen.headers).toMatchObject({
    'x-penstock-attempts': String(calls + 1),
    'x-penstock-provider': 'platform/p1',
  });
  const fired = expectFired(row, first, calls);
  expect(second?.calls).toHaveLength(1);
  expect(rig.records.map(lineOf)).toEqual([
    ...numbers.map((n) => `${n} t0 failed ${row.failure} platform`),
    `${calls + 1} t1 answered tenant`,
  ]);
  expect(new Set(rig.records.map(({ request }) => request))).toEqual(new Set([seen.headers['x-request-id']]));
  const { inputTokens, outputTokens } = second?.totals() ?? {};
  expect(rig.records.at(-1)).toMatchObject({
    isEstimated: false,
    usage: { input: inputTokens, output: outputTokens },
  });
  expect(rig.failures).toEqual([]);
  settleTokens(house, stage);
  return fired;
}

async function failsAlone(house: House, row: MovesOn, variant: Variant, mode: Mode): Promise<number> {
  const stage = await stageOf(house, row, variant, false);
  const { rig, first } = stage;
  const seen = await ask(rig, { endpoint: variant.endpoint, isStream: mode === 'stream' });
  const { status, messagesStatus = status, calls, callsAlone = calls } = row.alone;
  expectReported(seen, { ...row.alone, status: variant.endpoint === 'messages' ? messagesStatus : status });
  const fired = expectFired(row, first, callsAlone);
  const numbers = [1, 2, 3].slice(0, callsAlone);
  expect(seen.headers['x-penstock-attempts']).toBe(String(numbers.length));
  expect(rig.records.map(lineOf)).toEqual(numbers.map((n) => `${n} t0 failed ${row.failure} platform`));
  // A message that has begun has reported its input, and that one token of output is there.
  const isTold = row.hasBegun === true && variant.upstream === 'anthropic-messages';
  const input = isTold ? (first?.calls[0]?.tokens.inputTokens ?? 0) : 0;
  const cost = isTold ? input * 1_000_000 + 2_000_000 : 0;
  expect(rig.records.map(({ costPicodollars }) => costPicodollars)).toEqual(numbers.map(() => cost));
  expect(rig.failures).toEqual([]);
  settleTokens(house, stage);
  return fired;
}

async function ends(house: House, row: Ends, variant: Variant, mode: Mode): Promise<number> {
  const stage = await stageOf(house, row, variant, true);
  const { rig, first, second } = stage;
  const seen = await ask(rig, { endpoint: variant.endpoint, isStream: mode === 'stream' });
  expectReported(seen, reportedOf(row, variant));
  if (row.message !== undefined) expect(errorOf(seen)?.message).toBe(row.message);
  expect(seen.headers['x-penstock-attempts']).toBe('1');
  const fired = expectFired(row, first, 1);
  expect(second?.calls).toHaveLength(0);
  expect(rig.records.map(lineOf)).toEqual([`1 t0 failed ${row.failure} platform`]);
  expect(rig.failures).toEqual([]);
  settleTokens(house, stage);
  return fired;
}

async function breaksOff(house: House, row: BreaksOff, variant: Variant): Promise<number> {
  const stage = await stageOf(house, row, variant, true);
  const { rig, first, second } = stage;
  const seen = await ask(rig, { endpoint: variant.endpoint, isStream: true });
  expectBrokenOff(seen, row.code);
  expect(textOf(seen)).toBe(firstTokens(row.read));
  const fired = expectFired(row, first, 1);
  expect(second?.calls).toHaveLength(0);
  expect(seen.headers['x-penstock-attempts']).toBe('1');
  expect(rig.records.map(lineOf)).toEqual([`1 t0 broken-off ${row.failure} tenant`]);
  expect(rig.records[0]).toMatchObject({ isEstimated: true, usage: { output: row.read } });
  expect(rig.failures).toEqual([]);
  settleTokens(house, stage);
  return fired;
}

/** By the wall's own log: without the fault a row would say nothing. Of a connection that is refused the ledger tells. */
function expectFired({ fault }: Row, first: Wall | undefined, calls: number): number {
  if (fault !== 'refused')
    expect(first?.calls.map(({ behaviour }) => behaviour)).toEqual(Array(calls).fill(fault));
  return calls;
}

/** What the caller learns of its own mistake depends on whether its dialect and the upstream's are of one family. */
function reportedOf(row: Ends, { endpoint, upstream }: Variant): Omit<Reported, 'calls'> {
  const isForeign = (endpoint === 'messages') !== (upstream === 'anthropic-messages');
  return isForeign ? (row.foreign ?? row.reported) : row.reported;
}

/** A whole answer that ends as it promised. */
export function expectWhole(seen: Seen, mode: Mode): void {
  expect([seen.status, textOf(seen)]).toEqual([200, wallText]);
  if (mode === 'stream') {
    expect(seen.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(endsWell(seen)).toBe(true);
    expect([seen.ending, seen.unfinishedEvent]).toEqual(['last-chunk', '']);
  } else {
    expect(seen.headers['content-type']).toBe('application/json');
    expect(seen.ending).toBe('length-complete');
  }
}

/** A JSON error with the status that belongs to it, whether or not a stream was asked for. */
export function expectReported(seen: Seen, reported: Omit<Reported, 'calls'>): void {
  expect([seen.status, errorOf(seen)?.code]).toEqual([reported.status, reported.code]);
  expect(seen.headers['content-type']).toBe('application/json');
  expect(seen.ending).toBe('length-complete');
  expect(seen.headers['retry-after']).toBe(reported.retryAfter);
  expect(seen.headers['x-request-id']).toMatch(/^req_/);
}

/** Content, then an error frame as the last thing, then an end that no client takes for a good one. */
export function expectBrokenOff(seen: Seen, code: string): void {
  expect(seen.status).toBe(200);
  expect(errorOf(seen)?.code).toBe(code);
  expect(seen.text).not.toMatch(/^data: \[DONE\]|message_stop|response\.completed/m);
  expect([seen.ending, seen.unfinishedEvent]).toEqual(['fin-early', '']);
}

function firstTokens(count: number): string {
  return wallText
    .split(/(?<= )/)
    .slice(0, count)
    .join('');
}
