// The work of a term for every object: its status, the Secret of its keys, and its usage.

import type { Verdict } from '../compile/verdict.ts';
import { laneOfObject } from '../fair-line.ts';
import { createKeyIssuer } from '../keys/issue-key.ts';
import { createQueue, type WorkQueue } from '../loop.ts';
import { createStatusPublisher } from '../status/publish-status.ts';
import type { Differences } from './differences.ts';
import { createKeyKeeper, type KeyKeeper } from './key-keeper.ts';
import { checkMs, type TermParts } from './parts.ts';
import type { LedPods } from './pods.ts';
import { createSpending, type Spending } from './spending.ts';
import type { LedTable } from './table.ts';
import { createStatusRun } from './write-status.ts';

interface Parts extends TermParts {
  readonly table: LedTable;
  readonly pods: LedPods;
  /** The spend of a namespace's budgets has changed. */
  onNamespaces(): void;
}

interface LedObjects extends Pick<Spending, 'reading'>, Pick<KeyKeeper, 'published'> {
  readonly queues: readonly WorkQueue[];
  readonly spending: Pick<Spending, 'ofNamespace'>;
  /** There may be something new to say of them; by `Kind/namespace/name`. */
  look(keys: Iterable<string>): void;
  lookAtAll(): void;
  /** The changes of a new judgement. */
  judged(differences: Differences): void;
  podsMoved(): void;
  /** The API server takes writes again, after it did not. */
  retryNow(): void;
  close(): Promise<void>;
}

export function createObjects(parts: Parts): LedObjects {
  const { book, pods } = parts;
  const statuses = createStatusPublisher(parts);
  const keys = openKeys(parts, (key) => look([key]));
  const spending = openSpending(parts, (key) => look([key]));
  const run = createStatusRun({ ...parts, statuses, keys, spending });
  const statusQueue = createQueue({ ...parts.queue, name: 'status', workers: 8, laneOf: laneOfObject, run });

  return {
    queues: [statusQueue, keys.queue, ...spending.queues],
    spending,
    reading: spending.reading,
    published: keys.published,
    look,
    lookAtAll() {
      look(book.judged().keys());
      keys.checkAll(book.judged().apiKeys.entries());
    },
    judged({ gone, apiKeys, forStatus }) {
      for (const [key, last] of gone) forget(key, last);
      for (const [key, verdict] of apiKeys) {
        keys.judged(key, verdict);
        spending.judged(verdict);
      }
      look(forStatus);
      keys.allChecked();
    },
    podsMoved() {
      keys.podsMoved();
      spending.gatewaysMoved();
    },
    retryNow() {
      for (const queue of [statusQueue, keys.queue]) queue.retryNow();
    },
    close: spending.close,
  };

  function look(objects: Iterable<string>): void {
    for (const key of objects) statusQueue.add(key);
  }

  function forget(key: string, last: Verdict): void {
    for (const memory of [statusQueue, keys, pods]) memory.forget(key);
    if (last.kind === 'ApiKey') spending.forget(last);
    statuses.forget(last);
  }
}

function openKeys(parts: Parts, onFailure: (key: string) => void): KeyKeeper {
  const { client, clock, settings, randomBytes } = parts;
  const { keyPrefix, metadataPrefixes = [] } = settings.platform;
  const issuer = createKeyIssuer({
    client,
    keyPrefix,
    metadataPrefixes,
    baseUrl: settings.baseUrl,
    randomBytes,
    wallMs: clock.wallMs,
  });
  return createKeyKeeper({
    ...parts,
    podsNow: parts.pods.podsNow,
    issuer,
    checkMs,
    verdictOf: parts.book.get,
    onFailure,
  });
}

function openSpending(parts: Parts, onBudget: (key: string) => void): Spending {
  const { cluster, settings, table, pods } = parts;
  return createSpending({
    ...parts,
    ledger:
      settings.ledgerAddress === undefined
        ? undefined
        : {
            address: settings.ledgerAddress,
            tlsAddress: settings.ledgerTlsAddress,
            trusted: () => table.internalTls()?.trusted,
          },
    tenantBudgets: () => cluster.snapshot().platform.tenantBudgets ?? [],
    gateways: () => ({ ready: pods.pods().ready, haveStore: settings.platform.hasExactLimits === true }),
    tokenOf: table.exchangeToken,
    onBudget,
    onNamespaces: parts.onNamespaces,
    onAway: (reason) =>
      table.emit(
        'LedgerAway',
        `the ledger does not report: ${reason}. Spend of keys is not updated until it does; nothing else waits for it`,
      ),
    onBack: () => table.emit('LedgerBack', 'the ledger reports spend again'),
  });
}
