// What runs in this process that does not end by itself?

import { setImmediate } from 'node:timers/promises';

/** How Node calls what is held by servers that listen, programs that were started, and loops that never let go. */
const kinds = ['TCPServerWrap', 'PipeServerWrap', 'ProcessWrap', 'Immediate'];

/** One name for each, sorted; once what was about to end has ended. */
export async function listRunning(): Promise<string[]> {
  let running: string[] = [];
  // Handles close, and others' work is done, in some turn of the event loop behind the one in which they were asked to.
  for (let turn = 0; turn < 100; turn++) {
    await setImmediate();
    running = process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind));
    if (running.length === 0) break;
  }
  return running.toSorted();
}
