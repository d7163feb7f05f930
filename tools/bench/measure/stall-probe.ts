// Longest block of the event loop of a process. Preloaded with `--import`: a ticker of 1 ms records its longest delay; each line on
// standard input prints and resets it.

import { createInterface } from 'node:readline';

const tickMs = 1;
let lastAt = performance.now();
let longestMs = 0;

function tick(): void {
  const now = performance.now();
  longestMs = Math.max(longestMs, now - lastAt - tickMs);
  lastAt = now;
}

setInterval(tick, tickMs);
createInterface(process.stdin).on('line', () => {
  // The line may have come in the same turn as the stall, before the ticker.
  tick();
  process.stdout.write(`${JSON.stringify({ stallMs: longestMs })}\n`);
  longestMs = 0;
});
