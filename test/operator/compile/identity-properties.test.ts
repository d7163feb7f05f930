// Can a tenant use the platform's identity, or reach metadata, by any Provider? `npm run e2e -- properties` judges 50,000 of them.

import { expect, test } from 'vitest';
import { runs } from '../../support/runs.ts';
import { judgeTenants } from './identity-properties.ts';

test('no Provider of a tenant uses an identity without the right to it, or names a metadata address', () => {
  const tables = runs(1_000, 40);
  const { judged, byIdentity, refused } = judgeTenants(tables);
  expect(judged).toBe(50 * tables);
  // It would prove nothing if none were served, or none refused.
  expect(byIdentity).toBeGreaterThan(tables / 4);
  expect(refused).toBeGreaterThan(tables);
});
