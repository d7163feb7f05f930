// The small decisions of the Kubernetes edge, for every input.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../../core/kube/backoff.ts';
import { decideLeaseStep, type LeaseRecord, microTime } from '../../../core/kube/lease.ts';
import { collectionPath, leases, objectPath, secrets } from '../../../core/kube/paths.ts';
import { isOlder } from '../../../core/kube/resource-version.ts';

describe('the wait before a retry', () => {
  const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  test('is never less than half of the first wait, and never more than the last', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fraction, (attempt, random) => {
        const waitMs = backoffMs({ firstMs: 200, lastMs: 30_000 }, attempt, random);
        expect(waitMs).toBeGreaterThanOrEqual(100);
        expect(waitMs).toBeLessThanOrEqual(30_000);
      }),
    );
  });

  test('doubles until it reaches the last', () => {
    const waits = [0, 1, 2, 7, 8, 9].map((attempt) =>
      backoffMs({ firstMs: 200, lastMs: 30_000 }, attempt, 0),
    );
    expect(waits).toEqual([100, 200, 400, 12_800, 15_000, 15_000]);
  });
});

describe('of two resourceVersions', () => {
  test('the smaller number is the older one, however long', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n }), fc.bigInt({ min: 0n, max: 2n ** 64n }), (a, b) => {
        expect(isOlder(String(a), String(b))).toBe(a < b);
      }),
    );
  });

  test('none is older if one is not a number', () => {
    for (const text of ['', 'abc', '1a', '-1', '01', ' 1', undefined]) {
      expect(isOlder(text, '5')).toBe(false);
      expect(isOlder('5', text)).toBe(false);
    }
  });
});

describe('a path', () => {
  test('leads to objects of the core, of groups, of namespaces and to their parts', () => {
    expect(collectionPath(secrets)).toBe('/api/v1/secrets');
    expect(objectPath(secrets, { namespace: 'a', name: 'b' })).toBe('/api/v1/namespaces/a/secrets/b');
    expect(objectPath(leases, { namespace: 'a', name: 'b' }, 'status')).toBe(
      '/apis/coordination.k8s.io/v1/namespaces/a/leases/b/status',
    );
  });

  test('never leaves its collection, whatever the name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (name) => {
        if (name === '' || name === '.' || name === '..') {
          expect(() => objectPath(secrets, { namespace: 'a', name })).toThrow(RangeError);
          return;
        }
        const { pathname, search, hash } = new URL(objectPath(secrets, { namespace: 'a', name }), 'http://x');
        expect(pathname.split('/').slice(0, -1).join('/')).toBe('/api/v1/namespaces/a/secrets');
        expect(search + hash).toBe('');
      }),
    );
  });
});

describe('what to do with a lease', () => {
  const record = (differs: Partial<LeaseRecord> = {}): LeaseRecord => ({
    holder: 'other',
    leaseMs: 15_000,
    renewTime: '2020-01-01T00:00:00.000000Z',
    acquireTime: '2020-01-01T00:00:00.000000Z',
    transitions: 0,
    ...differs,
  });
  const decide = (differs: Partial<Parameters<typeof decideLeaseStep>[0]>) =>
    decideLeaseStep({
      exists: true,
      observation: { record: record(), sinceMs: 1_000 },
      identity: 'me',
      isLeader: false,
      nowMs: 1_000,
      ...differs,
    }).type;

  test('held by another holder it is left alone until it was seen unchanged for its duration', () => {
    expect(decide({ nowMs: 15_999 })).toBe('wait');
    expect(decide({ nowMs: 16_000 })).toBe('take');
  });

  test('the time that the other holder wrote into it has no effect', () => {
    for (const renewTime of ['1970-01-01T00:00:00.000000Z', '2999-01-01T00:00:00.000000Z', 'nonsense']) {
      const observation = { record: record({ renewTime }), sinceMs: 1_000 };
      expect(decide({ observation, nowMs: 15_999 })).toBe('wait');
      expect(decide({ observation, nowMs: 16_000 })).toBe('take');
    }
  });

  test('after a release it is taken at once, and our own is renewed', () => {
    expect(decide({ observation: { record: record({ holder: '' }), sinceMs: 1_000 } })).toBe('take');
    expect(decide({ observation: { record: record({ holder: 'me' }), sinceMs: 1_000 } })).toBe('renew');
  });

  test('after a deletion its holder makes it again at once, another one only after its duration', () => {
    expect(decide({ exists: false, isLeader: true })).toBe('create');
    expect(decide({ exists: false, nowMs: 15_999 })).toBe('wait');
    expect(decide({ exists: false, nowMs: 16_000 })).toBe('create');
    expect(decide({ exists: false, observation: undefined })).toBe('create');
  });

  test('its times have six decimals, as the API takes them', () => {
    expect(microTime(1_763_726_667_042)).toBe('2025-11-21T12:04:27.042000Z');
  });
});
