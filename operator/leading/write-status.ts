// Gathers the facts of an object, decides its status, and writes once.

import { isConflict } from '../../core/kube/client.ts';
import type { Verdict } from '../compile/verdict.ts';
import type { QueueOptions } from '../loop.ts';
import { allRun } from '../pods/pods-state.ts';
import type { StatusPublisher, StatusResult } from '../status/publish-status.ts';
import type { RawObject } from '../watch/snapshot.ts';
import type { KeyKeeper } from './key-keeper.ts';
import type { TermParts } from './parts.ts';
import type { LedPods } from './pods.ts';
import type { Spending } from './spending.ts';

interface Parts extends Pick<TermParts, 'cluster' | 'book' | 'log'> {
  readonly pods: LedPods;
  readonly keys: Pick<KeyKeeper, 'failureOf'>;
  readonly spending: Pick<Spending, 'exhausted'>;
  readonly statuses: StatusPublisher;
}

/** Until a watch that is behind is asked again what it knows of an object. */
const behindMs = 2_000;

/** @returns what a queue of objects runs; each by `Kind/namespace/name`. */
export function createStatusRun(parts: Parts): QueueOptions['run'] {
  const { cluster, book, statuses, log } = parts;
  return async (key, signal) => {
    const verdict = book.get(key);
    const object = verdict && cluster.object(verdict.kind, verdict.namespace, verdict.name);
    // A verdict on an older form says nothing about this one; the next compile does.
    if (verdict === undefined || object === undefined) return;
    if (object.metadata.generation !== verdict.generation) return;
    const facts = gatherFacts(parts, key, verdict, object);
    book.noteSettled(key, facts.since !== undefined && allRun(facts.pods, facts.since));
    const { did, afterMs } = await statuses.publish(facts, signal).catch(afterConflict);
    if (did === 'wrote')
      log('info', 'status written', { object: key, generation: verdict.generation, since: facts.since });
    return afterMs === undefined ? undefined : { afterMs };
  };
}

function gatherFacts(
  { book, pods, keys, spending }: Parts,
  key: string,
  verdict: Verdict,
  object: RawObject,
) {
  return {
    verdict,
    object,
    since: book.sinceOf(key, verdict),
    wait: book.waitOf(key),
    pods: pods.pods(),
    health: verdict.kind === 'Provider' ? pods.healthOf(verdict) : undefined,
    credentials: verdict.kind === 'Provider' ? pods.credentialsOf(verdict) : undefined,
    failingTargets: verdict.kind === 'ModelRoute' ? pods.failingTargets(verdict) : undefined,
    drill: pods.drills.reportOf(key),
    issueFailure: keys.failureOf(key),
    exhausted: verdict.kind === 'ApiKey' ? spending.exhausted(object) : undefined,
  };
}

/** The watch is behind. When it brings the object, no change is reported: what we say of it is no wish. */
function afterConflict(error: unknown): StatusResult {
  if (isConflict(error)) return { did: 'nothing', afterMs: behindMs };
  throw error;
}
