// What does the door do with what was judged, and with bodies? The clock and the measurements are the test's.

import { beforeEach, describe, expect, test } from 'vitest';
import { Admission } from '../../../gateway/admission/admission.ts';
import { defaultBounds } from '../../../gateway/admission/bounds.ts';
import type { KeyUse } from '../../../gateway/admission/fair-share.ts';
import type { LoadReading } from '../../../gateway/admission/judge-load.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';

const mebibyte = 1024 * 1024;

let clock: FakeClock;
let measured: Omit<LoadReading, 'inFlight' | 'looks'>;
let isMetering: boolean;
let shed: string[];
let accepting: boolean[];
let busy: boolean[];
let admission: Admission;
let inside: KeyUse[];
let callers = 0;

beforeEach(() => {
  clock = makeFakeClock();
  measured = { turnMs: 1, busyShare: 1, loopDelayMs: 0, heapShare: 0.2 };
  isMetering = false;
  shed = [];
  accepting = [];
  busy = [];
  inside = [];
  const bounds = { ...defaultBounds(768 * mebibyte), inFlightMax: 300 };
  admission = new Admission({
    clock: { ...clock, wallMs: clock.now },
    bounds,
    bodyBytesMax: bounds.bodyBytesMax,
    meter: {
      start() {
        isMetering = true;
      },
      stop() {
        isMetering = false;
      },
      read: () => measured,
    },
    onShed: (reason) => shed.push(reason),
    onAccepting: (accepts) => accepting.push(accepts),
    onLook: (isBusy) => busy.push(isBusy),
  });
});

const askerOf = (id: string, namespace = id) => ({ key: { id }, namespace });

/** Each of a key and a tenant of its own, unless they are named. */
const enter = (count: number, key?: string, namespace = key): number => {
  const entered = Array.from({ length: count }, () => {
    const id = key ?? `key-${callers++}`;
    return admission.enter(askerOf(id, namespace ?? id)) ?? [];
  }).flat();
  inside.push(...entered);
  return entered.length;
};

const leave = (): void => {
  const key = inside.pop();
  if (key !== undefined) admission.leave(key);
};

describe('requests', () => {
  test('are admitted up to the limit, and again after others end', () => {
    expect(enter(301)).toBe(300);
    expect(shed).toEqual(['in_flight']);
    leave();
    expect(enter(2)).toBe(1);
  });

  test('of one caller fill seven eighths of the places, so that others find room', () => {
    expect(enter(300, 'greedy')).toBe(263);
    expect(new Set(shed)).toEqual(new Set(['in_flight']));
    expect([enter(20, 'another'), enter(1, 'greedy')]).toEqual([20, 0]);
    for (let left = 0; left < 30; left++) leave();
    expect(enter(1, 'greedy')).toBe(1);
  });

  test('are refused while the heap is full; running ones go on, and new ones are admitted after it has room', () => {
    expect(enter(10)).toBe(10);
    measured = { ...measured, heapShare: 0.93 };
    clock.advance(100);
    expect([enter(5), accepting]).toEqual([0, [false]]);
    expect(new Set(shed)).toEqual(new Set(['heap']));
    measured = { ...measured, heapShare: 0.5 };
    clock.advance(5_000);
    expect([enter(30), accepting]).toEqual([30, [false, true]]);
  });

  test('beyond the running ones are refused while the event loop stays slow', () => {
    expect(enter(200)).toBe(200);
    measured = { ...measured, turnMs: 60 };
    clock.advance(500);
    expect(enter(1)).toBe(0);
    expect(shed).toEqual(['event_loop']);
    for (let left = 0; left < 30; left++) leave();
    expect(enter(100)).toBe(12);
  });
});

/** Turns stay long, and three quarters of what runs are the bound: 64 at least. */
const becomeLate = (inFlightMax = 64): void => {
  measured = { ...measured, turnMs: 400 };
  clock.advance(10_000);
  expect(admission.inFlightMax).toBe(inFlightMax);
};

describe('while the event loop is late', () => {
  test.each([
    ['one key', 1, 85],
    ['four keys', 4, 20],
  ])('another tenant is admitted; the tenant that fills the pod with %s is refused', (_, keys, each) => {
    for (let key = 0; key < keys; key++) expect(enter(each, `greedy-${key}`, 'team-a')).toBe(each);
    becomeLate();
    expect(enter(1, 'greedy-0', 'team-a')).toBe(0);
    expect(new Set(shed)).toEqual(new Set(['event_loop']));
    expect(enter(40, 'modest', 'team-b')).toBe(32);
    expect(enter(40, 'third', 'team-c')).toBe(21);
    expect(enter(1, 'greedy-0', 'team-a')).toBe(0);
  });

  test('another key of the same tenant is admitted, and the key with the most requests is refused', () => {
    enter(85, 'greedy', 'team');
    becomeLate();
    expect([enter(1, 'greedy', 'team'), enter(10, 'modest', 'team')]).toEqual([0, 10]);
  });

  test('a key that is alone gets seven eighths of the lowered limit', () => {
    enter(85, 'alone');
    becomeLate();
    for (let left = 0; left < 85; left++) leave();
    expect(enter(100, 'alone')).toBe(56);
  });

  test('a request is admitted or refused before its body is read; callers without a valid key get only unused places', () => {
    enter(64, 'greedy', 'team-a');
    becomeLate();
    expect([admission.isCrowded, admission.mayEnter()]).toEqual([true, true]);
    expect(admission.mayTake(askerOf('greedy', 'team-a'))).toBe(false);
    expect(admission.mayTake(askerOf('modest', 'team-b'))).toBe(true);
    expect(admission.mayTake(undefined)).toBe(false);
    leave();
    expect(admission.mayTake(undefined)).toBe(true);
    for (let left = 0; left < 8; left++) leave();
    expect(admission.isCrowded, 'nobody would be refused').toBe(false);
  });

  test('requests in flight never exceed the fixed limit', () => {
    for (let key = 0; key < 10; key++) enter(29, `key-${key}`);
    becomeLate(217);
    expect(enter(20, 'modest')).toBe(10);
    expect(admission.mayEnter()).toBe(false);
  });

  test('long answers are read in turns until the event loop is idle again', () => {
    enter(1);
    measured = { ...measured, turnMs: 25 };
    clock.advance(100);
    measured = { ...measured, turnMs: 6 };
    clock.advance(200);
    expect(busy, 'that turns are short again is what reading in turn does').toEqual([true, true, true]);
    measured = { ...measured, busyShare: 0.9 };
    clock.advance(100);
    measured = { ...measured, busyShare: 1 };
    clock.advance(100);
    expect(busy.slice(3)).toEqual([false, false]);
  });
});

test('of one tenant leave places to others, however many keys the tenant has', () => {
  for (let key = 0; key < 100; key++) enter(10, `made-${key}`, 'team-a');
  expect(inside).toHaveLength(282);
  expect(enter(10, 'another', 'team-b')).toBe(10);
});

describe('an idle process', () => {
  test('is not woken, and measures again with the next request', () => {
    expect([clock.pending(), isMetering]).toEqual([[], false]);
    enter(1);
    expect([clock.pending().length, isMetering]).toEqual([1, true]);
    clock.advance(60_000);
    expect(isMetering, 'one request is long').toBe(true);
    leave();
    clock.advance(200);
    expect([clock.pending(), isMetering]).toEqual([[], false]);
    enter(1);
    expect(isMetering).toBe(true);
  });

  test('keeps measuring as long as it refuses requests', () => {
    enter(1);
    measured = { ...measured, heapShare: 0.9 };
    clock.advance(100);
    leave();
    clock.advance(60_000);
    expect(isMetering).toBe(true);
    measured = { ...measured, heapShare: 0.1 };
    clock.advance(20_000);
    expect([isMetering, enter(300)]).toEqual([false, 300]);
  });
});

describe('bodies', () => {
  const open = (caller = 'a') => admission.openBody(caller);

  test('use at most a quarter of the memory together, its last eighth for small ones only, and free it at the end', () => {
    const bodies = ['a', 'b', 'c', 'd', 'e'].map(open);
    expect(bodies.map((body) => body.widen(32 * mebibyte))).toEqual([true, true, true, true, true]);
    expect(open('f').widen(9 * mebibyte)).toBe(false);
    const small = Array.from({ length: 600 }, (_, index) => open(`small-${index}`));
    expect(small.filter((body) => body.widen(64 * 1024))).toHaveLength(512);
    expect([new Set(shed), admission.bodyBytesInFlight]).toEqual([new Set(['body_bytes']), 192 * mebibyte]);
    for (const body of [...bodies, ...small]) body.close();
    expect(admission.bodyBytesInFlight).toBe(0);
    expect(open('f').widen(32 * mebibyte)).toBe(true);
  });

  test('of one caller use at most half of that, so that others find room', () => {
    const bodies = Array.from({ length: 6 }, () => open('a'));
    expect(bodies.map((body) => body.widen(20 * mebibyte))).toEqual([true, true, true, true, false, false]);
    expect([open('a').widen(17 * mebibyte), open('a').widen(16 * mebibyte), open('a').widen(1)]).toEqual([
      false,
      true,
      false,
    ]);
    expect([open('b').widen(32 * mebibyte), open('c').widen(32 * mebibyte)]).toEqual([true, true]);
    for (const body of bodies) body.close();
    expect(open('a').widen(32 * mebibyte)).toBe(true);
  });

  test('count as their bytes arrive; an announced length reserves nothing', () => {
    const announced = Array.from({ length: 100 }, () => open('idle'));
    expect(announced.every((body) => body.fits(32 * mebibyte))).toBe(true);
    const other = open('b');
    other.widen(150 * mebibyte);
    const body = open('c');
    expect([4, 8, 12, 18, 19].map((sum) => body.widen(sum * mebibyte))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect([announced[0]?.fits(mebibyte), admission.bodyBytesInFlight]).toEqual([false, 168 * mebibyte]);
    body.close();
    expect(admission.bodyBytesInFlight).toBe(150 * mebibyte);
    body.close();
    expect(admission.bodyBytesInFlight, 'closed once').toBe(150 * mebibyte);
  });

  test('count again for their translation, as another body of the same caller', () => {
    const body = open('a');
    expect([body.widen(40 * mebibyte), body.addCopy(40 * mebibyte)]).toEqual([true, true]);
    expect(admission.bodyBytesInFlight).toBe(80 * mebibyte);
    expect([body.mayCopy(17 * mebibyte), body.mayCopy(16 * mebibyte), shed]).toEqual([false, true, []]);
    expect([body.addCopy(17 * mebibyte), body.addCopy(16 * mebibyte), shed]).toEqual([
      false,
      true,
      ['body_bytes'],
    ]);
    expect([open('a').widen(1), open('b').widen(32 * mebibyte)]).toEqual([false, true]);
    body.dropCopy(56 * mebibyte);
    expect(open('a').widen(32 * mebibyte)).toBe(true);
    expect(open('c').widen(64 * mebibyte)).toBe(true);
    const small = open('d');
    expect([small.widen(40 * 1024), small.addCopy(40 * 1024)]).toEqual([true, true]);
    body.close();
    body.dropCopy(mebibyte);
    body.addCopy(mebibyte);
    expect(admission.bodyBytesInFlight, 'closed once').toBe(128 * mebibyte + 80 * 1024);
  });

  test('are translated if no other body is in memory, also if the translation exceeds the limit', () => {
    const body = open();
    expect([body.widen(150 * mebibyte), body.addCopy(150 * mebibyte), body.addCopy(1)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('that fill the memory are translated one after another and do not block each other for ever', () => {
    const [first, second] = [open('a'), open('a')];
    expect([first.widen(50 * mebibyte), second.widen(45 * mebibyte)]).toEqual([true, true]);
    expect([first.addCopy(50 * mebibyte), second.addCopy(45 * mebibyte)]).toEqual([true, false]);
    first.close();
    expect(second.addCopy(45 * mebibyte)).toBe(true);
  });

  test('that have arrived are translated while memory is short, but no further copies are made', () => {
    const body = open();
    expect([enter(1), body.widen(1_000)]).toEqual([1, true]);
    measured = { ...measured, heapShare: 0.86 };
    clock.advance(100);
    expect([body.addCopy(1_000), body.mayCopy(1_000), shed]).toEqual([true, false, []]);
  });

  test('do not grow while memory is short', () => {
    const body = open();
    expect([enter(1), body.widen(1_000)]).toEqual([1, true]);
    measured = { ...measured, heapShare: 0.86 };
    clock.advance(100);
    expect([body.widen(1_001), body.fits(2_000), new Set(shed)]).toEqual([false, false, new Set(['heap'])]);
    measured = { ...measured, heapShare: 0.5 };
    clock.advance(100);
    expect(body.widen(1_001)).toBe(true);
  });

  test('of any size is admitted if no other is in flight', () => {
    const body = open();
    expect([body.widen(100 * mebibyte), body.widen(400 * mebibyte)]).toEqual([true, true]);
    expect(open().widen(1)).toBe(false);
  });
});
