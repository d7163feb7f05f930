// Is each refusal counted exactly once, with a line of its own while there is room, and without anything of another caller?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Refusal,
  type RefusalSums,
  refusalSchema,
  refusalSumsSchema,
} from '../../../core/contract/refusal.ts';
import { RefusalCounter, type RefusalJournal } from '../../../gateway/meter/refusal-counter.ts';
import type { Caller } from '../../../gateway/request/caller.ts';
import { GatewayError } from '../../../gateway/request/errors.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

const callerOf = (namespace: string, name: string): Caller => ({
  namespace,
  key: { sha256: '', id: `${namespace}/${name}`, owner: { team: `${namespace} team` } },
});
const ci = callerOf('team-a', 'ci');
const limited = new GatewayError('rate_limit_exceeded', 'Wait.');
const badBody = new GatewayError('invalid_parameter', 'This is what a caller wrote: canary.');

function open(progress?: RefusalJournal['progress']) {
  const clock = makeFakeClock(Date.parse('2026-11-27T10:00:03Z'));
  const lines: string[] = [];
  const counter = new RefusalCounter(clock, { note: (json) => lines.push(json), progress });
  const of = (kind: string) => lines.map((line) => JSON.parse(line)).filter((line) => line.kind === kind);
  return {
    ...{ clock, lines, counter },
    singles: (): Refusal[] => of('refusal').map((line) => refusalSchema.parse(line)),
    sums: (): RefusalSums[] => of('refusal-sums').map((line) => refusalSumsSchema.parse(line)),
  };
}

test('a refusal has a line with key, model and reason, and no text of the caller', () => {
  const { counter, singles, lines } = open();
  const route = { id: 'platform/small', model: 'penstock/small' };
  counter.add('req_1', limited, { caller: ci, model: 'small', route, clientDialect: 'openai-chat' });
  counter.add('req_2', badBody, { caller: ci });
  counter.add('req_3', new GatewayError('invalid_api_key', 'No.'), { caller: undefined, model: 'canary' });
  expect(singles()).toEqual([
    {
      kind: 'refusal',
      id: 'req_1',
      at: '2026-11-27T10:00:03.000Z',
      ...{ namespace: 'team-a', apiKey: 'team-a/ci', owner: { team: 'team-a team' } },
      ...{ model: 'penstock/small', route: 'platform/small', clientDialect: 'openai-chat' },
      ...{ status: 429, code: 'rate_limit_exceeded', message: 'Wait.' },
    },
    expect.objectContaining({ id: 'req_2', status: 400, code: 'invalid_parameter' }),
    {
      kind: 'refusal',
      id: 'req_3',
      at: expect.anything(),
      status: 401,
      code: 'invalid_api_key',
      message: 'No.',
    },
  ]);
  expect(lines.join()).not.toContain('canary');
});

test('a window ends after ten seconds, and without refusals there is neither a line nor a timer', () => {
  const { counter, clock, sums } = open();
  expect(clock.pending()).toEqual([]);
  for (let at = 0; at < 3; at++) counter.add(`req_${at}`, limited, { caller: ci });
  expect([sums(), clock.pending()]).toEqual([[], [Date.parse('2026-11-27T10:00:10Z')]]);
  clock.advance(7_000);
  const counts = [
    { namespace: 'team-a', apiKey: 'team-a/ci', status: 429, code: 'rate_limit_exceeded', count: 3 },
  ];
  expect(sums()).toMatchObject([{ at: '2026-11-27T10:00:00.000Z', windowMs: 10_000, counts }]);
  clock.advance(60_000);
  expect([sums().length, clock.pending()]).toEqual([1, []]);
});

test('lines are limited to twenty a second, and to a mebibyte until the ledger has them; all refusals are counted', () => {
  let taken = 0;
  const { counter, clock, lines, singles, sums } = open({
    appended: (): number => lines.length,
    taken: () => taken,
  });
  const refuse = (count: number) => {
    for (let at = 0; at < count; at++) counter.add(`req_${'x'.repeat(100)}${at}`, limited, { caller: ci });
  };
  refuse(100);
  expect(singles()).toHaveLength(20);
  for (let second = 0; second < 600; second++) {
    clock.advance(1_000);
    refuse(25);
  }
  const bytes = singles().reduce((sum, line) => sum + JSON.stringify(line).length, 0);
  expect([bytes > 1024 * 1024, bytes < 1025 * 1024]).toEqual([true, true]);
  const before = singles().length;
  taken = lines.length;
  clock.advance(1_000);
  refuse(25);
  expect(singles()).toHaveLength(before + 20);
  counter.close();
  const counted = sums().flatMap(({ counts }) => counts);
  expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(100 + 601 * 25);
});

test('fifty unknown models are named in a window, cut to a length; those of an unknown key never', () => {
  const { counter, clock, sums } = open();
  const missing = new GatewayError('model_not_found', 'No.');
  for (let at = 0; at < 80; at++) counter.add(`a${at}`, missing, { caller: ci, model: `no-such-${at}` });
  counter.add('long', missing, { caller: ci, model: 'x'.repeat(5_000) });
  counter.add('unknown', missing, { caller: undefined, model: 'gpt-5' });
  clock.advance(10_000);
  counter.add('odd', missing, { caller: ci, model: `\u001b[31m${'é'.repeat(200)}\n\u202e` });
  counter.close();
  const [first, second] = sums();
  expect(first?.counts.filter(({ model }) => model !== undefined)).toHaveLength(50);
  expect(first?.counts.filter(({ model }) => model === undefined).map(({ count }) => count)).toEqual([31, 1]);
  expect(second?.counts[0]?.model).toBe(`[31m${'é'.repeat(96)}`);
});

test('an unknown path is counted only for a valid key', () => {
  const { counter, sums } = open();
  for (const code of ['not_found', 'method_not_allowed'] as const) {
    const wrong = new GatewayError(code, 'No.');
    counter.add('scanner', wrong, { caller: undefined });
    counter.add('mistyped', wrong, { caller: ci });
  }
  counter.close();
  expect(sums()[0]?.counts.map(({ apiKey, count }) => [apiKey, count])).toEqual([
    ['team-a/ci', 1],
    ['team-a/ci', 1],
  ]);
});

test('counts are exact for any refusals, with windows, clocks that jump, and an end at any time', () => {
  const step = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        key: fc.nat({ max: 3 }),
        model: fc.nat({ max: 300 }),
        code: fc.nat({ max: 2 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ ms: fc.nat({ max: 15_000 }) }) },
  );
  const codes = ['rate_limit_exceeded', 'overloaded', 'insufficient_quota'] as const;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const { counter, clock, lines, sums } = open();
      const expected = new Map<string, number>();
      for (const [at, one] of steps.entries()) {
        if ('ms' in one) {
          clock.advance(one.ms);
          continue;
        }
        const code = codes[one.code] ?? 'overloaded';
        const caller = one.key === 0 ? undefined : callerOf('team', String(one.key));
        const route = { id: 'r', model: `m-${one.model}` };
        counter.add(`req_${at}`, new GatewayError(code, 'No.'), { caller, route });
        const second = Math.floor(clock.wallMs() / 10_000) * 10_000;
        const place = `${new Date(second).toISOString()} ${caller?.key.id} ${route.model} ${code}`;
        expected.set(place, (expected.get(place) ?? 0) + 1);
      }
      counter.close();
      const found = new Map<string, number>();
      for (const { at, counts } of sums()) {
        for (const { apiKey, model, code, count } of counts) {
          const place = `${at} ${apiKey} ${model} ${code}`;
          found.set(place, (found.get(place) ?? 0) + count);
        }
      }
      expect(found).toEqual(expected);
      const ids = lines.map((line) => JSON.parse(line).id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(clock.pending()).toEqual([]);
    }),
  );
});

test('refusals after the end are written at once', () => {
  const { counter, sums } = open();
  counter.close();
  counter.add('late', limited, { caller: ci });
  expect(sums()).toHaveLength(1);
});

test('a very large window is written in parts, each with its own id', () => {
  const { counter, sums } = open();
  for (let at = 0; at < 5_300; at++)
    counter.add(`req_${at}`, limited, { caller: ci, route: { id: 'r', model: `m-${at}` } });
  counter.close();
  expect(new Set(sums().map(({ id }) => id)).size).toBe(11);
  expect(new Set(sums().flatMap(({ counts }) => counts.map(({ model }) => model))).size).toBe(5_300);
});
