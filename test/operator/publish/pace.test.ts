// When is a table published? Played on a clock: changes come, and what is due is published at once.

import { describe, expect, test } from 'vitest';
import { dueMs, noteChange, notePublish, type Pace, RESTING } from '../../../operator/publish/pace.ts';
import { numbers } from './make-content.ts';

interface Change {
  readonly atMs: number;
  readonly isUrgent?: boolean;
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
  for (const { atMs, isUrgent = false } of changes) {
    publishUntil(atMs);
    pace = noteChange(pace, atMs, isUrgent);
  }
  publishUntil(Number.POSITIVE_INFINITY);
  return publishes;
}

const every = (ms: number, count: number, isUrgent = false): Change[] =>
  numbers(count).map((index) => ({ atMs: index * ms, isUrgent }));

test('nothing is due while nothing changes', () => {
  expect(dueMs(RESTING)).toBeUndefined();
  expect(play([])).toEqual([]);
});

test('the first change after quiet is published 50 ms later, with what came meanwhile', () => {
  expect(play([{ atMs: 0 }, { atMs: 20 }, { atMs: 49 }])).toEqual([50]);
  expect(play([{ atMs: 0 }, { atMs: 5_000 }])).toEqual([50, 5_050]);
  expect(play([{ atMs: 0 }, { atMs: 500 }])).toEqual([50, 550]);
  expect(play([{ atMs: 0 }, { atMs: 499 }])).toEqual([50, 749]);
});

test('under churn 250 ms after the last change, at most 1 s after the first', () => {
  expect(play([{ atMs: 0 }, { atMs: 100 }, { atMs: 200 }])).toEqual([50, 450]);
  // A change every 100 ms for three seconds: the first at once, then one table a second.
  expect(play(every(100, 31))).toEqual([50, 1_100, 2_100, 3_100]);
});

describe('what takes access away', () => {
  test('is published 10 ms later, also under churn', () => {
    const churn = [...every(100, 11), { atMs: 1_050, isUrgent: true }];
    const [published] = play(churn).filter((atMs) => atMs >= 1_050);
    expect(published).toBe(1_060);
  });

  test('is published no more than twice a second, however often it comes', () => {
    const publishes = play(every(40, 250, true));
    for (const [index, atMs] of publishes.entries()) {
      if (index > 0) expect(atMs - (publishes[index - 1] ?? 0)).toBeGreaterThanOrEqual(500);
    }
    expect(publishes.length).toBeGreaterThanOrEqual(19);
  });

  test('does not wait for what was published just before and took nothing away', () => {
    expect(play([{ atMs: 0 }, { atMs: 60, isUrgent: true }])).toEqual([50, 70]);
  });

  test('keeps its time when harmless changes follow', () => {
    const publishes = play([{ atMs: 0 }, { atMs: 600, isUrgent: true }, { atMs: 605 }, { atMs: 609 }]);
    expect(publishes).toEqual([50, 610]);
  });
});
