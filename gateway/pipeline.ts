// THE page to read: one request, stage by stage, in order.
//
//   authenticate → read → route → decode* → limits → attempt( limits → encode* → send → decode* ) → encode* → meter
//
// (* only where the dialects of client and upstream differ; else the bytes pass, edited and judged by `dialect.same`.)
//
// `admitGood` runs before the body is read (endpoints/server.ts; `admit` on Fastify's way); endpoints/incoming.ts reads the body, takes a
// place among the requests in flight and calls `serve`. Attempts follow each other in attempt/call.ts; what one is made of is in
// pipeline/attempt-io.ts, what is recorded of it in pipeline/call-job.ts. A request waits for the end of a turn of the event loop when its
// body is whole, and when pieces of its answer have come (stream/turn-end.ts). A plain answer is written before its attempt is recorded; the
// end of a stream after it.

import type { AttemptIo } from './attempt/attempt-io.ts';
import { Call, type CallOutcome } from './attempt/call.ts';
import { brokenOffError, noAnswerRoom } from './attempt/final-error.ts';
import { authenticate, type Credential, readCredential } from './auth/authenticate.ts';
import { onAnswerClosed, type Served } from './endpoints/client-connection.ts';
import { nanodollarsOf } from './limits/nanodollars.ts';
import type { RatedAttempt } from './meter/ledger.ts';
import { answerHead } from './pipeline/answer-head.ts';
import { openEnds, passesThrough } from './pipeline/attempt-io.ts';
import { costOfCaller } from './pipeline/budgets.ts';
import { CallBodies } from './pipeline/call-bodies.ts';
import { type CallEnd, type CallingRequest, UpstreamJob } from './pipeline/call-job.ts';
import { estimateInputOfBody, estimateSpend, type SpendEstimate } from './pipeline/estimate-spend.ts';
import { failRequest, type Saturated } from './pipeline/fail-request.ts';
import {
  enterRequest,
  type Granted,
  limitStateHeaders,
  setHeaders,
  tokensOfCaller,
} from './pipeline/limits.ts';
import { logFailure } from './pipeline/log-failure.ts';
import {
  type Answer,
  type Exchange,
  type PipelineParts,
  type RoutedExchange,
  timeoutFor,
} from './pipeline/parts.ts';
import { routeExchange } from './pipeline/route-exchange.ts';
import { servedHead } from './pipeline/served-head.ts';
import { SeveralCalls } from './pipeline/several-calls.ts';
import { StreamedAnswer, type StreamedRequest } from './pipeline/streamed-answer.ts';
import { type Unasked, unaskedOf } from './pipeline/unasked.ts';
import type { Caller } from './request/caller.ts';
import { GatewayError, statusOf } from './request/errors.ts';
import type { RequestHead } from './request/request-head.ts';
import { ModelUnavailableError } from './route/find-model.ts';
import type { Candidate } from './route/plan.ts';
import type { AnswerShare } from './stream/answer-room.ts';
import { Cancellation, type CancelSignal } from './stream/cancellation.ts';
import type { OpenRequest } from './stream/open-streams.ts';
import { type Staged, turnEnd } from './stream/turn-end.ts';
import type { TableHolder } from './table/holder.ts';
import type { TableView } from './table/view.ts';

/** What every stage needs of the process to let a request in. */
type Doorkeeping = Pick<PipelineParts, 'clock' | 'metrics'> & { readonly holder: TableHolder };

/**
 * Takes the table once, for the whole request, and finds out who is asking.
 *
 * @throws {GatewayError} `not_ready` without a table, `invalid_api_key` for a missing or bad key,
 * `invalid_parameter` for a repeated header.
 */
export function admit(door: Doorkeeping, head: RequestHead): Admittance {
  const view = currentView(door.holder);
  return { view, caller: authenticateCounted(door, view, readCredential(head)) };
}

/** A caller, and the table by which it is known. */
export interface Admittance {
  readonly view: TableView;
  readonly caller: Caller;
}

/** As `admit`, for routes that a caller without a key may use too; but a bad key is refused. */
export function admitAnyone(
  door: Doorkeeping,
  head: RequestHead,
): { readonly view: TableView; readonly caller: Caller | undefined } {
  const view = currentView(door.holder);
  const credential = readCredential(head);
  return {
    view,
    caller: credential.type === 'none' ? undefined : authenticateCounted(door, view, credential),
  };
}

/** As `admit` for an admissible request; counts and refuses nothing. */
export function admitGood(
  { clock, holder }: Pick<Doorkeeping, 'clock' | 'holder'>,
  head: RequestHead,
): Admittance | undefined {
  const view = holder.current();
  try {
    return view && { view, caller: authenticate(readCredential(head), view, clock.wallMs()) };
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function currentView(holder: TableHolder): TableView {
  const view = holder.current();
  if (view) return view;
  // Never 401: without a table no key can be checked, and clients would discard theirs.
  throw new GatewayError('not_ready', 'The gateway has no routing table yet. Retry shortly.', {
    retryAfterSeconds: 1,
  });
}

function authenticateCounted(
  { clock, metrics }: Doorkeeping,
  view: TableView,
  credential: Credential,
): Caller {
  try {
    return authenticate(credential, view, clock.wallMs());
  } catch (error) {
    metrics.onAuthenticationFailure();
    throw error;
  }
}

/** The owner of a request that is being served: one of the two methods is called, once. */
export interface Over {
  /** The answer is written, or the client is gone. */
  onServed(): void;
  /**
   * Nothing has been sent to the client yet.
   *
   * @param unasked What it was for, where no upstream was asked; undefined: one was.
   */
  onFailed(error: unknown, unasked: Unasked | undefined): void;
}

/** Serves one request to its end. Among the open streams it stays until its client has taken the answer. */
export function serve(parts: PipelineParts, exchange: Exchange, over: Over): void {
  let run: Run;
  try {
    run = new Run(parts, routeCounted(parts, exchange), over);
  } catch (error) {
    over.onFailed(error, unaskedOf(exchange, error));
    return;
  }
  parts.streams.add(run);
  run.start();
}

function routeCounted(parts: PipelineParts, exchange: Exchange): RoutedExchange {
  try {
    return routeExchange(parts, exchange);
  } catch (error) {
    if (error instanceof ModelUnavailableError)
      parts.metrics.onUnavailable(exchange.dialect.path, error.status, error.route);
    else parts.metrics.onRefused(exchange.dialect.path, statusOf(error));
    throw error;
  }
}

const noHeaders: readonly string[] = [];
const noOutcomes: readonly CallOutcome<Answer>[] = [];

/** The state of one request in flight. Events come in through the methods that begin with `on`; none of them throws. */
class Run implements OpenRequest, CallingRequest, StreamedRequest, CallEnd, Served, Staged {
  place = 0;
  before: Served | undefined = undefined;
  readonly parts: PipelineParts;
  readonly exchange: RoutedExchange;
  readonly totalAt: number;
  readonly share: AnswerShare;
  private readonly over: Over;
  /** Where it takes several calls: one for each conversation. */
  private readonly several: SeveralCalls | undefined;
  private streamed: StreamedAnswer | undefined;
  private call: Call<Answer> | undefined;
  private bodies: CallBodies | undefined;
  /** Outcomes of its one call, until they are recorded. */
  private outcomes: readonly CallOutcome<Answer>[] = noOutcomes;
  /** The last candidate that its one call has tried. */
  private server: Candidate | undefined;
  private attempts = 0;
  /** No further failover is possible. */
  private isAnswered = false;
  private firstContentMs: number | undefined;
  /** By the limits of the ApiKey and of the ModelRoute; undefined if they have none. */
  private granted: Granted | undefined;
  /** What its answer says of them: names and values in turn. */
  private limitStates = noHeaders;
  private spend: SpendEstimate | undefined;
  private inputEstimate: number | undefined;
  /** Candidates whose quotas are used up. */
  private saturated: Map<Candidate, Saturated> | undefined;
  /** What the caller has used, and what it costs the caller. */
  private tokens = 0;
  private picodollars = 0;
  /** Attempts that are in flight, or whose tokens are being counted. */
  private uncounted = 0;
  private wasForNothing = false;
  /** Status of the answer; 499: the client left first. */
  private status = 200;
  private brokenOffBy: GatewayError | undefined;
  private isCancelled = false;
  private cancellation: Cancellation | undefined;
  private isClosed: boolean;
  private isOver = false;

  constructor(parts: PipelineParts, exchange: RoutedExchange, over: Over) {
    const { plan, response, translation } = exchange;
    this.parts = parts;
    this.exchange = exchange;
    this.over = over;
    let totalMs = 0;
    for (const candidate of plan.candidates) {
      totalMs = Math.max(totalMs, timeoutFor(exchange, candidate, 'totalMs', parts.defaults));
    }
    this.totalAt = exchange.arrivedAt + totalMs;
    this.share = parts.answers.open(exchange.caller.key.id);
    const calls = translation?.conversations.length ?? 1;
    this.several = calls > 1 ? new SeveralCalls(exchange, calls) : undefined;
    this.isClosed = response.closed;
    onAnswerClosed(response, this);
  }

  /** limits → attempts → answer → meter. Attempts write into a stream as they read; only its end comes after them. */
  start(): void {
    const { parts, exchange } = this;
    try {
      if (!parts.answers.hasRoomFor(exchange.caller.key.id)) throw noAnswerRoom();
      const entering = enterRequest(parts, exchange, this, this.totalAt - parts.clock.now());
      if (entering instanceof Promise) {
        entering.then((granted) => this.onGranted(granted)).catch((error: unknown) => this.fail(error));
      } else this.onGranted(entering);
    } catch (error) {
      this.fail(error);
    }
  }

  private onGranted(granted: Granted | undefined): void {
    this.granted = granted;
    if (granted) this.limitStates = limitStateHeaders(this.parts, this.exchange, granted.limitStates);
    // Where it took a moment, the client may have left, or the process be going.
    if (this.isCancelled) {
      this.onOutcomes([]);
      return;
    }
    this.exchange.body.latin1 = undefined;
    if (this.exchange.facts.isStream) this.streamed = new StreamedAnswer(this);
    if (this.several) this.askSeveral(this.several);
    else {
      this.call = new Call(new UpstreamJob(this, 0, this));
      this.call.start();
    }
  }

  onOver(outcome: CallOutcome<Answer>): void {
    this.outcomes = [outcome];
    if (!turnEnd.writesLater(this)) this.onTurnEnd();
  }

  /** Its plain answer, or the end of its stream: after all pieces that came in this turn have been read. */
  onTurnEnd(): void {
    this.onOutcomes(this.outcomes);
  }

  onThrown(error: unknown): void {
    this.fail(error);
  }

  /** However all of its calls ended, in their order. */
  private onOutcomes(outcomes: readonly CallOutcome<Answer>[]): void {
    this.isAnswered = true;
    try {
      if (!this.mayAnswer(outcomes)) this.end();
      else if (!this.streamed) {
        this.writeAnswer(outcomes);
        this.end();
      } else if (!this.streamed.isHeld) this.endStream();
      else this.release(this.streamed, outcomes);
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * False: the client went away.
   *
   * @throws {GatewayError} if one of the calls failed, or the process is going.
   */
  private mayAnswer(outcomes: readonly CallOutcome<Answer>[]): boolean {
    if (this.brokenOffBy) throw this.brokenOffBy;
    for (const outcome of outcomes) {
      if (outcome.type === 'failed')
        throw failRequest(this.parts, this.exchange, outcome, this.saturated ?? new Map());
      if (outcome.type === 'broken-off') throw brokenOffError(outcome.failure, this.exchange.facts.model);
    }
    if (this.isCancelled) this.status = 499;
    return !this.isCancelled;
  }

  private writeAnswer(outcomes: readonly CallOutcome<Answer>[]): void {
    const { response } = this.exchange;
    const bytes = this.encodeAnswers(outcomes);
    const head = this.head();
    head.push('cache-control', 'no-store', 'content-type', 'application/json');
    head.push('content-length', String(bytes.length));
    response.writeHead(200, head);
    response.end(bytes);
  }

  private encodeAnswers(outcomes: readonly CallOutcome<Answer>[]): Buffer {
    const answers = outcomes.map((outcome) => (outcome.type === 'answered' ? outcome.answer : undefined));
    const [first] = answers;
    if (first?.type === 'bytes') return first.bytes;
    const translated = answers.flatMap((answer) => (answer?.type === 'translated' ? [answer.answer] : []));
    const { translation } = this.exchange;
    if (!translation || translated.length !== answers.length) throw new Error('an answer is missing');
    return translation.encodeAnswer(translated, answerHead(this.parts, this.exchange));
  }

  private endStream(): void {
    // A passed-through stream has its own end; the encoder of another attempt must not add another one.
    const isOwn = this.asked().some((candidate) => passesThrough(this.exchange, candidate));
    this.streamed?.end(isOwn);
    this.end();
  }

  /** An answer that was held until it was whole, as fast as its client reads. */
  private release(streamed: StreamedAnswer, outcomes: readonly CallOutcome<Answer>[]): void {
    streamed
      .release(this.cancelSignal())
      .then(() => (this.mayAnswer(outcomes) ? this.endStream() : this.end()))
      .catch((error: unknown) => this.fail(error));
  }

  private fail(error: unknown): void {
    const { parts, exchange, streamed } = this;
    const failure = asGatewayError(error);
    this.status = failure.status;
    if (streamed?.isOpen) {
      if (!(error instanceof GatewayError)) logFailure(parts, exchange, error);
      this.wasForNothing = this.isUndelivered;
      streamed.breakOff(failure);
      this.end();
      return;
    }
    streamed?.stop();
    this.wasForNothing = true;
    if (!exchange.response.headersSent) {
      setHeaders(exchange.response, this.limitStates);
      exchange.response.setHeader('x-penstock-attempts', String(this.attempts));
    }
    this.end(error);
  }

  /** @param error Not yet sent to the client. */
  private end(error?: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.streamed?.discard();
    // A written answer is in flight until its client has read it.
    if (this.isClosed) this.parts.streams.remove(this);
    let thrown = error;
    try {
      this.several?.decide(this.wasForNothing);
      this.settleCounted();
      this.countRequest();
    } catch (failure) {
      thrown ??= failure;
    }
    if (thrown === undefined) this.over.onServed();
    else
      this.over.onFailed(thrown, this.attempts === 0 ? { route: this.exchange.plan.route.entry } : undefined);
  }

  /** The client has all of the answer, or is gone. */
  onClosed(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    const wasOver = this.isOver;
    this.streamed?.stop();
    this.leave();
    this.share.close();
    if (wasOver) this.parts.streams.remove(this);
  }

  /** The process ends: upstream calls are cancelled, and the client gets an error. */
  breakOff(error: GatewayError): void {
    this.brokenOffBy = error;
    this.wasForNothing = this.isUndelivered;
    this.leave();
  }

  /** The client has left. */
  leave(): void {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.call?.leave();
    this.cancellation?.cancel();
  }

  private cancelSignal(): CancelSignal {
    this.cancellation ??= new Cancellation();
    if (this.isCancelled) this.cancellation.cancel();
    return this.cancellation;
  }

  /** The cost is known only when all tokens are counted, which may take a moment longer than the answer. */
  private settleCounted(): void {
    if (!this.isOver || this.uncounted > 0) return;
    this.granted?.settle({ tokens: this.tokens, nanodollars: nanodollarsOf(this.picodollars) });
  }

  private countRequest(): void {
    const { dialect, plan, arrivedAt, facts, trace } = this.exchange;
    const { clock, metrics } = this.parts;
    trace?.onServed({
      model: plan.route.entry.model,
      status: this.status,
      firstContentMs: this.firstContentMs,
      attempts: this.attempts,
      isStream: facts.isStream,
    });
    metrics.onRequest({
      endpoint: dialect.path,
      model: plan.route.entry.model,
      status: this.status,
      durationMs: clock.now() - arrivedAt,
      firstContentMs: this.firstContentMs,
    });
  }

  estimate(): SpendEstimate {
    const { facts, body, plan, translation } = this.exchange;
    this.spend ??= estimateSpend(facts, body, plan, translation);
    return this.spend;
  }

  private askSeveral(several: SeveralCalls): void {
    const { callsAtOnce } = this.parts.defaults;
    several
      .run(this, callsAtOnce, this.cancelSignal(), this.callBodies())
      .then((outcomes) => this.onOutcomes(outcomes))
      .catch((error: unknown) => this.fail(error));
  }

  get tokensOfCall(): number {
    return Math.ceil(this.estimate().tokens / (this.several?.calls ?? 1));
  }

  get outputOfCall(): number {
    return Math.ceil(this.estimate().output / (this.several?.calls ?? 1));
  }

  inputOf(call: number): ReturnType<CallingRequest['inputOf']> {
    return this.several?.inputs.of(call) ?? this.exchange.body;
  }

  estimateInputOf(call: number): number {
    if (this.several) return this.several.inputs.estimate(call);
    this.inputEstimate ??= estimateInputOfBody(this.exchange.body);
    return this.inputEstimate;
  }

  open(candidate: Candidate, call: number): AttemptIo<Answer> {
    const { parts, exchange, share, streamed } = this;
    const bodies = (): CallBodies => this.callBodies();
    const ends = openEnds(parts, exchange, candidate, call, share, bodies, streamed?.streaming);
    if (ends.reader.type === 'stream' && streamed) streamed.stream = ends.reader.stream;
    return ends;
  }

  private callBodies(): CallBodies {
    this.bodies ??= new CallBodies(this.exchange);
    return this.bodies;
  }

  fullUntil(candidate: Candidate): number {
    return this.saturated?.get(candidate)?.untilMs ?? 0;
  }

  noteSaturated(candidate: Candidate, saturated: Saturated): void {
    this.saturated ??= new Map();
    this.saturated.set(candidate, saturated);
  }

  /** A quota that was used up for one call may have room for the next: other requests may have ended. */
  forgetSaturated(): void {
    this.saturated?.clear();
  }

  onStart(candidate: Candidate, call: number): number {
    this.uncounted += 1;
    this.server = candidate;
    this.several?.asked.set(call, candidate);
    return ++this.attempts;
  }

  get isWasted(): boolean | undefined {
    return this.several && !this.isOver ? undefined : this.wasForNothing;
  }

  whenDecided(note: (isWasted: boolean) => void): void {
    this.several?.undecided.push(note);
  }

  get isUndelivered(): boolean {
    return this.isOver ? this.wasForNothing : this.firstContentMs === undefined;
  }

  onRecord(record: RatedAttempt): void {
    this.uncounted -= 1;
    this.tokens += tokensOfCaller(record);
    this.picodollars += costOfCaller(record);
    this.settleCounted();
  }

  /** The client is given something of a stream. */
  onContent(): void {
    this.firstContentMs ??= this.parts.clock.now() - this.exchange.arrivedAt;
  }

  head(): string[] {
    const head = servedHead(this.exchange, this.servers(), this.attempts, this.parts.defaults.showProvider);
    for (const word of this.limitStates) head.push(word);
    return head;
  }

  /** The candidates that serve the request; before delivery, or before the last call, another one may take over. */
  servers(): readonly Candidate[] {
    const isOpen = this.firstContentMs === undefined || (this.several !== undefined && !this.isAnswered);
    return this.exchange.facts.isStream && isOpen ? this.exchange.plan.candidates : this.asked();
  }

  private asked(): readonly Candidate[] {
    if (this.several) return [...new Set(this.several.asked.values())];
    return this.server ? [this.server] : [];
  }
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError('internal_error', 'The gateway failed because of a bug. Report the request id.', {
    cause: error,
  });
}
