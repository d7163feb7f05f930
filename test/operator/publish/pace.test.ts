// When is a table published? Played on a clock: changes come, and what is due is published at once.

import { describe, expect, test } from 'vitest';
import { dueMs, noteChange, notePublish, type Pace, RESTING } from '../../../operator/publish/pace.ts';
import type { Urgency } from '../../../operator/watch/urgency.ts';
import { numbers } from './make-content.ts';

interface Change {
  readonly atMs: number;
  readonly urgency?: Urgency;
}

/** The times of all publishes. */
function play(changes: readonly Change[]): number[] {
  const publishes: number[] = [];
  let pace: Pace = RESTING;
  const publishUntil = (endMs: number) => {
    for (let due = dueMs(pace); due !== undefined && due <= endMs; due = dueMs(pace)) {
      publishes.push(due);
      pace = notePublish(pace, due);
    }
  };
  for (const { atMs, urgency = 'bulk' } of changes) {
    publishUntil(atMs);
    pace = noteChange(pace, atMs, urgency);
  }
  publishUntil(Number.POSITIVE_INFINITY);
  return publishes;
}

const every = (ms: number, count: number, urgency: Urgency = 'bulk'): Change[] =>
  numbers(count).map((index) => ({ atMs: index * ms, urgency }));

test('nothing is due while nothing changes', () => {
  expect(dueMs(RESTING)).toBeUndefined();
  expect(play([])).toEqual([]);
});

test('the first change after a pause is published after 50 ms, with all that arrives until then', () => {
  expect(play([{ atMs: 0 }, { atMs: 20 }, { atMs: 49 }])).toEqual([50]);
  expect(play([{ atMs: 0 }, { atMs: 5_000 }])).toEqual([50, 5_050]);
  expect(play([{ atMs: 0 }, { atMs: 500 }])).toEqual([50, 550]);
  expect(play([{ atMs: 0 }, { atMs: 499 }])).toEqual([50, 749]);
});

test('under constant changes a publish follows 250 ms after the last change, and 1 s after the first at the latest', () => {
  expect(play([{ atMs: 0 }, { atMs: 100 }, { atMs: 200 }])).toEqual([50, 450]);
  // A change every 100 ms for three seconds: the first at once, then one table a second.
  expect(play(every(100, 31))).toEqual([50, 1_100, 2_100, 3_100]);
});

describe('an edit', () => {
  test('is published after 50 ms, also while keys keep changing', () => {
    const edit: Change = { atMs: 830, urgency: 'edit' };
    expect(play([...every(100, 9), edit, ...every(100, 31).slice(9)])).toEqual([
      50, 880, 1_900, 2_900, 3_250,
    ]);
  });

  test('is published at most twice a second, however many there are', () => {
    expect(play(every(40, 50, 'edit'))).toEqual([50, 550, 1_050, 1_550, 2_050]);
  });

  test('delays no revocation', () => {
    const changes: Change[] = [
      { atMs: 0, urgency: 'edit' },
      { atMs: 60, urgency: 'edit' },
      { atMs: 100, urgency: 'revocation' },
    ];
    expect(play(changes)).toEqual([50, 110]);
  });
});

describe('a revocation', () => {
  test('is published after 10 ms, also under constant changes', () => {
    const churn: Change[] = [...every(100, 11), { atMs: 1_050, urgency: 'revocation' }];
    const [published] = play(churn).filter((atMs) => atMs >= 1_050);
    expect(published).toBe(1_060);
  });

  test('is published at most twice a second, however often it comes', () => {
    const publishes = play(every(40, 250, 'revocation'));
    for (const [index, atMs] of publishes.entries()) {
      if (index > 0) expect(atMs - (publishes[index - 1] ?? 0)).toBeGreaterThanOrEqual(500);
    }
    expect(publishes.length).toBeGreaterThanOrEqual(19);
  });

  test('does not wait after a publish without revocations', () => {
    expect(play([{ atMs: 0 }, { atMs: 60, urgency: 'revocation' }])).toEqual([50, 70]);
  });

  test('keeps its time if harmless changes follow', () => {
    const publishes = play([{ atMs: 0 }, { atMs: 600, urgency: 'revocation' }, { atMs: 605 }, { atMs: 609 }]);
    expect(publishes).toEqual([50, 610]);
  });
});
