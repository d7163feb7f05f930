// From which table generation on does the present form of an object run?

import { describe, expect, test } from 'vitest';
import type { Verdict } from '../../../operator/compile/verdict.ts';
import { keyOf } from '../../../operator/compile/verdict-names.ts';
import { allRun, podsState, progressOf } from '../../../operator/pods/pods-state.ts';
import {
  createProgrammedTracker,
  type ProgrammedTracker,
  recordedGeneration,
} from '../../../operator/status/programmed.ts';
import { apiKey } from '../make.ts';
import { fleet, judge, look, pod, runs, withStatus, written } from './status-support.ts';

const verdict = judge('ApiKey', { apiKeys: [apiKey()] });
const other: Verdict = { ...verdict, name: 'other' };

function publish(
  tracker: ProgrammedTracker,
  generation: number,
  forms: ReadonlyMap<Verdict, unknown>,
  recorded?: (verdict: Verdict) => number | undefined,
): void {
  tracker.onPublished({
    generation,
    verdicts: new Map([...forms.keys()].map((one) => [keyOf(one), one])),
    formOf: (one) => forms.get(one),
    ...(recorded === undefined ? {} : { recorded }),
  });
}

describe('a form of an object', () => {
  test('belongs to the generation that first had it, however many follow', () => {
    const tracker = createProgrammedTracker();
    publish(tracker, 7, new Map([[verdict, 'a']]));
    publish(
      tracker,
      8,
      new Map([
        [verdict, 'a'],
        [other, 'x'],
      ]),
    );
    expect(tracker.since(keyOf(verdict), 'a')).toBe(7);
    expect(tracker.since(keyOf(other), 'x')).toBe(8);
    publish(
      tracker,
      9,
      new Map([
        [verdict, 'b'],
        [other, 'x'],
      ]),
    );
    expect(tracker.since(keyOf(verdict), 'b')).toBe(9);
    expect(tracker.since(keyOf(other), 'x')).toBe(8);
  });

  test('that is newer than the last publish is not published', () => {
    const tracker = createProgrammedTracker();
    expect(tracker.since(keyOf(verdict), 'a')).toBeUndefined();
    publish(tracker, 7, new Map([[verdict, 'a']]));
    expect(tracker.since(keyOf(verdict), 'b')).toBeUndefined();
    expect(tracker.since(keyOf(verdict), undefined)).toBeUndefined();
  });

  test('may be its absence: a disabled key is out from a generation on', () => {
    const tracker = createProgrammedTracker();
    publish(tracker, 7, new Map([[verdict, 'a']]));
    publish(tracker, 8, new Map([[verdict, undefined]]));
    expect(tracker.since(keyOf(verdict), undefined)).toBe(8);
  });

  test('that returns is new again, and so is an object that was deleted', () => {
    const tracker = createProgrammedTracker();
    publish(tracker, 7, new Map([[verdict, 'a']]));
    publish(tracker, 8, new Map());
    publish(tracker, 9, new Map([[verdict, 'a']]));
    expect(tracker.since(keyOf(verdict), 'a')).toBe(9);
  });

  test('that returns after a table without it, whose write had no answer, is new again', () => {
    const tracker = createProgrammedTracker();
    publish(tracker, 7, new Map([[verdict, 'a']]));
    tracker.onAttempted({ verdicts: new Map([[keyOf(verdict), verdict]]), formOf: () => undefined });
    expect(tracker.since(keyOf(verdict), 'a')).toBeUndefined();
    expect(tracker.since(keyOf(verdict), undefined)).toBeUndefined();
    publish(tracker, 9, new Map([[verdict, 'a']]));
    expect(tracker.since(keyOf(verdict), 'a')).toBe(9);
  });

  test('whose table was published despite an error belongs to the generation in force', () => {
    const tracker = createProgrammedTracker();
    publish(tracker, 7, new Map([[verdict, 'a']]));
    tracker.onAttempted({ verdicts: new Map([[keyOf(verdict), verdict]]), formOf: () => 'b' });
    publish(tracker, 8, new Map([[verdict, 'b']]));
    expect(tracker.since(keyOf(verdict), 'b')).toBe(8);
  });

  test('that an earlier leader recorded keeps its generation, unless the table was made again', () => {
    const forms = new Map<Verdict, unknown>([
      [verdict, 'a'],
      [other, 'x'],
    ]);
    const tracker = createProgrammedTracker();
    publish(tracker, 9, forms, (one) => (one === verdict ? 4 : undefined));
    expect([tracker.since(keyOf(verdict), 'a'), tracker.since(keyOf(other), 'x')]).toEqual([4, 9]);
    // Asked about new objects alone.
    publish(tracker, 10, new Map([[verdict, 'b']]), () => 2);
    expect(tracker.since(keyOf(verdict), 'b')).toBe(10);
    const again = createProgrammedTracker();
    publish(again, 3, forms, () => 400);
    expect(again.since(keyOf(verdict), 'a')).toBe(3);
  });
});

describe('a record in a status', () => {
  const object = apiKey({}, { generation: 3 });
  const own = judge('ApiKey', { apiKeys: [object] });
  const done = withStatus(object, written(look(object, own)));

  test('counts if it is about the present spec and every pod ran it', () => {
    expect(recordedGeneration(done)).toBe(7);
  });

  test.each([
    ['without a status', object],
    ['after an edit', { ...done, metadata: { ...done.metadata, generation: 4 } }],
    ['while pending', withStatus(object, written(look(object, own, { pods: fleet(), waitingSinceMs: 0 })))],
    ['of another shape', { ...object, status: { observedGeneration: 3, conditions: 'none', programmed: 7 } }],
  ])('does not count %s', (_, changed) => {
    expect(recordedGeneration(changed)).toBeUndefined();
  });
});

describe('the pods', () => {
  test.each([
    ['none is ready', [], undefined],
    ['one', [runs(5)], 5],
    ['the slowest counts', [runs(7), runs(5), runs(6)], 5],
    ['one runs no table', [runs(7), { failure: 'x', atMs: 0 }, runs(5)], undefined],
    ['one was not heard', [undefined, runs(7)], undefined],
    ['one is silent, and ran a table when it last spoke', [{ ...runs(6), failure: 'x' }, runs(7)], 6],
  ] as const)('run together: %s', (_, answers, generation) => {
    const state = fleet(...answers);
    expect(state.generationOfAll).toBe(generation);
    for (const asked of [5, 6]) {
      const isBehind = generation === undefined || generation < asked;
      expect(allRun(state, asked)).toBe(!isBehind);
      expect(progressOf(state, asked).lagging.length > 0 || state.ready === 0).toBe(isBehind);
    }
  });

  test('with a table of another history do not run this one, whatever its number', () => {
    const table = { epoch: 5, generation: 90, sinceMs: 0, source: 'api' } as const;
    const heard = new Map([['uid-a', runs(90, { table })]]);
    expect(allRun(podsState([pod('a')], heard, 5), 7)).toBe(true);
    expect(allRun(podsState([pod('a')], heard, 6), 7)).toBe(false);
  });

  test('outside of the list do not count', () => {
    const state = podsState(
      [pod('a')],
      new Map([
        ['uid-a', runs(5)],
        ['uid-gone', runs(1)],
      ]),
    );
    expect(state).toMatchObject({ ready: 1, generationOfAll: 5 });
  });
});
