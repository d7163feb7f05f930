// Does the ledger take the backlog of many gateways in little memory? A short form of `npm run e2e -- ledger-backlog`.

import { expect, test } from 'vitest';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { runBacklog } from './run.ts';

const plane = useControlPlane({ hasControllers: false });

test('after an outage the ledger reads the full journals of 40 gateways within its memory', async () => {
  const seen = await runBacklog({ plane: plane(), pods: 40, pages: 1 });
  expect(seen.taken).toBe(seen.records);
  expect(seen.log).not.toContain('cannot be read or stored');
  expect(seen.resident?.peakMib).toBeLessThanOrEqual(320);
});
