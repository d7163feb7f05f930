// Are writes that come together written together, and does one that cannot be written hold up no other?

import { expect, test } from 'vitest';
import { inGroups } from '../../../ledger/store/in-groups.ts';

/** A store that takes everything but `bad`. */
function startStore() {
  const groups: (readonly string[])[] = [];
  const take = inGroups<string, string>(async (items) => {
    groups.push(items);
    if (items.includes('bad')) throw new Error('it holds what nobody can store');
    return items.map((item) => `${item} is stored`);
  });
  return { groups, take };
}

test('writes that arrive during one go into the next write together', async () => {
  const { groups, take } = startStore();
  expect(await Promise.all(['a', 'b', 'c'].map(take))).toEqual(['a is stored', 'b is stored', 'c is stored']);
  expect(groups).toEqual([['a'], ['b', 'c']]);
  expect(await take('d')).toBe('d is stored');
  expect(groups.at(-1)).toEqual(['d']);
});

test('after a group fails, each item is retried separately', async () => {
  const { groups, take } = startStore();
  const results = await Promise.allSettled(['a', 'b', 'bad', 'c'].map(take));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  expect(groups).toEqual([['a'], ['b', 'bad', 'c'], ['b'], ['bad'], ['c']]);
});
