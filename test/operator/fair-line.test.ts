// Who is next, where many wait?

import { describe, expect, test } from 'vitest';
import { createFairLine, laneOfObject } from '../../operator/fair-line.ts';

function drain(line: ReturnType<typeof createFairLine>): string[] {
  const taken: string[] = [];
  for (let next = line.take(); next !== undefined; next = line.take()) taken.push(next[0]);
  return taken;
}

test('without lanes, keys are taken in the order of their arrival', () => {
  const line = createFairLine();
  for (const [at, key] of ['b', 'a', 'c'].entries()) line.add(key, at);
  expect(line.size).toBe(3);
  expect(line.take()).toEqual(['b', 0]);
  line.add('d', 9);
  expect(drain(line)).toEqual(['a', 'c', 'd']);
  expect([line.size, line.take()]).toEqual([0, undefined]);
});

describe('objects', () => {
  test('of one namespace delay no other namespace, and Providers and ModelRoutes come before ApiKeys', () => {
    const line = createFairLine(laneOfObject);
    for (let n = 0; n < 5_000; n += 1) line.add(`ApiKey/team-a/key-${n}`, 0);
    line.add('ApiKey/team-b/bot', 1);
    line.add('ApiKey/team-b/ci', 1);
    line.add('ModelRoute/team-c/chat', 2);
    line.add('ModelRoute/team-a/chat', 2);
    line.add('Provider/team-c/up', 2);
    const taken = drain(line);
    expect(taken.slice(0, 7)).toEqual([
      'ModelRoute/team-c/chat',
      'ModelRoute/team-a/chat',
      'Provider/team-c/up',
      'ApiKey/team-a/key-0',
      'ApiKey/team-b/bot',
      'ApiKey/team-a/key-1',
      'ApiKey/team-b/ci',
    ]);
    expect(taken).toHaveLength(5_005);
    expect(new Set(taken).size).toBe(5_005);
  });

  test('added while a lane is processed are included, and duplicates are recognised', () => {
    const line = createFairLine(laneOfObject);
    line.add('ApiKey/a/1', 0);
    expect([line.has('ApiKey/a/1'), line.has('ApiKey/a/2')]).toEqual([true, false]);
    expect(line.take()?.[0]).toBe('ApiKey/a/1');
    for (const key of ['ApiKey/a/2', 'ApiKey/b/1', 'ApiKey/a/3']) line.add(key, 0);
    expect(drain(line)).toEqual(['ApiKey/a/2', 'ApiKey/b/1', 'ApiKey/a/3']);
    line.add('ApiKey/a/4', 0);
    line.clear();
    expect([line.size, line.take(), line.has('ApiKey/a/4')]).toEqual([0, undefined, false]);
  });
});
