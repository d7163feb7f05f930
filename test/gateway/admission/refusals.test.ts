// When is a refused request told so?

import { expect, test } from 'vitest';
import { Refusals } from '../../../gateway/admission/refusals.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

function setUp() {
  const clock = makeFakeClock();
  const refusals = new Refusals({ ...clock, wallMs: clock.now });
  const told: number[] = [];
  let asked = 0;
  return {
    clock,
    told,
    ask(count: number): void {
      for (let n = 0; n < count; n++) {
        const number = asked++;
        refusals.add(() => told.push(number));
      }
    },
  };
}

test('two hundred at once, the others two hundred in each tenth of a second, in their order', () => {
  const { clock, told, ask } = setUp();
  ask(500);
  expect(told).toHaveLength(200);
  clock.advance(99);
  expect(told).toHaveLength(200);
  clock.advance(1);
  expect(told).toHaveLength(400);
  ask(10);
  expect(told, 'who comes later waits behind').toHaveLength(400);
  clock.advance(100);
  expect(told).toEqual(Array.from({ length: 510 }, (_, index) => index));
});

test('a few are told at once, however long it goes on, and nothing is timed behind the last', () => {
  const { clock, told, ask } = setUp();
  for (let second = 0; second < 100; second++) {
    ask(19);
    clock.advance(10);
  }
  expect(told).toHaveLength(1_900);
  clock.advance(200);
  expect(clock.pending()).toEqual([]);
});
