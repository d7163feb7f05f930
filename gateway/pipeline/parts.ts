// What is a request served with? The parts that live as long as the process, and the facts of one request.

import type { ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Clock } from '../../core/clock.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { Timeouts } from '../../core/contract/routing-table.ts';
import type { KeyUse } from '../admission/fair-share.ts';
import type { Receiver, Transmission } from '../attempt/attempt-io.ts';
import type { ModelAnswer } from '../dialects/conversation.ts';
import type { Dialect, RequestFacts, Translation } from '../dialects/dialect.ts';
import type { RequestBody } from '../json/request-body.ts';
import type { Limits } from '../limits/limiter.ts';
import type { Journal } from '../meter/journal.ts';
import type { RequestMetrics } from '../meter/request-metrics.ts';
import type { TokenCounter } from '../meter/token-counter.ts';
import type { Caller } from '../request/caller.ts';
import type { Health } from '../route/health.ts';
import type { Candidate, Plan } from '../route/plan.ts';
import type { RefusedMembers } from '../route/refused-members.ts';
import type { AnswerRoom } from '../stream/answer-room.ts';
import type { OpenStreams } from '../stream/open-streams.ts';
import type { ReadingTurns } from '../stream/reading-turns.ts';
import type { TimerQueue } from '../stream/timer-queue.ts';
import type { TableHolder } from '../table/holder.ts';
import type { TableView } from '../table/view.ts';
import type { RequestTracer, RequestTracing } from '../trace/request-tracer.ts';
import type { Credentials } from '../upstream/credentials.ts';
import type { UpstreamPools } from '../upstream/pools.ts';
import type { SeatRows } from '../upstream/seats.ts';
import type { UpstreamRequest } from '../upstream/send.ts';
import type { Delivery } from './delivery.ts';
import type { UnusableAnswer } from './log-cause.ts';

/** What lives as long as the process. */
export interface PipelineParts {
  readonly clock: Clock;
  /** Timers of that clock. */
  readonly timers: TimerQueue;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly health: Health;
  readonly refused: RefusedMembers;
  readonly pools: Pick<UpstreamPools, 'poolFor'>;
  readonly credentials: Pick<Credentials, 'of'>;
  /** How requests travel to provider types that have a way of their own; absent: none has. */
  readonly seats?: SeatRows | undefined;
  /** In place of upstreams: nothing is sent to any. Absent in all requests but drills. */
  readonly play?: PlayUpstream;
  readonly journal: Journal;
  /** Counts where upstreams do not; absent: sizes are all there is. */
  readonly tokens?: Pick<TokenCounter, 'count'>;
  readonly metrics: RequestMetrics;
  /** Absent if nothing is traced. */
  readonly tracer?: RequestTracer | undefined;
  /** Called for every record, with its span; absent if no events are wanted. */
  readonly onUsage?: ((record: LedgerRecord, span?: Span) => void) | undefined;
  readonly streams: OpenStreams;
  readonly answers: AnswerRoom;
  /** Absent if upstream bodies are not paced. */
  readonly turns?: ReadingTurns;
  readonly limits: Limits;
  /** A failure of ours, for the log: the caller has seen `requestId`; `clientRequestId` is the caller's own. */
  onFailure(error: unknown, requestId: string, clientRequestId?: string): void;
  /** An unusable answer of an upstream, for the log; absent in drills. */
  readonly onUnusable?: ((answer: UnusableAnswer) => void) | undefined;
  /** A request takes its table once, at its start. Only what an upstream refused is looked up in the newest. */
  readonly holder: Pick<TableHolder, 'current'>;
  readonly defaults: PipelineDefaults;
}

/** Answers in place of an upstream; tells nothing before it has returned. */
export type PlayUpstream = (
  candidate: Candidate,
  request: Pick<UpstreamRequest, 'path' | 'body'>,
  receiver: Receiver,
) => Transmission;

export interface PipelineDefaults {
  /** Used where neither target, route nor provider says otherwise. */
  readonly timeouts: Readonly<Record<keyof Timeouts, number>>;
  /** A stream without content is opened with a comment after this long. */
  readonly openAfterMs: number;
  readonly keepAliveMs: number;
  /** Upstream calls that one request may have in flight at the same time. */
  readonly callsAtOnce: number;
  /** Whether answers name the provider that served them. */
  readonly showProvider: boolean;
}

/** What of a request's head dialects may want. */
interface ClientRequest {
  /** Path and query. */
  readonly url: string;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
}

/** Room for what is made of a body and kept beside it. */
interface CopyRoom {
  /** Whether there is room for this many more bytes; reserves nothing. */
  mayCopy(bytes: number): boolean;
  /** False: there is no room for this many more bytes. */
  addCopy(bytes: number): boolean;
  dropCopy(bytes: number): void;
}

/** One authenticated request, its body read. */
export interface Exchange {
  readonly dialect: Dialect;
  readonly view: TableView;
  readonly caller: Caller;
  readonly body: RequestBody;
  /** For what is made of its body; absent in drills. */
  readonly room?: CopyRoom;
  /** Among the requests in flight; absent in drills. */
  readonly place?: KeyUse;
  readonly requestId: string;
  readonly request: ClientRequest;
  readonly response: ServerResponse;
  /** The answer asks its connection to close: the process is being drained. */
  readonly isClosing: boolean;
  /** Clock time of its arrival. */
  readonly arrivedAt: number;
  /** Absent if it is not traced, and came with no trace. */
  readonly trace?: RequestTracing | undefined;
}

/** The parts that decide its route: all but the response. */
export type Asking = Omit<Exchange, 'response' | 'isClosing'>;

/** Where a request is going. */
export interface Routing {
  readonly facts: RequestFacts;
  readonly plan: Plan;
  readonly delivery: Delivery;
  /** Absent if every candidate speaks the caller's dialect. */
  readonly translation: Translation | undefined;
}

/** A routed request. */
export type RoutedExchange = Exchange & Routing;

/** A plain answer: the upstream's own bytes, or understood and still to be encoded for the caller. */
export type Answer =
  | { readonly type: 'bytes'; readonly bytes: Buffer }
  | { readonly type: 'translated'; readonly answer: ModelAnswer };

/** Whether the upstream request asks for a stream; the caller may get a plain answer. */
export function streamsUpstream({ facts, delivery }: Pick<RoutedExchange, 'facts' | 'delivery'>): boolean {
  return facts.isStream || delivery.fetchesStream;
}

/** How long the owner of the Provider waits for it, whatever the route says. */
export function ownersTimeoutFor(
  { target }: Candidate,
  name: keyof Timeouts,
  { timeouts }: PipelineDefaults,
): number {
  return target.provider.entry.timeouts[name] ?? timeouts[name];
}

/**
 * Whether the owner of the provider also owns the route: it is of the same namespace, or serves other namespaces too, as only the
 * platform's routes may. A fault in another owner's route does not count against the provider.
 */
export function isOwnersRoute({ plan }: Pick<RoutedExchange, 'plan'>, { target }: Candidate): boolean {
  const { namespace, entry } = plan.route;
  return namespace === target.provider.namespace || entry.sharedWith === '*' || entry.sharedWith.length > 0;
}

/** The nearest block wins: target, then route, then provider, then the gateway's own. */
export function timeoutFor(
  { plan }: Pick<RoutedExchange, 'plan'>,
  { target }: Candidate,
  name: keyof Timeouts,
  { timeouts }: PipelineDefaults,
): number {
  return (
    target.entry.timeouts[name] ??
    plan.route.entry.timeouts[name] ??
    target.provider.entry.timeouts[name] ??
    timeouts[name]
  );
}
