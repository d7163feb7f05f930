// What is said where a program of the system is missing?

import { expect, test } from 'vitest';
import { run } from '../cluster/run.ts';
import { fetchedProgram } from '../support/fetched-program.ts';
import { neededProgram } from '../support/needed-program.ts';

test('a program that is there is named by its path, one that is not by how it comes', async () => {
  expect(await neededProgram('sh')).toMatch(/^\/.*\/sh$/);
  await expect(neededProgram('no-such-front', 'front')).rejects.toThrow(
    'This test needs no-such-front, and it is not installed: on Debian, apt-get install front, and run again',
  );
});

test('a program that the system lacks comes from a package that carries it, and runs', async () => {
  const programs = [
    ['redis-server', ['--version'], /Redis server v=[67]/],
    ['initdb', ['--version'], /PostgreSQL/],
    ['chromium-headless-shell', ['--version'], /^Chromium \d|HeadlessChrome|Chrome/],
    ['go', ['version'], /go1\.26/],
  ] as const;
  for (const [name, args, answer] of programs) {
    const path = await fetchedProgram(name);
    const { code, stdout, stderr } = await run(path ?? '', args);
    expect({ name, code, stderr, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(answer) });
  }
});
