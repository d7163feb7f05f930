// When is a refused request reported so?

import { expect, test } from 'vitest';
import { Refusals, slowPace } from '../../../gateway/admission/refusals.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

function setUp() {
  const clock = makeFakeClock();
  const refusals = new Refusals({ ...clock, wallMs: clock.now });
  const reported: number[] = [];
  let asked = 0;
  return {
    clock,
    reported: reported,
    ask(count: number): void {
      for (let n = 0; n < count; n++) {
        const number = asked++;
        refusals.add(() => reported.push(number));
      }
    },
  };
}

test('200 slow senders are answered at once, then 200 every 100 ms, in order', () => {
  const { clock, reported, ask } = setUp();
  ask(500);
  expect(reported).toHaveLength(200);
  clock.advance(99);
  expect(reported).toHaveLength(200);
  clock.advance(1);
  expect(reported).toHaveLength(400);
  ask(10);
  expect(reported, 'who comes later waits behind').toHaveLength(400);
  clock.advance(100);
  expect(reported).toEqual(Array.from({ length: 510 }, (_, index) => index));
});

test('a few slow senders are answered at once, and no timer is left after the last', () => {
  const { clock, reported, ask } = setUp();
  for (let second = 0; second < 100; second++) {
    ask(19);
    clock.advance(10);
  }
  expect(reported).toHaveLength(1_900);
  clock.advance(200);
  expect(clock.pending()).toEqual([]);
});

test('a sender that disconnects takes no turn', () => {
  const clock = makeFakeClock();
  const refusals = new Refusals({ ...clock, wallMs: clock.now }, { momentMs: 10, perMoment: () => 1 });
  const reported: string[] = [];
  const giveUps = ['a', 'b', 'c', 'd'].map((name) => refusals.add(() => reported.push(name)));
  for (const at of [0, 1, 2]) giveUps[at]?.();
  clock.advance(10);
  expect(reported).toEqual(['a', 'd']);
});

test('slow senders are refused one by one, and many at once if they have most of the places', () => {
  let share = 0;
  const pace = slowPace(() => share);
  const clock = makeFakeClock();
  const refusals = new Refusals({ ...clock, wallMs: clock.now }, pace);
  let reported = 0;
  for (let n = 0; n < 100; n++) refusals.add(() => reported++);
  clock.advance(12);
  expect(reported).toBe(2);
  share = 0.76;
  clock.advance(12);
  expect(reported).toBe(22);
  share = 0.74;
  clock.advance(12);
  expect(reported).toBe(23);
});
