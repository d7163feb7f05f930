import { expect, test } from 'vitest';
import { Semaphore } from '../../ledger/semaphore.ts';

test('as many run at once as there are permits, the others in the order of their requests', async () => {
  const semaphore = new Semaphore(2);
  const [one, two, three, four] = [semaphore.open(), semaphore.open(), semaphore.open(), semaphore.open()];
  const seen: string[] = [];
  await one.acquire();
  await two.acquire();
  const third = three.acquire().then(() => seen.push('three'));
  const fourth = four.acquire().then(() => seen.push('four'));
  one[Symbol.dispose]();
  await third;
  expect(seen).toEqual(['three']);
  two[Symbol.dispose]();
  await fourth;
  expect(seen).toEqual(['three', 'four']);
});

test('a cancelled wait leaves its turn to the next, and gives no permit back', async () => {
  const semaphore = new Semaphore(1);
  const [one, two, three, idle] = [semaphore.open(), semaphore.open(), semaphore.open(), semaphore.open()];
  await one.acquire();
  const second = two.acquire();
  const third = three.acquire();
  two[Symbol.dispose]();
  idle[Symbol.dispose]();
  await expect(second).rejects.toThrow('it no longer waits');
  one[Symbol.dispose]();
  await third;
  let isFree = false;
  const next = semaphore.run(async () => {
    isFree = true;
  });
  expect(isFree).toBe(false);
  three[Symbol.dispose]();
  three[Symbol.dispose]();
  await next;
  expect(isFree).toBe(true);
});

test('work that fails returns its permit', async () => {
  const semaphore = new Semaphore(1);
  const broken = semaphore.run(() => Promise.reject(new Error('broken')));
  const next = semaphore.run(() => Promise.resolve('next'));
  await expect(broken).rejects.toThrow('broken');
  expect(await next).toBe('next');
});
