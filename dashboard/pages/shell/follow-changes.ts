// How does a page learn of changes? By a stream that comes back when it was cut, and holds no place while it is away.

import type { WatchChange, WatchReset } from '../../api-types.ts';
import { withStreamSlot } from './stream-slots.ts';

interface ChangesHeard {
  readonly change: (change: WatchChange) => void;
  /**
   * Any of it may have changed: with the first event too, since what changed between the first answer and it would be missed.
   *
   * @param version Changes are sent from this version on.
   */
  readonly reset: (version?: number) => void;
  readonly live: (isLive: boolean) => void;
}

const reopenMs = 10_000;

/** @param path of the stream. Nothing is called back after `signal`. */
export async function followChanges(path: string, heard: ChangesHeard, signal: AbortSignal): Promise<void> {
  let isOver = false;
  while (!signal.aborted && !isOver) {
    await withStreamSlot(signal, async () => {
      isOver = (await hear(path, heard, signal)) === 'over';
    });
    // A browser reconnects after a lost connection, but never after an error status, such as a proxy's during a rollout.
    if (!isOver) await after(reopenMs, signal);
  }
}

function hear(
  path: string,
  { change, reset, live }: ChangesHeard,
  signal: AbortSignal,
): Promise<'over' | 'refused'> {
  return new Promise((resolve) => {
    const source = new EventSource(path);
    const end = (how: 'over' | 'refused') => {
      signal.removeEventListener('abort', giveUp);
      source.close();
      resolve(how);
    };
    const giveUp = () => end('over');
    signal.addEventListener('abort', giveUp);
    source.addEventListener('change', (event) =>
      change(JSON.parse((event as MessageEvent).data) as WatchChange),
    );
    source.addEventListener('reset', (event) => {
      live(true);
      reset(Number((JSON.parse((event as MessageEvent).data) as WatchReset).resourceVersion));
    });
    source.addEventListener('end', () => {
      end('over');
      live(false);
      // The session or the right is gone: the answer to the next question says which.
      reset();
    });
    source.addEventListener('error', () => {
      live(false);
      if (source.readyState === EventSource.CLOSED) end('refused');
    });
  });
}

function after(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal.addEventListener('abort', done);
  });
}
