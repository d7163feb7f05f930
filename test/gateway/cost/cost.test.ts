// What does a request cost beyond the least that Node can do? Counts, not times: they are the same on every machine. The bounds are gates:
// a change that costs more fails, and a change that costs less lowers them.

import { beforeAll, describe, expect, test } from 'vitest';
import { type Figures, measure } from './measure.ts';

const scripts = [{ events: 0 }, { events: 1 }, { events: 21 }];
const eventsBetween = 20;

describe('a request beyond the floor, with limits, budgets, records and metrics', () => {
  // Groups of the journal come with the time that passes, which is longer where others work: a few promises and timers among all requests.
  let unary: Figures;
  let stream: Figures;
  let event: Figures;

  beforeAll(async () => {
    const [floorUnary, floorShort, floorLong] = await measure('floor', scripts);
    const [ownUnary, ownShort, ownLong] = await measure('gateway', scripts);
    unary = between(floorUnary, ownUnary);
    stream = between(floorLong, ownLong);
    event = each(between(between(floorShort, floorLong), between(ownShort, ownLong)), eventsBetween);
    console.log(`beyond the floor: ${JSON.stringify({ unary, stream, event }, roundly, 1)}`);
    // Some 4,000 requests warm each process; beside others that can take a minute.
  }, 400_000);

  test('a unary request makes no more promises, listeners, timers and writes than its bounds', () => {
    expect(unary.promises).toBeLessThanOrEqual(3);
    expect(unary.listeners).toBeLessThanOrEqual(0.1);
    expect(unary.timers).toBeLessThanOrEqual(0.4);
    expect(unary.writes).toBeLessThanOrEqual(0.1);
  });

  test('a unary request allocates no more than its bound', () => {
    expect(unary.bytes).toBeLessThanOrEqual(21_000);
  });

  test('a stream of 21 events makes no more promises, listeners, timers and writes than its bounds', () => {
    expect(stream.promises).toBeLessThanOrEqual(6);
    expect(stream.listeners).toBeLessThanOrEqual(0.1);
    expect(stream.timers).toBeLessThanOrEqual(0.6);
    expect(stream.writes).toBeLessThanOrEqual(0.1);
  });

  test('a passed event allocates no more than its bound', () => {
    // An event alone in its turn pays 334 for the immediate at the turn's end; all events of a turn share that (decision 0051).
    expect(event.bytes).toBeLessThanOrEqual(480);
  });
});

function between(less: Figures | undefined, more: Figures | undefined): Figures {
  return combine(more, (name, value) => value - (less?.[name] ?? Number.NaN));
}

function each(figures: Figures, among: number): Figures {
  return combine(figures, (_, value) => value / among);
}

function combine(
  figures: Figures | undefined,
  make: (name: keyof Figures, value: number) => number,
): Figures {
  if (figures === undefined) throw new Error('a script was not measured');
  return {
    bytes: make('bytes', figures.bytes),
    promises: make('promises', figures.promises),
    timers: make('timers', figures.timers),
    listeners: make('listeners', figures.listeners),
    writes: make('writes', figures.writes),
  };
}

function roundly(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toFixed(value < 100 ? 2 : 0)) : value;
}
