// Keeps the Secrets with issued keys. Each write is one step, planned from the present state; only two things are remembered: which
// staged keys are in the table, and its own writes that the watch has not delivered yet.

import { hash } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/kube/log.ts';
import type { ApiKeyVerdict, Verdict } from '../compile/verdict.ts';
import { laneOfObject } from '../fair-line.ts';
import type { Waits } from '../hold/waits.ts';
import type { KeyIssuer } from '../keys/issue-key.ts';
import { createQueue, type QueueOptions, type RunResult, type WorkQueue } from '../loop.ts';
import { allRun, type PodsState } from '../pods/pods-state.ts';
import type { Cluster } from '../watch/cluster.ts';

interface KeyKeeperParts {
  readonly cluster: Pick<Cluster, 'object' | 'issuedSecret'>;
  /** Read now, not at the last look: a pod that became ready since then must have the key first. */
  podsNow(): PodsState;
  readonly issuer: KeyIssuer;
  readonly clock: Clock;
  readonly log: Log;
  readonly queue: Pick<QueueOptions, 'random' | 'metrics' | 'onError'>;
  /** How long until `checkAll` comes round again. */
  readonly checkMs: number;
  verdictOf(key: string): Verdict | undefined;
  /** The reason why the Secret cannot be written has changed, or is gone. */
  onFailure(key: string): void;
}

/** Objects by `Kind/namespace/name`. */
export interface KeyKeeper {
  readonly queue: WorkQueue;
  /** The verdict has changed. */
  judged(key: string, verdict: ApiKeyVerdict): void;
  /** `judged` was called for every object of a run. */
  allChecked(): void;
  /** A table was published with the last verdicts, except for objects that wait. */
  published(generation: number, waits: Waits): void;
  podsMoved(): void;
  /** Time passes, and timers do not reach far. */
  checkAll(judged: Iterable<readonly [key: string, verdict: ApiKeyVerdict]>): void;
  /** Why the API server will not have the Secret, where the last try failed. */
  failureOf(key: string): string | undefined;
  forget(key: string): void;
}

/** A Secret that the API server refuses: after a while the quota, or whatever it was, may be another. */
const refusedMs = 60_000;
/** So late the watch may tell of a Secret with a key that this process wrote. */
const patienceMs = 10_000;
/** By then the watch has delivered a concurrent write to the Secret. */
const staleMs = 1_000;

export function createKeyKeeper(parts: KeyKeeperParts): KeyKeeper {
  const { cluster, issuer, clock, log } = parts;
  const failures = new Map<string, string>();
  /** ApiKeys whose Secret has to be written, as far as is known. */
  const lacking = new Set<string>();
  /** Until when the watch is expected to deliver the Secret of an ApiKey. */
  const issued = new Map<string, number>();
  /** The digest of the next key of an ApiKey, which the table is to hold. */
  const coming = new Map<string, string>();
  /** Keys that are in the table and not in use yet: since which generation, as far as this term knows. */
  const staged = new Map<string, { readonly digest: string; readonly since: number }>();
  const queue: WorkQueue = createQueue({
    ...parts.queue,
    clock,
    name: 'apikey',
    workers: 4,
    laneOf: laneOfObject,
    run,
  });

  return {
    queue,
    judged(key, verdict) {
      const next = verdict.isInTable ? verdict.next : undefined;
      if (next !== undefined) coming.set(key, next);
      else for (const memory of [coming, staged]) memory.delete(key);
      if (verdict.needsSecret) {
        lacking.add(key);
        return;
      }
      lacking.delete(key);
      if (verdict.secretName === undefined) return;
      issued.delete(key);
      queue.add(key);
    },
    allChecked() {
      // The watch tells of a Secret some moments after it was written.
      for (const key of lacking) queue.addAfter(key, Math.max(0, (issued.get(key) ?? 0) - clock.now()));
    },
    published(generation, waits) {
      // A new leader knows nothing of the gateways yet: only tables of this term count.
      for (const [key, digest] of coming) {
        // What waits is in no table, though the verdict is on it.
        if (waits.has(key)) staged.delete(key);
        else if (staged.get(key)?.digest !== digest) staged.set(key, { digest, since: generation });
      }
      for (const key of staged.keys()) queue.add(key);
    },
    podsMoved() {
      for (const key of staged.keys()) queue.add(key);
    },
    checkAll(judged) {
      for (const [key, verdict] of judged) {
        if (verdict.nextRotationAt !== undefined) queue.add(key);
      }
    },
    failureOf: (key) => failures.get(key),
    forget(key) {
      for (const memory of [failures, lacking, issued, coming, staged]) memory.delete(key);
      queue.forget(key);
    },
  };

  async function run(key: string): Promise<RunResult> {
    const verdict = parts.verdictOf(key);
    if (verdict?.kind !== 'ApiKey' || verdict.secretName === undefined) return;
    const { namespace, name, secretName, needsSecret } = verdict;
    const object = cluster.object('ApiKey', namespace, name);
    if (object === undefined) return;
    const result = await issuer.tend(object, {
      secret: cluster.issuedSecret(namespace, secretName),
      needsSecret,
      isOut: (next) => isOut(key, next),
    });
    noteFailure(key, result.type === 'refused' ? result.message : undefined);
    switch (result.type) {
      case 'created':
        issued.set(key, clock.now() + patienceMs);
        log('info', 'key issued', { object: key, secret: secretName });
        return;
      case 'changed':
        log('info', 'Secret with a key changed', { object: key, secret: secretName, step: result.step });
        return;
      case 'refused':
        return { afterMs: refusedMs };
      case 'stale':
        return { afterMs: staleMs };
      case 'exists':
        return;
      case 'nothing': {
        const inMs = result.atMs === undefined ? Number.POSITIVE_INFINITY : result.atMs - clock.wallMs();
        return inMs > parts.checkMs ? undefined : { afterMs: Math.max(0, inMs) };
      }
    }
  }

  /** Also true without a ready pod, because then no request can be refused. */
  function isOut(key: string, next: string): boolean {
    const known = staged.get(key);
    if (known?.digest !== hash('sha256', next)) return false;
    const pods = parts.podsNow();
    return pods.areKnown && (pods.ready === 0 || allRun(pods, known.since));
  }

  function noteFailure(key: string, failure: string | undefined): void {
    if (failures.get(key) === failure) return;
    if (failure === undefined) failures.delete(key);
    else failures.set(key, failure);
    parts.onFailure(key);
  }
}
