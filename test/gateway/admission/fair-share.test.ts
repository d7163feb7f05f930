// Who may begin one more request, by what each key and each tenant has in flight?

import { describe, expect, test } from 'vitest';
import {
  hasFairShare,
  type KeyUse,
  leavesPlaces,
  type TenantUse,
} from '../../../gateway/admission/fair-share.ts';

/** `{ a: [40, 3] }`: tenant a has two keys, with 40 and 3 requests in flight. */
function inFlight(counts: Readonly<Record<string, readonly number[]>>) {
  const tenants = Object.entries(counts).map(([name, keys]): [string, TenantUse] => {
    const tenant: TenantUse = { inFlight: keys.reduce((sum, count) => sum + count, 0), keys: new Set() };
    for (const count of keys) tenant.keys.add({ inFlight: count, idleLooks: 0, tenant });
    return [name, tenant];
  });
  const all = new Map(tenants);
  return {
    all: [...all.values()],
    key(name: string, at = 0): KeyUse {
      const key = [...(all.get(name)?.keys ?? [])][at];
      if (!key) throw new Error(`${name} has no key ${at}`);
      return key;
    },
  };
}

describe('under a limit of 64 requests', () => {
  test.each([
    ['a key that is alone has seven eighths', { a: [55] }, 0, true],
    ['and no more', { a: [56] }, 0, false],
    ['a tenant that is alone has seven eighths with all its keys', { a: [14, 14, 14, 14] }, 0, false],
    ['a key of a hundred streams is refused another one', { a: [100], b: [0] }, 0, false],
    ['a key with none is admitted beside four that have all', { a: [16, 16, 16, 16, 0] }, 4, true],
  ])('%s', (_, counts, at, mayEnter) => {
    const { all, key } = inFlight(counts);
    expect(hasFairShare(key('a', at), all, 64)).toBe(mayEnter);
  });

  test.each([
    ['100 streams of one key', [100]],
    ['four keys of 20', [20, 20, 20, 20]],
    ['a hundred keys of one', Array.from({ length: 100 }, () => 1)],
  ])('another tenant gets up to half of them beside %s', (_, keys) => {
    const admitted = Array.from({ length: 64 }, (_, own) => own).filter((own) => {
      const { all, key } = inFlight({ a: keys, b: [own] });
      return hasFairShare(key('b'), all, 64);
    });
    expect(admitted).toEqual(Array.from({ length: 32 }, (_, own) => own));
  });

  test('the heaviest of three tenants is refused first, and the lightest last', () => {
    const { all, key } = inFlight({ a: [42], b: [20], c: [2] });
    expect(['a', 'b', 'c'].map((name) => hasFairShare(key(name), all, 64))).toEqual([false, true, true]);
    expect(['a', 'b', 'c'].map((name) => hasFairShare(key(name), all, 32))).toEqual([false, false, true]);
  });

  test('tenants with one request each are refused alike if there are too many of them', () => {
    const many = Object.fromEntries(Array.from({ length: 56 }, (_, index) => [`t${index}`, [1]]));
    const { all, key } = inFlight({ ...many, a: [0] });
    expect(hasFairShare(key('a'), all, 56)).toBe(false);
    expect(hasFairShare(key('a'), all, 57)).toBe(true);
  });
});

describe('without load', () => {
  test('a key leaves an eighth of the places free, and a tenant a sixteenth', () => {
    const { key } = inFlight({ a: [56], b: [30, 30] });
    expect(leavesPlaces(key('a'), 8)).toBe(false);
    expect(leavesPlaces(key('a'), 9)).toBe(true);
    expect(leavesPlaces(key('b'), 4)).toBe(false);
    expect(leavesPlaces(key('b'), 5)).toBe(true);
  });
});
