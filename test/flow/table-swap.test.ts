// A provider moves to another address while a request that began before is still looking for an answer: which of the
// two addresses does each request reach?
//
// What failed before: the old request, failing over to that provider, left a pool of connections to the former address
// behind under the provider's name, and all that came later were sent there, with the new credentials.

import { afterEach, expect, test, vi } from 'vitest';
import { startRig, tableOf } from '../gateway/rig.ts';
import { type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { ask } from './ask.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function wallThat(behaviour: Behaviour): Promise<Wall> {
  const wall = await startWall(behaviour);
  closers.push(() => wall.close());
  return wall;
}

test('the old one the address it knows, the new ones the new address', async () => {
  const mayFail = Promise.withResolvers<void>();
  const failing = await wallThat({
    type: 'status',
    status: 503,
    beforeHeaders: { until: mayFail.promise },
  });
  const former = await wallThat({ type: 'answer' });
  const moved = await wallThat({ type: 'answer' });
  const provider = 'platform/moving';
  const table = tableOf([{ baseUrl: failing.baseUrl }, { provider, baseUrl: former.baseUrl }]);
  const rig = await startRig(table);
  closers.push(() => rig.close());

  const old = ask(rig);
  await vi.waitFor(() => expect(failing.calls).toHaveLength(1));
  rig.offer(tableOf([{ provider, baseUrl: moved.baseUrl }]));
  mayFail.resolve();
  expect([(await old).status, former.calls.length, moved.calls.length]).toEqual([200, 1, 0]);

  const next = await ask(rig);
  expect([next.status, next.headers['x-penstock-generation']]).toEqual([200, '2']);
  expect([former.calls.length, moved.calls.length]).toEqual([1, 1]);
});
