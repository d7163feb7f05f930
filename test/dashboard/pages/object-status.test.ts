// Do conditions come out in plain words, each with a way out where something is to be done?

import { describe, expect, test } from 'vitest';
import { CONDITIONS, REASONS } from '../../../core/catalog/conditions.ts';
import type { Condition, KubeObject } from '../../../dashboard/pages/words/kube.ts';
import { isProgrammed, statusOf } from '../../../dashboard/pages/words/object-status.ts';

/** With these all is well. */
const good = new Set([
  ...[
    'Accepted',
    'ResolvedRefs',
    'Native',
    'Translated',
    'Priced',
    'SecretCreated',
    'Imported',
    'Healthy',
    'CredentialsExchanged',
    'Programmed',
  ],
]);

const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-11-23T00:00:00Z',
});
const object = (conditions: readonly Condition[], generation = 1, observedGeneration = 1): KubeObject => ({
  metadata: { namespace: 'team-a', name: 'a', generation },
  spec: {},
  status: { observedGeneration, conditions },
});

test('every reason that needs action has a remedy, and no other has one', () => {
  const wanted = Object.keys(REASONS).filter((reason) => !good.has(reason));
  const found = Object.entries(REASONS).flatMap(([reason, facts]) => ('wayOut' in facts ? [reason] : []));
  expect(found.sort()).toEqual(wanted.sort());
});

test('every condition has a text', () => {
  for (const type of Object.keys(CONDITIONS)) {
    const [words] = statusOf(object([condition(type, 'False', 'Pending')])).conditions;
    expect(words?.title, type).not.toBe(`Not ${type}`);
  }
});

describe('an object is', () => {
  const ready = condition('Ready', 'True', 'Programmed');
  test.each<[string, string, readonly Condition[]]>([
    ['Waiting', 'busy', []],
    ['Ready', 'good', [ready]],
    [
      'Expired',
      'bad',
      [condition('Ready', 'False', 'PastExpiry'), condition('Expired', 'True', 'PastExpiry')],
    ],
    ['Budget used up', 'bad', [ready, condition('BudgetExhausted', 'True', 'BudgetExhausted')]],
    ['Suspended', 'off', [condition('Ready', 'True', 'Suspended')]],
    [
      'Conflict',
      'bad',
      [condition('Ready', 'False', 'ModelConflict'), condition('Conflicted', 'True', 'ModelConflict')],
    ],
    ['Conflict', 'warn', [ready, condition('Conflicted', 'True', 'DigestConflict')]],
    ['Held', 'warn', [ready, condition('Stalled', 'True', 'LastKnownGood')]],
    [
      'Pending',
      'busy',
      [condition('Ready', 'False', 'Pending'), condition('Reconciling', 'True', 'Pending')],
    ],
    ['Not ready', 'bad', [condition('Ready', 'False', 'Invalid'), condition('Stalled', 'True', 'Invalid')]],
    ['Failing', 'bad', [ready, condition('Healthy', 'False', 'Unhealthy')]],
    ['Degraded', 'warn', [ready, condition('Degraded', 'True', 'SecretNotFound')]],
    ['Degraded', 'warn', [ready, condition('Healthy', 'False', 'PartiallyHealthy')]],
    [
      'Degraded',
      'warn',
      [
        ready,
        condition('Healthy', 'False', 'PartiallyHealthy'),
        condition('Degraded', 'True', 'SecretNotFound'),
      ],
    ],
    ['Expires soon', 'warn', [ready, condition('ExpiringSoon', 'True', 'NearExpiry')]],
  ])('%s (%s)', (word, tone, conditions) => {
    expect(statusOf(object(conditions))).toMatchObject({ word, tone });
  });

  const route = (...targets: { name: string; state: string; message?: string }[]) =>
    statusOf({ ...object([ready]), status: { ...object([ready]).status, targets } } as KubeObject);
  const dead = { state: 'Unhealthy', message: 'every call has failed since then: HTTP 500' };

  test('failing if no target answers, and degraded if one target does not, or not always', () => {
    expect(route({ name: 'main', ...dead }, { name: 'old', state: 'Drained' })).toMatchObject({
      word: 'Failing',
      tone: 'bad',
      message: 'main: every call has failed since then: HTTP 500',
    });
    expect(route({ name: 'main', ...dead }, { name: 'spare', state: 'Ready' })).toMatchObject({
      word: 'Degraded',
      tone: 'warn',
      message: 'main: every call has failed since then: HTTP 500',
    });
    expect(route({ name: 'main', ...dead }).conditions.map(({ title }) => title)).toEqual([
      'No target answers',
    ]);
    const partly = { name: 'spare', state: 'Ready', message: 'some calls fail: HTTP 503' };
    expect(route({ name: 'main', state: 'Ready' }, partly)).toMatchObject({
      word: 'Degraded',
      message: 'spare: some calls fail: HTTP 503',
    });
    expect(route({ name: 'main', state: 'Ready' })).toMatchObject({ word: 'Ready', tone: 'good' });
  });

  test('not warned of a missing price if its calls cost nothing: with Providers of its own, for its own keys', () => {
    const unpriced = condition('Priced', 'False', 'NoPrice');
    const tone = (providerRef: object, spec: object = {}) =>
      statusOf({
        ...object([ready, unpriced]),
        spec: { targets: [{ name: 'main', providerRef }], ...spec },
      }).conditions.find(({ type }) => type === 'Priced')?.tone;
    expect(tone({ name: 'own' })).toBe('off');
    expect(tone({ name: 'own', namespace: 'platform' })).toBe('warn');
    expect(tone({ name: 'own' }, { allowedNamespaces: { from: 'All' } })).toBe('warn');
  });

  test('not shown as ready or served if it is disabled, suspended or expired', () => {
    const served = condition('Programmed', 'True', 'Programmed');
    const titles = (conditions: readonly Condition[], disabled = false) =>
      statusOf({ ...object(conditions), spec: { disabled } }).conditions.map(({ title }) => title);
    const off = [
      condition('Disabled', 'True', 'DisabledBySpec'),
      condition('Ready', 'True', 'DisabledBySpec'),
    ];
    expect(titles([served, ...off], true)).toEqual(['Applied by every gateway', 'Disabled']);
    expect(titles([served, condition('Ready', 'True', 'Suspended')])).toEqual(['Applied by every gateway']);
    expect(titles([served, ready])).toEqual(['Ready', 'Live on every gateway']);
  });

  test('disabled after gateways have applied it, and in progress before', () => {
    const disabled = condition('Disabled', 'True', 'DisabledBySpec');
    const standing = (conditions: readonly Condition[], observedGeneration = 2) =>
      statusOf({ ...object(conditions, 2, observedGeneration), spec: { disabled: true } });
    const isServed = 'Gateways may accept it until they apply the last change.';
    expect(standing([ready], 1)).toMatchObject({ word: 'Disabling', tone: 'warn', message: isServed });
    expect(standing([])).toMatchObject({ word: 'Disabling', message: isServed });
    const pending = [
      condition('Programmed', 'False', 'Pending', 'waiting for 1 of 3 gateway pods'),
      condition('Ready', 'False', 'Pending', 'waiting for 1 of 3 gateway pods'),
    ];
    expect(standing([disabled, ...pending])).toMatchObject({
      word: 'Disabling',
      message: `${isServed} Now: waiting for 1 of 3 gateway pods`,
    });
    const out = [
      condition('Programmed', 'False', 'NotProgrammed'),
      condition('Ready', 'False', 'KeyMalformed'),
    ];
    expect(standing([disabled, ...out])).toMatchObject({ word: 'Disabled', tone: 'off' });
    const taken = condition('Programmed', 'True', 'Programmed');
    const isReady = condition('Ready', 'True', 'DisabledBySpec');
    expect(standing([disabled, taken, isReady])).toMatchObject({ word: 'Disabled', tone: 'off' });
  });

  test('waiting until the operator has processed the last edit', () => {
    expect(statusOf(object([ready], 2, 1))).toMatchObject({ word: 'Waiting' });
  });
});

test('programmed if every pod runs its current form, not that before an edit', () => {
  const programmed = { ...condition('Programmed', 'True', 'Programmed'), observedGeneration: 1 };
  expect(isProgrammed(object([programmed]))).toBe(true);
  expect(isProgrammed(object([programmed], 2))).toBe(false);
  expect(isProgrammed(object([condition('Programmed', 'False', 'Pending')]))).toBe(false);
});

test('a text that Ready and Stalled repeat is shown once', () => {
  const { conditions } = statusOf(
    object([
      condition('Accepted', 'False', 'Invalid'),
      condition('Ready', 'False', 'Invalid'),
      condition('Stalled', 'True', 'Invalid'),
    ]),
  );
  expect(conditions.map(({ type }) => type)).toEqual(['Accepted']);
  expect(statusOf(object([condition('Ready', 'False', 'Pending')])).conditions).toHaveLength(1);
});

test('an upstream that answers some calls is not shown as answering none', () => {
  const [partly] = statusOf(object([condition('Healthy', 'False', 'PartiallyHealthy')])).conditions;
  const [none] = statusOf(object([condition('Healthy', 'False', 'Unhealthy')])).conditions;
  expect(none).toMatchObject({ title: 'Upstream unhealthy', tone: 'bad' });
  expect(partly).toMatchObject({ title: 'Some calls fail', tone: 'warn' });
});

test('a good condition has no remedy, another one has its message and remedy', () => {
  const { conditions } = statusOf(
    object([
      condition('Accepted', 'True', 'Accepted'),
      condition('ResolvedRefs', 'False', 'SecretNotFound', 'no such Secret'),
    ]),
  );
  expect(conditions).toMatchObject([
    { tone: 'good', wayOut: undefined },
    { tone: 'bad', message: 'no such Secret', wayOut: REASONS.SecretNotFound.wayOut },
  ]);
});
