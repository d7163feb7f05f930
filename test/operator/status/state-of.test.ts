// What is in the column STATE? The worst word that holds, whatever else holds beside it.

import { describe, expect, test } from 'vitest';
import type { Condition } from '../../../operator/compile/verdict.ts';
import { states } from '../../../operator/resources/fields.ts';
import { stateOf } from '../../../operator/status/state-of.ts';

type Words = readonly [Condition['type'], Condition['status'], Condition['reason']];
type Facts = Parameters<typeof stateOf>[0];

const of = (words: readonly Words[], more: Partial<Facts> = {}): Facts => ({
  conditions: words.map(([type, status, reason]) => ({ type, status, reason })),
  isHeld: false,
  ...more,
});

const accepted: Words = ['Accepted', 'True', 'Accepted'];
const ready: Words = ['Ready', 'True', 'Programmed'];
const notReady = (reason: Condition['reason']): Words[] => [
  ['Ready', 'False', reason],
  ['Stalled', 'True', reason],
];
const targets = (...all: string[]) => all.map((state) => ({ state }));

const rows: readonly (readonly [what: string, facts: Facts, state: (typeof states)[number]])[] = [
  ['is served by every pod', of([accepted, ready]), 'Serving'],
  ['has a field that is wrong', of([['Accepted', 'False', 'Invalid'], ...notReady('Invalid')]), 'Invalid'],
  [
    'asks for an id that another one holds',
    of([
      ['Accepted', 'False', 'ModelConflict'],
      ['Conflicted', 'True', 'ModelConflict'],
      ...notReady('ModelConflict'),
    ]),
    'Invalid',
  ],
  [
    'has a key that another ApiKey claimed in vain',
    of([accepted, ready, ['Conflicted', 'True', 'DigestConflict']]),
    'Degraded',
  ],
  [
    'names a Secret that may still come',
    of([
      accepted,
      ['ResolvedRefs', 'False', 'SecretNotFound'],
      ['Ready', 'False', 'SecretNotFound'],
      ['Reconciling', 'True', 'SecretNotFound'],
    ]),
    'Pending',
  ],
  [
    'names a Secret that did not come',
    of([accepted, ['ResolvedRefs', 'False', 'SecretNotFound'], ...notReady('SecretNotFound')]),
    'Failing',
  ],
  [
    'lost its last Provider',
    of([['Accepted', 'False', 'NoUsableTarget'], ...notReady('NoUsableTarget')]),
    'Failing',
  ],
  ['fails its calls', of([accepted, ready, ['Healthy', 'False', 'Unhealthy']]), 'Failing'],
  ['fails some of them', of([accepted, ready, ['Healthy', 'False', 'PartiallyHealthy']]), 'Degraded'],
  ['was not called', of([accepted, ready, ['Healthy', 'Unknown', 'NoTraffic']]), 'Serving'],
  [
    'has no target that answers',
    of([accepted, ready], { targets: targets('Unhealthy', 'Drained') }),
    'Failing',
  ],
  ['has one that does not', of([accepted, ready], { targets: targets('Unhealthy', 'Ready') }), 'Degraded'],
  ['has one that is drained', of([accepted, ready], { targets: targets('Drained', 'Ready') }), 'Serving'],
  [
    'is past its end',
    of([accepted, ['Expired', 'True', 'PastExpiry'], ...notReady('PastExpiry')]),
    'Expired',
  ],
  [
    'is switched off',
    of([accepted, ['Disabled', 'True', 'DisabledBySpec'], ['Ready', 'True', 'DisabledBySpec']]),
    'Disabled',
  ],
  [
    'is suspended',
    of([
      ['Accepted', 'True', 'Suspended'],
      ['Ready', 'True', 'Suspended'],
    ]),
    'Suspended',
  ],
  [
    'has spent its budget',
    of([accepted, ready, ['BudgetExhausted', 'True', 'BudgetExhausted']]),
    'OverBudget',
  ],
  [
    'serves in its last good form',
    of(
      [
        ['Accepted', 'False', 'Invalid'],
        ['Degraded', 'True', 'LastKnownGood'],
        ['Stalled', 'True', 'LastKnownGood'],
        ready,
      ],
      { isHeld: true },
    ),
    'Held',
  ],
  [
    'serves in its last good form, whose calls fail',
    of([['Degraded', 'True', 'LastKnownGood'], ['Healthy', 'False', 'Unhealthy'], ready], { isHeld: true }),
    'Failing',
  ],
  ['misses one target of two', of([accepted, ready, ['Degraded', 'True', 'RefNotFound']]), 'Degraded'],
  ['waits for a pod', of([accepted, ['Ready', 'False', 'Pending']]), 'Pending'],
  ['waits longer than it should', of([accepted, ...notReady('Pending')]), 'Failing'],
];

test.each(rows)('an object that %s', (_, facts, state) => {
  expect(stateOf(facts)).toBe(state);
});

describe('the order of states', () => {
  const named = new Map(rows.map(([, facts, state]) => [state, facts]));

  test('has a row for each', () => {
    expect([...named.keys()].sort()).toEqual([...states].sort());
  });

  test.each([
    ['Expired', 'Disabled'],
    ['Disabled', 'OverBudget'],
    ['Expired', 'OverBudget'],
    ['Suspended', 'Degraded'],
    ['OverBudget', 'Degraded'],
    ['Failing', 'Degraded'],
  ] as const)('puts %s before %s', (worse, better) => {
    const [a, b] = [named.get(worse), named.get(better)];
    expect(stateOf(of([], { conditions: [...(a?.conditions ?? []), ...(b?.conditions ?? [])] }))).toBe(worse);
  });
});
