// What is on a page while the next answer is awaited?

import { expect, test } from 'vitest';
import { shownOf } from '../../../dashboard/pages/shell/asked-state.ts';

const before = { question: 'keys of a, by name', view: 'a', answer: ['ci-bot'], isAsking: true };

test('while another question of the same view is loading, the old data stays, marked as busy', () => {
  expect(shownOf(before, 'keys of a, by spend', 'a')).toEqual({
    answer: ['ci-bot'],
    error: undefined,
    isAsking: true,
  });
});

test('another view has no data yet, not even for a moment', () => {
  // As in the very rendering that names it: nothing was asked so far.
  expect(shownOf({ ...before, isAsking: false }, 'keys of b, by name', 'b')).toEqual({
    answer: undefined,
    error: undefined,
    isAsking: true,
  });
  const refused = { question: 'q', view: 'a', error: 'no right in a', isAsking: false };
  expect(shownOf(refused, 'q of b', 'b').error).toBeUndefined();
});

test('data for the present question is not busy', () => {
  expect(shownOf({ ...before, isAsking: false }, 'keys of a, by name', 'a')).toEqual({
    answer: ['ci-bot'],
    error: undefined,
    isAsking: false,
  });
  expect(shownOf({ isAsking: false }, undefined, undefined).isAsking).toBe(false);
});
