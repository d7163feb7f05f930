// What does the replica do that leads? Snapshot in, table out; then it tells: statuses, events, issued keys.
//
//   change ──► pace ──► publish ──► which verdicts are new? ──► status of each, Secret of each key
//                          │                                        ▲
//                          └──► gateways ──► exchange ──────────────┘ which generation runs everywhere
//
// One value of this is one term of leadership. Whoever leads next begins with the table that it finds.

import type { TableContent } from '../gateway/contract/routing-table.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../kube/clock.ts';
import type { Compile, CompileResult } from './compile/compile.ts';
import type { ApiKeyVerdict, Verdict } from './compile/verdict.ts';
import type { Log } from './log.ts';
import { createQueue, type RunResult, type WorkQueue } from './loop.ts';
import type { OperatorMetrics } from './metrics.ts';
import { createCollector } from './publish/collect.ts';
import { DeposedError } from './publish/deposed.ts';
import { createEventRecorder } from './publish/events.ts';
import { startExchange } from './publish/exchange.ts';
import { createFormIndex, type FormOf, type Forms } from './publish/forms.ts';
import { type HealthOf, indexHealth, type ProviderHealth } from './publish/health-of.ts';
import { findLostTargets, type HeldCounts, holdAbsent } from './publish/hold-absent.ts';
import { createKeyIssuer } from './publish/issue-key.ts';
import { dueMs, noteChange, notePublish, type Pace, RESTING } from './publish/pace.ts';
import { allRun, type PodsState, podsState } from './publish/pods-state.ts';
import { createProgrammedTracker, recordedGeneration } from './publish/programmed.ts';
import { createStatusPublisher } from './publish/publish-status.ts';
import { createPublisher, type PublishReport } from './publish/publisher.ts';
import { leaveOut, UnfitEntryError } from './publish/unfit-entry.ts';
import { createVerdictNames } from './publish/verdict-names.ts';
import type { OperatorSettings } from './settings.ts';
import type { Cluster, ClusterChange } from './watch/cluster.ts';

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
  /** Another leader writes the table; this term is over. */
  onDeposed(reason: string): void;
}

export interface Leading {
  onChange(change: ClusterChange): void;
  /** Of the table in use; 0 before the first. */
  tableGeneration(): number;
  held(): HeldCounts;
  /** For each ready gateway pod: how many generations it is behind; undefined where it did not say. */
  podLags(): (number | undefined)[];
  longestRunMs(): number;
  /** Begins no further write. With `graceMs`, what is under way is finished and a waiting change is published. */
  close(graceMs: number): Promise<void>;
}

const heartbeatMs = 10_000;
const collectMs = 60_000;
/** A look at everything, whether somebody told of a change or not. */
const checkMs = 15 * 60_000;
/** A Secret that the API server refuses: after a while the quota, or whatever it was, may be another. */
const refusedKeyMs = 60_000;
/** So late the watch may tell of a shard, and of a Secret with a key, that this process wrote. */
const shardPatienceMs = 2_000;
const secretPatienceMs = 10_000;
/** The longest a timer can wait. */
const timerMsMax = 2 ** 31 - 1;
const noneChanged: ReadonlySet<string> = new Set();
const nothingHeld: HeldCounts = { Provider: 0, ModelRoute: 0, ApiKey: 0 };

export function startLeading(parts: LeadingParts): Leading {
  const { cluster, client, compile, clock, random, settings, metrics, log } = parts;
  const publisher = createPublisher({
    client: parts.tableClient,
    clock,
    randomBytes: parts.randomBytes,
    instance: settings.instance,
    tableNamespace: settings.tableNamespace,
    report: onReport,
  });
  const collector = createCollector({ ...publisher, clock });
  const events = createEventRecorder({
    client,
    clock,
    random,
    instance: settings.podName,
    onResult: metrics.onEvent,
  });
  const statuses = createStatusPublisher({ client, clock, events });
  const issuer = createKeyIssuer({
    client,
    keyPrefix: settings.platform.keyPrefix,
    baseUrl: settings.baseUrl,
    randomBytes: parts.randomBytes,
  });
  const exchange = startExchange({
    clock,
    random,
    tokenOf: () => publisher.exchangeToken(),
    onChange: onPodNews,
  });
  const namesOf = createVerdictNames();
  const tracker = createProgrammedTracker((verdict) => namesOf(verdict).key);
  const indexForms = createFormIndex();

  let isOver = false;
  /** Undefined until the table that was found has been read. */
  let inUse:
    | { readonly content: TableContent | undefined; readonly forms: FormOf; isFound: boolean }
    | undefined;
  let generation = 0;
  let held = nothingHeld;
  let heldWords = JSON.stringify([nothingHeld, []]);
  let verdicts: ReadonlyMap<string, Verdict> = new Map();
  let forms: FormOf = () => undefined;
  let pods = podsState(cluster.readyGatewayPods(), exchange.answers());
  let healthOf: HealthOf = () => undefined;
  /** Of each Provider, in words: only what has changed is worth a look at its status. */
  const healthWords = new Map<string, string>();
  /** Objects that some pod does not run in their present form, as far as was known at the last look. */
  const unsettled = new Set<string>();
  const issueFailures = new Map<string, string>();
  /** Until when the Secret of an ApiKey is taken to be on its way to us. */
  const issued = new Map<string, number>();
  let pace: Pace = RESTING;
  let isUrgent = false;
  const paceAlarm = createAlarm(clock, () => {
    pace = notePublish(pace, clock.now());
    tableQueue.add('publish');
  });
  const staleAlarm = createAlarm(clock, () => onChange({ type: 'resources', isUrgent: true }));
  const podsAlarm = createAlarm(clock, lookAtPods);

  const common = { clock, random, metrics: metrics.queues, onError };
  const tableQueue: WorkQueue = createQueue({ ...common, name: 'table', workers: 1, run: runTable });
  const statusQueue: WorkQueue = createQueue({ ...common, name: 'status', workers: 8, run: runStatus });
  const keyQueue: WorkQueue = createQueue({ ...common, name: 'apikey', workers: 4, run: runKey });

  exchange.setPods(cluster.readyGatewayPods());
  tableQueue.add('publish');
  tableQueue.addAfter('check', checkMs);
  tableQueue.addAfter('collect', collectMs);

  return {
    onChange,
    tableGeneration: () => generation,
    held: () => held,
    podLags: () =>
      pods.pods.map((pod) =>
        pod.generation === undefined ? undefined : Math.max(0, generation - pod.generation),
      ),
    longestRunMs: () =>
      Math.max(...[tableQueue, statusQueue, keyQueue].map((queue) => queue.stats().longestRunMs)),
    async close(graceMs) {
      if (isOver) return;
      const hasWork = pace.waiting !== undefined;
      for (const alarm of [paceAlarm, staleAlarm, podsAlarm]) alarm(undefined);
      if (graceMs > 0 && hasWork) await publish().catch((error: unknown) => onError('publish', error));
      if (graceMs === 0) publisher.standDown();
      isOver = true;
      exchange.close();
      await Promise.all([tableQueue, statusQueue, keyQueue].map((queue) => queue.close(graceMs)));
      publisher.standDown();
      await events.close();
    },
  };

  function onChange(change: ClusterChange): void {
    if (isOver) return;
    switch (change.type) {
      case 'resources':
        isUrgent ||= change.isUrgent;
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
      case 'shards':
        // Our own are told of late; what is missing still after a while is gone.
        if (isShardMissing()) tableQueue.addAfter('repair', shardPatienceMs);
        return;
    }
  }

  async function runTable(task: string): Promise<RunResult> {
    switch (task) {
      case 'heartbeat':
        await publisher.heartbeat();
        return { afterMs: heartbeatMs };
      case 'look':
        if (inUse !== undefined) await publisher.repair(publisher.shardsInUse());
        return;
      case 'repair': {
        if (inUse === undefined || !isShardMissing()) return;
        const { shardsWritten } = await publisher.repair(cluster.shardNames());
        if (shardsWritten > 0)
          log('warn', 'shards that were gone have been written again', { shardsWritten });
        // What this term has not cut yet, a publish makes.
        return await publish();
      }
      case 'collect': {
        const collected = await collector.collect();
        if (collected > 0) log('info', 'shards that no table names were deleted', { collected });
        return { afterMs: collectMs };
      }
      case 'check':
        tableQueue.add('look');
        tableQueue.add('repair');
        tableQueue.add('publish');
        for (const key of verdicts.keys()) statusQueue.add(key);
        return { afterMs: checkMs };
      default:
        return await publish();
    }
  }

  function isShardMissing(): boolean {
    const present = cluster.shardNames();
    for (const name of publisher.shardsNamed()) if (!present.has(name)) return true;
    return false;
  }

  async function publish(): Promise<void> {
    inUse ??= await takeOver();
    const wasUrgent = isUrgent;
    isUrgent = false;
    const snapshot = cluster.snapshot();
    const result = compile(snapshot, clock.wallMs());
    staleAlarm(result.staleAtMs === undefined ? undefined : clock.now() + result.staleAtMs - clock.wallMs());
    const isAccepted = publisher.isAbsenceAccepted();
    const unreadable = cluster.unreadableNamespaces();
    const kept = holdAbsent({
      last: inUse.content,
      next: result.table,
      isPresent: (kind, id) => cluster.object(kind, ...placeOf(id)) !== undefined,
      isReadable: (namespace) => !unreadable.has(namespace),
      wasSeenDeleted: cluster.wasSeenDeleted,
      isTargetLost: findLostTargets(result.verdicts, snapshot.modelRoutes),
      isAccepted,
    });
    tellHeld(kept.held, unreadable);
    const judged = new Map(result.verdicts.map((verdict) => [namesOf(verdict).key, verdict]));
    try {
      const content = await publishFitting(kept.content, judged, {
        urgent: wasUrgent,
        acceptsAbsence: isAccepted,
      });
      follow(content, judged);
    } catch (error) {
      isUrgent ||= wasUrgent;
      metrics.onPublishFailed(error instanceof DeposedError ? 'deposed' : 'api');
      // What is wrong with an object is true, whether the table can be written or not.
      if (!(error instanceof DeposedError)) judge(judged, { of: forms, changed: noneChanged });
      throw error;
    }
  }

  async function takeOver(): Promise<NonNullable<typeof inUse>> {
    const { content, version } = await publisher.takeOver();
    generation = version?.generation ?? 0;
    log('info', 'leading', { epoch: version?.epoch, generation });
    // Tells the new epoch, which fences the leader before; where there is no table yet, there is nobody to fence.
    await publisher.heartbeat();
    tableQueue.addAfter('heartbeat', heartbeatMs);
    return {
      content,
      forms: content === undefined ? () => undefined : indexForms(content).of,
      isFound: true,
    };
  }

  /** An object that does not fit into the table stays out alone. Gives the content that is in use now. */
  async function publishFitting(
    wanted: TableContent,
    judged: Map<string, Verdict>,
    how: { readonly urgent: boolean; readonly acceptsAbsence: boolean },
  ): Promise<TableContent> {
    let content = wanted;
    for (;;) {
      try {
        const published = await publisher.publish(content, how);
        generation = published.generation;
        if (published.isNew) {
          metrics.onPublished(published);
          log('info', 'table published', { ...published, durationMs: Math.round(published.durationMs) });
        }
        return content;
      } catch (error) {
        if (!(error instanceof UnfitEntryError)) throw error;
        const smaller = leaveOut(content, error);
        if (isSameSize(smaller, content)) throw error;
        content = smaller;
        const key = keyOf({ kind: error.objectKind, ...asPlace(error.objectId) });
        const verdict = judged.get(key);
        if (verdict !== undefined) judged.set(key, refuse(verdict, error.message));
      }
    }
  }

  /** The table is out: which objects have another form, or another verdict, than before? */
  function follow(content: TableContent, judged: ReadonlyMap<string, Verdict>): void {
    const found = inUse?.isFound === true ? inUse.forms : undefined;
    const next = indexForms(content);
    const formOf = (verdict: Verdict) => next.of(verdict.kind, namesOf(verdict).id);
    tracker.onPublished({
      generation,
      verdicts: [...judged.values()],
      formOf,
      mayHaveChanged: (verdict) => next.changed.has(namesOf(verdict).key),
      recorded(verdict) {
        const object = cluster.object(verdict.kind, verdict.namespace, verdict.name);
        const isSame = found !== undefined && found(verdict.kind, namesOf(verdict).id) === formOf(verdict);
        return isSame && object !== undefined ? recordedGeneration(object) : undefined;
      },
    });
    inUse = { content, forms: next.of, isFound: false };
    judge(judged, next);
    lookAtPods();
  }

  function judge(judged: ReadonlyMap<string, Verdict>, next: Forms): void {
    const earlier = verdicts;
    verdicts = judged;
    forms = next.of;
    for (const [key, verdict] of judged) {
      if (verdict.kind === 'ApiKey' && verdict.needsSecret) {
        // The watch tells of a Secret some moments after it was written.
        keyQueue.addAfter(key, Math.max(0, (issued.get(key) ?? 0) - clock.now()));
      }
      const known = earlier.get(key);
      const isSame = known !== undefined && isSameVerdict(known, verdict) && !next.changed.has(key);
      if (!isSame) statusQueue.add(key);
    }
    for (const [key, verdict] of earlier) {
      if (judged.has(key)) continue;
      unsettled.delete(key);
      healthWords.delete(key);
      issued.delete(key);
      issueFailures.delete(key);
      statusQueue.forget(key);
      keyQueue.forget(key);
      statuses.forget(verdict);
    }
  }

  async function runStatus(key: string, signal: AbortSignal): Promise<RunResult> {
    const verdict = verdicts.get(key);
    const object = verdict && cluster.object(verdict.kind, verdict.namespace, verdict.name);
    // A verdict on an older form says nothing about this one; the next compile does.
    if (verdict === undefined || object === undefined) return;
    if (object.metadata.generation !== verdict.generation) return;
    const since = tracker.since(verdict, forms(verdict.kind, namesOf(verdict).id));
    if (since === undefined || !allRun(pods, since)) unsettled.add(key);
    else unsettled.delete(key);
    const { did, afterMs } = await statuses.publish(
      {
        verdict,
        object,
        since,
        pods,
        ...(verdict.kind === 'Provider' ? { health: healthOf(verdict) } : {}),
        issueFailure: issueFailures.get(key),
      },
      signal,
    );
    if (did === 'wrote')
      log('info', 'status written', { object: key, generation: verdict.generation, since });
    return afterMs === undefined ? undefined : { afterMs };
  }

  async function runKey(key: string): Promise<RunResult> {
    const verdict = verdicts.get(key);
    if (verdict?.kind !== 'ApiKey' || !verdict.needsSecret) return;
    const object = cluster.object('ApiKey', verdict.namespace, verdict.name);
    if (object === undefined) return;
    const result = await issuer.issue(object, verdict);
    noteIssueFailure(key, result.type === 'refused' ? result.message : undefined);
    switch (result.type) {
      case 'created':
        issued.set(key, clock.now() + secretPatienceMs);
        log('info', 'key issued', { object: key, secret: issuedName(verdict) });
        return;
      case 'refused':
        return { afterMs: refusedKeyMs };
      case 'exists':
      case 'nothing':
        return;
    }
  }

  function noteIssueFailure(key: string, failure: string | undefined): void {
    if (issueFailures.get(key) === failure) return;
    if (failure === undefined) issueFailures.delete(key);
    else issueFailures.set(key, failure);
    statusQueue.add(key);
  }

  /** Two hundred pods answer within a moment; they are looked at once. */
  function onPodNews(): void {
    if (!isOver) podsAlarm(clock.now() + 10);
  }

  function lookAtPods(): void {
    if (isOver) return;
    podsAlarm(undefined);
    const earlier = pods;
    const ready = cluster.readyGatewayPods();
    const answers = exchange.answers();
    pods = podsState(ready, answers);
    healthOf = indexHealth(ready, answers);
    countRejections(earlier, pods);
    outnumber();
    if (pods.generationOfAll !== earlier.generationOfAll || pods.ready !== earlier.ready) {
      for (const key of unsettled) statusQueue.add(key);
    }
    for (const [key, verdict] of verdicts) {
      // They come first.
      if (verdict.kind !== 'Provider') break;
      const words = describeHealth(healthOf(verdict));
      if (healthWords.get(key) === words) continue;
      healthWords.set(key, words);
      statusQueue.add(key);
    }
  }

  /** A cluster that was put back to an older state: no gateway goes back with it. */
  function outnumber(): void {
    if (inUse === undefined) return;
    for (const { response } of exchange.answers().values()) {
      if (response?.table === undefined || response.table.generation <= generation) continue;
      publisher.outnumber(response.table);
      // The number is told by a heartbeat; then a publish learns of it.
      tableQueue.add('heartbeat');
      tableQueue.add('publish');
    }
  }

  function countRejections(earlier: PodsState, now: PodsState): void {
    const known = new Map(earlier.pods.map(({ name, rejected }) => [name, rejected]));
    for (const { name, rejected } of now.pods) {
      if (rejected === undefined || known.get(name) === rejected) continue;
      metrics.onTableRejected();
      log('warn', 'a gateway refused a table', { pod: name, reason: rejected });
    }
  }

  function tellHeld(now: HeldCounts, unreadable: ReadonlySet<string>): void {
    const words = JSON.stringify([now, [...unreadable]]);
    const isOther = words !== heldWords;
    held = now;
    heldWords = words;
    if (!isOther) return;
    if (unreadable.size > 0) {
      log('warn', 'namespaces cannot be read; what they held in the table goes on serving as it was', {
        namespaces: [...unreadable],
        remedy: 'give the operator its rights there, or take the namespace off the list of those it serves',
      });
    }
    const count = now.Provider + now.ModelRoute + now.ApiKey;
    if (count === 0) log('info', 'no absence is held any more');
    else {
      log(
        'warn',
        'objects are missing whose deletion nobody saw; they go on serving until that is confirmed',
        {
          ...now,
          confirmBy: `kubectl annotate secret -n ${settings.tableNamespace} ${settings.instance}-current penstock.dev/accept-absence=true`,
        },
      );
    }
  }

  function onReport(report: PublishReport): void {
    const { type, message } = report;
    log(type === 'absence-accepted' ? 'info' : 'warn', message, { reason: type });
    if (type === 'absence-accepted') onChange({ type: 'resources', isUrgent: true });
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

function isSameSize(a: TableContent, b: TableContent): boolean {
  return (
    a.keys.length === b.keys.length &&
    a.routes.length === b.routes.length &&
    a.providers.length === b.providers.length
  );
}

/** Verdicts on ApiKeys keep their identity; the few others are compared by what they say. */
function isSameVerdict(a: Verdict, b: Verdict): boolean {
  return a === b || (a.kind !== 'ApiKey' && JSON.stringify(a) === JSON.stringify(b));
}

function refuse(verdict: Verdict, message: string): Verdict {
  const conditions: CompileResult['verdicts'][number]['conditions'] = verdict.conditions.map((condition) =>
    condition.type === 'Accepted'
      ? { type: 'Accepted', status: 'False', reason: 'Invalid', message }
      : condition,
  );
  return { ...verdict, conditions, isInTable: false };
}

function describeHealth(health: ProviderHealth | undefined): string {
  return health === undefined ? '' : JSON.stringify({ ...health, keys: [...health.keys] });
}

function issuedName({ secretName }: ApiKeyVerdict): string {
  return secretName ?? '';
}

function keyOf({ kind, namespace, name }: Pick<Verdict, 'kind' | 'namespace' | 'name'>): string {
  return `${kind}/${namespace}/${name}`;
}

function placeOf(id: string): [namespace: string, name: string] {
  const { namespace, name } = asPlace(id);
  return [namespace, name];
}

function asPlace(id: string): { readonly namespace: string; readonly name: string } {
  const slash = id.indexOf('/');
  return { namespace: id.slice(0, slash), name: id.slice(slash + 1) };
}

/** Rings once at a time of the clock's `now`; each call takes the place of the one before, undefined takes it back. */
function createAlarm(clock: Clock, onRing: () => void): (atMs: number | undefined) => void {
  let cancel: (() => void) | undefined;
  return (atMs) => {
    cancel?.();
    cancel = undefined;
    if (atMs === undefined) return;
    // Too early, as after the longest wait, does no harm: the alarm is set anew by what it leads to.
    cancel = clock.setTimer(Math.min(Math.max(0, atMs - clock.now()), timerMsMax), () => {
      cancel = undefined;
      onRing();
    });
  };
}
