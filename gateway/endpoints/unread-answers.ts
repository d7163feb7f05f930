// What if a client does not take its answer? Whoever takes nothing of it for too long is let go, and so is whoever takes a little now
// and then, or it would hold it for ever. A stream that goes on is looked after by itself (stream/client-stream.ts); here is what has
// been written to its end.

import type { ServerResponse } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { takenBytes, takingMsMax } from '../stream/taken-bytes.ts';

interface Progress {
  taken: number;
  /** When it was seen to have taken so much. */
  since: number;
  /** When it was first looked at. */
  begin: number;
}

/**
 * To be called for each answer when its turn has come.
 *
 * @param wholeMs How long a client may take for all that was written, however much it takes at a time.
 */
export function watchUnread(
  clock: Clock,
  stallMs: number,
  wholeMs = takingMsMax,
): (response: ServerResponse) => void {
  const open = new Map<ServerResponse, Progress | undefined>();
  let isLooking = false;

  const look = (response: ServerResponse, before: Progress | undefined): Progress | undefined => {
    const { socket } = response;
    if (!socket || !response.writableEnded || response.writableFinished) return undefined;
    const now = clock.now();
    const taken = takenBytes(socket);
    const { begin, since } = before ?? { begin: now, since: now };
    const progress = { taken, begin, since: before?.taken === taken ? since : now };
    if (now - progress.since >= stallMs || now - begin >= wholeMs) response.destroy();
    return progress;
  };

  const lookLater = (): void => {
    isLooking = open.size > 0;
    if (!isLooking) return;
    clock.setTimer(stallMs / 4, () => {
      for (const [response, before] of open) open.set(response, look(response, before));
      lookLater();
    });
  };

  return (response) => {
    open.set(response, undefined);
    response.once('close', () => open.delete(response));
    if (!isLooking) lookLater();
  };
}
