// Are the files that have a place of their own in the order still there? One that is gone would lose it in silence.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { calculating, long } from './sequencer.ts';

test('every file that has a place in the order is there', () => {
  const files = [...long, ...calculating].map((name) => join(import.meta.dirname, '..', `${name}.test.ts`));
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});
