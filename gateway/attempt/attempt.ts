// One try at one candidate: sends the request, reads the answer, watches the clock, and ends in
// exactly one of four ways.

import type { Usage } from '../../core/contract/ledger-record.ts';
import { believeUsage } from '../dialects/answer/believe-count.ts';
import { describeBody } from '../dialects/answer/describe-body.ts';
import type { AnswerFacts, AnswerStream } from '../dialects/dialect.ts';
import {
  type BodyForm,
  type FrameReader,
  type Framing,
  serverSentEvents,
} from '../dialects/events/framing.ts';
import { withoutByteOrderMark } from '../json/byte-order-mark.ts';
import { Pieces } from '../stream/pieces.ts';
import { notQueued, type Timed } from '../stream/timer-queue.ts';
import { judgeHead, readRestMs } from './answer-head.ts';
import {
  type AnswerReader,
  type AttemptIo,
  type AttemptOwner,
  type AttemptResult,
  type HeaderReader,
  plainBytesMax,
  type Receiver,
  type Transmission,
} from './attempt-io.ts';
import { CommitPoint, heldBytesMax } from './commit-point.ts';
import { earliestDeadline, type Limits, type Marks, type TimerName } from './deadlines.ts';
import { EmptyInput } from './empty-input.ts';
import { readErrorType, withErrorType } from './error-type.ts';
import type { AttemptFailure, BreakCode } from './failure.ts';
import { plainBody } from './plain-body.ts';
import { StreamSample } from './stream-sample.ts';
import { withoutSecrets } from './without-secrets.ts';

type CountFacts = Pick<AnswerFacts, 'usage' | 'lacksOutput' | 'goesOn' | 'outputEstimate' | 'servedModel'> & {
  readonly uncounted?: string;
};

/**
 * Most bytes kept of a stream while it is translated: eight times the longest texts, and probabilities of as many tokens as a plain
 * answer may have. Lower than for a plain answer, because some dialects repeat the whole text four times at the end.
 */
const keptBytesMax = 8 * 1024 * 1024;
const errorBytesMax = 64 * 1024;

/** How long an error answer may take to say why; its status alone decides what happens next. */
const errorBodyMs = 2_000;

/** How long an upstream may take to end its body after the end mark. */
const releaseMs = 2_000;

const never = Number.POSITIVE_INFINITY;

type End<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer | undefined }
  | { readonly outcome: 'failed' | 'broken-off'; readonly failure: AttemptFailure }
  | { readonly outcome: 'cancelled' };

/** Most answers are shorter: while the event loop is busy, they are read as they come, and long ones in turn. */
const unpacedBytes = 64 * 1024;

/** From `start` to the one `onEnd` of its owner. None of its methods throws. */
export class Attempt<Answer> implements Receiver, Timed, Marks {
  dueAt = never;
  queuePlace = notQueued;
  readonly startedAt: number;
  readonly totalAt: number;
  lastByteAt: number;
  lastContentAt: number;
  awaitsEnd = false;
  isPaused = false;
  private readonly ends: AttemptIo<Answer>;
  private readonly limits: Limits;
  private readonly owner: AttemptOwner<Answer>;
  private readonly commitPoint: CommitPoint | undefined;
  private readonly startedAtMs: number;
  private transmission: Transmission | undefined;
  private status: number | undefined;
  private retryAfterMs: number | undefined;
  /** Type of an error, from its headers. */
  private errorType: string | undefined;
  private encoding: string | undefined;
  /** From the headers. */
  private contentType = '';
  /** Of a streamed answer's body; undefined until its first bytes that are not white space. */
  private form: BodyForm | undefined;
  /** For a stream whose framing is not server-sent events. */
  private frames: FrameReader | undefined;
  private isError = false;
  private readonly body = new Pieces();
  /** Bytes counted in the process's room for answers. */
  private heldBytes = 0;
  private progressSeen = 0;
  private readonly sample = new StreamSample();
  /** As the upstream reported it last, and the content events until then. */
  private usageSeen: Usage | undefined;
  private eventsAtUsage = 0;
  private firstContentAt: number | undefined;
  private readonly emptyInput = new EmptyInput();
  /** Bytes that arrived while the event loop was busy. */
  private pacedBytes = 0;
  /** Set while others are read first. */
  private awaitsTurn = false;
  private isOver = false;
  private hasEnded = false;
  /** Unreadable events that the client does without. */
  private framesLeftOut = 0;
  /** When the body of an error has taken too long. */
  private errorBodyAt = never;
  /** When what is held back for a time goes out, also if nothing more comes. */
  private releaseAt = never;
  /** Until when the upstream is held back for what it sends. */
  private heldBackUntil = never;

  constructor(ends: AttemptIo<Answer>, limits: Limits, owner: AttemptOwner<Answer>) {
    this.ends = ends;
    this.limits = limits;
    this.owner = owner;
    const { reader } = ends;
    this.commitPoint = reader.type === 'stream' ? new CommitPoint(reader.sink, reader.commitRule) : undefined;
    this.startedAt = owner.clock.now();
    this.startedAtMs = owner.clock.wallMs();
    this.totalAt = owner.totalAt;
    this.lastByteAt = this.startedAt;
    this.lastContentAt = this.startedAt;
  }

  start(): void {
    this.setTimer();
    try {
      this.transmission = this.ends.send(this);
    } catch (error) {
      this.failInside(error);
    }
    if (this.isOver) this.transmission?.abort();
  }

  /** Its answer is no longer needed. */
  cancel(): void {
    this.finish({ outcome: 'cancelled' }, this.countFacts());
  }

  onHead(status: number, header: HeaderReader): void {
    try {
      this.takeHead(status, header);
    } catch (error) {
      this.failInside(error);
    }
  }

  onBody(chunk: Buffer): void {
    try {
      this.takeBody(chunk);
    } catch (error) {
      this.failInside(error);
    }
    if (this.ends.turns?.paces(chunk.length)) this.awaitTurn(chunk.length);
  }

  onEnd(): void {
    try {
      this.takeEnd();
    } catch (error) {
      this.failInside(error);
    }
  }

  onBreak(code: BreakCode, detail: string, isStale = false): void {
    try {
      this.takeBreak(code, detail, isStale);
    } catch (error) {
      this.failInside(error);
    }
  }

  /** One timer for each attempt: the earliest of its deadlines. */
  onDue(): void {
    try {
      this.takeTime(this.owner.clock.now());
    } catch (error) {
      this.failInside(error);
    }
  }

  get hasContent(): boolean {
    return this.firstContentAt !== undefined;
  }

  get takesJoined(): boolean {
    return this.commitPoint?.isCommitted === true;
  }

  /** An exception of ours ends this attempt only: it reaches neither the transport nor the process. */
  private failInside(error: unknown): void {
    this.fail({ kind: 'gateway', code: 'internal_error', error });
  }

  private takeHead(status: number, header: HeaderReader): void {
    this.status = status;
    this.encoding = header('content-encoding');
    if (status !== 200) {
      this.isError = true;
      this.retryAfterMs = readRestMs(header, this.owner.clock.wallMs());
      this.errorType = readErrorType(header);
      this.errorBodyAt = this.owner.clock.now() + errorBodyMs;
      this.setTimer();
      return;
    }
    this.contentType = header('content-type') ?? '';
    const complaint = judgeHead(header, this.framing.mediaType);
    if (complaint) this.fail({ kind: 'answer', fault: { kind: 'malformed', detail: complaint } });
  }

  private takeBody(chunk: Buffer): void {
    if (this.isOver) return; // guard: late-body
    const { reader } = this.ends;
    if (reader.type !== 'plain' && !this.isError) {
      this.lastByteAt = this.owner.clock.now();
      if (this.form === undefined) this.takeForm(chunk);
      if (this.form === 'events') {
        if (this.frames) this.takeFrames(this.frames, reader.stream, chunk);
        else this.takeChunk(reader.stream, chunk);
        return;
      }
      if (this.form === 'other')
        this.failMalformed(`the answer is not a stream of events: ${describeBody(chunk)}`);
      // Blank lines keep connections alive, and say nothing.
      if (this.form !== 'json') return;
    }
    this.body.add(chunk);
    // The start of an error page says enough; the rest is only more of it. If there is no room for that, the status says enough.
    if (this.isError) {
      if (this.body.length > errorBytesMax || !this.keeps(this.body.length)) this.failWithStatus();
    } else if (this.body.length > plainBytesMax) {
      this.failTooLarge(`it is longer than ${plainBytesMax / 1024 / 1024} MiB`);
    } else this.hold(this.body.length);
  }

  private takeForm(chunk: Buffer): void {
    this.form = this.framing.formOf(chunk);
    if (this.form === 'events') this.frames = this.framing.open?.();
  }

  private takeFrames(frames: FrameReader, stream: AnswerStream, chunk: Buffer): void {
    const events = frames.push(chunk);
    if (events.length > 0) this.takeChunk(stream, events);
    if (this.isOver) return;
    if (frames.flaw === undefined)
      this.hold(stream.facts.pendingBytes + stream.facts.keptBytes + frames.pendingBytes);
    else this.failMalformed(frames.flaw);
  }

  private takeChunk(stream: AnswerStream, chunk: Buffer): void {
    const { facts } = stream;
    const { pendingBytes, outputEstimate } = facts;
    const bytes = stream.push(chunk);
    if (facts.hasContent) this.sample.add(chunk);
    if (facts.usage !== this.usageSeen) {
      this.usageSeen = facts.usage;
      this.eventsAtUsage = facts.outputEstimate;
    }
    const holdBackMs = this.emptyInput.take(
      this.lastByteAt,
      chunk.length + pendingBytes - facts.pendingBytes,
      bytes?.length ?? 0,
      facts.outputEstimate - outputEstimate,
    );
    this.takeStream(stream, bytes);
    if (holdBackMs > 0) this.holdBack(holdBackMs);
  }

  private takeEnd(): void {
    this.hasEnded = true;
    if (this.isOver) {
      this.owner.timers.remove(this);
      return;
    }
    if (this.isError) {
      this.failWithStatus();
      return;
    }
    const { reader } = this.ends;
    if (reader.type !== 'plain') {
      if (this.form === 'json' && !this.unfold(reader)) return;
      if (this.form === undefined && /json/i.test(this.contentType)) {
        this.failMalformed(`the answer is not a stream of events: ${describeBody(this.body.take())}`);
        return;
      }
      if (this.isOver) return;
      const { facts } = reader.stream;
      if (this.frames && this.frames.pendingBytes > 0) facts.isTorn = true;
      this.takeStream(reader.stream, reader.stream.end());
      return;
    }
    const reading = reader.read(withoutByteOrderMark(this.body.take()));
    if (reading.ok) this.answered(reading.value, reading);
    else this.fail({ kind: 'answer', fault: reading.fault });
  }

  /**
   * A stream was requested, but the answer came in one piece: it is sent as the events of an equal stream.
   *
   * @returns False: the body is not such an answer.
   */
  private unfold(reader: Exclude<AnswerReader<Answer>, { type: 'plain' }>): boolean {
    const unfolded = reader.unfold(withoutByteOrderMark(this.body.take()));
    if (unfolded.ok) this.takeChunk(reader.stream, unfolded.events);
    else this.fail({ kind: 'answer', fault: unfolded.fault });
    return unfolded.ok;
  }

  private takeBreak(code: BreakCode, detail: string, isStale: boolean): void {
    this.hasEnded = true;
    if (this.isOver) {
      this.owner.timers.remove(this);
      return;
    }
    const { reader } = this.ends;
    if (this.status === undefined) {
      if (code === 'bad_head') this.fail({ kind: 'head', detail });
      else this.fail({ kind: 'transport', code, detail, ...(isStale ? { isStale: true } : {}) });
      return;
    }
    if (this.isError) {
      this.failWithStatus();
      return;
    }
    if (reader.type !== 'plain') {
      // A break after the end mark does no harm; before it, the stream is truncated.
      reader.stream.facts.isTorn = true;
      this.takeStream(reader.stream, reader.stream.end());
      return;
    }
    this.fail({ kind: 'answer', fault: { kind: 'truncated' } });
  }

  /** Also where the body of the error broke off or never came: the status has said what to do. */
  private failWithStatus(): void {
    this.fail({
      kind: 'status',
      status: this.status ?? 0,
      error: withErrorType(
        this.ends.readError(withoutByteOrderMark(plainBody(this.body.take(), this.encoding, errorBytesMax))),
        this.errorType,
      ),
      retryAfterMs: this.retryAfterMs,
    });
  }

  /** After every step of the stream: hand out what it gave, see whether it is over. */
  private takeStream(stream: AnswerStream, bytes: Buffer | undefined): void {
    const { commitPoint } = this;
    const { facts } = stream;
    const hadContent = this.firstContentAt !== undefined;
    this.noteContent(facts);
    if (facts.awaitsEnd !== this.awaitsEnd) {
      this.awaitsEnd = facts.awaitsEnd;
      this.lastContentAt = this.lastByteAt;
      this.setTimer();
    }
    // Another upstream can still give all of the answer; a client that has seen some of it continues without the event.
    if (facts.malformedFrames > this.framesLeftOut && commitPoint?.isCommitted !== true) {
      const detail = 'an event of the stream cannot be read';
      if (facts.fault) this.fail({ kind: 'answer', fault: facts.fault });
      // Behind content it would be left out, were the answer not held.
      else if (hadContent) this.fail({ kind: 'answer', fault: { kind: 'unusable', detail } });
      else this.failMalformed(detail);
      return;
    }
    this.framesLeftOut = facts.malformedFrames;
    if (commitPoint?.take(bytes, facts) === false) this.pause(); // guard: back-pressure
    if (facts.fault) this.fail({ kind: 'answer', fault: facts.fault });
    else if (facts.isComplete) this.complete(stream);
    else if (commitPoint?.isOverfull)
      this.failTooLarge(
        `more than ${Math.floor(heldBytesMax / 1024 / 1024)} MiB of it came before any content`,
      );
    else if (commitPoint?.lacksRoom) this.failForRoom();
    else if (facts.keptBytes > keptBytesMax)
      this.failTooLarge(`more than ${keptBytesMax / 1024 / 1024} MiB of it would have to be kept`);
    else this.hold(facts.pendingBytes + facts.keptBytes);
  }

  /** Total bytes kept of the answer, besides those held for the sink. */
  private hold(bytes: number): void {
    if (!this.keeps(bytes)) this.failForRoom();
  }

  /** @returns False: the process has no room for it. */
  private keeps(bytes: number): boolean {
    const change = bytes - this.heldBytes;
    this.heldBytes = bytes;
    return change === 0 || this.ends.hold?.(change) !== false;
  }

  private failForRoom(): void {
    this.fail({ kind: 'gateway', code: 'no_room' });
  }

  private noteContent({ hasContent, outputEstimate, steps }: AnswerFacts): void {
    if (!hasContent) return;
    if (this.firstContentAt === undefined) {
      this.firstContentAt = this.owner.clock.now();
      // Held content goes out when the hold-back time is over, also if no more bytes arrive.
      this.releaseAt = this.firstContentAt + (this.commitPoint?.commitAfterMs ?? never);
      this.setTimer();
      this.owner.onContent();
    }
    // Both grow with the answer only: pings and comments are no progress.
    const progress = outputEstimate + steps;
    if (progress > this.progressSeen) this.lastContentAt = this.lastByteAt;
    this.progressSeen = progress;
  }

  private complete(stream: AnswerStream): void {
    const { commitPoint } = this;
    const { reader } = this.ends;
    if (reader.type === 'gathered') {
      const reading = reader.read();
      // By the counts of its stream: the answer has no words for what they are worth.
      if (reading.ok) this.answered(reading.value, stream.facts);
      else this.fail({ kind: 'answer', fault: reading.fault });
      return;
    }
    const flaw = commitPoint?.awaitsWhole ? stream.flaw?.() : undefined;
    if (flaw !== undefined) {
      this.fail({ kind: 'answer', fault: { kind: 'unusable', detail: flaw } });
      return;
    }
    commitPoint?.commit();
    this.answered(undefined, stream.facts);
  }

  private failMalformed(detail: string): void {
    this.fail({ kind: 'answer', fault: { kind: 'malformed', detail } });
  }

  /** The answer exceeds one of our own limits. */
  private failTooLarge(detail: string): void {
    this.fail({ kind: 'answer', fault: { kind: 'too-large', detail } });
  }

  private pause(): void {
    const { reader } = this.ends;
    if (this.isPaused || reader.type !== 'stream') return;
    this.isPaused = true;
    this.transmission?.pause();
    reader.sink.onDrain(() => this.goOn());
  }

  private goOn(): void {
    this.isPaused = false;
    this.lastByteAt = this.owner.clock.now();
    this.lastContentAt = this.lastByteAt;
    // While it was paused, only the whole time was watched.
    this.setTimer();
    this.resume();
  }

  /** The caller's deadlines keep running: the gateway itself delays the answer. */
  private holdBack(ms: number): void {
    if (this.isOver || this.isHeldBack) return;
    this.transmission?.pause();
    this.heldBackUntil = this.lastByteAt + ms;
    this.setTimer();
  }

  private get isHeldBack(): boolean {
    return this.heldBackUntil !== never;
  }

  /** Its deadlines go on: each turn takes milliseconds. */
  private awaitTurn(bytes: number): void {
    const { turns, place } = this.ends;
    this.pacedBytes += bytes;
    if (this.pacedBytes <= unpacedBytes || this.isOver || this.awaitsTurn || !turns || !place) return;
    this.awaitsTurn = turns.mustWait(place, () => {
      this.awaitsTurn = false;
      this.resume();
    });
    if (this.awaitsTurn) this.transmission?.pause();
  }

  private resume(): void {
    if (!this.isOver && !this.isPaused && !this.isHeldBack && !this.awaitsTurn) this.transmission?.resume();
  }

  /** Acts on the deadlines that are over, by the marks at this moment. */
  private takeTime(now: number): void {
    if (this.isOver) {
      this.transmission?.abort();
      return;
    }
    if (now >= this.heldBackUntil) {
      this.heldBackUntil = never;
      this.resume();
    }
    if (now >= this.releaseAt) {
      this.releaseAt = never;
      const { commitPoint } = this;
      if (!commitPoint?.isCommitted && commitPoint?.commit() === false) this.pause();
    }
    if (now >= this.errorBodyAt) {
      this.failWithStatus();
      return;
    }
    const { at, timer } = earliestDeadline(this, this.limits);
    if (at <= now) this.onTimer(timer);
    else this.setTimer();
  }

  private setTimer(): void {
    if (this.isOver) return;
    const { at } = earliestDeadline(this, this.limits);
    this.owner.timers.set(this, Math.min(at, this.errorBodyAt, this.releaseAt, this.heldBackUntil));
  }

  private onTimer(timer: TimerName): void {
    const { reader } = this.ends;
    if (this.isError) {
      this.failWithStatus();
      return;
    }
    if (reader.type !== 'plain' && this.status === 200) {
      // Silence after the last finish reason: the client has all that it needs.
      const bytes = reader.stream.end();
      if (reader.stream.facts.isComplete) {
        this.takeStream(reader.stream, bytes);
        return;
      }
    }
    this.fail({ kind: 'timeout', timer });
  }

  private answered(answer: Answer | undefined, facts: CountFacts): void {
    this.finish({ outcome: 'answered', answer }, facts);
  }

  private fail(failure: AttemptFailure): void {
    const isCommitted = this.commitPoint?.isCommitted === true;
    const outcome = isCommitted ? 'broken-off' : 'failed'; // guard: commit-point-failover
    this.finish({ outcome, failure: withoutSecrets(this.withHead(failure), this.ends) }, this.countFacts());
  }

  /** Without a content type the body may be anything, so the error says that the type was missing. */
  private withHead(failure: AttemptFailure): AttemptFailure {
    if (this.contentType !== '' || failure.kind !== 'answer' || failure.fault.kind !== 'malformed')
      return failure;
    const detail = `${failure.fault.detail}, and it came without a content-type`;
    return { ...failure, fault: { ...failure.fault, detail } };
  }

  private finish(end: End<Answer>, facts: CountFacts): void {
    if (this.isOver) return; // guard: late-end
    this.isOver = true;
    const isSent = this.transmission?.isSent === true;
    const usage = believed(end.outcome, facts);
    // A plain answer stays until its client has it.
    if (end.outcome !== 'answered' || this.ends.reader.type !== 'plain') this.hold(0);
    this.owner.timers.remove(this);
    if (end.outcome === 'answered') this.release();
    else {
      this.transmission?.abort();
      this.commitPoint?.discard();
    }
    this.owner.onEnd({
      startedAtMs: this.startedAtMs,
      durationMs: this.owner.clock.now() - this.startedAt,
      firstContentMs: this.firstContentAt === undefined ? undefined : this.firstContentAt - this.startedAt,
      status: this.status,
      isSent,
      usage,
      lacksOutput: facts.lacksOutput,
      goesOn: facts.goesOn,
      outputEstimate: facts.outputEstimate,
      uncounted: facts.uncounted,
      sample: this.isCounted(end.outcome, usage, facts) ? undefined : this.sample.take(),
      servedModel: facts.servedModel,
      malformedFrames: this.stream?.facts.malformedFrames ?? 0,
      ...end,
    });
  }

  private isCounted(
    outcome: AttemptResult<Answer>['outcome'],
    usage: Usage | undefined,
    { lacksOutput, uncounted, outputEstimate }: CountFacts,
  ): boolean {
    if (uncounted !== undefined) return true;
    if (usage === undefined || lacksOutput) return false;
    return outcome === 'answered' || outputEstimate === this.eventsAtUsage;
  }

  /** After the terminal marker the upstream may end its body, so that the connection can be reused. */
  private release(): void {
    const { transmission } = this;
    if (this.hasEnded || !transmission) return;
    if (this.stream?.facts.isCut) {
      // Further output of the upstream would cost money and reach no client.
      transmission.abort();
      return;
    }
    if (this.isPaused || this.isHeldBack || this.awaitsTurn) transmission.resume();
    this.owner.timers.set(this, this.owner.clock.now() + releaseMs);
  }

  private countFacts(): CountFacts {
    return this.stream?.facts ?? { usage: undefined, outputEstimate: 0, servedModel: undefined };
  }

  private get framing(): Framing {
    return this.ends.framing ?? serverSentEvents;
  }

  private get stream(): AnswerStream | undefined {
    const { reader } = this.ends;
    return reader.type === 'plain' ? undefined : reader.stream;
  }
}

/** If the client got nothing, only the counts remain. */
function believed(
  outcome: AttemptResult<unknown>['outcome'],
  { usage, lacksOutput = false, outputEstimate }: CountFacts,
): Usage | undefined {
  if (outcome === 'failed') return usage;
  return believeUsage(usage, { isWhole: outcome === 'answered' && !lacksOutput, outputEstimate });
}
