// A credential goes to the hosts that its own Secret names, and nowhere else (T5), whatever tenants write, callers send and owners
// rotate. 50,000 pairs of a table and a request run in test/e2e/security.e2e.ts.

import { expect, test } from 'vitest';
import { runBoundHosts } from './bound-hosts.ts';

test('for any cluster and any request, the bytes of a credential go to the hosts of its Secret alone', async () => {
  const { strayed, requests, ...counts } = await runBoundHosts(2_000, 20_261_122);
  expect(strayed).toEqual([]);
  expect(requests).toBeGreaterThanOrEqual(2_000);
  // Many are refused for good reasons; those that go out must be many all the same, or the run proves nothing.
  expect(counts.sent).toBeGreaterThan(300);
  for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(30);
  // What is hunted was there to be seen, in each of them.
  expect(counts.carried).toBe(counts.sent + counts.checked);
});
