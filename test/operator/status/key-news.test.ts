// What is told of the keys of an ApiKey from one status to the next?

import { expect, test } from 'vitest';
import { keyNews } from '../../../operator/status/key-news.ts';

type State = 'Active' | 'Retiring' | 'Expired';

const status = (...versions: (readonly [id: number, state: State])[]) => ({
  secretName: 'bot-key',
  versions: versions.map(([id, state]) => ({
    id,
    state,
    fingerprint: String(id).repeat(16),
    ...(state === 'Active' ? {} : { notAfter: '2026-06-02T00:00:00Z' }),
  })),
});

test.each([
  ['the first key', status(), status([1, 'Active']), []],
  ['nothing new', status([1, 'Active']), status([1, 'Active']), []],
  ['a rotation', status([1, 'Active']), status([2, 'Active'], [1, 'Retiring']), ['KeyRotated']],
  ['an end', status([2, 'Active'], [1, 'Retiring']), status([2, 'Active'], [1, 'Expired']), []],
  ['a retirement', status([2, 'Active'], [1, 'Expired']), status([2, 'Active']), ['KeyRetired']],
  ['a rotation without overlap', status([1, 'Active']), status([2, 'Active']), ['KeyReplaced']],
  ['a Secret that is gone', status([1, 'Active']), status([1, 'Expired']), []],
  ['and made anew', status([1, 'Expired']), status([2, 'Active']), ['KeyReplaced']],
  [
    'a Secret made anew in an overlap',
    status([2, 'Active'], [1, 'Retiring']),
    status([3, 'Active']),
    ['KeyReplaced', 'KeyRetired'],
  ],
  [
    'a rotation right after another',
    status([2, 'Active'], [1, 'Expired']),
    status([3, 'Active'], [2, 'Retiring']),
    ['KeyRotated', 'KeyRetired'],
  ],
] as const)('%s', (_, before, after, reasons) => {
  expect(keyNews(before, after).map(({ reason }) => reason)).toEqual(reasons);
});

test('of keys that were made elsewhere nothing is told', () => {
  const { secretName: _, ...before } = status([1, 'Active']);
  const { secretName: __, ...after } = status([2, 'Active']);
  expect(keyNews(before, after)).toEqual([]);
});
