import { expect, test } from 'vitest';
import { Health } from '/work/main/gateway/route/health.ts';
import { candidatesOf } from '/work/main/test/gateway/route/candidates.ts';

test('a probe that ends in a 400 or a cancel gives the trial back', () => {
  const [a] = candidatesOf([{}]);
  if (!a) throw new Error('');
  const health = new Health();
  for (let n = 0; n < 5; n++) health.onEnd(a, { type: 'target-failure' }, 0);
  health.onStart(a, 5_000);
  health.onEnd(a, { type: 'none' }, 5_010);
  expect(health.isUsable(a, 5_020)).toBe(true);
});
test('a success that began before the 429 does not end the rest', () => {
  const [a] = candidatesOf([{ keys: { a: 'A' } }]);
  if (!a) throw new Error('');
  const health = new Health();
  health.onStart(a, 0);
  health.onStart(a, 0);
  health.onEnd(a, { type: 'key-rest', forMs: 9_000 }, 10);
  health.onEnd(a, { type: 'success' }, 20);
  expect(health.isUsable(a, 30)).toBe(false);
});
