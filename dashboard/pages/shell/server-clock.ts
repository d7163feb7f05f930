// What time is it for the server, which judges ends and periods? A browser's clock may be hours off, so it is corrected by the server's
// `Date`.

interface ServerClock {
  /** Unix milliseconds. */
  now(): number;
  /**
   * @param date the header of that name, of an answer that has just come.
   * @param sentMs when it was asked for, by the browser's clock.
   */
  hear(date: string | null, sentMs: number): void;
}

/** Smaller clock differences are ignored. */
const leastMs = 2_000;
/** The header knows no less. */
const secondMs = 1_000;

export function openServerClock(browserMs = () => Date.now()): ServerClock {
  let offsetMs = 0;
  return {
    now: () => browserMs() + offsetMs,
    hear(date, sentMs) {
      const saidMs = Date.parse(date ?? '');
      if (Number.isNaN(saidMs)) return;
      // The server read its clock between question and answer: a difference within that time is not an error.
      const aheadMs = Math.max(0, saidMs - browserMs());
      const behindMs = Math.max(0, sentMs - (saidMs + secondMs));
      const foundMs = aheadMs - behindMs;
      offsetMs = Math.abs(foundMs) < leastMs ? 0 : foundMs;
    },
  };
}

/** A page has one server. */
export const serverClock = openServerClock();
