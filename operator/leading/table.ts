// Publishes and maintains the table of a term. Changes are collected, and one publish takes all of them. Every write to the table is a
// task of one queue with one worker.

import type { TableVersion } from '../../core/contract/exchange.ts';
import { pointerName } from '../../core/contract/manifest.ts';
import type { HealthHint } from '../../core/contract/routing-table.ts';
import type { CertificateKeeper } from '../certificates/keeper.ts';
import { createQueue, type WorkQueue } from '../loop.ts';
import { DeposedError } from '../publish/deposed.ts';
import { PIN_ANNOTATION } from '../publish/pointer-holder.ts';
import type { Published } from '../publish/publish-table.ts';
import { createPublisher, type Publisher } from '../publish/publisher.ts';
import type { PublishReport } from '../publish/report.ts';
import { letOthers } from '../turn.ts';
import type { Urgency } from '../watch/urgency.ts';
import { createAlarm } from './alarm.ts';
import { type BringOutParts, createBringOut } from './bring-out.ts';
import type { TermParts } from './parts.ts';
import { createPublishPace } from './publish-pace.ts';
import { createShardRepair } from './shard-repair.ts';
import { createTableNews, type TableNews } from './table-news.ts';
import { createTableTasks, heartbeatMs, recurring } from './table-tasks.ts';
import type { FailedRun, PublishedRun } from './verdict-book.ts';

interface Parts extends TermParts, Pick<BringOutParts, 'readers' | 'takeHints'> {
  /** Undefined: nothing speaks TLS inside the cluster. */
  readonly certificates: CertificateKeeper | undefined;
  /** In the table that this term has found. */
  onHintsFound(hints: readonly HealthHint[]): void;
  /** The table is in use, newly written or not. */
  onOut(run: PublishedRun): Promise<void>;
  onFailed(run: FailedRun): void;
  /** The API server takes writes again, after it did not. */
  onWritable(): void;
  /** Everything is to be looked at again. */
  onCheck(): void;
}

export interface LedTable
  extends Pick<Publisher, 'exchangeToken' | 'internalTls' | 'epochFloor' | 'standDown'>,
    Pick<TableNews, 'emit' | 'heldNow' | 'isPinned'> {
  readonly queue: WorkQueue;
  begin(): void;
  /** Of the table in use; 0 before the first. */
  generation(): number;
  /** The snapshot, or another input of the table, has changed. */
  changed(urgency: Urgency): void;
  pointerChanged(): void;
  shardGone(name: string): void;
  /** A table is out: shards that were deleted before they were in use are looked at now. */
  repairDoubted(): void;
  /** A shard may have been damaged by hand. Two hundred pods that say so are one reason. */
  verifySoon(): void;
  /** A gateway runs a table of this version: the next one goes above it. */
  outnumber(version: TableVersion): void;
  /** No alarm rings any more; with `graceMs`, a waiting change is published. */
  finish(graceMs: number): Promise<void>;
}

const verifyEveryMs = 30_000;
/**
 * Changes that come while nothing can be written each count as a failure more; the API server must not be waited for long
 * after it is back.
 */
const retryMsMax = 10_000;

export function createTable(parts: Parts): LedTable {
  const { cluster, clock, term, settings, metrics, log } = parts;
  const { instance, tableNamespace } = settings;
  const publisher = createPublisher({
    client: parts.tableClient,
    clock,
    randomBytes: parts.randomBytes,
    instance,
    tableNamespace,
    internalTls: (found) => parts.certificates && (parts.certificates.forGateways() ?? found),
    report: onReport,
  });
  const news = createTableNews({ events: parts.events, log, instance, tableNamespace });
  const bringOut = createBringOut({
    publisher,
    cluster,
    compile: parts.compile,
    namesOf: parts.namesOf,
    isServed: (name) => settings.tenantNamespaces.length === 0 || settings.tenantNamespaces.includes(name),
    holdMs: settings.lastKnownGoodMs,
    readers: parts.readers,
    unpinCommand: `kubectl annotate secret ${pointerName(instance)} -n ${tableNamespace} ${PIN_ANNOTATION}-`,
    wallMs: clock.wallMs,
    yieldNow: () => letOthers(clock),
    takeHints: parts.takeHints,
    onTakenOver,
    onPublished,
    onHeld: news.held,
    onReleased: (keys) => log('info', 'retired keys were released', { released: keys.length }),
    onPin: news.pinned,
  });
  const { hasTakenOver } = bringOut;
  const shardRepair = createShardRepair({ publisher, log, hasTakenOver, publish });
  const add = (...tasks: readonly string[]): void => {
    for (const task of tasks) queue.add(task);
  };
  const pace = createPublishPace(clock, () => add('publish'));
  const staleAlarm = createAlarm(clock, () => changed('revocation'));
  const run = createTableTasks({ ...parts, publisher, shardRepair, add, hasTakenOver, publish });
  const queue = createQueue({ ...parts.queue, name: 'table', workers: 1, backoffMaxMs: retryMsMax, run });
  let generation = 0;
  /** Not before this time of the clock is everything compared again. */
  let verifyAgainMs = 0;

  return {
    queue,
    exchangeToken: publisher.exchangeToken,
    internalTls: publisher.internalTls,
    epochFloor: publisher.epochFloor,
    emit: news.emit,
    heldNow: news.heldNow,
    isPinned: news.isPinned,
    generation: () => generation,
    begin() {
      add('publish');
      for (const [task, afterMs] of Object.entries(recurring)) queue.addAfter(task, afterMs);
    },
    changed,
    // Mostly our own write; but the pointer may be deleted, or a human may have accepted an absence.
    pointerChanged: () => add('look'),
    shardGone(name) {
      shardRepair.doubt(name);
      add('repair');
    },
    repairDoubted() {
      if (shardRepair.hasDoubts()) add('repair');
    },
    verifySoon() {
      queue.addAfter('verify', Math.max(0, verifyAgainMs - clock.now()));
      verifyAgainMs = Math.max(verifyAgainMs, clock.now() + verifyEveryMs);
    },
    outnumber(version) {
      // The heartbeat writes the number; the publish learns of it.
      if (hasTakenOver() && publisher.outnumber(version)) add('heartbeat', 'publish');
    },
    async finish(graceMs) {
      pace.stop();
      staleAlarm(undefined);
      if (graceMs > 0 && pace.isWaiting())
        await publish().catch((error: unknown) => parts.queue.onError('publish', error, 0));
      if (graceMs === 0) publisher.standDown();
    },
    standDown: publisher.standDown,
  };

  function changed(urgency: Urgency): void {
    if (!term.isOver) pace.note(urgency);
  }

  async function publish(): Promise<void> {
    const isUrgent = pace.takeUp();
    try {
      const made = await bringOut.run(isUrgent);
      const { staleAtMs } = made;
      staleAlarm(staleAtMs === undefined ? undefined : clock.now() + staleAtMs - clock.wallMs());
      if (made.type === 'published') {
        generation = made.generation;
        return await parts.onOut(made);
      }
      parts.onFailed(made);
      throw made.error;
    } catch (error) {
      pace.putBack();
      metrics.onPublishFailed(error instanceof DeposedError ? 'deposed' : 'api');
      throw error;
    }
  }

  function onTakenOver(epoch: number | undefined, found: number, hints: readonly HealthHint[]): void {
    generation = found;
    parts.onHintsFound(hints);
    log('info', 'leading', { epoch, generation });
    queue.addAfter('heartbeat', heartbeatMs);
  }

  function onPublished(published: Published): void {
    if (!published.isNew) return;
    const revocationMs = pace.urgentForMs();
    metrics.onPublished({ ...published, revocationMs });
    log('info', 'table published', {
      ...published,
      durationMs: Math.round(published.durationMs),
      ...(revocationMs === undefined ? {} : { revocationMs: Math.round(revocationMs) }),
    });
  }

  function onReport({ type, message }: PublishReport): void {
    const isAsked = type === 'absence-accepted' || type === 'pin-changed' || type === 'release-asked';
    log(isAsked ? 'info' : 'warn', message, { reason: type });
    if (isAsked) changed('revocation');
  }
}
