// Local mode: `npm start`. Settings, everything in one process, a clean end on Ctrl-C. Wiring only.

import { resolve } from 'node:path';
import closeWithGrace from 'close-with-grace';
import { helpIfAsked } from '../core/help.ts';
import { createPressCounter } from './count-presses.ts';
import { explainStart } from './explain-start.ts';
import { readSettings } from './settings.ts';
import { type RunningLocal, startLocal } from './start.ts';

const isHelp = helpIfAsked({
  usage: ['npm start', 'NAME=value npm start'],
  does: 'Everything in one process on this machine: the gateway on 127.0.0.1:8080, a simulated provider, the ledger and the dashboard.',
  variables: [
    'PENSTOCK_PORT             port of the gateway (8080; 0: any free one)',
    'PENSTOCK_METRICS_PORT     port of /metrics (9090)',
    'PENSTOCK_SIMULATOR_PORT   port of the simulated provider (9100)',
    'PENSTOCK_DASHBOARD_PORT   port of the dashboard (8081)',
    'PENSTOCK_DASHBOARD_PAGES  folder of its built pages (dist/dashboard)',
    'PENSTOCK_MANIFESTS        folder of your YAML files (manifests, a copy of docs/examples/quickstart)',
    'PENSTOCK_STATE_DIR        folder of keys, journal and ledger (.penstock)',
    'PENSTOCK_REQUEST_LINES    off: no line about each request (on)',
    'OPENAI_API_KEY            serves openai/<model> for every model of the listing',
    'OPENAI_BASE_URL           the same from another server, such as http://localhost:11434/v1',
    'ANTHROPIC_API_KEY         serves anthropic/<model>',
    'ANTHROPIC_BASE_URL        the same from another server',
    'GEMINI_API_KEY            serves gemini/<model>',
    'AWS_BEARER_TOKEN_BEDROCK  serves bedrock/<model> of AWS_REGION',
    'PENSTOCK_BEDROCK_MODELS   models to serve as bedrock/<model>, also by AWS_REGION and AWS_ACCESS_KEY_ID',
    'PENSTOCK_VERTEX_MODELS    as vertex/<model>, by GOOGLE_APPLICATION_CREDENTIALS and GOOGLE_CLOUD_PROJECT',
    'PENSTOCK_AZURE_MODELS     deployments as azure/<deployment>, by AZURE_OPENAI_ENDPOINT and AZURE_OPENAI_API_KEY or an Entra app',
  ],
});
if (isHelp) process.exit(0);

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Imported here: an installation without development dependencies has no builder, and says so only if it needs one. */
async function buildMissing(folder: string): Promise<void> {
  print('Building the dashboard pages (first start only) …');
  const { buildPages } = await import('../dashboard/build-pages.ts');
  await buildPages(resolve(folder));
}

// The reader has gone, as in `npm start | head -1`: serving goes on.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  const [word] = process.argv.slice(2);
  if (word !== undefined)
    throw new Error(
      `Unknown argument '${word}'. Settings are environment variables; npm start -- --help lists them.`,
    );
  const settings = readSettings();
  const starting = startLocal(settings, print, buildMissing).catch((error: unknown) => {
    throw new Error(explainStart(error, settings), { cause: error });
  });
  // Before it has started: Ctrl-C may come at once.
  endOnSignal(starting);
  await starting;
} catch (error) {
  print(`Penstock could not start: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
  // Parts that have started already would keep the process alive.
  process.exit();
}

/** The first press drains for three seconds, the second cancels streams, the third exits at once. */
function endOnSignal(starting: Promise<RunningLocal>): void {
  // closeWithGrace would exit at a second signal, so the signals are counted here.
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
      print('Stopping: streams in flight have 3 s (Ctrl-C again: now).');
      closer.close();
    } else if (presses === 2) {
      void starting.then((local) => local.gateway.hurry());
    } else process.exit(130);
  };
  for (const signal of signals) process.on(signal, onSignal);
}
