// Which facts of an object's status are remembered from one look to the next? When a wait began, and the writes that the watch has not
// brought back yet.

import type { Clock } from '../../core/clock.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import { keyOf } from '../compile/verdict-names.ts';
import { createStatusPool } from '../watch/status-pool.ts';
import { decideStatus, type StatusFacts } from './decide-status.ts';
import { drillNews } from './drill-news.ts';
import { earliest } from './earliest.ts';
import { type EventRecorder, eventsFor } from './events.ts';
import { keyNews } from './key-news.ts';
import { type ObjectRef, refOf } from './object-ref.ts';
import { type ObjectStatus, presentStatus } from './object-status.ts';
import { writeStatus } from './write-status.ts';

interface StatusPublisherOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly events: EventRecorder;
}

export interface StatusResult {
  readonly did: 'nothing' | 'wrote' | 'gone';
  /** Look again after so long, though no fact changes. */
  readonly afterMs?: number;
}

export interface StatusPublisher {
  /**
   * Decides the status, writes it and sends its events. Call it for one object by one caller at a time.
   *
   * @throws {KubeError} if the write failed, or the object has changed (409); the next call decides again.
   */
  publish(facts: Omit<StatusFacts, 'nowMs' | 'waitingSinceMs'>, signal?: AbortSignal): Promise<StatusResult>;
  /** The object is gone. */
  forget(object: ObjectRef): void;
}

/** The wait of one form; another form starts a new wait. */
interface Wait {
  readonly form: number | undefined;
  readonly sinceMs: number;
}

interface Written {
  /** resourceVersion of the object as it was before, and is after the write. */
  readonly over: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly status: ObjectStatus;
  readonly atMs: number;
}

/** A watch that is later than this costs a write that is refused, no more. */
const writtenKeptMs = 60_000;
/** Not at each call: a walk along a map from which thousands were taken steps over the gap of each. */
const sweepMs = 1_000;

export function createStatusPublisher({ client, clock, events }: StatusPublisherOptions): StatusPublisher {
  const waits = new Map<string, Wait>();
  /** In the order in which they were written. */
  const writes = new Map<string, Written>();
  /** After an import there are thousands of them, and what they say is much the same. */
  const pool = createStatusPool();
  let sweepAtMs = 0;

  return {
    async publish(facts, signal) {
      const ref = refOf(facts.verdict.kind, facts.object);
      const key = keyOf(ref);
      const nowMs = clock.wallMs();
      const over = versionOf(facts.object);
      const written = takeWritten(key, over);
      // Until the watch brings our write, the watched object is older than that write.
      const object = written === undefined ? facts.object : { ...facts.object, status: written.status };
      const wait = takeWait(key, facts.since, nowMs);
      const decision = decideStatus({ ...facts, object, nowMs, waitingSinceMs: wait.sinceMs });
      if (decision.type === 'same') return { did: 'nothing', ...after(nowMs, decision.lookAgainMs) };
      if (decision.type === 'wait') {
        waits.set(key, wait);
        return { did: 'nothing', afterMs: Math.max(0, decision.untilMs - nowMs) };
      }

      const { status, transitions, untilMs, lookAgainMs } = decision;
      // Before the write: one that fails is tried again, and its wait goes on.
      if (untilMs !== undefined) waits.set(key, wait);
      const resourceVersion = written?.resourceVersion ?? over;
      const end = await writeStatus({
        client,
        object: ref,
        resourceVersion,
        status,
        ...(signal === undefined ? {} : { signal }),
      });
      if (end.type === 'gone') {
        forget(key);
        return { did: 'gone' };
      }
      const isNewKey =
        ref.kind === 'ApiKey' && presentStatus('ApiKey', object)?.observedGeneration === undefined;
      for (const fact of eventsFor(transitions)) {
        // Keys are made by the thousand, and that each works is no news.
        if (!isNewKey || fact.type === 'Warning') events.record(ref, fact);
      }
      if (facts.verdict.kind === 'ApiKey') {
        for (const fact of keyNews(presentStatus('ApiKey', object), status)) events.record(ref, fact);
      }
      if (facts.verdict.kind === 'ModelRoute') {
        for (const fact of drillNews(presentStatus('ModelRoute', object), status)) events.record(ref, fact);
      }
      pool.share(status);
      writes.delete(key);
      writes.set(key, { over, resourceVersion: end.resourceVersion, status, atMs: clock.now() });
      return { did: 'wrote', ...after(nowMs, untilMs, lookAgainMs) };
    },
    forget: (object) => forget(keyOf(object)),
  };

  function takeWritten(key: string, version: string | undefined): Written | undefined {
    const nowMs = clock.now();
    if (nowMs >= sweepAtMs) {
      sweepAtMs = nowMs + sweepMs;
      for (const [oldest, { atMs }] of writes) {
        if (nowMs - atMs < writtenKeptMs) break;
        writes.delete(oldest);
      }
    }
    const written = writes.get(key);
    if (written === undefined || written.over === version) return written;
    writes.delete(key);
    return undefined;
  }

  /** The current wait, or one that begins now; it is kept only where it goes on. */
  function takeWait(key: string, form: number | undefined, nowMs: number): Wait {
    const wait = waits.get(key);
    waits.delete(key);
    return wait !== undefined && wait.form === form ? wait : { form, sinceMs: nowMs };
  }

  function forget(key: string): void {
    waits.delete(key);
    writes.delete(key);
  }
}

/** Until the first of these times. */
function after(nowMs: number, ...times: readonly (number | undefined)[]): { readonly afterMs?: number } {
  const first = earliest(...times);
  return first === undefined ? {} : { afterMs: Math.max(0, first - nowMs) };
}

function versionOf({ metadata }: StatusFacts['object']): string | undefined {
  return typeof metadata.resourceVersion === 'string' ? metadata.resourceVersion : undefined;
}
