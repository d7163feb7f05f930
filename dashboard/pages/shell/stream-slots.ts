// How many streams may all pages of a browser hold together? So few that a question of each of them still finds a way to the server.

/** Over HTTP/1.1 browsers open six connections to one host, for all pages together: two are left for questions. */
export const STREAMS_MAX = 4;

/**
 * Waits until fewer than `STREAMS_MAX` are held in this browser; while `hold` runs, one more is. Locks of the browser count them: those of
 * a page that is closed are free at once.
 *
 * @param signal ends the waiting; a stream that is already held must end with its own signal.
 */
export async function withStreamSlot(signal: AbortSignal, hold: () => Promise<void>): Promise<void> {
  if (signal.aborted) return;
  // Browsers have no locks where a page came without https and not from this machine.
  const { locks }: Partial<Pick<Navigator, 'locks'>> = navigator;
  if (locks === undefined) return await hold();
  // A holder of one waits for no other.
  const had = new AbortController();
  const waiting = AbortSignal.any([signal, had.signal]);
  const slots = Array.from({ length: STREAMS_MAX }, (_, at) =>
    locks
      .request(`penstock-stream-${at}`, { signal: waiting }, async () => {
        had.abort();
        await hold();
      })
      .catch((error: unknown) => {
        if ((error as Error).name !== 'AbortError') throw error;
      }),
  );
  await Promise.all(slots);
}
