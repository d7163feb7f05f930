// Does a wait for what never comes say what it was for?

import { expect, test } from 'vitest';
import { until } from '../support/until.ts';

test('a wait gives the awaited value', async () => {
  const answers = [false, undefined, 0] as const;
  let asked = 0;
  expect(await until(async () => answers[asked++], 1)).toBe(0);
  expect(asked).toBe(3);
});

test('a wait beyond its limit names the awaited condition and the last value', async () => {
  const isThere = async () => 'the cat' === String('is home') && true;
  await expect(until(isThere, 1, 5)).rejects.toThrow(/^not so after 0 s: .*the cat.*; last seen: false$/s);
});
