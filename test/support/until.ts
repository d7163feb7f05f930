// When does something outside become true that gives no event? Asked again and again, with pauses: anyone who is to make it true has
// the cores to himself at the same time.

/**
 * Gives what was found, or true. Waits for ever: the limit is that of the test.
 *
 * @param pauseMs what is waited for is seen so much too late at most.
 */
export async function until<T>(look: () => Promise<T | false | undefined>, pauseMs = 20): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== false && found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
