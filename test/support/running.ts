// What runs in this process that does not end by itself?

import { setImmediate } from 'node:timers/promises';

/** How Node calls what is held by servers that listen, programs that were started, and loops that never let go. */
const kinds = ['TCPServerWrap', 'PipeServerWrap', 'ProcessWrap', 'Immediate'];

/** One name for each, sorted; once what was about to end has ended. */
export async function listRunning(): Promise<string[]> {
  // Handles close in the turn of the event loop behind the one in which they are told to.
  for (let turn = 0; turn < 4; turn++) await setImmediate();
  return process
    .getActiveResourcesInfo()
    .filter((kind) => kinds.includes(kind))
    .toSorted();
}
