// When does something outside become true that gives no event? Asked again and again, with pauses: the process that makes it true has
// the cores to himself at the same time.

/** Shorter than the 15 minutes of a test of e2e, whose own limit would not say what was awaited. */
const patienceMs = 840_000;
const speakEveryMs = 60_000;

/**
 * Gives what was found, or true. Says each minute what it waits for: most tests have a shorter limit of their own.
 *
 * @param pauseMs what is waited for is seen so much too late at most.
 * @throws after `limitMs`, with what was awaited and what was seen last.
 */
export async function until<T>(
  look: () => Promise<T | false | undefined>,
  pauseMs = 20,
  limitMs = patienceMs,
): Promise<T> {
  const startedMs = performance.now();
  let speakMs = speakEveryMs;
  for (;;) {
    const found = await look();
    if (found !== false && found !== undefined) return found;
    const waitedMs = performance.now() - startedMs;
    const state = () => `not so after ${Math.round(waitedMs / 1_000)} s: ${look}; last seen: ${found}`;
    if (waitedMs >= limitMs) throw new Error(state());
    if (waitedMs >= speakMs) {
      speakMs += speakEveryMs;
      console.warn(state());
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
