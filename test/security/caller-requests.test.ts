// Nothing of a caller's headers, query or members chooses where a request goes, as whom, or how it is framed; and nothing of an
// upstream's headers comes back (T5, T12, T13). Ten thousand requests run in test/e2e/security.e2e.ts.

import { expect, test } from 'vitest';
import { runCallerRequests } from './caller-requests.ts';

test('headers and queries of callers are passed on only if the dialect defines them, and so are headers of upstreams', async () => {
  const { strays, asked, received, answered } = await runCallerRequests(400, 20_261_122);
  expect(strays).toEqual([]);
  expect(answered).toBe(asked);
  // The others were refused before they left.
  expect(received).toBeGreaterThan(asked * 0.8);
});
