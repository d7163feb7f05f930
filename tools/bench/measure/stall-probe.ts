// How long does a process keep its event loop to itself? Preloaded with `--import`: a ticker of 1 ms notes its longest
// delay, every line on standard input prints it and starts anew.

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
