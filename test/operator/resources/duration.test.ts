// How long is a duration, and what is none?

import { expect, test } from 'vitest';
import { durationMs, toMs } from '../../../operator/resources/duration.ts';

test.each([
  ['500ms', 500],
  ['30s', 30_000],
  ['1m30s', 90_000],
  ['2160h', 7_776_000_000],
  ['1.5s', 1_500],
  ['0s', 0],
])('%s is %i ms', (text, milliseconds) => {
  expect(durationMs(text)).toBe(milliseconds);
});

test.each(['', '30', 's', '-1s', '1d', '1 s', '1s ', '1e3s', '.5s', '10us'])(
  '"%s" is no duration',
  (text) => {
    expect(durationMs(text)).toBeUndefined();
    expect(() => toMs(text)).toThrow(/is not a duration such as/);
  },
);
