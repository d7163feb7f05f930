// Does a gateway connect to its provider and to nobody else, whatever addresses stand in requests? In a network of its own, in which the
// kernel refuses and counts everything else. Needs iptables and user namespaces, or root.

import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { builtCheckout } from '../cluster/checkout.ts';
import { runSandboxed } from './clients/sandbox.ts';
import type { Facts } from './egress/inside.ts';
import { openScorecard } from './scorecard.ts';

const script = fileURLToPath(new URL('egress/inside.ts', import.meta.url));

test('requests full of addresses in every dialect open connections to the provider only', async () => {
  const facts = (await runSandboxed(script, { dist: await builtCheckout() })) as Facts;
  const { statuses, calls, callsWithAddress, elsewhere, control } = facts;
  const tried = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  const reported = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
  const card = openScorecard('Where a gateway connects to');
  card.add({
    what: 'nobody else is connected to or asked, by TCP or by UDP, over IPv4 or IPv6',
    tried,
    failed: elsewhere,
    fired: callsWithAddress,
    figures: `${calls} calls of the provider, ${callsWithAddress} of them with an address in it; answers ${reported.join(', ')}`,
  });
  card.add({
    what: 'a route to an address, to one of IPv6 and to a name is counted',
    tried: control.length,
    failed: control.filter((count) => count === 0).length,
    figures: `${control.join(', ')} packets`,
  });
  card.print();
  expect(Object.keys(statuses).filter((status) => status !== '200' && status !== '400')).toEqual([]);
  expect(card.misses()).toEqual([]);
});
