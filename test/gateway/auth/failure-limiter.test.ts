// How often may one address send a bad key?

import { beforeEach, expect, test } from 'vitest';
import { type FailureLimiter, openFailureLimiter } from '../../../gateway/auth/failure-limiter.ts';

let nowMs: number;
let limiter: FailureLimiter;

beforeEach(() => {
  nowMs = 0;
  limiter = openFailureLimiter(60, () => nowMs);
});

const refusals = (address: string, count: number): number =>
  Array.from({ length: count }, () => limiter.judge(address)).filter((reported) => reported !== undefined)
    .length;

test('an address may fail sixty times at once, then once a second, and sixty times again after a quiet minute', () => {
  expect(refusals('192.0.2.1', 60)).toBe(0);
  expect(limiter.judge('192.0.2.1')).toMatchObject({
    status: 429,
    code: 'rate_limit_exceeded',
    headers: { 'retry-after': '1', 'x-should-retry': 'false' },
  });
  nowMs += 1_000;
  expect(refusals('192.0.2.1', 2)).toBe(1);
  nowMs += 3_600_000;
  expect(refusals('192.0.2.1', 61)).toBe(1);
});

test('refused tries do not extend the wait', () => {
  refusals('192.0.2.1', 10_000);
  nowMs += 1_000;
  expect(limiter.judge('192.0.2.1')).toBeUndefined();
});

test('each address has its own limit', () => {
  refusals('192.0.2.1', 100);
  expect(refusals('192.0.2.2', 60)).toBe(0);
});

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:1:2:3', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['2001:db8::1', '2001:db8:0:0:5::1', true],
  ['::1', '0:0:0:0:9:9:9:9', true],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
  ['192.0.2.1:4711', '192.0.2.1:4712', true],
  ['192.0.2.1', '192.0.2.1:4711', true],
  ['192.0.2.1:4711', '192.0.2.2:4711', false],
  ['[2001:db8:1:2::1]:4711', '2001:db8:1:2::9', true],
  ['[2001:db8:1:2:3:4:5:6]:4711', '[2001:db8:1:2:3:4:5:7]', true],
  ['[2001:db8:1:2::1]:4711', '[2001:db8:1:3::1]:4711', false],
])('%s and %s are one source: %s', (one, other, isOne) => {
  refusals(one, 100);
  expect(limiter.judge(other) !== undefined).toBe(isOne);
});

test('ten thousand addresses are remembered, and the least recently seen is forgotten', () => {
  refusals('192.0.2.1', 100);
  refusals('192.0.2.2', 100);
  for (let n = 0; n < 9_999; n++) {
    if (n === 5_000) expect(refusals('192.0.2.2', 1)).toBe(1);
    limiter.judge(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
  }
  expect(refusals('192.0.2.2', 1)).toBe(1);
  expect(refusals('192.0.2.1', 1)).toBe(0);
});

test('a client that disconnected before its address was read is not counted', () => {
  for (let n = 0; n < 100; n++) expect(limiter.judge(undefined)).toBeUndefined();
  expect(refusals('192.0.2.1', 60)).toBe(0);
});

test('nothing is limited if the limiter is switched off', () => {
  limiter = openFailureLimiter(0, () => nowMs);
  expect(refusals('192.0.2.1', 100_000)).toBe(0);
});
