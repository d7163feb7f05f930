// Does the form of a key say the same as the kind ApiKey, and does an edit leave alone what it does not show?

import { describe, expect, test } from 'vitest';
import {
  type BudgetForm,
  buildApiKey,
  checkKeyForm,
  editPatch,
  emptyKeyForm,
  endHint,
  type KeyForm,
  keyFormOf,
  newBudget,
  unknownModels,
} from '../../../dashboard/pages/keys/key-form.ts';
import { openFormats } from '../../../dashboard/pages/words/format.ts';
import type { ApiKey } from '../../../dashboard/pages/words/kube.ts';
import { mergePatch } from '../../../dashboard/pages/words/merge-patch.ts';
import { parseApiKey } from '../../../operator/resources/api-key.ts';

const nowMs = Date.parse('2026-11-23T12:00:00Z');
const form: KeyForm = { ...emptyKeyForm, namespace: 'team-a', name: 'ci-bot' };
const full: KeyForm = {
  ...form,
  displayName: 'CI',
  ownerName: ' Ada ',
  ownerEmail: 'ada@example.com',
  team: 'A',
  expires: '2026-12-31',
  allow: 'penstock/*, llama',
  requestsPerMinute: '60',
  tokensPerMinute: '100000',
  maxConcurrentRequests: '8',
  budgets: [
    { period: 'Month', limit: '100.00', action: 'Block' },
    { period: 'Day', limit: ' 10 ', action: 'Warn' },
  ],
};
const ofMonth = (limit: string): BudgetForm => ({ period: 'Month', limit, action: 'Block' });
const minted = { sha256: 'a'.repeat(64), hint: 'psk_…9f3a' };

describe('the operator accepts what the form accepts', () => {
  test.each([
    ['as little as possible', form],
    ['every field', full],
  ])('%s', (_, given) => {
    expect(checkKeyForm(given, nowMs)).toEqual({});
    expect(parseApiKey(buildApiKey(given, minted))).toMatchObject({ ok: true });
  });

  test('the object has the hash and hint of the key, and nowhere the key itself', () => {
    expect(buildApiKey(full, minted).spec.imports).toEqual([minted]);
    expect(buildApiKey(full).spec).not.toHaveProperty('imports');
  });
});

describe('refusals of the CRD are shown before anything is sent', () => {
  test.each<[keyof KeyForm, string]>([
    ['name', ''],
    ['name', 'CI Bot'],
    ['name', 'bot-'],
    ['name', 'a'.repeat(201)],
    ['namespace', ''],
    ['namespace', 'a.b'],
    ['displayName', 'x'.repeat(129)],
    ['ownerEmail', 'ada'],
    ['allow', 'a b* c*d'],
    ['allow', '-x'],
    ['requestsPerMinute', '0'],
    ['requestsPerMinute', '1.5'],
    ['tokensPerMinute', '1000000000001'],
    ['maxConcurrentRequests', 'many'],
  ])('%s: %j', (name, value) => {
    expect(Object.keys(checkKeyForm({ ...form, [name]: value }, nowMs))).toEqual([name]);
  });

  test.each(['1,50', '1.1234567', '-1'])('a budget of %j, at its own place', (limit) => {
    const budgets = [ofMonth('1'), ofMonth(limit)];
    expect(checkKeyForm({ ...form, budgets }, nowMs)).toEqual({
      budgets: [{}, { limit: expect.any(String) }],
    });
  });

  test('a second budget for one period is refused, and an empty one is ignored', () => {
    expect(checkKeyForm({ ...form, budgets: [ofMonth('1'), ofMonth('2')] }, nowMs)).toEqual({
      budgets: [{}, { period: expect.any(String) }],
    });
    expect(checkKeyForm({ ...form, budgets: [ofMonth(''), ofMonth('2')] }, nowMs)).toEqual({});
  });

  test('a day in the past is refused as expiry', () => {
    expect(checkKeyForm({ ...form, expires: '2026-11-23' }, nowMs)).toHaveProperty('expires');
    expect(checkKeyForm({ ...form, expires: '2026-11-24' }, nowMs)).toEqual({});
  });
});

test.each([
  ['', []],
  ['penstock/small', []],
  ['penstock/*, *', []],
  ['nonsense penstock/small pen*stock other/*', ['nonsense', 'pen*stock', 'other/*']],
])('for %j the patterns that match no model are shown', (text, unknown) => {
  expect(unknownModels(text, ['penstock/small', 'llama'])).toEqual(unknown);
});

describe('an edit of a key', () => {
  const before: ApiKey = {
    metadata: { name: 'ci-bot', namespace: 'team-a', resourceVersion: '7' },
    spec: {
      owner: { name: 'Ada' },
      expiresAt: '2026-12-31T17:30:00Z',
      imports: [minted],
      models: { allow: ['llama'], deny: ['llama-old'] },
      limits: { requestsPerMinute: 60 },
      budgets: [
        { period: 'Month', limit: '100', action: 'Block', warnPercent: 90 },
        { period: 'Day', limit: '10', action: 'Warn' },
      ],
    },
  };
  const patched = (changes: Partial<KeyForm>) =>
    mergePatch(before, editPatch(before, { ...keyFormOf(before), ...changes }));

  test('of nothing sends nothing', () => {
    expect(patched({})).toEqual(before);
  });

  const [ofTheMonth, ofTheDay] = keyFormOf(before).budgets;
  const month = { period: 'Month', limit: '100', action: 'Block', warnPercent: 90 };
  const day = { period: 'Day', limit: '10', action: 'Warn' };
  if (ofTheMonth === undefined || ofTheDay === undefined) throw new Error('both budgets are in the form');

  test('of one budget keeps its warning and the other budgets', () => {
    expect(patched({ budgets: [{ ...ofTheMonth, limit: '200' }, ofTheDay] })).toHaveProperty('spec.budgets', [
      { ...month, limit: '200' },
      day,
    ]);
    expect(patched({ budgets: [ofTheMonth, { ...ofTheDay, limit: '5' }] })).toHaveProperty('spec.budgets', [
      month,
      { ...day, limit: '5' },
    ]);
  });

  test('removes a budget, by its row or by an empty field, also the last one', () => {
    expect(patched({ budgets: [ofTheDay] })).toHaveProperty('spec.budgets', [day]);
    expect(patched({ budgets: [{ ...ofTheMonth, limit: ' ' }, ofTheDay] })).toHaveProperty('spec.budgets', [
      day,
    ]);
    expect(patched({ budgets: [] })).not.toHaveProperty('spec.budgets');
  });

  test('adds budgets until every period has one', () => {
    let budgets = keyFormOf(before).budgets;
    for (const limit of ['700', '9000']) budgets = [...budgets, { ...newBudget(budgets), limit }];
    const after = patched({ budgets });
    expect(after).toHaveProperty('spec.budgets', [
      month,
      day,
      { period: 'Week', limit: '700', action: 'Block' },
      { period: 'Total', limit: '9000', action: 'Block' },
    ]);
    const { spec } = after as ApiKey;
    const whole = { apiVersion: 'penstock.dev/v1alpha1', kind: 'ApiKey', metadata: before.metadata, spec };
    expect(parseApiKey(whole)).toMatchObject({ ok: true });
  });

  test('keeps an expiry within a day, also if another field changes', () => {
    const utc = openFormats('en-GB', 'UTC');
    expect(endHint('2026-12-31T23:59:59Z', utc)).toMatch(/^Now 31 Dec 2026, 23:59 UTC; /);
    for (const day of [undefined, '2026-12-31T00:00:00Z', '2026-12-31T00:00:00.000Z'])
      expect(endHint(day, utc)).toMatch(/^Expires when this day starts, in UTC/);
    // The day is that of UTC, in whichever zone it is written.
    const spec = { ...before.spec, expiresAt: '2027-01-01T00:30:00+02:00' };
    const shown = keyFormOf({ ...before, spec });
    expect(shown.expires).toBe('2026-12-31');
    const other = { ...shown, team: 'B' };
    expect(mergePatch({ ...before, spec }, editPatch({ ...before, spec }, other))).toHaveProperty(
      'spec.expiresAt',
      spec.expiresAt,
    );
  });

  test('removes emptied fields, and keeps refused models', () => {
    const after = patched({ allow: '', requestsPerMinute: '', ownerName: '', expires: '' });
    expect(after).toHaveProperty('spec.models', { deny: ['llama-old'] });
    expect(after).not.toHaveProperty('spec.limits');
    expect(after).not.toHaveProperty('spec.owner');
    expect(after).not.toHaveProperty('spec.expiresAt');
    expect(after).toHaveProperty('spec.imports', [minted]);
  });
});

// The examples of RFC 7386, appendix A, that say something else than another.
test.each<[unknown, unknown, unknown]>([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'foo' }, null, null],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('%j with the merge patch %j is %j', (target, patch, merged) => {
  expect(mergePatch(target, patch)).toEqual(merged);
});
