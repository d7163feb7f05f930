// What does the replica do that leads? Snapshot in, table out; then it tells: statuses, events, issued keys.
//
//   change ──► pace ──► publish ──► which verdicts are new? ──► status of each, Secret of each key
//                          │                                        ▲
//                          └──► gateways ──► exchange ──────────────┘ which generation runs everywhere
//
// One value of this is one term of leadership. Whoever leads next begins with the table that it finds.

import { pointerName } from '../core/contract/manifest.ts';
import { READER_FORMAT } from '../core/contract/routing-table.ts';
import { isConflict, type KubeClient } from '../core/kube/client.ts';
import type { Clock } from '../core/kube/clock.ts';
import type { Log } from '../core/kube/log.ts';
import type { Compile } from './compile/compile.ts';
import type { Verdict } from './compile/verdict.ts';
import { createVerdictNames } from './compile/verdict-names.ts';
import { createDrills, type DrillReading } from './drills/drills.ts';
import type { FormOf } from './hold/forms.ts';
import type { HeldCounts } from './hold/hold-absent.ts';
import type { Waits } from './hold/waits.ts';
import type { Reader } from './hold/withhold-newer.ts';
import { createKeyIssuer } from './keys/issue-key.ts';
import { createAlarm } from './leading/alarm.ts';
import { createBringOut, type TableRun } from './leading/bring-out.ts';
import { type Judged, keysJudgedUnlike, NOTHING_JUDGED } from './leading/judged.ts';
import { createKeyKeeper } from './leading/key-keeper.ts';
import { createPodWatch } from './leading/pod-news.ts';
import { createShardRepair } from './leading/shard-repair.ts';
import { createSpending, type SpendReading } from './leading/spending.ts';
import { createTableNews } from './leading/table-news.ts';
import { createTargetWatch } from './leading/target-news.ts';
import { createUpstreams } from './leading/upstreams.ts';
import { createQueue, type RunResult, type WorkQueue } from './loop.ts';
import type { OperatorMetrics } from './metrics.ts';
import { type AskPod, startExchange } from './pods/exchange.ts';
import { allRun, type PodAnswers } from './pods/pods-state.ts';
import { type SendCheck, sendCheck } from './probe/send-check.ts';
import { createCollector } from './publish/collect.ts';
import { DeposedError } from './publish/deposed.ts';
import { dueMs, noteChange, notePublish, type Pace, RESTING } from './publish/pace.ts';
import { PIN_ANNOTATION } from './publish/pointer-holder.ts';
import { createPublisher, type PublishReport } from './publish/publisher.ts';
import type { ModelRouteStatus } from './resources/model-route.ts';
import type { OperatorSettings } from './settings.ts';
import { createEventRecorder } from './status/events.ts';
import { presentStatus } from './status/object-status.ts';
import { createProgrammedTracker, recordedGeneration } from './status/programmed.ts';
import { createStatusPublisher } from './status/publish-status.ts';
import { letOthers } from './turn.ts';
import type { Cluster, ClusterChange } from './watch/cluster.ts';
import type { GatewayPod } from './watch/gateway-pods.ts';

export interface LeadingParts {
  readonly cluster: Cluster;
  /** For the table: its calls go before those of statuses. */
  readonly tableClient: KubeClient;
  /** For statuses, events and issued keys. */
  readonly client: KubeClient;
  readonly compile: Compile;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  /** From a cryptographic source. */
  randomBytes(size: number): Buffer;
  readonly settings: OperatorSettings;
  readonly metrics: OperatorMetrics;
  readonly log: Log;
  /** Over HTTP where left out. */
  readonly askPod?: AskPod | undefined;
  /** To upstreams; through the egress guard where left out. */
  readonly sendCheck?: SendCheck | undefined;
  /** Another leader writes the table; this term is over. */
  onDeposed(reason: string): void;
}

export interface Leading {
  onChange(change: ClusterChange): void;
  /** Of the table in use; 0 before the first. */
  tableGeneration(): number;
  held(): HeldCounts;
  /** Objects of a kind that serve in their last good form. */
  heldForms(kind: Verdict['kind']): number;
  isPinned(): boolean;
  drills(): readonly DrillReading[];
  /** Undefined where there is no ledger. */
  spend(): SpendReading | undefined;
  /** For each ready gateway pod: how many generations it is behind; undefined where it did not say. */
  podLags(): (number | undefined)[];
  /** What each ready gateway pod said last. */
  gateways(): { readonly pods: readonly GatewayPod[]; readonly answers: PodAnswers };
  longestRunMs(): number;
  /** Begins no further write. With `graceMs`, what is under way is finished and a waiting change is published. */
  close(graceMs: number): Promise<void>;
}

const heartbeatMs = 10_000;
const collectMs = 60_000;
/** A look at everything, whether somebody told of a change or not. */
const checkMs = 15 * 60_000;
const verifyEveryMs = 30_000;
/** Two hundred pods answer within a moment; they are looked at once. */
const podNewsMs = 10;
/**
 * Changes that come while nothing can be written each count as a failure more; the API server must not be waited for long
 * after it is back.
 */
const tableRetryMsMax = 10_000;
/** Until a watch that is behind is asked again what it knows of an object. */
const behindMs = 2_000;
const noneChanged: ReadonlySet<string> = new Set();

export function startLeading(parts: LeadingParts): Leading {
  const { cluster, client, clock, random, randomBytes, settings, metrics, log } = parts;
  const namesOf = createVerdictNames();
  const pointer = `secret ${pointerName(settings.instance)} -n ${settings.tableNamespace}`;
  const publisher = createPublisher({
    client: parts.tableClient,
    clock,
    randomBytes,
    instance: settings.instance,
    tableNamespace: settings.tableNamespace,
    report: onReport,
  });
  const bringOut = createBringOut({
    publisher,
    cluster,
    compile: parts.compile,
    namesOf,
    isServed: (name) => settings.tenantNamespaces.length === 0 || settings.tenantNamespaces.includes(name),
    holdMs: settings.lastKnownGoodMs,
    readers: () => podWatch.pods().pods,
    unpinCommand: `kubectl annotate ${pointer} ${PIN_ANNOTATION}-`,
    wallMs: clock.wallMs,
    breathe: () => letOthers(clock),
    takeHints: () => upstreams.takeHints(),
    onTakenOver(epoch, found, hints) {
      generation = found;
      upstreams.recall(hints);
      log('info', 'leading', { epoch, generation });
      tableQueue.addAfter('heartbeat', heartbeatMs);
    },
    onPublished(published) {
      if (!published.isNew) return;
      const revocationMs = takenUpMs === undefined ? undefined : clock.now() - takenUpMs;
      metrics.onPublished({ ...published, revocationMs });
      log('info', 'table published', {
        ...published,
        durationMs: Math.round(published.durationMs),
        ...(revocationMs === undefined ? {} : { revocationMs: Math.round(revocationMs) }),
      });
    },
    onHeld: (counts, unreadable) => news.held(counts, unreadable),
    onReleased: (keys) => log('info', 'retired keys were released', { released: keys.length }),
    onPin: (pin) => news.pinned(pin),
  });
  const shardRepair = createShardRepair({
    publisher,
    log,
    hasTakenOver: () => bringOut.hasTakenOver(),
    publish,
  });
  const collector = createCollector({ ...publisher, clock });
  const events = createEventRecorder({
    client,
    clock,
    random,
    instance: settings.podName,
    onResult: metrics.onEvent,
  });
  const news = createTableNews({
    events,
    log,
    instance: settings.instance,
    tableNamespace: settings.tableNamespace,
  });
  const statuses = createStatusPublisher({ client, clock, events });
  const { keyPrefix, metadataPrefixes = [] } = settings.platform;
  const issuer = createKeyIssuer({
    client,
    keyPrefix,
    metadataPrefixes,
    baseUrl: settings.baseUrl,
    randomBytes,
    wallMs: clock.wallMs,
  });
  const exchange = startExchange({
    clock,
    random,
    tokenOf: () => publisher.exchangeToken(),
    drillsOf: (uid) => drills.ordersOf(uid),
    onChange: onPodNews,
    ...(parts.askPod === undefined ? {} : { askPod: parts.askPod }),
  });
  const podWatch = createPodWatch(cluster, exchange, publisher.epochFloor);
  const upstreams = createUpstreams({
    clock,
    random,
    send: parts.sendCheck ?? sendCheck,
    callsOf: podWatch.healthOf,
    verdictOf: (provider) => verdicts.routing.get(`Provider/${provider}`),
    onChange(provider) {
      statusQueue.add(`Provider/${provider}`);
      // Its targets too.
      onPodNews();
    },
    onHints: () => onChange({ type: 'resources', isUrgent: false }),
    onChecked: metrics.onHealthCheck,
  });
  const targets = createTargetWatch(upstreams.healthOf);
  const tracker = createProgrammedTracker();
  const drills = createDrills({
    clock,
    pods: cluster.readyGatewayPods,
    answers: exchange.answers,
    epochFloor: publisher.epochFloor,
    sinceOf: (verdict) => sinceOf(namesOf(verdict).key, verdict),
    statusOf({ namespace, name }) {
      const object = cluster.object('ModelRoute', namespace, name);
      const status: ModelRouteStatus | undefined = object && presentStatus('ModelRoute', object);
      return status?.drill;
    },
    renew: exchange.renew,
    onChange: (key) => statusQueue.add(key),
  });

  let isOver = false;
  let generation = 0;
  let waits: Waits = new Map();
  /** What the pods read, as far as it matters to some entry. */
  let readersWords = '[]';
  let verdicts = NOTHING_JUDGED;
  /** Those that the table in use was made with; a verdict that is newer is of a form that is not out yet. */
  let published = NOTHING_JUDGED;
  let formOf: FormOf = () => undefined;
  /** Objects that some pod does not run in their present form, as far as was known at the last look. */
  const unsettled = new Set<string>();
  /** Not before this time of the clock is everything compared again. */
  let verifyAgainMs = 0;
  let pace: Pace = RESTING;
  /** When the first change came that takes access away, of those that are in no table yet. */
  let urgentSinceMs: number | undefined;
  /** The same, of those that the publish under way takes up. */
  let takenUpMs: number | undefined;
  /** The last heartbeat could not be written. */
  let isShut = false;
  const paceAlarm = createAlarm(clock, () => {
    pace = notePublish(pace, clock.now());
    tableQueue.add('publish');
  });
  const staleAlarm = createAlarm(clock, () => onChange({ type: 'resources', isUrgent: true }));
  const podsAlarm = createAlarm(clock, lookAtPods);

  const common = { clock, random, metrics: metrics.queues, onError };
  const tableQueue: WorkQueue = createQueue({
    ...common,
    name: 'table',
    workers: 1,
    backoffMaxMs: tableRetryMsMax,
    run: runTable,
  });
  const statusQueue: WorkQueue = createQueue({ ...common, name: 'status', workers: 8, run: runStatus });
  const keys = createKeyKeeper({
    cluster,
    podsNow: podWatch.podsNow,
    issuer,
    clock,
    log,
    queue: common,
    checkMs,
    verdictOf: (key) => verdicts.get(key),
    onFailure: (key) => statusQueue.add(key),
  });
  const spending = createSpending({
    cluster,
    client,
    clock,
    random,
    events,
    queue: common,
    ledgerAddress: settings.ledgerAddress,
    tenantBudgets: settings.platform.tenantBudgets,
    gateways: () => ({
      ready: podWatch.pods().ready,
      haveStore: settings.platform.hasExactLimits === true,
    }),
    tokenOf: () => publisher.exchangeToken(),
    onBudget: (key) => statusQueue.add(key),
    onAway: (reason) =>
      news.tell(
        'LedgerAway',
        `the ledger tells nothing: ${reason}. What keys have spent is not written until it does; nothing else waits for it`,
      ),
    onBack: () => news.tell('LedgerBack', 'the ledger tells what is spent again'),
  });
  const queues = [tableQueue, statusQueue, keys.queue, ...spending.queues];

  exchange.setPods(cluster.readyGatewayPods());
  tableQueue.add('publish');
  tableQueue.addAfter('check', checkMs);
  tableQueue.addAfter('collect', collectMs);

  return {
    onChange,
    tableGeneration: () => generation,
    held: news.heldNow,
    heldForms(kind) {
      let count = 0;
      for (const verdict of verdicts.routing.values())
        if (verdict.kind === kind && verdict.held !== undefined) count += 1;
      return count;
    },
    isPinned: news.isPinned,
    drills: drills.readings,
    spend: spending.reading,
    podLags: () =>
      podWatch
        .pods()
        .pods.map((pod) =>
          pod.generation === undefined ? undefined : Math.max(0, generation - pod.generation),
        ),
    gateways: () => ({ pods: cluster.readyGatewayPods(), answers: exchange.answers() }),
    longestRunMs: () => Math.max(...queues.map((queue) => queue.stats().longestRunMs)),
    async close(graceMs) {
      if (isOver) return;
      for (const alarm of [paceAlarm, staleAlarm, podsAlarm]) alarm(undefined);
      const hasWork = pace.waiting !== undefined;
      if (graceMs > 0 && hasWork) await publish().catch((error: unknown) => onError('publish', error));
      if (graceMs === 0) publisher.standDown();
      isOver = true;
      exchange.close();
      upstreams.close();
      drills.close();
      await spending.close();
      await Promise.all(queues.map((queue) => queue.close(graceMs)));
      publisher.standDown();
      await events.close();
    },
  };

  function onChange(change: ClusterChange): void {
    if (isOver) return;
    switch (change.type) {
      case 'resources':
        if (change.isUrgent) urgentSinceMs ??= clock.now();
        pace = noteChange(pace, clock.now(), change.isUrgent);
        paceAlarm(dueMs(pace));
        return;
      case 'pods':
        exchange.setPods(cluster.readyGatewayPods());
        onPodNews();
        return;
      case 'pointer':
        // Mostly our own write; but it may be gone, or somebody may have accepted an absence.
        tableQueue.add('look');
        return;
      case 'shard-gone':
        shardRepair.doubt(change.name);
        tableQueue.add('repair');
        return;
      case 'status':
        statusQueue.add(`${change.kind}/${change.key}`);
        return;
    }
  }

  async function runTable(task: string): Promise<RunResult> {
    switch (task) {
      case 'heartbeat':
        await heartbeat();
        return { afterMs: heartbeatMs };
      case 'look':
        if (bringOut.hasTakenOver()) await publisher.repair(publisher.shardsInUse());
        return;
      case 'repair':
        return await shardRepair.run();
      case 'verify':
        // Every shard is read and compared; then a heartbeat has the gateways try again.
        if (!bringOut.hasTakenOver()) return;
        await publisher.repair(new Set());
        await publisher.heartbeat();
        return;
      case 'collect': {
        const collected = await collector.collect();
        if (collected > 0) log('info', 'shards that no table names were deleted', { collected });
        return { afterMs: collectMs };
      }
      case 'check':
        for (const other of ['verify', 'publish']) tableQueue.add(other);
        for (const key of verdicts.keys()) statusQueue.add(key);
        keys.checkAll(verdicts.apiKeys.entries());
        return { afterMs: checkMs };
      default:
        return await publish();
    }
  }

  /** Once in ten seconds it shows whether the API server takes writes. */
  async function heartbeat(): Promise<void> {
    try {
      await publisher.heartbeat();
    } catch (error) {
      isShut = true;
      throw error;
    }
    if (!isShut) return;
    isShut = false;
    for (const queue of [statusQueue, keys.queue]) queue.retryNow();
  }

  async function publish(): Promise<void> {
    takenUpMs = urgentSinceMs;
    urgentSinceMs = undefined;
    try {
      const run = await bringOut.run(takenUpMs !== undefined);
      staleAlarm(run.staleAtMs === undefined ? undefined : clock.now() + run.staleAtMs - clock.wallMs());
      if (run.type === 'published') return await follow(run);
      tracker.onAttempted({
        verdicts: run.judged,
        formOf: (verdict) => run.attempted(verdict.kind, namesOf(verdict).id),
      });
      // What is wrong with an object is true, whether the table can be written or not.
      if (!(run.error instanceof DeposedError)) judge(run.judged, formOf, noneChanged, run.waits);
      throw run.error;
    } catch (error) {
      urgentSinceMs = takenUpMs ?? urgentSinceMs;
      metrics.onPublishFailed(error instanceof DeposedError ? 'deposed' : 'api');
      throw error;
    }
  }

  /** The table is out: which objects have another form, or another verdict, than before? */
  async function follow({
    judged,
    forms,
    found,
    waits: waiting,
    ...run
  }: Extract<TableRun, { type: 'published' }>): Promise<void> {
    generation = run.generation;
    const formIn = (of: FormOf, verdict: Verdict) => of(verdict.kind, namesOf(verdict).id);
    const rejudged = keysJudgedUnlike(published, judged);
    tracker.onPublished({
      generation,
      verdicts: judged,
      formOf: (verdict) => formIn(forms.of, verdict),
      changed: new Set([...forms.changed, ...rejudged]),
      recorded(verdict) {
        const object = cluster.object(verdict.kind, verdict.namespace, verdict.name);
        const isSame = found !== undefined && formIn(found, verdict) === formIn(forms.of, verdict);
        return isSame && object !== undefined ? recordedGeneration(object) : undefined;
      },
    });
    published = judged;
    // Of the first table, everything is new.
    if (found !== undefined) await letOthers(clock);
    if (isOver) return;
    if (shardRepair.hasDoubts()) tableQueue.add('repair');
    upstreams.watch(run.healthChecks, run.content);
    judge(judged, forms.of, forms.changed, waiting);
    keys.published(generation, waiting);
    drills.watch(judged.routing);
    lookAtPods();
  }

  function judge(judged: Judged, of: FormOf, changed: ReadonlySet<string>, waiting: Waits): void {
    const earlier = verdicts;
    const waited = waits;
    verdicts = judged;
    waits = waiting;
    formOf = of;
    // Also what could not be published before, though nothing else is new about it.
    const inQuestion = [...changed, ...unsettled, ...waited.keys(), ...waits.keys()];
    for (const key of new Set([...keysJudgedUnlike(earlier, judged), ...inQuestion])) {
      const known = earlier.get(key);
      const verdict = judged.get(key);
      if (verdict === undefined) {
        if (known !== undefined) forget(key, known);
        continue;
      }
      const isOther = !isSameVerdict(known, verdict);
      if (isOther && verdict.kind === 'ApiKey') {
        keys.judged(key, verdict);
        spending.judged(verdict);
      }
      const isWaiting = waited.get(key)?.message !== waits.get(key)?.message;
      if (isOther || changed.has(key) || unsettled.has(key) || isWaiting) statusQueue.add(key);
    }
    keys.allJudged();
  }

  /** The object is gone. */
  function forget(key: string, verdict: Verdict): void {
    unsettled.delete(key);
    statusQueue.forget(key);
    for (const memory of [keys, podWatch, targets]) memory.forget(key);
    if (verdict.kind === 'ApiKey') spending.forget(verdict);
    statuses.forget(verdict);
  }

  async function runStatus(key: string, signal: AbortSignal): Promise<RunResult> {
    const verdict = verdicts.get(key);
    const object = verdict && cluster.object(verdict.kind, verdict.namespace, verdict.name);
    // A verdict on an older form says nothing about this one; the next compile does.
    if (verdict === undefined || object === undefined) return;
    if (object.metadata.generation !== verdict.generation) return;
    const pods = podWatch.pods();
    const since = sinceOf(key, verdict);
    if (since === undefined || !allRun(pods, since)) unsettled.add(key);
    else unsettled.delete(key);
    const health = verdict.kind === 'Provider' ? upstreams.healthOf(verdict) : undefined;
    const failingTargets = verdict.kind === 'ModelRoute' ? targets.failingTargets(verdict) : undefined;
    const drill = drills.reportOf(key);
    const issueFailure = keys.failureOf(key);
    const exhausted = verdict.kind === 'ApiKey' ? spending.exhausted(object) : undefined;
    const wait = waits.get(key);
    const facts = {
      verdict,
      object,
      since,
      wait,
      pods,
      health,
      failingTargets,
      drill,
      issueFailure,
      exhausted,
    };
    const { did, afterMs } = await statuses.publish(facts, signal).catch((error: unknown) => {
      // The watch is behind. When it brings the object, nobody tells: what we say of it is no wish.
      if (isConflict(error)) return { did: 'nothing', afterMs: behindMs } as const;
      throw error;
    });
    if (did === 'wrote')
      log('info', 'status written', { object: key, generation: verdict.generation, since });
    return afterMs === undefined ? undefined : { afterMs };
  }

  /** The table generation in which the form that was judged first appeared; undefined while it is in none. */
  function sinceOf(key: string, verdict: Verdict): number | undefined {
    const isOut = isSameVerdict(published.get(key), verdict);
    return isOut ? tracker.since(key, formOf(verdict.kind, namesOf(verdict).id)) : undefined;
  }

  function onPodNews(): void {
    if (!isOver) podsAlarm(clock.now() + podNewsMs);
  }

  function lookAtPods(): void {
    if (isOver) return;
    podsAlarm(undefined);
    outnumberPods();
    const { haveMoved, rejections } = podWatch.look();
    for (const rejection of rejections) {
      metrics.onTableRejected();
      log('warn', 'a gateway refused a table', rejection);
    }
    if (rejections.length > 0) verifySoon();
    const readers = describeReaders(podWatch.pods().pods);
    if (readers !== readersWords) {
      readersWords = readers;
      onChange({ type: 'resources', isUrgent: false });
    }
    if (haveMoved) {
      for (const key of unsettled) statusQueue.add(key);
      keys.podsMoved();
      spending.gatewaysMoved();
    }
    for (const key of podWatch.changedHealth(verdicts.routing)) statusQueue.add(key);
    for (const key of targets.look(verdicts.routing)) statusQueue.add(key);
    upstreams.onPodNews();
    drills.look();
  }

  /** A cluster that was put back to an older state, or a clock that is behind: no gateway goes back with it. */
  function outnumberPods(): void {
    if (!bringOut.hasTakenOver()) return;
    for (const version of podWatch.running()) {
      if (!publisher.outnumber(version)) continue;
      // The number is told by a heartbeat; then a publish learns of it.
      for (const task of ['heartbeat', 'publish']) tableQueue.add(task);
    }
  }

  /** A shard may have been damaged by hand. Two hundred pods that say so are one reason. */
  function verifySoon(): void {
    const inMs = Math.max(0, verifyAgainMs - clock.now());
    tableQueue.addAfter('verify', inMs);
    verifyAgainMs = Math.max(verifyAgainMs, clock.now() + verifyEveryMs);
  }

  function onReport({ type, message }: PublishReport): void {
    const isAsked = type === 'absence-accepted' || type === 'pin-changed' || type === 'release-asked';
    log(isAsked ? 'info' : 'warn', message, { reason: type });
    if (isAsked) onChange({ type: 'resources', isUrgent: true });
  }

  function onError(key: string, error: unknown): void {
    if (error instanceof DeposedError) {
      if (!isOver) parts.onDeposed(error.message);
      return;
    }
    log('error', 'a run failed and will be tried again', {
      object: key,
      reason: error instanceof Error ? error.message : String(error),
    });
  }
}

/** Verdicts on ApiKeys keep their identity; the few others are compared by what they say. */
function isSameVerdict(a: Verdict | undefined, b: Verdict): boolean {
  return a === b || (b.kind !== 'ApiKey' && JSON.stringify(a) === JSON.stringify(b));
}

/** Only pods that keep something out, and whether some were not heard: of two hundred that read everything nothing need be told. */
function describeReaders(pods: readonly Reader[]): string {
  const old = pods.filter(({ maxFormat }) => maxFormat !== undefined && maxFormat < READER_FORMAT);
  const isSilent = pods.some(({ maxFormat }) => maxFormat === undefined);
  return JSON.stringify([
    ...old.map(({ name, maxFormat }) => [name, maxFormat]),
    ...(isSilent ? ['silent'] : []),
  ]);
}
