// Dependencies of a term of leadership.

import type { Clock } from '../../core/clock.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import type { Log } from '../../core/kube/log.ts';
import type { Compile } from '../compile/compile.ts';
import type { NamesOf } from '../compile/verdict-names.ts';
import type { QueueOptions } from '../loop.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { AskPod } from '../pods/exchange.ts';
import type { SendCheck } from '../probe/send-check.ts';
import type { OperatorSettings } from '../settings.ts';
import type { EventRecorder } from '../status/events.ts';
import type { Cluster } from '../watch/cluster.ts';
import type { VerdictBook } from './verdict-book.ts';

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

/** Parts that the table, the pods and the objects of one term share. */
export interface TermParts extends LeadingParts {
  readonly term: Term;
  readonly book: VerdictBook;
  readonly namesOf: NamesOf;
  readonly events: EventRecorder;
  /** For every queue of this term. */
  readonly queue: Pick<QueueOptions, 'clock' | 'random' | 'metrics' | 'onError'>;
}

export interface Term {
  /** Begins nothing more. */
  isOver: boolean;
}

/** Everything is looked at again, whether a change was seen or not. */
export const checkMs = 15 * 60_000;
