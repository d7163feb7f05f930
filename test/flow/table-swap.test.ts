// A provider moves to another address while a request that began before is still looking for an answer: which of the
// two addresses does each request reach, and of which of them does a failure tell?
//
// What failed before: the old request, failing over to that provider, left a pool of connections to the former address
// behind under the provider's name, and all that came later were sent there, with the new credentials.

import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
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

test('during a change of address, calls in flight end at the old address, and new calls use the new one', async () => {
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

describe('a new address for a dead one', () => {
  const moving = (to: Wall) => tableOf([{ baseUrl: to.baseUrl }]);
  const dead: Behaviour = { type: 'status', status: 501 };
  const statuses = async (rig: Rig, count: number): Promise<number[]> =>
    (await Promise.all(Array.from({ length: count }, () => ask(rig)))).map(({ status }) => status);
  const all = (count: number, status: number) => Array.from({ length: count }, () => status);

  async function rigAt(wall: Wall): Promise<Rig> {
    const rig = await startRig(moving(wall), { random: () => 0 });
    closers.push(() => rig.close());
    return rig;
  }

  test('is used at once by all calls, whatever breaker was open for the old one', async () => {
    const [former, moved] = [await wallThat(dead), await wallThat({ type: 'answer' })];
    const rig = await rigAt(former);
    await statuses(rig, 6);
    expect(await statuses(rig, 20), 'the breaker is open').toContain(503);
    rig.offer(moving(moved));
    expect(await statuses(rig, 20)).toEqual(all(20, 200));
  });

  test('is not affected by later failures of calls to the old one', async () => {
    const mayFail = Promise.withResolvers<void>();
    const former = await wallThat({ ...dead, beforeHeaders: { until: mayFail.promise } });
    const moved = await wallThat({ type: 'answer' });
    const rig = await rigAt(former);
    const old = statuses(rig, 6);
    await vi.waitFor(() => expect(former.calls).toHaveLength(6));
    rig.offer(moving(moved));
    expect(await statuses(rig, 3)).toEqual(all(3, 200));
    mayFail.resolve();
    expect(await old).toEqual(all(6, 502));
    expect(await statuses(rig, 20)).toEqual(all(20, 200));
  });
});
