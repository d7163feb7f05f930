// The work of the leading replica: from a snapshot to a published table, then statuses, events and issued keys.
//
//   change ──► pace ──► publish ──► which verdicts are new? ──► status of each, Secret of each key
//                          │                                        ▲
//                          └──► gateways ──► exchange ──────────────┘ which generation runs everywhere
//
// One value is one term of leadership. The next leader starts from the table in the cluster.

import { keepCertificates } from './certificates/keeper.ts';
import { createVerdictNames } from './compile/verdict-names.ts';
import type { DrillReading } from './drills/drills.ts';
import type { HeldCounts } from './hold/hold-absent.ts';
import { createObjects } from './leading/objects.ts';
import type { LeadingParts, Term, TermParts } from './leading/parts.ts';
import { createPods } from './leading/pods.ts';
import { createPolicies } from './leading/policies.ts';
import type { SpendReading } from './leading/spending.ts';
import { createTable } from './leading/table.ts';
import { createVerdictBook, type FailedRun, type PublishedRun } from './leading/verdict-book.ts';
import type { PodAnswers } from './pods/pods-state.ts';
import { DeposedError } from './publish/deposed.ts';
import type { Kind } from './resources/resource.ts';
import { createEventRecorder } from './status/events.ts';
import { letOthers } from './turn.ts';
import type { ClusterChange } from './watch/cluster.ts';
import type { GatewayPod } from './watch/gateway-pods.ts';

export interface Leading {
  onChange(change: ClusterChange): void;
  /** Of the table in use; 0 before the first. */
  tableGeneration(): number;
  held(): HeldCounts;
  /** Objects of a kind that serve in their last good form. */
  heldForms(kind: Kind): number;
  isPinned(): boolean;
  /** Certificates for TLS inside the cluster cannot be kept. */
  certificatesFail(): boolean;
  drills(): readonly DrillReading[];
  /** Undefined without a ledger. */
  spend(): SpendReading | undefined;
  /** For each ready gateway pod: how many generations it is behind; undefined where it did not say. */
  podLags(): (number | undefined)[];
  /** What each ready gateway pod said last. */
  gateways(): { readonly pods: readonly GatewayPod[]; readonly answers: PodAnswers };
  longestRunMs(): number;
  /** Begins no further write. With `graceMs`, what is in progress is finished and a waiting change is published. */
  close(graceMs: number): Promise<void>;
}

export function startLeading(parts: LeadingParts): Leading {
  const { cluster, clock, random, settings, metrics } = parts;
  const term: Term = { isOver: false };
  const namesOf = createVerdictNames();
  const book = createVerdictBook(cluster, namesOf);
  const events = createEventRecorder({ ...parts, instance: settings.podName, onResult: metrics.onEvent });
  const queue = { clock, random, metrics: metrics.queues, onError: onErrorOf(parts, term) };
  const shared: TermParts = { ...parts, term, book, namesOf, events, queue };

  const certificates = settings.hasInternalTls
    ? keepCertificates({
        ...{ clock, log: parts.log, instance: settings.instance, namespace: settings.namespace },
        client: parts.tableClient,
        hasLedger: settings.ledgerTlsAddress !== undefined,
      })
    : undefined;
  const table = createTable({
    ...shared,
    certificates,
    readers: () => pods.pods().pods,
    takeHints: () => pods.takeHints(),
    onHintsFound: (hints) => pods.recall(hints),
    onOut: follow,
    onFailed,
    onWritable: () => objects.retryNow(),
    onCheck: () => objects.lookAtAll(),
  });
  const pods = createPods({
    ...shared,
    table,
    onObjects: (keys) => objects.look(keys),
    onMoved() {
      objects.podsMoved();
      policies.lookAtAll();
    },
  });
  const objects = createObjects({ ...shared, table, pods, onNamespaces: () => policies.lookAtAll() });
  const policies = createPolicies({ ...shared, pods, spending: objects.spending });
  const queues = [table.queue, ...objects.queues, policies.queue];
  // The first table brings the certificates: nothing is said in plain HTTP before.
  if (certificates === undefined) table.begin();
  else
    void certificates.looked.then(() => {
      if (!term.isOver) table.begin();
    });

  return {
    onChange(change) {
      if (term.isOver) return;
      if (change.type === 'resources') table.changed(change.urgency);
      if (change.type === 'pods') pods.changed();
      if (change.type === 'pointer') table.pointerChanged();
      if (change.type === 'shard-gone') table.shardGone(change.name);
      if (change.type === 'policy-status') policies.statusChanged(change.name);
      if (change.type === 'status') objects.look([`${change.kind}/${change.key}`]);
    },
    tableGeneration: table.generation,
    held: table.heldNow,
    heldForms: book.heldForms,
    isPinned: table.isPinned,
    certificatesFail: () => certificates?.isFailing() ?? false,
    drills: pods.drills.readings,
    spend: objects.reading,
    podLags: () =>
      pods
        .pods()
        .pods.map(({ generation: runs }) =>
          runs === undefined ? undefined : Math.max(0, table.generation() - runs),
        ),
    gateways: () => ({ pods: cluster.readyGatewayPods(), answers: pods.answers() }),
    longestRunMs: () => Math.max(...queues.map(({ stats }) => stats().longestRunMs)),
    async close(graceMs) {
      if (term.isOver) return;
      certificates?.close();
      pods.finish();
      await table.finish(graceMs);
      term.isOver = true;
      pods.close();
      await objects.close();
      await Promise.all(queues.map((one) => one.close(graceMs)));
      table.standDown();
      await events.close();
    },
  };

  /** The table is out: which objects have another form, or another verdict, than before? */
  async function follow(run: PublishedRun): Promise<void> {
    book.notePublished(run);
    // Of the first table, everything is new.
    if (run.found !== undefined) await letOthers(clock);
    if (term.isOver) return;
    table.repairDoubted();
    pods.watchUpstreams(run);
    objects.judged(book.judgePublished(run));
    objects.published(run.generation, run.waits);
    pods.watchDrills(run);
    policies.published(run);
    pods.look();
  }

  function onFailed(run: FailedRun): void {
    book.noteAttempted(run);
    if (!(run.error instanceof DeposedError)) objects.judged(book.judgeFailed(run));
  }
}

function onErrorOf({ log, onDeposed }: LeadingParts, term: Term): (key: string, error: unknown) => void {
  return (key, error) => {
    if (error instanceof DeposedError) {
      if (!term.isOver) onDeposed(error.message);
      return;
    }
    log('error', 'a run failed and will be retried', {
      object: key,
      reason: error instanceof Error ? error.message : String(error),
    });
  };
}
