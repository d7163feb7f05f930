// Are the files that the order names still there? One that is gone would lose its place in silence. And do files that wait run beside
// files that calculate?

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { collectors, mix, secondsOf } from './sequencer.ts';

test('every file with a place in the order is there', () => {
  const files = [...Object.keys(secondsOf), ...collectors].map((name) =>
    join(import.meta.dirname, '..', `${name}.test.ts`),
  );
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

test('files that wait are spread evenly among files that compute, each in its order', () => {
  const waiting = [['A', 40] as const, ['B', 20] as const];
  const others = [1, 2, 3, 4, 5, 6].map((number) => [`${number}`, 5] as const);
  expect(mix(waiting, others).join('')).toBe('A1234B56');
  expect(mix([], others).join('')).toBe('123456');
});
