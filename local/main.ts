// Local mode: `npm start`. Settings, everything in one process, a clean end on Ctrl-C. Wiring only.

import closeWithGrace from 'close-with-grace';
import { explainStart } from './explain-start.ts';
import { readSettings } from './settings.ts';
import { type RunningLocal, startLocal } from './start.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A terminal sends Ctrl-C to every process, and npm passes its own on: one press, two signals. */
const samePressMs = 250;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

try {
  const settings = readSettings();
  try {
    endOnSignal(await startLocal(settings, print));
  } catch (error) {
    throw new Error(explainStart(error, settings), { cause: error });
  }
} catch (error) {
  print(`Penstock could not start: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
  // What has been started already would keep the process alive.
  process.exit();
}

/** The first press lets running streams end for a moment, the second breaks them off, the third waits for nothing. */
function endOnSignal(local: RunningLocal): void {
  // It ends the process at a second signal, whatever is under way; so the signals are counted here.
  const closer = closeWithGrace({ delay: false, skip: [...signals] }, async ({ err }) => {
    if (err) print(`Penstock failed: ${err.stack}`);
    await local.close();
  });
  let presses = 0;
  let pressedAtMs = Number.NEGATIVE_INFINITY;
  const onSignal = (): void => {
    if (performance.now() - pressedAtMs < samePressMs) return;
    pressedAtMs = performance.now();
    presses++;
    if (presses === 1) {
      print('Ending; running streams have 3 s (Ctrl-C again: now).');
      closer.close();
    } else if (presses === 2) local.gateway.hurry();
    else process.exit(130);
  };
  for (const signal of signals) process.on(signal, onSignal);
}
