// The simulator as a process: settings, server, signals.

import { startSimulator } from './server.ts';
import { readSettings } from './settings.ts';

const { port, host, models } = readSettings();
const simulator = await startSimulator({ port, host, ...(models === undefined ? {} : { models }) });
console.log(`simulator: listening on ${simulator.url}`);

let isClosing = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // A second signal while closing changes nothing: closing ends every connection at once.
    if (isClosing) return;
    isClosing = true;
    simulator.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}
