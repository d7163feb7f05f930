// Everything of Penstock in one process: simulator, compile, gateway, ledger. Serving when the promise resolves.

import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../core/clock.ts';
import { openFileJournal } from '../gateway/meter/journal.ts';
import { type RunningGateway, startGateway } from '../gateway/process/start.ts';
import { TableHolder } from '../gateway/table/holder.ts';
import { offerTable } from '../gateway/table/sources/memory.ts';
import { keepYoung } from '../ledger/keep.ts';
import { type Simulator, startSimulator } from '../simulator/server.ts';
import { openAnswering } from './answering.ts';
import { openObjects } from './dashboard/objects.ts';
import { type BuildPages, ensurePages } from './dashboard/pages.ts';
import type { LocalDashboard } from './dashboard/start.ts';
import { createDeployer, type Deployment } from './deploy.ts';
import { readEnvironmentProviders } from './environment-providers.ts';
import { findExample, sortModels } from './example.ts';
import { expectFreePorts } from './expect-free-ports.ts';
import { copyQuickstart } from './first-start.ts';
import { followSimulator, namesSimulatorElsewhere } from './follow-simulator.ts';
import { createForesight } from './foresee.ts';
import { openKeyStore } from './key-store.ts';
import { openLocalLedger } from './ledger.ts';
import { createManifestReader } from './manifest-reader.ts';
import { type Manifests, noManifests, overlayManifests } from './manifests.ts';
import { createReporter } from './report.ts';
import { openRequestLines } from './request-lines.ts';
import type { LocalSettings } from './settings.ts';
import { writeSnippets } from './snippets.ts';
import { watchFolder } from './watch-folder.ts';
import { describeWelcome } from './welcome.ts';

export interface RunningLocal {
  readonly gateway: RunningGateway;
  readonly simulator: Simulator;
  /** Undefined where its pages are not built. */
  readonly dashboard: LocalDashboard | undefined;
  /** Streams are given a moment to end. */
  close(): Promise<void>;
}

const host = '127.0.0.1';
const drainGraceMs = 3_000;
/** A vendor's listing is waited for so long; one that is slower is added when it has come. */
const listingPatienceMs = 2_000;
/** The longest a timer can wait. */
const timerMsMax = 2 ** 31 - 1;

/** Of single requests in the ledger's file; sums by day stay. */
const RETENTION_DAYS = 30;

/**
 * @param print Lines for the person at the terminal.
 * @param buildPages Those of the dashboard, where nothing is built yet.
 * @throws {Error} where a port is taken, or the manifests folder cannot be read. Then nothing runs.
 */
export async function startLocal(
  settings: LocalSettings,
  print: (line: string) => void,
  buildPages?: BuildPages,
): Promise<RunningLocal> {
  const { manifestsFolder, quickstartFolder, stateFolder } = settings;
  await expectFreePorts(settings, host);
  const copied =
    quickstartFolder === undefined ? undefined : await copyQuickstart(quickstartFolder, manifestsFolder);
  if (copied !== undefined) print(copied);
  // Until the folder is watched, nothing is in use that could be wrong: it is read again then.
  let lookAgain = (): void => {};
  const reader = createManifestReader(manifestsFolder, systemClock, () => lookAgain());
  await reader.now();
  const keyStore = await openState(stateFolder);

  await using started = new AsyncDisposableStack();
  const simulator = await startSimulator({ port: settings.simulatorPort, host });
  started.defer(() => simulator.close());
  const holder = new TableHolder();
  const journal = openFileJournal(join(stateFolder, 'journal'), systemClock, {
    failed: (reason) => print(`The ledger journal could not be written: ${reason}`),
    dropped: (records) => {
      gateway.metrics.onLedgerDropped(records);
      print(`${records} ledger records were lost.`);
    },
    unacknowledged: async () => print('The journal is full: the oldest ledger records were dropped.'),
  });
  const ledgerFile = join(stateFolder, 'ledger.sqlite');
  const requestLines = settings.requestLines === false ? undefined : openRequestLines(print, systemClock);
  const ledger = await openLocalLedger(ledgerFile, journal, systemClock.wallMs, print, requestLines?.onPage);
  // After the gateway, which writes the last records.
  started.defer(() => ledger.close());
  const keeper = keepYoung({
    ...{ store: ledger.store, clock: systemClock, retentionDays: RETENTION_DAYS, sink: undefined },
    onPurged: () => {},
    onOddClock: (reason) => print(`The clock does not fit the ledger: ${reason}.`),
    onFailed: (reason) => print(`Old ledger records could not be removed: ${reason}`),
  });
  started.defer(() => keeper.close());
  const exchangeToken = randomBytes(32).toString('base64url');
  const gateway = await startGateway({
    host,
    port: settings.port,
    metricsPort: settings.metricsPort,
    holder,
    journal,
    askSpend: ledger.askSpend,
    showProvider: true,
    identity: settings.identity,
    drainAcceptMs: 0,
    drainGraceMs,
    allowedOrigins: ['127.0.0.1', 'localhost'].map((name) => `http://${name}:${settings.dashboardPort}`),
    // For plans and connection tests; the token never leaves this process.
    exchange: { port: 0, journal, token: () => exchangeToken },
    onFailure: (error, requestId) => {
      print(`Request ${requestId} failed: ${error instanceof Error ? error.stack : String(error)}`);
    },
    onUnusable: ({ provider, upstreamModel, cause, request }) => {
      print(`Request ${request}: ${provider} (${upstreamModel}) sent an unusable answer: ${cause}.`);
    },
  });
  started.defer(() => gateway.drain());

  const baseUrl = `${gateway.url}/v1`;
  const report = createReporter(print);
  const deployer = createDeployer({
    keyStore,
    wallMs: () => systemClock.wallMs(),
    baseUrl,
    prepare: (manifests) => followSimulator(manifests, simulator.port),
    offer: (table) => void offerTable(holder, table),
  });

  let environment = noManifests;
  let folder = noManifests;
  const objects = openObjects(folder, () => systemClock.wallMs());
  let reading: Promise<unknown> = Promise.resolve();
  // In turn: what was read later is not followed by what was read before.
  const read = (): Promise<Manifests> => {
    const read = reading.then(async () => {
      folder = await reader.now();
      return objects.take(overlayManifests(folder, environment));
    });
    reading = read.catch(() => undefined);
    return read;
  };
  let issuedSecrets: ReadonlySet<string> = new Set();
  const judged = (deployment: Deployment): Deployment => {
    issuedSecrets = deployment.issuedSecrets;
    objects.judge(deployment);
    return deployment;
  };
  const deploy = async (): Promise<Deployment> => judged(await deployer.deploy(await read()));
  // One at a time, in order: later changes wait.
  let running: Promise<void> = Promise.resolve();
  const run = (work: () => Promise<Deployment>, tell: (deployment: Deployment) => void): void => {
    running = running.then(work).then(
      (deployment) => {
        tell(deployment);
        if (deployment.outcome !== 'kept') refreshLater(deployment.staleAtMs);
      },
      (error: unknown) => report.failed(error),
    );
  };
  const refreshLater = createAlarm(() => run(async () => judged(await deployer.refresh()), report.refreshed));
  started.defer(() => refreshLater(undefined));
  started.defer(() => running);
  // Watched before it is read: no edit falls between the two.
  const watching = watchFolder(manifestsFolder, () => run(deploy, report.edited));
  started.defer(() => watching.close());
  lookAgain = () => watching.lookAgain();

  const ownPort = Number(new URL(gateway.url).port);
  const listing = readEnvironmentProviders(settings, ownPort, systemClock.wallMs()).then((listed) => {
    environment = listed.manifests;
    for (const note of listed.notes) print(note);
  });
  const isListed = await settledWithin(listing, listingPatienceMs);

  // In turn, too: an edit made during the run is read after it, and stays.
  const starting = running.then(deploy);
  running = starting.then(
    () => undefined,
    () => undefined,
  );
  const first = await starting;
  report.started(first);
  refreshLater(first.staleAtMs);
  const missing = await ensurePages(settings.pagesFolder, buildPages);
  const dashboard = missing === undefined ? await openDashboard() : undefined;
  const view = holder.current();
  if (view) {
    const all = overlayManifests(folder, environment);
    // A real provider first, if the environment has one: its models are what people came for.
    const order = [...environment.modelRoutes, ...all.modelRoutes].map(({ spec }) => modelOf(spec));
    const example = await findExample(view, first.keys, order, openAnswering(view, systemClock));
    const snippetsFile = join(stateFolder, 'snippets.txt');
    if (example !== undefined) await writeSnippets(snippetsFile, { ...example, url: gateway.url, baseUrl });
    print(
      describeWelcome({
        url: gateway.url,
        baseUrl,
        metricsUrl: gateway.metricsUrl,
        simulatorUrl: simulator.url,
        manifestsFolder,
        snippetsFile,
        dashboard: dashboard === undefined ? { missing: missing ?? '' } : { link: dashboard.link() },
        models: sortModels(view.routes, order),
        example,
        warning: namesSimulatorElsewhere(folder, simulator.port),
      }),
    );
  }
  if (!isListed) void listing.then(() => run(deploy, report.edited));

  const parts = started.move();
  return { gateway, simulator, dashboard, close: () => parts.disposeAsync() };

  async function openDashboard(): Promise<LocalDashboard> {
    // A tenth of a second of loading: only where there are pages, and when the gateway is ready already.
    const { startLocalDashboard } = await import('./dashboard/start.ts');
    const opened = await startLocalDashboard({
      port: settings.dashboardPort,
      pagesFolder: settings.pagesFolder,
      manifestsFolder,
      gatewayUrl: gateway.url,
      objects,
      store: ledger.store,
      stateFolder,
      gateway: { url: gateway.internalUrl ?? '', token: exchangeToken },
      clock: systemClock,
      refresh: async () => void (await read()),
      foresee: createForesight({ reader, deployer, environment: () => environment }),
      heldBack: () => report.heldBack(),
      isIssued: (namespace, name) => issuedSecrets.has(`${namespace}/${name}`),
      print,
    });
    started.defer(() => opened.close());
    return opened;
  }
}

async function openState(folder: string) {
  const keyStore = await openKeyStore(folder);
  await mkdir(join(folder, 'journal'), { recursive: true, mode: 0o700 });
  return keyStore;
}

/** Rings at a time of the clock, once; each call takes the place of the one before. */
function createAlarm(onRing: () => void): (atMs: number | undefined) => void {
  let timer: NodeJS.Timeout | undefined;
  return (atMs) => {
    clearTimeout(timer);
    if (atMs === undefined) return;
    // Too early, as after the longest wait, does no harm: a refresh sets the alarm again.
    const waitMs = Math.max(1, atMs - systemClock.wallMs());
    timer = setTimeout(onRing, Math.min(waitMs, timerMsMax));
  };
}

async function settledWithin(work: Promise<void>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const isSettled = await Promise.race([work.then(() => true), late.promise]);
  clearTimeout(timer);
  return isSettled;
}

function modelOf(spec: unknown): string {
  return typeof spec === 'object' && spec !== null && 'model' in spec ? String(spec.model) : '';
}
