// What is said where a program of the system is missing?

import { expect, test } from 'vitest';
import { neededProgram } from '../support/needed-program.ts';

test('a program that is there is named by its path, one that is not by how it comes', async () => {
  expect(await neededProgram('sh')).toMatch(/^\/.*\/sh$/);
  await expect(neededProgram('no-such-front', 'front')).rejects.toThrow(
    'This test needs no-such-front, and it is not installed: on Debian, apt-get install front, and run again',
  );
});
