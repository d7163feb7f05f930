// Does the form of a key say the same as the kind ApiKey, and does an edit leave alone what it does not show?

import { describe, expect, test } from 'vitest';
import {
  buildApiKey,
  checkKeyForm,
  editPatch,
  emptyKeyForm,
  type KeyForm,
  keyFormOf,
} from '../../../dashboard/pages/keys/key-form.ts';
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
  budgetLimit: '100.00',
};
const minted = { sha256: 'a'.repeat(64), hint: 'psk_…9f3a' };

describe('what the form lets through, the operator takes', () => {
  test.each([
    ['as little as possible', form],
    ['every field', full],
  ])('%s', (_, given) => {
    expect(checkKeyForm(given, nowMs)).toEqual({});
    expect(parseApiKey(buildApiKey(given, minted))).toMatchObject({ ok: true });
  });

  test('the key itself is nowhere in the object, its hash and hint are', () => {
    expect(buildApiKey(full, minted).spec.imports).toEqual([minted]);
    expect(buildApiKey(full).spec).not.toHaveProperty('imports');
  });
});

describe('what the kind refuses is said before anything is sent', () => {
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
    ['budgetLimit', '1,50'],
    ['budgetLimit', '1.1234567'],
    ['budgetLimit', '-1'],
  ])('%s: %j', (name, value) => {
    expect(Object.keys(checkKeyForm({ ...form, [name]: value }, nowMs))).toEqual([name]);
  });

  test('a day that is over is no end of a key', () => {
    expect(checkKeyForm({ ...form, expires: '2026-11-23' }, nowMs)).toHaveProperty('expires');
    expect(checkKeyForm({ ...form, expires: '2026-11-24' }, nowMs)).toEqual({});
  });
});

describe('an edit', () => {
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

  test('of nothing changes nothing', () => {
    expect(patched({})).toEqual(before);
  });

  test('carries the version that was seen, so that nobody else is written over', () => {
    expect(editPatch(before, keyFormOf(before)).metadata).toEqual({ resourceVersion: '7' });
  });

  test('of the budget leaves its warning and the other budgets alone', () => {
    expect(patched({ budgetLimit: '200' })).toHaveProperty('spec.budgets', [
      { period: 'Month', limit: '200', action: 'Block', warnPercent: 90 },
      { period: 'Day', limit: '10', action: 'Warn' },
    ]);
    expect(patched({ budgetLimit: '' })).toHaveProperty('spec.budgets', [
      { period: 'Day', limit: '10', action: 'Warn' },
    ]);
  });

  test('to the period of another budget takes its place, because a period stands once', () => {
    expect(patched({ budgetPeriod: 'Day', budgetLimit: '5' })).toHaveProperty('spec.budgets', [
      { period: 'Day', limit: '5', action: 'Block', warnPercent: 90 },
    ]);
  });

  test('takes away what was emptied, and what is denied stays', () => {
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
