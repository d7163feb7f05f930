// Sends Kubernetes events about transitions of conditions, for `kubectl describe` and `kubectl events`. Best effort: bounded, without
// waiting, and a failure has no other effect.

import { type ConditionType, REASONS, type Reason } from '../../core/catalog/conditions.ts';
import type { Clock } from '../../core/clock.ts';
import { isNotFound, type KubeClient } from '../../core/kube/client.ts';
import { createObject, mergePatch } from '../../core/kube/patch.ts';
import { collectionPath, events as eventResource, objectPath } from '../../core/kube/paths.ts';
import { cutBytes } from '../cut-text.ts';
import type { EventReason } from '../resources/event-reasons.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import { createTokenBucket, type TokenBucket } from '../token-bucket.ts';
import type { Transition } from './decide-status.ts';
import type { ObjectRef } from './object-ref.ts';

export interface EventFact {
  readonly type: 'Normal' | 'Warning';
  /** What happened: a reason of a condition, or one of the events that stand beside them. No other is API. */
  readonly reason: Reason | EventReason;
  /** What the operator was doing. */
  readonly action: string;
  /** For people; cut at 1 kB. Never holds a secret. */
  readonly note: string;
}

/** One of our objects, or another one if `apiVersion` is set. */
interface EventSubject extends Omit<ObjectRef, 'kind'> {
  readonly kind: string;
  readonly apiVersion?: string;
}

export interface EventRecorder {
  /** Returns at once. */
  record(object: EventSubject, fact: EventFact): void;
  stats(): EventStats;
  /** Settled once nothing is in line. */
  idle(): Promise<void>;
  /** Takes nothing more; what is in line is dropped, what is in progress is waited for. */
  close(): Promise<void>;
}

interface EventStats {
  readonly written: number;
  /** Over the budget of their object, or more at once than can be written. */
  readonly dropped: number;
  readonly failed: number;
}

interface EventRecorderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** 0 to 1. */
  random(): number;
  /** Name of this pod. */
  readonly instance: string;
  /** What became of each. */
  onResult?(result: keyof EventStats): void;
}

const controller = `${API_GROUP}/operator`;
const noteBytesMax = 1_024;
const nameCharsMax = 200;
const burst = 25;
const perSecond = 1 / 300;
/** A repetition later than this begins a new event. */
const seriesMs = 600_000;
/** Queued events; more at once come from a bulk import, where single events help no reader. */
const lineMax = 1_000;
/** Objects and series remembered; the one that was silent longest is forgotten. */
const rememberedMax = 10_000;
const timeoutMs = 10_000;

const ACTIONS: Partial<Record<ConditionType, string>> = {
  Programmed: 'Publish',
  Issued: 'Issue',
  Healthy: 'Observe',
  CredentialsValid: 'Observe',
  BudgetExhausted: 'Meter',
};
/** Conditions that are bad news while they are there. */
const ABNORMAL: readonly ConditionType[] = [
  'Degraded',
  'Conflicted',
  'Expired',
  'ExpiringSoon',
  'BudgetExhausted',
];
/** Says what other conditions say already. */
const SUMMARIES: readonly ConditionType[] = ['Ready', 'Reconciling', 'Stalled'];

/** The transitions worth an event: what went wrong, what came right again, and what is ready for use. */
export function eventsFor(transitions: readonly Transition[]): EventFact[] {
  const facts = transitions.flatMap(({ type, from, to, reason, message, isGood }): EventFact[] => {
    const fact = {
      reason,
      action: ACTIONS[type] ?? 'Compile',
      note: message === '' ? REASONS[reason].text : message,
    };
    // Refused by another condition, which has its own event.
    if (SUMMARIES.includes(type) || to === 'Unknown' || reason === 'NotProgrammed') return [];
    if (isGood !== undefined) return [{ type: isGood ? 'Normal' : 'Warning', ...fact }];
    if (ABNORMAL.includes(type)) return [{ type: 'Warning', ...fact }];
    if (to === 'False') return [{ type: isInProgress(reason) ? 'Normal' : 'Warning', ...fact }];
    const isNews = from === 'False' || type === 'Programmed' || type === 'Issued' || type === 'Disabled';
    return isNews ? [{ type: 'Normal', ...fact }] : [];
  });
  // Two conditions that say the same are one piece of news.
  return facts.filter(
    ({ reason, note }, index) =>
      facts.findIndex((one) => one.reason === reason && one.note === note) === index,
  );
}

/** The operator or the gateways are still working on it: no action is needed. */
function isInProgress(reason: Reason): boolean {
  return reason === 'Pending' || reason === 'SecretPending';
}

interface Series {
  readonly name: string;
  count: number;
  lastMs: number;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, clock } = options;
  const budgets = new Map<string, TokenBucket>();
  const known = new Map<string, Series>();
  const line: { readonly object: EventSubject; readonly fact: EventFact; readonly wallMs: number }[] = [];
  const stats = { written: 0, dropped: 0, failed: 0 };
  let working: Promise<void> | undefined;
  let isClosed = false;

  return {
    record(object, fact) {
      if (isClosed) return;
      if (line.length >= lineMax || !budgetOf(object).take()) {
        count('dropped');
        return;
      }
      const event = {
        object,
        fact: { ...fact, note: cutBytes(fact.note, noteBytesMax) },
        wallMs: clock.wallMs(),
      };
      // After a large import a thousand pieces of good news must not keep the one warning waiting.
      const place = fact.type === 'Warning' ? line.findIndex((one) => one.fact.type === 'Normal') : -1;
      line.splice(place === -1 ? line.length : place, 0, event);
      working ??= work();
    },
    stats: () => ({ ...stats }),
    idle: async () => working,
    async close() {
      isClosed = true;
      line.length = 0;
      await working;
    },
  };

  function count(result: keyof EventStats): void {
    stats[result] += 1;
    options.onResult?.(result);
  }

  /** One event after the other, so that a repetition finds the event that it repeats. */
  async function work(): Promise<void> {
    for (let next = line.shift(); next !== undefined; next = line.shift()) {
      try {
        await write(next.object, next.fact, next.wallMs);
        count('written');
      } catch {
        // Nothing hangs on it; the condition says the same.
        count('failed');
      }
    }
    working = undefined;
  }

  async function write(object: EventSubject, fact: EventFact, wallMs: number): Promise<void> {
    const key = JSON.stringify([object, fact]);
    const series = known.get(key);
    if (series !== undefined && clock.now() - series.lastMs < seriesMs) {
      if (await countUp(object, series, wallMs)) return;
    }
    const name = eventName(object.name, wallMs, options.random());
    const body = buildEvent(name, object, fact, options.instance, wallMs);
    await createObject(client, collectionPath(eventResource, object.namespace), body, { timeoutMs });
    remember(known, key, { name, count: 1, lastMs: clock.now() });
  }

  /** False where the event is gone: the server drops events after a while. */
  async function countUp({ namespace }: EventSubject, series: Series, wallMs: number): Promise<boolean> {
    const path = objectPath(eventResource, { namespace, name: series.name });
    const change = { series: { count: series.count + 1, lastObservedTime: microTime(wallMs) } };
    try {
      await mergePatch(client, path, change, { timeoutMs });
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
    series.count += 1;
    series.lastMs = clock.now();
    return true;
  }

  function budgetOf({ kind, namespace, name, uid }: EventSubject): TokenBucket {
    const key = uid ?? `${kind}/${namespace}/${name}`;
    const budget = budgets.get(key) ?? createTokenBucket(clock, perSecond, burst);
    remember(budgets, key, budget);
    return budget;
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= rememberedMax) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

function buildEvent(name: string, object: EventSubject, fact: EventFact, instance: string, wallMs: number) {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name, namespace: object.namespace },
    eventTime: microTime(wallMs),
    reportingController: controller,
    reportingInstance: instance,
    ...fact,
    regarding: { apiVersion: `${API_GROUP}/${API_VERSION}`, ...object },
  };
}

/** The object's name, the time and some chance: two events never share a name. */
function eventName(objectName: string, wallMs: number, random: number): string {
  const stem = objectName.slice(0, nameCharsMax).replace(/[-.]+$/, '');
  return `${stem}.${wallMs.toString(16)}${Math.floor(random * 2 ** 32)
    .toString(16)
    .padStart(8, '0')}`;
}

function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
