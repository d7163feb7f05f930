import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from './free-port.ts';

test('ports asked for at once and one after the other are all different', async () => {
  const atOnce = await Promise.all(Array.from({ length: 50 }, () => freePort()));
  const after: number[] = [];
  for (let i = 0; i < 50; i += 1) after.push(await freePort());
  expect(new Set([...atOnce, ...after]).size).toBe(100);
});

test('a port in use is not given to another test, even after all other ports were given', async () => {
  const taken = createServer();
  const held = await freePort();
  await new Promise<void>((resolve) => taken.listen(held, '127.0.0.1', resolve));
  const others = await Promise.all(Array.from({ length: 250 }, () => freePort()));
  await new Promise<void>((resolve) => taken.close(() => resolve()));
  expect(others).not.toContain(held);
});
