// Everything of Penstock in one process: simulator, compile, gateway. Serving when the promise resolves.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../gateway/clock.ts';
import { openFileJournal } from '../gateway/meter/journal.ts';
import { type RunningGateway, startGateway } from '../gateway/start.ts';
import { TableHolder } from '../gateway/table/holder.ts';
import { offerTable } from '../gateway/table/sources/memory.ts';
import { type Simulator, startSimulator } from '../simulator/server.ts';
import { createDeployer, type Deployment } from './deploy.ts';
import { readEnvironmentProviders } from './environment-providers.ts';
import { openKeyStore } from './key-store.ts';
import { readManifests } from './manifests.ts';
import type { LocalSettings } from './settings.ts';
import { watchFolder } from './watch-folder.ts';
import { describeWelcome } from './welcome.ts';

export interface RunningLocal {
  readonly gateway: RunningGateway;
  readonly simulator: Simulator;
  /** Streams are given a moment to end. */
  close(): Promise<void>;
}

const host = '127.0.0.1';
const drainGraceMs = 5_000;

/**
 * @param print Lines for the person at the terminal.
 * @throws {Error} where a port is taken, or the manifests folder cannot be read.
 */
export async function startLocal(
  settings: LocalSettings,
  print: (line: string) => void,
): Promise<RunningLocal> {
  await mkdir(settings.stateFolder, { recursive: true });
  const keyStore = await openKeyStore(settings.stateFolder);
  const simulator = await startSimulator({ port: settings.simulatorPort, host });
  const holder = new TableHolder();
  const journal = openFileJournal(join(settings.stateFolder, 'journal'), systemClock, {
    failed: (reason) => print(`The ledger journal could not be written: ${reason}`),
    dropped: (records) => {
      gateway.metrics.onLedgerDropped(records);
      print(`${records} ledger records were lost.`);
    },
  });
  const gateway = await startGateway({
    host,
    port: settings.port,
    metricsPort: settings.metricsPort,
    holder,
    journal,
    showProvider: true,
    drainAcceptMs: 0,
    drainGraceMs,
    onFailure: (error, requestId) => {
      print(`Request ${requestId} failed: ${error instanceof Error ? error.stack : String(error)}`);
    },
  });
  const baseUrl = `${gateway.url}/v1`;
  const environment = await readEnvironmentProviders(settings, Number(new URL(gateway.url).port));
  for (const note of environment.notes) print(note);

  const deploy = createDeployer({
    keyStore,
    wallMs: () => systemClock.wallMs(),
    baseUrl,
    offer: (table) => offerTable(holder, table),
  });
  const reload = async (): Promise<Deployment> => {
    const manifests = await readManifests(settings.manifestsFolder);
    return deploy([manifests, environment.manifests]);
  };

  const first = await reload();
  if (first.type === 'in-use') {
    printProblems(first.problems, print);
    print(
      describeWelcome({
        baseUrl,
        metricsUrl: gateway.metricsUrl,
        manifestsFolder: settings.manifestsFolder,
        key: [...first.keys.values()][0],
        models: first.result.table.routes.map(({ model }) => model),
      }),
    );
  }

  // One reload at a time; changes that come meanwhile lead to one more.
  let reloading: Promise<void> = Promise.resolve();
  const stopWatching = watchFolder(settings.manifestsFolder, () => {
    reloading = reloading.then(reload).then(
      (deployment) => printDeployment(deployment, print),
      (error: unknown) => print(`The manifests could not be read: ${String(error)}`),
    );
  });

  return {
    gateway,
    simulator,
    async close() {
      stopWatching();
      await reloading;
      await gateway.drain();
      await simulator.close();
    },
  };
}

function printDeployment(deployment: Deployment, print: (line: string) => void): void {
  switch (deployment.type) {
    case 'unchanged':
      return;
    case 'in-use':
      printProblems(deployment.problems, print);
      print(`Live: generation ${deployment.generation}, ${deployment.result.table.routes.length} models.`);
      return;
    case 'kept':
      printProblems(deployment.problems, print);
      print('Not taken: the last good manifests go on serving.');
  }
}

function printProblems(problems: readonly string[], print: (line: string) => void): void {
  for (const problem of problems) print(`problem  ${problem}`);
}
