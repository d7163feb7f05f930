// Which shards are deleted? Those that no table of late names, ten minutes after this leader saw them unused.

import { expect, test } from 'vitest';
import { createCollector, decideCollection } from '../../../operator/publish/collect.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

const MINUTES = 60_000;

test('shards in use stay, and so do those in use, or first seen, within ten minutes', () => {
  const lastUsed = new Map([
    ['left', 0],
    ['left-lately', 1],
  ]);
  const listed = ['in-use', 'left', 'left-lately', 'never-seen'];
  const decision = decideCollection(listed, new Set(['in-use']), lastUsed, 10 * MINUTES);
  expect(decision.collect).toEqual(['left']);
  expect(Object.fromEntries(decision.lastUsedMs)).toEqual({
    'in-use': 10 * MINUTES,
    'left-lately': 1,
    'never-seen': 10 * MINUTES,
  });
});

test('a copy of a manifest that is no longer kept is deleted at once: without its shards it could not be pinned', () => {
  const listed = ['penstock-m-7', 'penstock-m-8', 'penstock-k-0f'];
  expect(decideCollection(listed, new Set(['penstock-m-8']), new Map(), 0).collect).toEqual(['penstock-m-7']);
});

test('the ten minutes are counted by this leader, and start again with each use', async () => {
  const clock = makeFakeClock();
  let inUse: string[] = [];
  const dropped: string[] = [];
  const collector = createCollector({
    clock,
    listShards: async () => ['shard'].filter((name) => !dropped.includes(name)),
    shardsInUse: () => new Set(inUse),
    async dropShards(names) {
      dropped.push(...names);
      return names.length;
    },
  });
  expect(await collector.collect()).toBe(0);
  clock.advance(9 * MINUTES);
  inUse = ['shard'];
  expect(await collector.collect()).toBe(0);
  inUse = [];
  clock.advance(9 * MINUTES);
  expect(await collector.collect()).toBe(0);
  clock.advance(MINUTES);
  expect(await collector.collect()).toBe(1);
  expect(await collector.collect()).toBe(0);
  expect(dropped).toEqual(['shard']);
});
