// The dashboard of local mode: the pages of a cluster over the manifests folder, for the person at the terminal. Wiring only.

import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/kube/log.ts';
import { startDashboard } from '../../dashboard/start.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { Foresee } from '../foresee.ts';
import { openFolderCluster } from './cluster.ts';
import { followSpend } from './follow-spend.ts';
import { followHealth } from './health.ts';
import type { LocalObjects } from './objects.ts';
import { openLinks } from './one-time-link.ts';
import { startReadApi } from './read-api.ts';
import { createFile, replaceFile } from './write-file.ts';

export interface LocalDashboard {
  readonly url: string;
  /** The sign-in link for one browser; the same until it is used, or has expired. */
  link(): string;
  close(): Promise<void>;
}

export interface LocalDashboardOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly pagesFolder: string;
  readonly manifestsFolder: string;
  /** Of the gateway, without `/v1`. */
  readonly gatewayUrl: string;
  readonly objects: LocalObjects;
  readonly store: LedgerStore;
  /** Gets the token of programs that ask the ledger. */
  readonly stateFolder: string;
  /** Of its exchange, which says what would happen with a request. */
  readonly gateway: { readonly url: string; readonly token: string };
  readonly clock: Clock;
  /** See `FolderParts`. */
  refresh(): Promise<void>;
  readonly foresee: Foresee;
  /** Why the folder was not taken, in the words of the terminal; empty: it was. */
  heldBack(): readonly string[];
  isIssued(namespace: string, name: string): boolean;
  print(line: string): void;
}

/** Loopback only, without a setting: no other machine may reach it. */
const host = '127.0.0.1';
const sessionMs = 12 * 3_600_000;

/** @throws where its port is taken. */
export async function startLocalDashboard(options: LocalDashboardOptions): Promise<LocalDashboard> {
  const { objects, store, gateway, clock, manifestsFolder, print } = options;
  const links = openLinks({
    clock,
    userName: nameOfUser(),
    onStale: () => print(`The dashboard opens at ${links.link(dashboard.url)}`),
  });
  await using started = new AsyncDisposableStack();
  const readTokenFile = join(options.stateFolder, 'read-token');
  const readApi = await startReadApi({
    ...{ objects, store, gateway, clock, signIn: links.signIn },
    readToken: await writeReadToken(readTokenFile),
    readTokenFile,
    onFailure: (error) => print(`The ledger failed to answer: ${wordsOf(error)}`),
  });
  started.defer(() => readApi.close());
  const health = followHealth({ gateway, clock, onHealth: (heard) => objects.hear(heard) });
  started.defer(() => health.close());
  const spend = followSpend({
    ...{ store, clock },
    onSpend: (spentOf, apiKeys) => objects.spend(spentOf, apiKeys),
    onFailure: (error) => print(`The ledger failed to answer: ${wordsOf(error)}`),
  });
  started.defer(() => spend.close());
  const cluster = openFolderCluster({
    objects,
    refresh: () => options.refresh(),
    foresee: options.foresee,
    isIssued: (namespace, name) => options.isIssued(namespace, name),
    replace: (file, before, after) => replaceFile(join(manifestsFolder, file), before, after),
    async create(names, content, isSecret) {
      const name = await createFile(manifestsFolder, names, content, isSecret);
      if (isSecret)
        print(`The dashboard wrote a Secret to ${join(manifestsFolder, name)}. Keep it out of Git.`);
    },
  });
  const dashboard = await startDashboard({
    settings: {
      host,
      port: options.port,
      // Names of one's own machine alone lead here.
      places: [],
      proxies: [],
      gatewayUrl: options.gatewayUrl,
      sessionKeys: [],
      sessionMs,
    },
    signIn: links.signIn,
    clusterOf: () => cluster,
    ledger: readApi.ledger,
    opensLedger: true,
    pagesFolder: options.pagesFolder,
    clock,
    log: logTo(print),
    version: packageJson.version,
    heldBack: () => options.heldBack(),
  });
  started.defer(() => dashboard.close());
  const parts = started.move();
  return { url: dashboard.url, link: () => links.link(dashboard.url), close: () => parts.disposeAsync() };
}

/** Another one at each start; readable by the person at the terminal alone. */
async function writeReadToken(path: string): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await writeFile(path, token, { mode: 0o600 });
  return token;
}

/** What went wrong, for the person at the terminal. */
function logTo(print: (line: string) => void): Log {
  return (level, message, more = {}) => {
    if (level !== 'info') print(`Dashboard: ${message} (${Object.values(more).map(String).join('; ')})`);
  };
}

function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    // Of a user that the machine has no name for.
    return 'you';
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
