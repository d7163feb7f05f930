// What is seen of the memory of a process? Its heap, and what lies beside it.

import { expect, test } from 'vitest';
import { readHeapShare } from '../../../gateway/admission/load-meter.ts';

const mebibyte = 1024 * 1024;
const endless = Number.POSITIVE_INFINITY;

test('bytes outside of the heap count against the limit of both together', () => {
  const limits = { lastingHeapBytes: endless, togetherBytes: 1_000 * mebibyte };
  const before = readHeapShare(limits);
  const body = Buffer.alloc(100 * mebibyte);
  const after = readHeapShare(limits);
  expect(after - before).toBeGreaterThan(0.09);
  // Kept until here.
  expect(body.length).toBe(100 * mebibyte);
  expect(readHeapShare({ lastingHeapBytes: endless, togetherBytes: endless })).toBe(0);
});

test('the limit that is closer counts', () => {
  const heap = readHeapShare({ lastingHeapBytes: 1_000 * mebibyte, togetherBytes: endless });
  expect(heap).toBeGreaterThan(0);
  expect(
    readHeapShare({ lastingHeapBytes: 1_000 * mebibyte, togetherBytes: 500 * mebibyte }),
  ).toBeGreaterThan(heap);
});
