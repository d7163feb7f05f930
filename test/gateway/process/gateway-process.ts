// A gateway as the process it is in a pod: its own environment, a folder for table and journal, ports of its own.

import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import { ledgerRecordSchema } from '../../../core/contract/ledger-record.ts';
import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import { builtCheckout } from '../../cluster/checkout.ts';
import { type RunningProcess, startProcess } from '../../support/process.ts';

export interface Folder {
  readonly path: string;
  readonly tableFile: string;
  /** As the operator's neighbour would do it: written beside it, then renamed over it. */
  putTable(content: RoutingTable | string): Promise<void>;
  /** Every record of the journal, checked. Throws where a line is not whole. */
  records(): Promise<readonly LedgerRecord[]>;
  remove(): Promise<void>;
}

export async function makeFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'penstock-process-'));
  const tableFile = join(path, 'table.json');
  return {
    path,
    tableFile,
    async putTable(content) {
      await writeFile(`${tableFile}.next`, typeof content === 'string' ? content : JSON.stringify(content));
      await rename(`${tableFile}.next`, tableFile);
    },
    async records() {
      const text = await readFile(join(path, 'journal', 'journal.jsonl'), 'utf8');
      if (!text.endsWith('\n')) throw new Error('the journal ends inside a line');
      return text
        .trimEnd()
        .split('\n')
        .map((line) => ledgerRecordSchema.parse(JSON.parse(line)));
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** Waits as long as a test waits, unless the test says otherwise. */
export function environmentOf(folder: Folder): Record<string, string> {
  return {
    PENSTOCK_HOST: '127.0.0.1',
    PENSTOCK_PORT: '0',
    PENSTOCK_METRICS_PORT: '0',
    PENSTOCK_TABLE_FILE: folder.tableFile,
    PENSTOCK_JOURNAL_DIR: join(folder.path, 'journal'),
    PENSTOCK_DRAIN_ACCEPT_MS: '0',
    PENSTOCK_DRAIN_GRACE_MS: '60000',
  };
}

/**
 * Starts the process and waits for nothing. A variable that is undefined is not set.
 *
 * @param dist What a build left. Default: that of this checkout, which only a test can ask for.
 */
export async function launch(
  folder: Folder,
  env: Readonly<Record<string, string | undefined>> = {},
  nodeArgs: readonly string[] = [],
  dist?: string,
): Promise<RunningProcess> {
  const wanted = Object.entries({ ...environmentOf(folder), ...env });
  const set = wanted.filter((entry): entry is [string, string] => entry[1] !== undefined);
  const script = join(dist ?? (await builtCheckout()), 'gateway.js');
  return startProcess(script, { cwd: folder.path, env: Object.fromEntries(set), nodeArgs });
}

export interface ListeningProcess {
  readonly process: RunningProcess;
  readonly url: string;
  readonly metricsUrl: string;
  /** Of the exchange, where there is one. */
  readonly internalUrl: string | undefined;
}

export async function launchListening(
  folder: Folder,
  env: Readonly<Record<string, string | undefined>> = {},
  nodeArgs: readonly string[] = [],
  dist?: string,
): Promise<ListeningProcess> {
  const process = await launch(folder, env, nodeArgs, dist);
  const said: unknown = JSON.parse(await process.line(/gateway listening/));
  if (typeof said !== 'object' || said === null || !('url' in said) || !('metricsUrl' in said)) {
    throw new Error(`the gateway does not say where it listens: ${JSON.stringify(said)}`);
  }
  const internalUrl = 'internalUrl' in said ? String(said.internalUrl) : undefined;
  return { process, url: String(said.url), metricsUrl: String(said.metricsUrl), internalUrl };
}
