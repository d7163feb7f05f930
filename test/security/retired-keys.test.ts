// A revoked key works for no other tenant, whatever happens; a hundred times as many histories run in test/e2e/security.e2e.ts.

import { expect, test } from 'vitest';
import { runRetiredKeys } from './retired-keys.ts';

test('a key that one namespace has revoked never works for another one, and always works again for its own', async () => {
  const { coveted, returned, strayed } = await runRetiredKeys(10, 60, 20_261_122);
  expect(strayed).toEqual([]);
  expect([coveted, returned].every((count) => count > 10)).toBe(true);
});
