// Which of several processes leads? One Lease; its holder renews it, the others wait until it expires.
//
// A holder gives up `renewMs` after the start of its last good renewal; others take a lease that they have seen
// unchanged for its whole duration. Each counts on its own clock, so differing clocks do no harm. The difference
// of the two times covers writes of the old holder that are still in flight.

import type { Clock } from '../clock.ts';
import { isConflict, isNotFound, type KubeClient } from './client.ts';
import { isRecord, type KubeObject } from './object.ts';
import { createObject, readObject, replaceObject } from './patch.ts';
import { collectionPath, leases, objectPath } from './paths.ts';
import { wait } from './wait.ts';

export interface ElectionOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process: two processes of one identity would both believe that they lead. */
  readonly identity: string;
  /** After so long without a renewal others may take it. Default 15,000; whole seconds. */
  readonly leaseMs?: number;
  /** After so long without a renewal the holder gives up. Default 10,000. */
  readonly renewMs?: number;
  /** Between two tries. Default 2,000. */
  readonly retryMs?: number;
  onElected(): void;
  /** Not called by `close`. Afterwards this process is a candidate again. */
  onLost(reason: string): void;
  /** A try that failed, for logs. */
  onTrouble?(message: string): void;
}

export interface Election {
  /** Asked before every write: right even where timers are late. */
  isLeader(): boolean;
  /** Identity of the holder at the last read; undefined: no holder, or not read yet. */
  holder(): string | undefined;
  /** Steps down and releases the lease, so that another may take it at once. */
  close(): Promise<void>;
}

/** The longest that a lease is believed. */
const leaseMsMax = 60_000;

/** The leader, as a Lease records it. */
export interface LeaseRecord {
  readonly holder: string;
  readonly leaseMs: number;
  /** As written by the holder, by another clock: only a change of it means something. */
  readonly renewTime: string;
  readonly acquireTime: string;
  readonly transitions: number;
}

interface Observation {
  readonly record: LeaseRecord;
  /** When this very record was first seen here. */
  readonly sinceMs: number;
}

type LeaseStep =
  | { readonly type: 'create' }
  /** The lease is free. */
  | { readonly type: 'take' }
  | { readonly type: 'renew' }
  | { readonly type: 'wait' };

/** What to do with a lease that says this; `observation` is what was seen last, and undefined if nothing ever was. */
export function decideLeaseStep(facts: {
  readonly exists: boolean;
  readonly observation: Observation | undefined;
  readonly identity: string;
  readonly isLeader: boolean;
  readonly nowMs: number;
}): LeaseStep {
  const { exists, observation, identity, isLeader, nowMs } = facts;
  const isOver =
    observation === undefined ||
    observation.record.holder === '' ||
    nowMs >= observation.sinceMs + observation.record.leaseMs;
  // A lease that was deleted under its holder is his to make again, as long as it would have run.
  if (!exists)
    return isLeader || isOver || observation.record.holder === identity
      ? { type: 'create' }
      : { type: 'wait' };
  if (observation?.record.holder === identity) return { type: 'renew' };
  return isOver ? { type: 'take' } : { type: 'wait' };
}

export function startElection(options: ElectionOptions): Election {
  const { client, clock, identity } = options;
  const leaseMs = options.leaseMs ?? 15_000;
  const renewMs = options.renewMs ?? 10_000;
  const retryMs = options.retryMs ?? 2_000;
  if (!(retryMs < renewMs && renewMs < leaseMs)) {
    throw new RangeError(`A lease needs retryMs < renewMs < leaseMs, not ${retryMs}, ${renewMs}, ${leaseMs}`);
  }
  const path = objectPath(leases, options);
  const end = new AbortController();
  // A call that hangs must leave time for another one.
  const call = { timeoutMs: Math.max(1_000, Math.floor(renewMs / 2)), signal: end.signal };
  let observation: Observation | undefined;
  /** Start of the last good renewal; undefined: this process does not lead. */
  let renewedAtMs: number | undefined;
  let cancelDeadline = () => {};

  function isLeader(): boolean {
    return renewedAtMs !== undefined && clock.now() - renewedAtMs < renewMs;
  }

  function observe(record: LeaseRecord): void {
    if (observation === undefined || !isSame(observation.record, record)) {
      observation = { record, sinceMs: clock.now() };
    }
  }

  // guard: lease-start
  function hold(sinceMs: number): void {
    const isNew = renewedAtMs === undefined;
    // An answer that took longer than the deadline says nothing about now.
    if (end.signal.aborted || clock.now() - sinceMs >= renewMs) return;
    renewedAtMs = sinceMs;
    cancelDeadline();
    cancelDeadline = clock.setTimer(sinceMs + renewMs - clock.now(), () =>
      lose(`the lease ${path} could not be renewed for ${renewMs} ms`),
    );
    if (isNew) options.onElected();
  }

  function lose(reason: string): void {
    if (renewedAtMs === undefined) return;
    renewedAtMs = undefined;
    cancelDeadline();
    options.onLost(reason);
  }

  async function read(): Promise<KubeObject | undefined> {
    try {
      return await readObject(client, path, call);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function tryOnce(): Promise<void> {
    const lease = await read();
    if (lease !== undefined) observe(parseLease(lease, leaseMs));
    const step = decideLeaseStep({
      exists: lease !== undefined,
      observation,
      identity,
      isLeader: isLeader(),
      nowMs: clock.now(),
    });
    if (step.type === 'wait') {
      lose(`the lease ${path} is held by ${observation?.record.holder ?? 'nobody'}`);
      return;
    }
    const startedAtMs = clock.now();
    const before = observation?.record;
    const isSameTerm = before?.holder === identity && step.type !== 'take';
    const record: LeaseRecord = {
      holder: identity,
      leaseMs,
      renewTime: microTime(clock.wallMs()),
      acquireTime: isSameTerm && before.acquireTime !== '' ? before.acquireTime : microTime(clock.wallMs()),
      transitions: before === undefined ? 0 : before.transitions + (isSameTerm ? 0 : 1),
    };
    if (lease === undefined)
      await createObject(client, collectionPath(leases, options.namespace), build(record), call);
    else await replaceObject(client, path, build(record, lease), call);
    observation = { record, sinceMs: clock.now() };
    hold(startedAtMs);
  }

  function build(record: LeaseRecord, lease?: KubeObject): object {
    const spec = lease !== undefined && isRecord(lease.spec) ? lease.spec : {};
    return {
      ...lease,
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: lease?.metadata ?? { name: options.name, namespace: options.namespace },
      spec: {
        ...spec,
        holderIdentity: record.holder,
        leaseDurationSeconds: Math.max(1, Math.ceil(record.leaseMs / 1_000)),
        renewTime: record.renewTime,
        acquireTime: record.acquireTime,
        leaseTransitions: record.transitions,
      },
    };
  }

  async function run(): Promise<void> {
    while (!end.signal.aborted) {
      try {
        await tryOnce().catch((error: unknown) => {
          // Another client wrote in between: its version counts, and can be read at once.
          if (!isConflict(error)) throw error;
          return tryOnce();
        });
      } catch (error) {
        if (!end.signal.aborted && !isConflict(error)) report(error);
      }
      await wait(clock, retryMs * (1 + options.random() / 5), end.signal);
    }
  }

  function report(error: unknown): void {
    options.onTrouble?.(error instanceof Error ? error.message : 'unknown error');
  }

  /** Releases only our own lease: the write is refused if another process has taken it since the read. */
  async function release(): Promise<void> {
    const own = { timeoutMs: call.timeoutMs };
    const lease = await readObject(client, path, own);
    const record = parseLease(lease, leaseMs);
    if (record.holder !== identity) return;
    const now = microTime(clock.wallMs());
    const released = { ...record, holder: '', leaseMs: 1_000, renewTime: now, acquireTime: now };
    await replaceObject(client, path, build(released, lease), own);
  }

  const running = run();
  return {
    isLeader,
    holder: () => observation?.record.holder || undefined,
    async close() {
      const wasLeader = renewedAtMs !== undefined;
      renewedAtMs = undefined;
      cancelDeadline();
      end.abort();
      await running;
      // A renewal in flight may still have succeeded, so release even if this process did not lead.
      const mayHold = wasLeader || observation?.record.holder === identity;
      if (!mayHold) return;
      try {
        // Try again after a conflict with that renewal.
        await release().catch((error: unknown) => (isConflict(error) ? release() : Promise.reject(error)));
      } catch (error) {
        // An unreleased lease expires, so the next leader only waits longer.
        if (!isNotFound(error)) report(error);
      }
    },
  };
}

function parseLease(lease: KubeObject, leaseMsDefault: number): LeaseRecord {
  const spec = isRecord(lease.spec) ? lease.spec : {};
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const number = (value: unknown) => (typeof value === 'number' ? value : 0);
  return {
    holder: text(spec.holderIdentity),
    // Another program may have written a duration of hours; waiting has an upper bound.
    leaseMs: Math.min(number(spec.leaseDurationSeconds) * 1_000 || leaseMsDefault, leaseMsMax),
    renewTime: text(spec.renewTime),
    acquireTime: text(spec.acquireTime),
    transitions: number(spec.leaseTransitions),
  };
}

function isSame(a: LeaseRecord, b: LeaseRecord): boolean {
  return (
    a.holder === b.holder &&
    a.leaseMs === b.leaseMs &&
    a.renewTime === b.renewTime &&
    a.acquireTime === b.acquireTime &&
    a.transitions === b.transitions
  );
}

/** The API takes exactly six decimals; the clock gives three. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
