// How many calls at once? A fixed number pass, the others wait in order of arrival.

interface Gate {
  /** Runs it when there is room. Rejects with the signal's reason where that comes first. */
  pass<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T>;
}

export function makeGate(placesMax: number): Gate {
  let places = placesMax;
  const waiting = new Set<() => void>();

  function leave(): void {
    places += 1;
    const [next] = waiting;
    if (next === undefined) return;
    waiting.delete(next);
    places -= 1;
    next();
  }

  function enter(signal: AbortSignal): Promise<void> | undefined {
    if (places > 0) {
      places -= 1;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
      const stop = () => {
        waiting.delete(go);
        reject(signal.reason);
      };
      waiting.add(go);
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  return {
    async pass(signal, run) {
      signal.throwIfAborted();
      await enter(signal);
      try {
        return await run();
      } finally {
        leave();
      }
    },
  };
}
