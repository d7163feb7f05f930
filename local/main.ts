// Local mode: `npm start`. Settings, everything in one process, a clean end on Ctrl-C. Wiring only.

import closeWithGrace from 'close-with-grace';
import { readSettings } from './settings.ts';
import { startLocal } from './start.ts';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

try {
  const local = await startLocal(readSettings(), print);
  closeWithGrace({ delay: false, onSecondSignal: () => local.gateway.hurry() }, async ({ err }) => {
    if (err) print(`Penstock failed: ${err.stack}`);
    await local.close();
  });
} catch (error) {
  print(`Penstock could not start: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
  // What has been started already would keep the process alive.
  process.exit();
}
