// How long may connecting take in all? One timer over DNS, TCP and TLS. Every phase waits under it, and is cancelled when it
// expires or when the request is cancelled.

export interface Deadline {
  /** Aborts when the time is over. */
  readonly signal: AbortSignal;
  remainingMs(): number;
  /** Stops the timer; call it on every path. */
  clear(): void;
}

/** @param unwanted Ends the time early. */
export function startDeadline(timeoutMs: number, nowMs: () => number, unwanted?: AbortSignal): Deadline {
  const controller = new AbortController();
  const endsAtMs = nowMs() + timeoutMs;
  const end = () => controller.abort();
  const timer = setTimeout(end, timeoutMs);
  if (unwanted?.aborted) end();
  unwanted?.addEventListener('abort', end, { once: true });
  return {
    signal: controller.signal,
    remainingMs: () => Math.max(0, endsAtMs - nowMs()),
    clear: () => {
      clearTimeout(timer);
      unwanted?.removeEventListener('abort', end);
    },
  };
}

/** The task's own end, or `onTimeout()` as rejection when the signal fires first. The task itself is not stopped. */
export function withinSignal<T>(task: Promise<T>, signal: AbortSignal, onTimeout: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timeOut = () => reject(onTimeout());
    if (signal.aborted) timeOut();
    signal.addEventListener('abort', timeOut, { once: true });
    task.then(resolve, reject).finally(() => signal.removeEventListener('abort', timeOut));
  });
}
