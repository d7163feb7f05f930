// Follows the gateway pods in a term: the tables that they run, the health of their upstreams, the operator's own health checks, and
// failover drills.

import { createDrills, type Drills } from '../drills/drills.ts';
import { type Exchange, startExchange } from '../pods/exchange.ts';
import { sendCheck } from '../probe/send-check.ts';
import type { ModelRouteStatus } from '../resources/model-route.ts';
import { presentStatus } from '../status/object-status.ts';
import { createAlarm } from './alarm.ts';
import type { TermParts } from './parts.ts';
import { createPodWatch, type PodNews, type PodWatch } from './pod-news.ts';
import { createReaderWatch } from './reader-news.ts';
import type { LedTable } from './table.ts';
import { createTargetWatch, type TargetWatch } from './target-news.ts';
import { createUpstreams, type Upstreams } from './upstreams.ts';
import type { PublishedRun } from './verdict-book.ts';

interface Parts extends TermParts {
  readonly table: LedTable;
  /** There may be something new to say of these objects; by `Kind/namespace/name`. */
  onObjects(keys: Iterable<string>): void;
  /** Another generation runs everywhere, or there are other pods. */
  onMoved(): void;
}

export interface LedPods
  extends Pick<PodWatch, 'pods' | 'podsNow' | 'credentialsOf'>,
    Pick<Upstreams, 'healthOf' | 'recall' | 'takeHints'>,
    Pick<TargetWatch, 'failingTargets'>,
    Pick<Exchange, 'answers'> {
  readonly drills: Pick<Drills, 'reportOf' | 'readings'>;
  /** The ready pods have changed, or whether they are known. */
  changed(): void;
  watchUpstreams(run: PublishedRun): void;
  watchDrills(run: PublishedRun): void;
  look(): void;
  /** The object is gone. */
  forget(key: string): void;
  /** No alarm rings any more. */
  finish(): void;
  close(): void;
}

/** Pods of one rollout come one after the other; all objects count them once. */
const recountMs = 10_000;
/** Two hundred pods answer within a moment; they are looked at once. */
const newsMs = 10;

export function createPods(parts: Parts): LedPods {
  const { cluster, clock, random, term, book, namesOf, table, metrics, log } = parts;
  const alarm = createAlarm(clock, look);
  const recount = createAlarm(clock, () => parts.onObjects(book.judged().routing.keys()));
  let readyBefore = 0;
  const exchange = startExchange({
    clock,
    random,
    tokenOf: table.exchangeToken,
    trusted: () => table.internalTls()?.trusted,
    drillsOf: (uid) => drills.ordersOf(uid),
    onChange: lookSoon,
    ...(parts.askPod === undefined ? {} : { askPod: parts.askPod }),
  });
  const watch = createPodWatch(cluster, exchange, table.epochFloor);
  const haveOtherReaders = createReaderWatch();
  const upstreams = createUpstreams({
    clock,
    random,
    send: parts.sendCheck ?? sendCheck,
    callsOf: watch.healthOf,
    verdictOf: (provider) => book.judged().routing.get(`Provider/${provider}`),
    onChange(provider) {
      parts.onObjects([`Provider/${provider}`]);
      // Its targets too.
      lookSoon();
    },
    onHints: () => table.changed('bulk'),
    onChecked: metrics.onHealthCheck,
  });
  const targets = createTargetWatch(upstreams.healthOf);
  const drills = createDrills({
    clock,
    pods: cluster.readyGatewayPods,
    answers: exchange.answers,
    epochFloor: table.epochFloor,
    sinceOf: (verdict) => book.sinceOf(namesOf(verdict).key, verdict),
    statusOf({ namespace, name }) {
      const object = cluster.object('ModelRoute', namespace, name);
      const status: ModelRouteStatus | undefined = object && presentStatus('ModelRoute', object);
      return status?.drill;
    },
    renew: exchange.renew,
    onChange: (key) => parts.onObjects([key]),
  });
  exchange.setPods(cluster.readyGatewayPods());

  return {
    pods: watch.pods,
    podsNow: watch.podsNow,
    answers: exchange.answers,
    healthOf: upstreams.healthOf,
    credentialsOf: watch.credentialsOf,
    recall: upstreams.recall,
    takeHints: upstreams.takeHints,
    failingTargets: targets.failingTargets,
    drills,
    changed() {
      exchange.setPods(cluster.readyGatewayPods());
      lookSoon();
    },
    watchUpstreams: ({ healthChecks, content }) => upstreams.watch(healthChecks, content),
    watchDrills: ({ judged }) => drills.watch(judged.routing),
    look,
    forget(key) {
      for (const memory of [watch, targets]) memory.forget(key);
    },
    finish() {
      for (const one of [alarm, recount]) one(undefined);
    },
    close() {
      for (const part of [exchange, upstreams, drills]) part.close();
    },
  };

  function lookSoon(): void {
    if (!term.isOver) alarm(clock.now() + newsMs);
  }

  function look(): void {
    if (term.isOver) return;
    alarm(undefined);
    for (const version of watch.running()) table.outnumber(version);
    const { haveMoved, rejections } = watch.look();
    reportRejections(rejections);
    if (haveOtherReaders(watch.pods().pods)) table.changed('bulk');
    const { ready } = watch.pods();
    if (ready !== readyBefore) recount(clock.now() + recountMs);
    readyBefore = ready;
    if (haveMoved) {
      parts.onObjects(book.unsettled());
      parts.onMoved();
    }
    const { routing } = book.judged();
    parts.onObjects(watch.changedHealth(routing));
    parts.onObjects(targets.look(routing));
    upstreams.onPodNews();
    drills.look();
  }

  function reportRejections(rejections: PodNews['rejections']): void {
    for (const rejection of rejections) {
      metrics.onTableRejected();
      log('warn', 'a gateway refused a table', rejection);
    }
    if (rejections.length > 0) table.verifySoon();
  }
}
