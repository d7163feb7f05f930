// For how long, and for whom, does a key work?

import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ISSUED_SECRET_LABEL, issuedSecretLabelValue } from '../../../operator/resources/issued-secret.ts';
import { apiKey, secret, snapshot } from '../make.ts';
import { compileOnce, condition, NOW_MS } from './support.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);
const DAY_MS = 86_400_000;
const at = (offsetMs: number) => new Date(NOW_MS + offsetMs).toISOString();
const KEY = 'psk_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghi';

function issued(fields: Parameters<typeof secret>[0] = {}, spec: object = {}, name = 'bot') {
  const object = { ...apiKey({}, { name }), spec };
  const labels = { [ISSUED_SECRET_LABEL]: issuedSecretLabelValue(name) };
  const secrets = [secret({ name: `${name}-key`, labels, data: { apiKey: KEY }, ...fields })];
  return compileOnce(snapshot({ apiKeys: [object], secrets }));
}

describe('the end of a key', () => {
  // Gateways end it by their own clocks, which may be behind this one: until then it stays in the table, with its end.
  test.each([
    ['an hour away', 3_600_000, true, 'ExpiringSoon'],
    ['a millisecond away', 1, true, 'ExpiringSoon'],
    ['now', 0, true, 'Expired'],
    ['past for some', -599_999, true, 'Expired'],
    ['past on every clock', -600_000, false, 'Expired'],
  ] as const)('%s', (_, offsetMs, isInTable, type) => {
    const result = compileOnce(snapshot({ apiKeys: [apiKey({ expiresAt: at(offsetMs) })] }));
    expect(result.table.keys.map(({ notAfterMs }) => notAfterMs)).toEqual(
      isInTable ? [NOW_MS + offsetMs] : [],
    );
    expect(condition(result, 'ApiKey', 'team-a/bot', type).status).toBe('True');
  });

  test('further away than a week, nothing is said, and the gateways are told the moment', () => {
    const result = compileOnce(snapshot({ apiKeys: [apiKey({ expiresAt: at(8 * DAY_MS) })] }));
    expect(result.table.keys[0]?.notAfterMs).toBe(NOW_MS + 8 * DAY_MS);
    expect(result.verdicts[0]?.conditions.map(({ type }) => type)).toEqual(['Accepted', 'Issued']);
  });

  test('the earlier of the two ends holds', () => {
    const imports = [
      { sha256: A, notAfter: at(DAY_MS) },
      { sha256: B, notAfter: at(3 * DAY_MS) },
    ];
    const { table } = compileOnce(snapshot({ apiKeys: [apiKey({ imports, expiresAt: at(2 * DAY_MS) })] }));
    expect(table.keys.map(({ notAfterMs }) => notAfterMs)).toEqual([NOW_MS + DAY_MS, NOW_MS + 2 * DAY_MS]);
  });

  test('the compile says when it will give another answer', () => {
    const apiKeys = [
      apiKey({ expiresAt: at(10 * DAY_MS) }),
      apiKey({ expiresAt: at(DAY_MS), imports: [{ sha256: B }] }, { name: 'b' }),
    ];
    expect(compileOnce(snapshot({ apiKeys })).staleAtMs).toBe(NOW_MS + DAY_MS);
    expect(compileOnce(snapshot({ apiKeys }), NOW_MS + DAY_MS).staleAtMs).toBe(NOW_MS + DAY_MS + 600_000);
    expect(compileOnce(snapshot({ apiKeys }), NOW_MS + 2 * DAY_MS).staleAtMs).toBe(NOW_MS + 3 * DAY_MS);
    expect(compileOnce(snapshot({ apiKeys: [apiKey()] })).staleAtMs).toBeUndefined();
  });
});

describe('a key in its Secret', () => {
  test('works under its SHA-256; the key itself is nowhere', () => {
    const result = issued();
    expect(result.table.keys.map(({ sha256 }) => sha256)).toEqual([hash('sha256', KEY)]);
    expect(condition(result, 'ApiKey', 'team-a/bot', 'Issued').reason).toBe('SecretCreated');
    expect(JSON.stringify(result)).not.toContain(KEY.slice(4, 40));
  });

  test('of a long name is known by a label that Kubernetes takes', () => {
    const long = issued({}, {}, `${'n'.repeat(190)}`);
    expect(long.table.keys).toHaveLength(1);
    const [one, other] = ['x', 'y'].map((end) => issuedSecretLabelValue('n'.repeat(99) + end));
    expect(one).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    expect(one).toHaveLength(63);
    expect(one).not.toBe(other);
  });

  test.each([
    ['without the label', { labels: {} }, 'SecretTaken'],
    ['with the label of another', { labels: { [ISSUED_SECRET_LABEL]: 'other' } }, 'SecretTaken'],
    ['without the key', { data: {} }, 'KeyMalformed'],
    ['with another prefix', { data: { apiKey: `sk_${KEY}` } }, 'KeyMalformed'],
    ['with a word for a key', { data: { apiKey: 'psk_password' } }, 'KeyMalformed'],
    ['with a line break', { data: { apiKey: `${KEY}\n` } }, 'KeyMalformed'],
    ['elsewhere', { namespace: 'team-b' }, 'SecretPending'],
  ] as const)('%s does not work', (_, fields, reason) => {
    const result = issued(fields);
    expect(result.table.keys).toEqual([]);
    expect(condition(result, 'ApiKey', 'team-a/bot', 'Issued').reason).toBe(reason);
    expect(result.verdicts[0]).toMatchObject({ needsSecret: reason === 'SecretPending' });
  });
});

test('a disabled key is out of the table, and an object on its way out too', () => {
  expect(compileOnce(snapshot({ apiKeys: [apiKey({ disabled: true })] })).table.keys).toEqual([]);
  const leaving = apiKey({}, { deletionTimestamp: at(0) });
  expect(compileOnce(snapshot({ apiKeys: [leaving] }))).toMatchObject({ table: { keys: [] }, verdicts: [] });
});

describe('two ApiKeys with one key', () => {
  const old = apiKey({}, { name: 'old', creationTimestamp: '2026-01-01T00:00:00Z' });
  const young = apiKey({}, { name: 'young', namespace: 'team-b', creationTimestamp: '2026-02-01T00:00:00Z' });

  test('the older keeps working, the younger is refused, both are told, neither learns who', () => {
    const result = compileOnce(snapshot({ apiKeys: [young, old] }));
    expect(result.table.keys.map(({ id }) => id)).toEqual(['team-a/old']);
    expect(condition(result, 'ApiKey', 'team-a/old', 'Accepted').status).toBe('True');
    expect(condition(result, 'ApiKey', 'team-b/young', 'Accepted').reason).toBe('DigestConflict');
    const told = ['team-a/old', 'team-b/young'].map(
      (place) => condition(result, 'ApiKey', place, 'Conflicted').message,
    );
    expect(told[0]).not.toMatch(/team-b|young/);
    expect(told[1]).not.toMatch(/team-a/);
  });

  test.each([
    ['disabled', { disabled: true }],
    ['expired', { expiresAt: at(-600_000) }],
  ])('a key that its older owner had %s does not come back to life through the younger', (_, spec) => {
    const off = apiKey(spec, { name: 'old', creationTimestamp: '2026-01-01T00:00:00Z' });
    expect(compileOnce(snapshot({ apiKeys: [young, off] })).table.keys).toEqual([]);
  });

  test('an import cannot take over a key that was issued here', () => {
    const thief = apiKey(
      { imports: [{ sha256: hash('sha256', KEY) }] },
      { name: 'thief', creationTimestamp: '2026-03-01T00:00:00Z' },
    );
    const owner = { ...apiKey({}, { creationTimestamp: '2026-01-01T00:00:00Z' }), spec: {} };
    const labels = { [ISSUED_SECRET_LABEL]: 'bot' };
    const secrets = [secret({ name: 'bot-key', labels, data: { apiKey: KEY } })];
    const { table } = compileOnce(snapshot({ apiKeys: [thief, owner], secrets }));
    expect(table.keys.map(({ id }) => id)).toEqual(['team-a/bot']);
  });
});
