// Which table is in use after one was offered? Never an older one than before.

import { describe, expect, test } from 'vitest';
import { TableHolder } from '../../../gateway/table/holder.ts';
import { offerTable } from '../../../gateway/table/sources/memory.ts';
import { keyEntry, tableOf } from '../rig.ts';

const table = (epoch: number, generation: number) => ({
  ...tableOf([{ baseUrl: 'https://api.upstream.test/v1' }]),
  epoch,
  generation,
});

describe('after epoch 2, generation 5', () => {
  test.each([
    [2, 6, true],
    [2, 50, true],
    [3, 1, true],
    [3, 5, true],
    [2, 5, false],
    [2, 4, false],
    [1, 6, false],
    [1, 99, false],
  ])('epoch %i, generation %i is taken: %s', (epoch, generation, isTaken) => {
    const holder = new TableHolder();
    const seen: number[] = [];
    offerTable(holder, table(2, 5));
    holder.onSwap((view) => seen.push(view.generation));
    const verdict = offerTable(holder, table(epoch, generation));
    expect(verdict).toEqual(isTaken ? { type: 'taken' } : { type: 'stale', current: 5 });
    expect(holder.current()).toMatchObject(isTaken ? { epoch, generation } : { epoch: 2, generation: 5 });
    expect(seen).toEqual(isTaken ? [generation] : []);
  });
});

test('an empty holder takes any table', () => {
  const holder = new TableHolder();
  expect(holder.current()).toBeUndefined();
  expect(offerTable(holder, table(0, 0))).toEqual({ type: 'taken' });
});

test('a request keeps the view it has taken', () => {
  const holder = new TableHolder();
  offerTable(holder, table(1, 1));
  const view = holder.current();
  offerTable(holder, table(1, 2));
  expect(view?.generation).toBe(1);
});

test('a removed listener is not called', () => {
  const holder = new TableHolder();
  const seen: number[] = [];
  const stop = holder.onSwap((view) => seen.push(view.generation));
  offerTable(holder, table(1, 1));
  stop();
  offerTable(holder, table(1, 2));
  expect(seen).toEqual([1]);
});

test('a table that is refused leaves the old one in use', () => {
  const holder = new TableHolder();
  offerTable(holder, table(1, 1));
  expect(() => offerTable(holder, { ...table(1, 2), providers: [] })).toThrow('not in the table');
  expect(holder.current()?.generation).toBe(1);
});

describe('keys that are revoked', () => {
  const keys = Array.from({ length: 40 }, (_, index) => keyEntry(`psk_${index}`, 'team/key'));
  const beginnings = keys.map(({ sha256 }) => sha256.slice(0, 16));

  test.each([1, 3, 30])('are unknown at once, %i of them, and all others are known', (count) => {
    const holder = new TableHolder();
    offerTable(holder, { ...table(1, 1), keys });
    const before = holder.current();
    const seen: number[] = [];
    holder.onSwap((view) => seen.push(view.generation));
    expect(holder.revoke(beginnings.slice(0, count))).toBe(count);
    expect([...(holder.current()?.keys.keys() ?? [])]).toEqual(keys.slice(count).map(({ sha256 }) => sha256));
    expect(holder.current()).toMatchObject({ epoch: 1, generation: 1, routes: before?.routes });
    expect([before?.keys.size, seen]).toEqual([40, [1]]);
  });

  test('and are not in the table change nothing', () => {
    const holder = new TableHolder();
    expect(holder.revoke(beginnings)).toBe(0);
    offerTable(holder, { ...table(1, 1), keys: keys.slice(1) });
    const before = holder.current();
    expect([holder.revoke(beginnings.slice(0, 1)), holder.revoke([])]).toEqual([0, 0]);
    expect(holder.current()).toBe(before);
  });

  test('work again with a newer table that has them', () => {
    const holder = new TableHolder();
    offerTable(holder, { ...table(1, 1), keys });
    holder.revoke(beginnings);
    offerTable(holder, { ...table(1, 2), keys });
    expect(holder.current()?.keys.size).toBe(40);
  });
});
