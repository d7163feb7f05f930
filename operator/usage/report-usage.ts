// Writes spend into `status.usage`, object by object and paced: fifty thousand take three quarters of an hour, and must not delay other
// statuses. ApiKeys that pass a budget are written first.

import type { Clock } from '../../core/clock.ts';
import { isNotFound, type KubeClient } from '../../core/kube/client.ts';
import { applyStatus } from '../../core/kube/patch.ts';
import { objectPath } from '../../core/kube/paths.ts';
import { wait } from '../../core/kube/wait.ts';
import { createAlarm } from '../leading/alarm.ts';
import { createQueue, type QueueOptions, type RunResult, type WorkQueue } from '../loop.ts';
import { type ApiKeyUsage, budgetsIn, usageIn } from '../resources/api-key.ts';
import { EVENT_REASONS } from '../resources/event-reasons.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import type { EventFact, EventRecorder } from '../status/events.ts';
import { type ObjectRef, refOf, resourceOf } from '../status/object-ref.ts';
import { createTokenBucket } from '../token-bucket.ts';
import type { Cluster } from '../watch/cluster.ts';
import { splitName } from './key-name.ts';
import { type Crossing, type Gateways, settleUsage, type UsageDecision } from './settle-usage.ts';
import type { SpendBook } from './spend-book.ts';

/** Owner of `status.usage`, and of nothing else. */
const USAGE_MANAGER = 'penstock-usage';

export interface UsageReporterParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly cluster: Pick<Cluster, 'object'>;
  readonly book: SpendBook;
  readonly events: Pick<EventRecorder, 'record'>;
  /** As they are now. */
  gateways(): Gateways;
  readonly queue: Pick<QueueOptions, 'random' | 'metrics' | 'onError'>;
}

/** ApiKeys by `namespace/name`. */
interface UsageReporter {
  readonly queues: readonly WorkQueue[];
  /** Its spend, its budgets or the time may have changed. */
  look(apiKey: string): void;
  /** The object is gone. */
  forget(apiKey: string): void;
  close(): void;
}

const writesPerSecond = 20;
/** Usages that are not due yet are checked at this interval. */
const sweepMs = 5_000;
/** Until the other queue has written what it is at. */
const inFlightMs = 1_000;

export function createUsageReporter(parts: UsageReporterParts): UsageReporter {
  const { client, clock, cluster, book } = parts;
  /** Not before these times, in Unix milliseconds. */
  const waiting = new Map<string, number>();
  /** Writes that the watch has not brought back yet. */
  const written = new Map<string, ApiKeyUsage>();
  const inFlight = new Set<string>();
  const bucket = createTokenBucket(clock, writesPerSecond, writesPerSecond);
  const sweep = createAlarm(clock, () => {
    const nowMs = clock.wallMs();
    for (const [apiKey, dueMs] of waiting) {
      if (dueMs > nowMs) continue;
      waiting.delete(apiKey);
      slow.add(apiKey);
    }
    if (waiting.size > 0) sweep(clock.now() + sweepMs);
  });
  const common = { ...parts.queue, clock, workers: 1 };
  const slow = createQueue({
    ...common,
    name: 'usage',
    run: (apiKey, signal) =>
      run(apiKey, signal, async () => {
        const waitMs = bucket.reserveMs();
        if (waitMs > 0) await wait(clock, waitMs, signal);
      }),
  });
  const urgent = createQueue({ ...common, name: 'budget', run: (apiKey, signal) => run(apiKey, signal) });

  return {
    queues: [urgent, slow],
    look(apiKey) {
      // Queued already, and without a budget that it could pass: the common case in a large installation.
      if (waiting.has(apiKey) && !isLimited(apiKey)) return;
      const decision = decide(apiKey);
      if (decision.type === 'same') return;
      if (decision.type === 'wait') later(apiKey, decision.untilMs);
      else (decision.crossings.length > 0 ? urgent : slow).add(apiKey);
    },
    forget(apiKey) {
      waiting.delete(apiKey);
      written.delete(apiKey);
      for (const queue of [urgent, slow]) queue.forget(apiKey);
    },
    close: () => sweep(undefined),
  };

  function isLimited(apiKey: string): boolean {
    const { namespace, name } = splitName(apiKey);
    return budgetsIn(cluster.object('ApiKey', namespace, name)?.spec).length > 0;
  }

  function decide(apiKey: string): UsageDecision {
    const { namespace, name } = splitName(apiKey);
    const object = cluster.object('ApiKey', namespace, name);
    if (object === undefined || !book.isWhole()) return { type: 'same' };
    return settleUsage({
      budgets: budgetsIn(object.spec),
      spent: book.ofKey(apiKey),
      present: latest(apiKey, usageIn(object.status)),
      gateways: parts.gateways(),
      nowMs: clock.wallMs(),
    });
  }

  /** Until the watch brings our write, the watched object is older than that write. */
  function latest(apiKey: string, inObject: ApiKeyUsage | undefined): ApiKeyUsage | undefined {
    const mine = written.get(apiKey);
    if (mine === undefined) return inObject;
    if ((mine.observedAt ?? '') > (inObject?.observedAt ?? '')) return mine;
    written.delete(apiKey);
    return inObject;
  }

  function later(apiKey: string, untilMs: number): void {
    if (waiting.size === 0) sweep(clock.now() + sweepMs);
    waiting.set(apiKey, untilMs);
  }

  async function run(
    apiKey: string,
    signal: AbortSignal,
    takeTurn?: () => Promise<void>,
  ): Promise<RunResult> {
    if (inFlight.has(apiKey)) return { afterMs: inFlightMs };
    const decision = decide(apiKey);
    if (decision.type === 'wait') later(apiKey, decision.untilMs);
    if (decision.type !== 'write') return;
    inFlight.add(apiKey);
    try {
      await takeTurn?.();
      if (signal.aborted) return;
      await write(apiKey, decision, signal);
    } finally {
      inFlight.delete(apiKey);
    }
  }

  async function write(
    apiKey: string,
    { usage, crossings }: Extract<UsageDecision, { type: 'write' }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name } = splitName(apiKey);
    const object = cluster.object('ApiKey', namespace, name);
    if (object === undefined) return;
    const ref = refOf('ApiKey', object);
    if (!(await applyUsage(client, ref, usage, signal))) return;
    written.set(apiKey, usage);
    for (const crossing of crossings) {
      const fact = tell(crossing);
      if (fact !== undefined) parts.events.record(ref, fact);
    }
  }
}

/** False if the object was deleted. */
async function applyUsage(
  client: KubeClient,
  { kind, namespace, name }: ObjectRef,
  usage: ApiKeyUsage,
  signal: AbortSignal,
): Promise<boolean> {
  const body = {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind,
    metadata: { namespace, name },
    status: { usage },
  };
  try {
    const path = objectPath(resourceOf(kind), { namespace, name }, 'status');
    await applyStatus(client, path, body, { fieldManager: USAGE_MANAGER, force: true, signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** A used-up budget with the action Block is reported by its condition. */
function tell({ budget, passed, spend, period }: Crossing): EventFact | undefined {
  if (passed === 'limit' && budget.action === 'Block') return undefined;
  const reason = passed === 'limit' ? 'BudgetExceeded' : 'BudgetWarning';
  const when = period.start === undefined ? '' : ` since ${period.start}`;
  const what =
    passed === 'limit'
      ? 'the budget is used up, and calls go on (action: Warn)'
      : `more than ${budget.warnPercent} % of the budget`;
  const note = `${budget.period}: $${spend} of $${budget.limit} spent${when}; ${what}`;
  return { type: EVENT_REASONS[reason].type, reason, action: 'Meter', note };
}
