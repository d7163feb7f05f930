// Local mode: `npm start`. Settings, everything in one process, a clean end on Ctrl-C. Wiring only.

import { resolve } from 'node:path';
import closeWithGrace from 'close-with-grace';
import { createPressCounter } from './count-presses.ts';
import { explainStart } from './explain-start.ts';
import { readSettings } from './settings.ts';
import { type RunningLocal, startLocal } from './start.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** The builder is loaded where it is needed, which is once; without it, as in an installation without development, that is said. */
async function buildMissing(folder: string): Promise<void> {
  print('Building the pages of the dashboard, once …');
  const { buildPages } = await import('../dashboard/build-pages.ts');
  await buildPages(resolve(folder));
}

// Whoever read it has gone, as in `npm start | head -1`: then nobody listens, and serving goes on.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  const settings = readSettings();
  const starting = startLocal(settings, print, buildMissing).catch((error: unknown) => {
    throw new Error(explainStart(error, settings), { cause: error });
  });
  // Before it has started: whoever reads the last line of the welcome may be quick.
  endOnSignal(starting);
  await starting;
} catch (error) {
  print(`Penstock could not start: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
  // What has been started already would keep the process alive.
  process.exit();
}

/** The first press lets running streams end for a moment, the second breaks them off, the third waits for nothing. */
function endOnSignal(starting: Promise<RunningLocal>): void {
  // It ends the process at a second signal, whatever is under way; so the signals are counted here.
  const closer = closeWithGrace({ delay: false, skip: [...signals] }, async ({ err }) => {
    if (err) print(`Penstock failed: ${err.stack}`);
    const local = await starting;
    await local.close();
  });
  const countPresses = createPressCounter();
  let handled = 0;
  const onSignal = (): void => {
    const presses = countPresses(performance.now());
    if (presses === handled) return;
    handled = presses;
    if (presses === 1) {
      print('Ending; running streams have 3 s (Ctrl-C again: now).');
      closer.close();
    } else if (presses === 2) {
      void starting.then((local) => local.gateway.hurry());
    } else process.exit(130);
  };
  for (const signal of signals) process.on(signal, onSignal);
}
