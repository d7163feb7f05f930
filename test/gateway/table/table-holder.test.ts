// Which table is in use after one was offered? Never an older one than before.

import { describe, expect, test } from 'vitest';
import { TableHolder } from '../../../gateway/table/holder.ts';
import { offerTable } from '../../../gateway/table/sources/memory.ts';
import { tableOf } from '../rig.ts';

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

test('a listener that has stopped hears nothing more', () => {
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
