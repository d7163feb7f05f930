// What does one try at one candidate need, and what comes of it?

import type { Clock } from '../../core/clock.ts';
import type { Usage } from '../../core/contract/ledger-record.ts';
import type { KeyUse } from '../admission/fair-share.ts';
import type { AnswerFacts, AnswerFault, AnswerStream, UpstreamError } from '../dialects/dialect.ts';
import type { Framing } from '../dialects/events/framing.ts';
import type { ReadingTurns } from '../stream/reading-turns.ts';
import type { TimerQueue } from '../stream/timer-queue.ts';
import type { ClientSink, CommitRule } from './commit-point.ts';
import type { AttemptFailure, BreakCode } from './failure.ts';

/** One header of an answer; of one that was sent several times the first, or the one at that place. */
export type HeaderReader = (name: string, at?: number) => string | undefined;

/** What the transport tells; `gateway/upstream` speaks it, without this stage knowing. */
export interface Receiver {
  /** See `UpstreamReceiver`. */
  readonly takesJoined?: boolean;
  onHead(status: number, header: HeaderReader): void;
  onBody(chunk: Buffer): void;
  onEnd(): void;
  /** `isStale`: the connection had carried other requests before, and nothing has come back for this one. */
  onBreak(code: BreakCode, detail: string, isStale?: boolean): void;
}

export interface Transmission {
  /** There was a connection for it, and bytes of the request have gone out on it. */
  readonly isSent: boolean;
  abort(): void;
  pause(): void;
  resume(): void;
}

/** How the answer of an attempt is read. */
export type AnswerReader<Answer> =
  /** Streamed on to the caller. */
  | {
      readonly type: 'stream';
      readonly stream: AnswerStream;
      readonly unfold: Unfold;
      readonly sink: ClientSink;
      readonly commitRule: CommitRule;
    }
  /** Streamed by the upstream and given to the caller in one piece: asked for when the stream is complete. */
  | {
      readonly type: 'gathered';
      readonly stream: AnswerStream;
      readonly unfold: Unfold;
      read(): GatheredReading<Answer>;
    }
  | PlainReader<Answer>;

export interface PlainReader<Answer> {
  readonly type: 'plain';
  read(body: Buffer): PlainReading<Answer>;
}

/** Turns an answer that came in one piece into the events that the upstream would have streamed. */
export type Unfold = (
  body: Buffer,
) => { readonly ok: true; readonly events: Buffer } | { readonly ok: false; readonly fault: AnswerFault };

/** How the two ends of an attempt are made. */
export interface AttemptIo<Answer> {
  send(receiver: Receiver): Transmission;
  readonly reader: AnswerReader<Answer>;
  /** Framing of the upstream's streams; absent: server-sent events. */
  readonly framing?: Framing;
  readError(body: Buffer): UpstreamError;
  /** The upstream tells errors in other words than the caller's dialect has. */
  readonly speaksForeign?: boolean;
  /** Takes out of an upstream's words what it was signed in with. */
  redact?(text: string): string;
  /**
   * Called when the number of bytes kept of the answer changes, with the difference (below 0: it shrank); bytes in its sink do not count.
   *
   * @returns False: the process has no room for them.
   */
  hold?(change: number): boolean;
  /** When its upstream is read while the event loop is busy, in turn with other callers; absent: without turns. */
  readonly turns?: Pick<ReadingTurns, 'paces' | 'mustWait'> | undefined;
  readonly place?: KeyUse | undefined;
}

/** The stream has already reported usage and all other facts of the answer. */
type GatheredReading<Answer> =
  | { readonly ok: true; readonly value: Answer }
  | Extract<PlainReading<Answer>, { readonly ok: false }>;

export type PlainReading<Answer> =
  | {
      readonly ok: true;
      readonly value: Answer;
      readonly usage: Usage | undefined;
      readonly outputEstimate: number;
      /** The answer's text, if the upstream reported no usage. */
      readonly uncounted?: string;
      /** See `AnswerFacts`. */
      readonly goesOn?: boolean;
      readonly servedModel: string | undefined;
    }
  | { readonly ok: false; readonly fault: NonNullable<AnswerFacts['fault']> };

export type AttemptResult<Answer> = {
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly firstContentMs: number | undefined;
  readonly status: number | undefined;
  /** The upstream has been given the request, or a part of it. */
  readonly isSent: boolean;
  readonly usage: Usage | undefined;
  /** See `AnswerFacts`. */
  readonly lacksOutput?: boolean | undefined;
  /** See `AnswerFacts`. */
  readonly goesOn?: boolean | undefined;
  readonly outputEstimate: number;
  readonly uncounted?: string | undefined;
  /** The beginning of its content as the upstream sent it, where that has not counted all that came of a stream. */
  readonly sample?: Buffer | undefined;
  readonly servedModel: string | undefined;
  /** Unreadable events of its stream: left out, or the end of it. */
  readonly malformedFrames: number;
} & (
  | { readonly outcome: 'answered'; readonly answer: Answer | undefined }
  | { readonly outcome: 'failed' | 'broken-off'; readonly failure: AttemptFailure }
  | { readonly outcome: 'cancelled' }
);

/** As large as a request may be, which most answers become a part of; a larger one would only be held in memory. */
export const plainBytesMax = 32 * 1024 * 1024;

/** The owner of an attempt, with callbacks for its progress. */
export interface AttemptOwner<Answer> {
  readonly clock: Clock;
  readonly timers: TimerQueue;
  /** Clock time at which the whole request ends. */
  readonly totalAt: number;
  /** Called once, with the first content of a stream. */
  onContent(): void;
  /** Called once, and no other method after this one; perhaps before the attempt's `start` returns. Does not throw. */
  onEnd(result: AttemptResult<Answer>): void;
}
