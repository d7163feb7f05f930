// Do calls that belong together reach one target, and another one where that cannot serve? Through a whole gateway.

import { afterEach, expect, test } from 'vitest';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { ask } from './ask.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Three targets of one tier. */
async function stage(affinity: 'ApiKey' | 'PromptPrefix'): Promise<{ rig: Rig; walls: readonly Wall[] }> {
  const walls = await Promise.all([1, 2, 3].map(() => startWall({ type: 'answer' })));
  for (const wall of walls) closers.push(() => wall.close());
  const { failover } = tableOf([]).routes[0] ?? {};
  if (!failover) throw new Error('the table of the rig has no route');
  const targets = walls.map(({ baseUrl }) => ({ baseUrl, priority: 0 }));
  const rig = await startRig(tableOf(targets, { failover: { ...failover, affinity } }));
  closers.push(() => rig.close());
  return { rig, walls };
}

const callsOf = (walls: readonly Wall[]): number[] => walls.map(({ calls }) => calls.length);
const turn = (...contents: readonly string[]) => ({
  messages: contents.map((content, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content })),
});

test('affinity ApiKey: all calls of a key reach one target', async () => {
  const { rig, walls } = await stage('ApiKey');
  for (let n = 0; n < 12; n++) await ask(rig, { more: turn(`words ${n}`) });
  expect(callsOf(walls).toSorted()).toEqual([0, 0, 12]);
});

test('affinity PromptPrefix: all turns of a conversation reach one target, and conversations are shared', async () => {
  const { rig, walls } = await stage('PromptPrefix');
  for (let n = 0; n < 24; n++) {
    const before = callsOf(walls);
    await ask(rig, { more: turn(`words ${n}`) });
    await ask(rig, { more: turn(`words ${n}`, 'an answer', 'and more?') });
    const added = callsOf(walls).map((calls, at) => calls - (before[at] ?? 0));
    expect(added.toSorted(), `conversation ${n}`).toEqual([0, 0, 2]);
  }
  for (const calls of callsOf(walls)) expect(calls).toBeGreaterThan(0);
});

test('while a target is out, its calls go to one other target, and return with it', async () => {
  const { rig, walls } = await stage('ApiKey');
  await ask(rig);
  const home = walls.findIndex(({ calls }) => calls.length === 1);
  // One answer short of opening its breaker: each call finds out for itself.
  walls[home]?.script({ type: 'status', status: 503 });
  for (let n = 0; n < 4; n++) await ask(rig);
  const away = callsOf(walls).map((calls, at) => (at === home ? 0 : calls));
  expect(away.toSorted()).toEqual([0, 0, 4]);
  walls[home]?.script({ type: 'answer' });
  await ask(rig);
  expect(callsOf(walls)[home]).toBe(1 + 4 + 1);
});
