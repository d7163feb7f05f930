// Follows spend in the ledger: writes the usage of keys, and reports used-up budgets at once. Without a ledger it does nothing. While the
// ledger is away, statuses stay unchanged.
//
//   ledger ──► book ──► usage of each key that was used: slowly
//                └────► budgets of these keys: at once ──► their statuses

import type { Clock } from '../../core/clock.ts';
import { periodAt } from '../../core/contract/budget.ts';
import type { LedgerPlace } from '../../core/contract/internal-tls.ts';
import type { Spent } from '../../core/contract/spend.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import type { WorkQueue } from '../loop.ts';
import { budgetsIn } from '../resources/api-key.ts';
import { EVENT_REASONS } from '../resources/event-reasons.ts';
import { presentStatus } from '../status/object-status.ts';
import { settleBudget } from '../status/settle-budget.ts';
import { letOthers } from '../turn.ts';
import { type AskLedger, openLedgerClient } from '../usage/ask-ledger.ts';
import { type Exhausted, exhaustedOf } from '../usage/exhausted.ts';
import { followLedger, type LedgerFollowerParts, pollMs } from '../usage/follow-ledger.ts';
import { joinName, type KeyName, splitName } from '../usage/key-name.ts';
import { createUsageReporter, type UsageReporterParts } from '../usage/report-usage.ts';
import { createSpendBook, type SpendNews } from '../usage/spend-book.ts';
import { type BudgetsOf, watchTenantBudgets } from '../usage/tenant-budgets.ts';
import type { Cluster } from '../watch/cluster.ts';
import type { RawObject, TenantBudgets } from '../watch/snapshot.ts';
import { createAlarm } from './alarm.ts';

export interface SpendingParts
  extends Pick<UsageReporterParts, 'events' | 'queue' | 'gateways'>,
    Pick<LedgerFollowerParts, 'random' | 'tokenOf' | 'onAway' | 'onBack'> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly cluster: Pick<Cluster, 'object' | 'snapshot'>;
  /** Undefined without a ledger. */
  readonly ledger: LedgerPlace | undefined;
  /** Over HTTP where left out. */
  readonly askLedger?: AskLedger | undefined;
  /** Of whole namespaces, each once; the identical list while nothing has changed. */
  tenantBudgets(): readonly TenantBudgets[];
  /** Other budgets of this ApiKey are used up than its status says; by `Kind/namespace/name`. */
  onBudget(key: string): void;
  /** Namespaces with budgets have spent something, or a new period has begun. */
  onNamespaces(): void;
}

export interface SpendReading {
  /** Since the last answer of the ledger, also one without changes. */
  readonly newsAgeMs: number;
  /** ApiKeys whose calls are refused because of a budget of their own. */
  readonly exhaustedKeys: number;
}

export interface Spending {
  readonly queues: readonly WorkQueue[];
  /** Budgets that refuse calls of the ApiKey now; undefined while what was spent is not known. */
  exhausted(apiKey: RawObject): readonly Exhausted[] | undefined;
  /** The ApiKey is new, or has changed. */
  judged(apiKey: KeyName): void;
  /** The ApiKey is gone. */
  forget(apiKey: KeyName): void;
  /** There may be more gateways than before, or fewer. */
  gatewaysMoved(): void;
  /** The spend of a namespace's keys; undefined while it is unknown. */
  ofNamespace(): ((namespace: string) => Spent | undefined) | undefined;
  /** Undefined without a ledger. */
  reading(): SpendReading | undefined;
  close(): Promise<void>;
}

/** Keys that are looked at without a pause for others. */
const atATime = 200;
/** Many gateways that come one after the other are one reason to look what they can spend together. */
const gatewaysMs = 10_000;
/** The clocks of timers and of the calendar are two. */
const marginMs = 50;

export function createSpending(parts: SpendingParts): Spending {
  return parts.ledger === undefined ? withoutLedger : startSpending(parts, parts.ledger);
}

const withoutLedger: Spending = {
  queues: [],
  exhausted: () => undefined,
  judged() {},
  forget() {},
  gatewaysMoved() {},
  ofNamespace: () => undefined,
  reading: () => undefined,
  close: async () => {},
};

function startSpending(parts: SpendingParts, place: LedgerPlace): Spending {
  const { cluster, clock } = parts;
  const tenantBudgets = indexBudgets(parts.tenantBudgets);
  const book = createSpendBook();
  const reporter = createUsageReporter({ ...parts, book });
  const tenants = watchTenantBudgets(tenantBudgets, book);
  const exhaustedKeys = new Set<string>();
  const ledger = openLedgerClient(place, clock);
  let isOver = false;
  let wasWhole = false;
  let readyBefore = 0;
  let isLookDue = false;
  const moreGateways = createAlarm(clock, () => {
    isLookDue = false;
    lookAtAll(hasBudgets).catch(onFault);
  });
  const newPeriod = createAlarm(clock, () => {
    waitForPeriod();
    parts.onNamespaces();
    lookAtAll().catch(onFault);
  });
  const follower = followLedger({ ...parts, book, ask: parts.askLedger ?? ledger.ask, onNews, onFault });
  waitForPeriod();

  return {
    queues: reporter.queues,
    exhausted,
    judged: (metadata) => reporter.look(joinName(metadata)),
    forget(metadata) {
      const apiKey = joinName(metadata);
      exhaustedKeys.delete(apiKey);
      reporter.forget(apiKey);
    },
    gatewaysMoved() {
      const { ready } = parts.gateways();
      if (ready > readyBefore && !isLookDue) {
        isLookDue = true;
        moreGateways(clock.now() + gatewaysMs);
      }
      readyBefore = ready;
    },
    ofNamespace: () => (book.isWhole() ? book.ofNamespace : undefined),
    reading: () => ({ newsAgeMs: follower.newsAgeMs(), exhaustedKeys: exhaustedKeys.size }),
    async close() {
      isOver = true;
      for (const alarm of [newPeriod, moreGateways]) alarm(undefined);
      reporter.close();
      await follower.close();
      ledger.close();
    },
  };

  /** Every period ends with a day. */
  function waitForPeriod(): void {
    const nowMs = clock.wallMs();
    newPeriod(clock.now() + (periodAt('Day', nowMs).endMs ?? nowMs) - nowMs + marginMs);
  }

  function onNews(news: SpendNews): void {
    if (!book.isWhole()) {
      wasWhole = false;
      return;
    }
    if (!wasWhole) {
      wasWhole = true;
      tenants.learn(clock.wallMs());
      parts.onNamespaces();
      lookAtAll().catch(onFault);
      return;
    }
    if (news.type === 'again') return;
    for (const apiKey of news.keys) look(apiKey);
    const limited = new Set(news.namespaces.filter((namespace) => tenantBudgets().has(namespace)));
    if (limited.size === 0) return;
    parts.onNamespaces();
    for (const { namespace, reason, note } of tenants.look(limited, clock.wallMs())) {
      const subject = { apiVersion: 'v1', kind: 'Namespace', namespace, name: namespace };
      parts.events.record(subject, { type: EVENT_REASONS[reason].type, reason, action: 'Meter', note });
    }
  }

  /** The ledger does not repeat its answers, so with the next one everything is checked, as by a new leader. */
  function onFault(error: unknown): void {
    wasWhole = false;
    parts.queue.onError('spend', error, pollMs);
  }

  /** A new leader does not know the written statuses; and a new day starts with no spend. */
  async function lookAtAll(isMeant: (apiKey: RawObject) => boolean = () => true): Promise<void> {
    let looked = 0;
    for (const apiKey of cluster.snapshot().apiKeys) {
      if (isMeant(apiKey)) look(joinName(apiKey.metadata));
      looked += 1;
      if (looked % atATime === 0) await letOthers(clock);
      if (isOver) return;
    }
  }

  function look(apiKey: string): void {
    lookAtBudgets(apiKey);
    reporter.look(apiKey);
  }

  function lookAtBudgets(apiKey: string): void {
    const { namespace, name } = splitName(apiKey);
    const object = cluster.object('ApiKey', namespace, name);
    if (object === undefined) return;
    const present = presentStatus('ApiKey', object);
    const said = present?.conditions?.find(({ type }) => type === 'BudgetExhausted');
    if (!hasBudgets(object) && said === undefined && !exhaustedKeys.has(apiKey)) return;
    if (settleBudget(exhausted(object), present)?.message !== said?.message)
      parts.onBudget(`ApiKey/${apiKey}`);
  }

  function exhausted(object: RawObject): readonly Exhausted[] | undefined {
    if (!book.isWhole()) return undefined;
    const apiKey = joinName(object.metadata);
    const found = exhaustedOf(budgetsIn(object.spec), book.ofKey(apiKey), clock.wallMs());
    if (found.length > 0) exhaustedKeys.add(apiKey);
    else exhaustedKeys.delete(apiKey);
    return found;
  }
}

/** Indexed again only for a new list. */
function indexBudgets(list: SpendingParts['tenantBudgets']): () => BudgetsOf {
  let last: { readonly of: readonly TenantBudgets[]; readonly index: BudgetsOf } | undefined;
  return () => {
    const of = list();
    if (last?.of !== of) last = { of, index: new Map(of.map((one) => [one.namespace, one.budgets])) };
    return last.index;
  };
}

function hasBudgets({ spec }: RawObject): boolean {
  return budgetsIn(spec).length > 0;
}
