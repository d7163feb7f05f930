// Which transitions are reported as events, and how?

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ConditionType, REASONS, type Reason } from '../../../core/catalog/conditions.ts';
import type { Condition } from '../../../operator/compile/verdict.ts';
import { cutBytes, cutText } from '../../../operator/cut-text.ts';
import { EVENT_REASONS } from '../../../operator/resources/event-reasons.ts';
import type { Transition } from '../../../operator/status/decide-status.ts';
import { type EventFact, eventsFor } from '../../../operator/status/events.ts';

const OPERATOR = join(import.meta.dirname, '../../../operator');

type Status = Condition['status'];

test.each<[ConditionType, Status | undefined, Status, Reason, 'Normal' | 'Warning' | undefined]>([
  ['Accepted', undefined, 'True', 'Accepted', undefined],
  ['Accepted', undefined, 'False', 'Invalid', 'Warning'],
  ['Accepted', 'False', 'False', 'ReservedPrefix', 'Warning'],
  ['Accepted', 'False', 'True', 'Accepted', 'Normal'],
  ['Accepted', 'True', 'True', 'Suspended', undefined],
  ['ResolvedRefs', 'True', 'False', 'SecretNotFound', 'Warning'],
  ['ResolvedRefs', 'True', 'Unknown', 'NotEvaluated', undefined],
  ['Issued', undefined, 'True', 'SecretCreated', 'Normal'],
  ['Issued', undefined, 'False', 'SecretTaken', 'Warning'],
  ['Programmed', undefined, 'True', 'Programmed', 'Normal'],
  ['Programmed', 'True', 'False', 'Pending', 'Normal'],
  ['Programmed', 'True', 'False', 'NotProgrammed', undefined],
  ['Healthy', 'True', 'False', 'Unhealthy', 'Warning'],
  ['Healthy', 'False', 'False', 'AuthenticationFailed', 'Warning'],
  ['Healthy', 'True', 'False', 'CredentialExhausted', 'Warning'],
  ['Healthy', 'False', 'True', 'Healthy', 'Normal'],
  ['Healthy', 'Unknown', 'True', 'Healthy', undefined],
  ['Healthy', 'False', 'Unknown', 'NoTraffic', undefined],
  ['CredentialsValid', undefined, 'False', 'CredentialsRefused', 'Warning'],
  ['CredentialsValid', 'Unknown', 'True', 'CredentialsExchanged', undefined],
  ['CredentialsValid', 'False', 'True', 'CredentialsExchanged', 'Normal'],
  ['Ready', 'True', 'False', 'Invalid', undefined],
  ['Stalled', undefined, 'True', 'Invalid', undefined],
  ['Reconciling', undefined, 'True', 'Pending', undefined],
  ['Degraded', undefined, 'True', 'SecretNotFound', 'Warning'],
  ['Conflicted', undefined, 'True', 'DigestConflict', 'Warning'],
  ['Disabled', undefined, 'True', 'DisabledBySpec', 'Normal'],
  ['Expired', undefined, 'True', 'PastExpiry', 'Warning'],
])('%s from %s to %s because of %s is reported as %s', (type, from, to, reason, reported) => {
  const transition: Transition = { type, from, to, reason, message: 'the thing and the way out' };
  const events = eventsFor([transition]);
  expect(events.map((event) => event.type)).toEqual(reported === undefined ? [] : [reported]);
  for (const event of events) expect(event).toMatchObject({ reason, note: 'the thing and the way out' });
});

test('an event without a message has the text of its reason', () => {
  const [event] = eventsFor([
    { type: 'Issued', from: undefined, to: 'True', reason: 'Imported', message: '' },
  ]);
  expect(event).toMatchObject({
    action: 'Issue',
    note: 'The keys were imported by their hash.',
  });
});

describe('a long text', () => {
  test.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['a😀b', 3, 'a…'],
    ['😀😀', 4, '😀😀'],
  ])('%s is shortened to %i characters', (text, max, cut) => {
    expect(cutText(text, max)).toBe(cut);
  });

  test.each([
    ['abc', 3, 'abc'],
    ['abcdef', 5, 'ab…'],
    ['€€', 6, '€€'],
    ['€€€', 8, '€…'],
    ['😀😀😀', 9, '😀…'],
  ])('%s is shortened to %i bytes', (text, max, cut) => {
    expect(cutBytes(text, max)).toBe(cut);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
  });
});

describe('the reason of an event', () => {
  test('is listed in docs/reasons.md, with its type', () => {
    const facts: Omit<EventFact, 'reason'> = { type: 'Normal', action: 'Publish', note: 'x' };
    const listed: readonly EventFact[] = [
      { ...facts, reason: 'Programmed' },
      { ...facts, reason: 'AbsenceHeld' },
    ];
    // @ts-expect-error No list has it.
    const other: EventFact = { ...facts, reason: 'SomethingElse' };
    const isListed = ({ reason }: EventFact) =>
      Object.hasOwn(REASONS, reason) || Object.hasOwn(EVENT_REASONS, reason);
    expect([...listed, other].map(isListed)).toEqual([true, true, false]);
  });

  test.each(Object.keys(EVENT_REASONS))(
    '%s, which is listed beside conditions, is reported somewhere',
    (reason) => {
      const files = [
        'leading/objects.ts',
        'leading/table-news.ts',
        'status/key-news.ts',
        'status/drill-news.ts',
        'usage/report-usage.ts',
        'usage/tenant-budgets.ts',
      ];
      const sources = files.map((file) => readFileSync(join(OPERATOR, file), 'utf8'));
      expect(sources.join()).toContain(`'${reason}'`);
    },
  );
});
