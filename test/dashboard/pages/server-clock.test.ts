// Does a page know what time it is, on a laptop whose clock is wrong?

import { describe, expect, test } from 'vitest';
import { openServerClock } from '../../../dashboard/pages/shell/server-clock.ts';

const rightMs = Date.parse('2026-11-23T12:00:00.700Z');
const hourMs = 3_600_000;
const headerAt = (ms: number) => new Date(ms).toUTCString();

/** A browser whose clock is off by so much, and a server that is answering after so long. */
function browserOff(offMs: number) {
  let nowMs = rightMs;
  const browserMs = () => nowMs + offMs;
  const clock = openServerClock(browserMs);
  return {
    clock,
    ask({ thereMs = 0, backMs = 0, date = headerAt(nowMs + thereMs) as string | null } = {}) {
      const sentMs = browserMs();
      nowMs += thereMs + backMs;
      clock.hear(date, sentMs);
    },
    offNow: () => clock.now() - nowMs,
  };
}

describe('a browser whose clock is', () => {
  test.each([-13 * hourMs, -2 * hourMs, -60_000, 60_000, 2 * hourMs, 13 * hourMs])(
    'off by %i ms takes the time of its server',
    (offMs) => {
      const { ask, offNow } = browserOff(offMs);
      ask({ thereMs: 20, backMs: 30 });
      // The header is of a whole second.
      expect(Math.abs(offNow())).toBeLessThan(1_100);
    },
  );

  test.each([-1_000, 0, 1_000])('off by %i ms keeps its own milliseconds', (offMs) => {
    const { ask, offNow } = browserOff(offMs);
    ask({ thereMs: 20, backMs: 30 });
    expect(offNow()).toBe(offMs);
  });

  test.each([
    { thereMs: 30_000, backMs: 0 },
    { thereMs: 0, backMs: 30_000 },
  ])('right keeps its own time if an answer takes long: %j', (way) => {
    const { ask, offNow } = browserOff(0);
    ask(way);
    expect(offNow()).toBe(0);
  });

  test.each([null, '', 'soon'])(
    'given %j uses its own clock, or the last valid time of the server',
    (date) => {
      const { ask, offNow } = browserOff(hourMs);
      ask({ date });
      expect(offNow()).toBe(hourMs);
      ask();
      const acknowledged = offNow();
      ask({ date });
      expect(offNow()).toBe(acknowledged);
    },
  );
});

test('a clock that is corrected while the page is open is no longer adjusted', () => {
  let nowMs = rightMs - hourMs;
  const clock = openServerClock(() => nowMs);
  clock.hear(headerAt(rightMs), nowMs);
  expect(clock.now()).toBeGreaterThan(rightMs - 1_000);
  nowMs = rightMs;
  clock.hear(headerAt(rightMs), nowMs);
  expect(clock.now()).toBe(rightMs);
});
