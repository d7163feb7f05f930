// Does the list of keys say of a key what its own page says? Two words for each state at most, whatever its conditions are.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stateWords } from '../../dashboard/pages/keys/words.ts';
import type { Condition, KubeObject } from '../../dashboard/pages/words/kube.ts';
import { statusOf } from '../../dashboard/pages/words/object-status.ts';
import { keyRowOf } from '../../dashboard/rows/key-row.ts';

/** The word of the page, and what the list has for it. */
const wordsOfList: Readonly<Record<string, string>> = {
  Waiting: 'Pending',
  Pending: 'Pending',
  Ready: 'Ready',
  'Expires soon': 'Expires soon',
  'Budget used up': 'Budget used up',
  Disabling: 'Disabling',
  Disabled: 'Disabled',
  Expired: 'Expired',
  Conflict: 'Rejected',
  'Not ready': 'Rejected',
};

const condition = (type: string, status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: `${reason}.`,
  lastTransitionTime: '2026-11-23T00:00:00Z',
});
const keyOf = (conditions: readonly Condition[], disabled = false, observedGeneration = 2): KubeObject => ({
  metadata: { namespace: 'team-a', name: 'bot', generation: 2 },
  spec: { disabled },
  status: { observedGeneration, conditions },
});
const inList = (key: KubeObject) => {
  const row = keyRowOf(key, undefined, Date.parse('2026-11-23T00:00:00Z'));
  return row && stateWords(row).word;
};

const ready = condition('Ready', 'True', 'Programmed');
const served = condition('Programmed', 'True', 'Programmed');
const stalled = (reason: string) => [
  condition('Issued', 'False', reason),
  condition('Programmed', 'False', 'NotProgrammed'),
  condition('Ready', 'False', reason),
  condition('Stalled', 'True', reason),
];
const off = [
  condition('Disabled', 'True', 'DisabledBySpec'),
  served,
  condition('Ready', 'True', 'DisabledBySpec'),
];

test.each<[string, string, KubeObject]>([
  ['was never looked at', 'Waiting', keyOf([], false, 0)],
  ['works', 'Ready', keyOf([served, ready])],
  ['was changed since it worked', 'Waiting', keyOf([served, ready], false, 1)],
  [
    'is not at every gateway yet',
    'Pending',
    keyOf([
      condition('Programmed', 'False', 'Pending'),
      condition('Ready', 'False', 'Pending'),
      condition('Reconciling', 'True', 'Pending'),
    ]),
  ],
  ['has a Secret of another owner', 'Not ready', keyOf(stalled('SecretTaken'))],
  ['has a Secret without a key', 'Not ready', keyOf(stalled('KeyMalformed'))],
  [
    'is wrong',
    'Not ready',
    keyOf([
      condition('Accepted', 'False', 'Invalid'),
      condition('Ready', 'False', 'Invalid'),
      condition('Stalled', 'True', 'Invalid'),
    ]),
  ],
  ['is another one’s too', 'Conflict', keyOf([condition('Conflicted', 'True', 'DigestConflict'), ready])],
  [
    'has ended',
    'Expired',
    keyOf([condition('Expired', 'True', 'PastExpiry'), condition('Ready', 'False', 'PastExpiry')]),
  ],
  ['is switched off', 'Disabled', keyOf(off, true)],
  [
    'is switched off and has ended',
    'Disabled',
    keyOf([condition('Expired', 'True', 'PastExpiry'), ...off], true),
  ],
  ['is being switched off', 'Disabling', keyOf([served, ready], true, 1)],
  ['is switched on again', 'Waiting', keyOf(off, false, 1)],
  [
    'has spent all it may',
    'Budget used up',
    keyOf([ready, condition('BudgetExhausted', 'True', 'BudgetExhausted')]),
  ],
  ['ends soon', 'Expires soon', keyOf([ready, condition('ExpiringSoon', 'True', 'NearExpiry')])],
])('a key that %s is %s on its page, and in the list too', (_, word, key) => {
  expect([statusOf(key).word, inList(key)]).toEqual([word, wordsOfList[word]]);
});

test('list and page agree under any conditions', () => {
  const types = [
    'Accepted',
    'Issued',
    'Programmed',
    'Conflicted',
    'Expired',
    'ExpiringSoon',
    'BudgetExhausted',
    'Disabled',
    'Reconciling',
    'Ready',
  ];
  const some = fc.record({
    type: fc.constantFrom(...types),
    status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
    reason: fc.constantFrom('Pending', 'NotProgrammed', 'Invalid'),
  });
  const conditions = fc.uniqueArray(some, { selector: ({ type }) => type, maxLength: types.length });
  fc.assert(
    fc.property(conditions, fc.boolean(), fc.constantFrom(1, 2), (all, disabled, observedGeneration) => {
      const key = keyOf(
        all.map(({ type, status, reason }) => condition(type, status, reason)),
        disabled,
        observedGeneration,
      );
      const { word } = statusOf(key);
      expect(inList(key), word).toBe(wordsOfList[word]);
    }),
    { numRuns: 1_000 },
  );
});
