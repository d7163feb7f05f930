// One upstream call of a request: its candidates, timers, health, and what is written down about each attempt. In which order they are
// asked, and how often, is decided in attempt/call.ts.

import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { CallJob, CallOutcome } from '../attempt/call.ts';
import { causeOf } from '../attempt/cause.ts';
import type { Limits } from '../attempt/deadlines.ts';
import type { AnswerReader, AttemptEnds, AttemptResult } from '../attempt/ends.ts';
import type { RequestSize } from '../attempt/error-quirks.ts';
import { failureCode, type Judgement } from '../attempt/failure.ts';
import type { CandidateFacts } from '../attempt/next-step.ts';
import { believeUsage } from '../dialects/answer/believe-count.ts';
import type { UpstreamError } from '../dialects/dialect.ts';
import { refusedMember } from '../dialects/request/added-members.ts';
import { type AttemptFacts, buildLedgerRecord, recordId } from '../meter/ledger.ts';
import { isCountable } from '../meter/token-counter.ts';
import { readClientRequestId } from '../request/request-id.ts';
import type { Watched } from '../route/health.ts';
import type { Candidate } from '../route/plan.ts';
import { renewCandidate } from '../route/renew.ts';
import type { AttemptTrace } from '../trace/request-trace.ts';
import { healthSignal, type SignalFacts } from './health-signal.ts';
import { type Entrance, enterAttempt, type Granted } from './limits.ts';
import { logFailure } from './log-failure.ts';
import {
  type Answer,
  isOwnersRoute,
  ownersTimeoutFor,
  type PipelineParts,
  type RoutedExchange,
  streamsUpstream,
  timeoutFor,
} from './parts.ts';
import type { Full } from './tell-failure.ts';
import { uncountedAnswer } from './uncounted-answer.ts';

/** The request that a call is made for. `call`: which of its upstream calls, from 0. */
export interface CallingRequest {
  readonly parts: PipelineParts;
  readonly exchange: RoutedExchange;
  /** Clock time at which the whole request ends. */
  readonly totalAt: number;
  /** What a call is expected to use. */
  readonly tokensOfCall: number;
  /** Of them, those of the answer. */
  readonly outputOfCall: number;
  /** Nobody has been given anything of the request so far. */
  readonly isUndelivered: boolean;
  /** Whether all of it was for nothing; undefined: it depends on its other calls, and is known when it ends. */
  readonly isWasted: boolean | undefined;
  /** What a call asks, as far as it matters for counting. */
  inputOf(call: number): { readonly chunks: readonly Buffer[]; readonly bytes: number };
  estimateInputOf(call: number): number;
  open(candidate: Candidate, call: number): AttemptEnds<Answer>;
  /** Until when the quotas of a candidate are used up, as this request found them; clock time. */
  fullUntil(candidate: Candidate): number;
  noteFull(candidate: Candidate, full: Full): void;
  /** Gives the attempt's number within the request. */
  onStart(candidate: Candidate, call: number): number;
  /** `note` is called when `isWasted` is known. */
  whenDecided(note: (isWasted: boolean) => void): void;
  /** What is written down about an attempt; where its tokens had to be counted, after the call has ended. */
  onRecord(record: LedgerRecord): void;
}

/** Who hears how a call ended. */
export type CallEnd = Pick<CallJob<Answer>, 'onOver' | 'onThrown'>;

/** A quota that was used up is not asked again at once, however soon it lets another one in. */
const fullMsMin = 1_000;

const noSignal = { type: 'none' } as const;
/** Of an attempt that has not failed, nothing of it matters. */
const noFacts: SignalFacts = { rateLimitCooldownMs: 0, hasStoredState: false };

/** An attempt under way. */
interface Begun {
  readonly candidate: Candidate;
  /** Within the request, from 1. */
  readonly number: number;
  readonly reader: AnswerReader<Answer> | undefined;
  readonly watched: Watched;
  readonly startedAt: number;
  readonly startedAtMs: number;
  firstContentAt: number | undefined;
}

export class UpstreamJob implements CallJob<Answer> {
  readonly candidates: CandidateFacts[];
  readonly failover: CallJob<Answer>['failover'];
  readonly totalAt: number;
  readonly clock: PipelineParts['clock'];
  readonly timers: PipelineParts['timers'];
  readonly random: () => number;
  private readonly parts: PipelineParts;
  private readonly exchange: RoutedExchange;
  private readonly request: CallingRequest;
  private readonly call: number;
  private readonly end: CallEnd;
  /** Of this call alone, where it has replaced any: another one learns for itself what has been replaced. */
  private targets: readonly Candidate[];
  /** Positions whose credentials are no longer those of their provider. */
  private replaced: Set<number> | undefined;
  private granted: Granted | undefined;
  private firstEvent: 'firstEventMs' | 'lastFirstEventMs' = 'firstEventMs';
  /** The attempt before, where it has failed. */
  private left: { readonly position: number; readonly failure: string } | undefined;
  private trace: AttemptTrace | undefined;
  private reader: AnswerReader<Answer> | undefined;
  private begun: Begun | undefined;
  /** What a target refused in this request, until it has answered without. */
  private withheld: { readonly targetId: string; readonly names: ReadonlySet<string> } | undefined;
  /** Members that the attempt under way is sent without. */
  private refuses: ReadonlySet<string> | undefined;

  constructor(request: CallingRequest, call: number, end: CallEnd) {
    const { parts, exchange } = request;
    this.parts = parts;
    this.exchange = exchange;
    this.request = request;
    this.call = call;
    this.end = end;
    this.targets = exchange.plan.candidates;
    this.candidates = this.targets.map(factsOf);
    this.failover = exchange.plan.route.entry.failover;
    this.totalAt = request.totalAt;
    this.clock = parts.clock;
    this.timers = parts.timers;
    this.random = parts.random;
  }

  hasSideEffects(): boolean {
    return this.exchange.dialect.hasSideEffects(this.exchange.body);
  }

  isUsable(position: number): boolean {
    return !this.isPassedOver(position) && this.parts.health.isUsable(this.at(position), this.clock.now());
  }

  isClosed(position: number): boolean {
    return this.parts.health.isClosed(this.at(position), this.clock.now());
  }

  restMs(position: number): number | undefined {
    return this.parts.health.restMs(this.at(position), this.clock.now());
  }

  coolsForMs(position: number, hasWaited: boolean): number | undefined {
    if (this.isPassedOver(position)) return undefined;
    return this.parts.health.coolsForMs(this.at(position), this.clock.now(), hasWaited);
  }

  size(): RequestSize {
    return { input: this.request.estimateInputOf(this.call), output: this.request.outputOfCall };
  }

  hasRetryBudget(position: number): boolean {
    return this.parts.health.hasBudget(this.at(position), this.clock.now());
  }

  lastResort(): number | undefined {
    const isPassedOver = (position: number): boolean => this.isPassedOver(position);
    return this.parts.health.lastResort(this.targets, this.clock.now(), isPassedOver);
  }

  limits(position: number, isLast: boolean): Limits {
    const { exchange, parts } = this;
    const candidate = this.at(position);
    this.firstEvent = isLast ? 'lastFirstEventMs' : 'firstEventMs';
    return {
      firstEventMs: streamsUpstream(exchange)
        ? timeoutFor(exchange, candidate, this.firstEvent, parts.defaults)
        : null,
      livenessMs: timeoutFor(exchange, candidate, 'livenessMs', parts.defaults),
      progressMs: timeoutFor(exchange, candidate, 'progressMs', parts.defaults),
      totalMs: timeoutFor(exchange, candidate, 'totalMs', parts.defaults),
    };
  }

  enter(position: number): boolean | Promise<boolean> {
    this.granted = undefined;
    const entrance = enterAttempt(
      this.parts,
      this.exchange,
      this.at(position),
      () => this.request.tokensOfCall,
    );
    if (entrance instanceof Promise) return entrance.then((value) => this.take(position, value));
    return entrance === undefined || this.take(position, entrance);
  }

  leave(): void {
    this.granted?.giveBack();
  }

  open(position: number, isFresh: boolean): AttemptEnds<Answer> {
    try {
      this.trace = this.exchange.trace?.openAttempt(this.at(position));
      const ends = this.request.open(this.asAsked(this.at(position), isFresh), this.call);
      this.reader = ends.reader;
      return ends;
    } catch (error) {
      this.granted?.giveBack();
      throw error;
    }
  }

  renew(position: number): number | undefined {
    const newest = this.parts.holder.current();
    const rests = (candidate: Candidate): boolean =>
      this.parts.health.restReason(candidate, this.clock.now()) !== undefined;
    const { id } = this.exchange.plan.route.entry;
    const renewed = newest && renewCandidate(this.at(position), id, newest, rests);
    if (renewed === undefined) return undefined;
    this.replaced ??= new Set();
    this.replaced.add(position);
    this.targets = [...this.targets, renewed];
    return this.candidates.push(factsOf(renewed)) - 1;
  }

  withhold(position: number, error: UpstreamError): boolean {
    const name = refusedMember(error);
    const { target } = this.at(position);
    if (name === undefined || this.refuses?.has(name)) return false;
    // What the caller wrote is the caller's to mend, and a parameter of the route its owner's.
    if (this.exchange.body.member(name) || Object.hasOwn(target.entry.parameters, name)) return false;
    this.withheld = { targetId: target.healthId, names: new Set([...(this.refuses ?? []), name]) };
    return true;
  }

  onStart(position: number, isRepetition: boolean): void {
    const { parts, exchange, request, clock, left } = this;
    const candidate = this.at(position);
    if (left !== undefined && left.position !== position) {
      const provider = this.at(left.position).target.provider.entry.id;
      parts.metrics.onFailover(exchange.plan.route.entry.model, provider, left.failure);
    }
    const number = request.onStart(candidate, this.call);
    const watched = parts.health.onStart(candidate, isRepetition, clock.now(), exchange.caller.key.id);
    const begun: Begun = {
      candidate,
      number,
      reader: this.reader,
      watched,
      startedAt: clock.now(),
      startedAtMs: clock.wallMs(),
      firstContentAt: undefined,
    };
    this.begun = begun;
    parts.journal.begin(recordId(exchange.requestId, number), () => this.recordSoFar(begun));
  }

  onContent(): void {
    const begun = this.underWay();
    begun.firstContentAt = this.clock.now();
    this.parts.health.onContent(begun.watched, begun.firstContentAt);
  }

  onEnd(
    position: number,
    result: AttemptResult<Answer>,
    judgement: Judgement | undefined,
    isExcused: boolean,
  ): void {
    const { parts, exchange, granted } = this;
    const { target } = this.at(position);
    const begun = this.underWay();
    const signal = isExcused
      ? noSignal
      : healthSignal(result, judgement, judgement === undefined ? noFacts : this.signalFacts(position));
    parts.health.onEnd(begun.watched, signal, this.clock.now());
    if (result.outcome === 'answered' && this.withheld?.targetId === target.healthId) {
      parts.refused.learn(this.withheld.targetId, this.withheld.names);
      this.withheld = undefined;
    }
    const failure = 'failure' in result ? result.failure : undefined;
    if (failure?.kind === 'gateway' && failure.error !== undefined)
      logFailure(parts, exchange, failure.error);
    this.left = isExcused || failure === undefined ? undefined : { position, failure: failureCode(failure) };
    if (failure?.kind === 'transport' && failure.isStale === true) {
      parts.metrics.onStaleReuse(target.provider.entry.id);
    }
    const { usage } = this.meter(begun, result);
    // Where the same is asked once more, the upstream has not been asked yet.
    if (isExcused) granted?.giveBack();
    else granted?.settle({ tokens: usage.input + usage.output }); // guard: quota-settled
  }

  onOver(outcome: CallOutcome<Answer>): void {
    this.end.onOver(outcome);
  }

  onThrown(error: unknown): void {
    this.end.onThrown(error);
  }

  private at(position: number): Candidate {
    const candidate = this.targets[position];
    if (!candidate) throw new RangeError(`there is no candidate ${position}`);
    return candidate;
  }

  private underWay(): Begun {
    if (!this.begun) throw new Error('no attempt is under way');
    return this.begun;
  }

  private isPassedOver(position: number): boolean {
    return (
      this.replaced?.has(position) === true || this.clock.now() < this.request.fullUntil(this.at(position))
    );
  }

  private take(position: number, entrance: Entrance): boolean {
    if (entrance.type === 'open') {
      this.granted = entrance.granted;
      return true;
    }
    const untilMs = this.clock.now() + Math.max(entrance.waitMs, fullMsMin);
    this.request.noteFull(this.at(position), { untilMs, isUnknown: entrance.isUnknown });
    return false;
  }

  /** With what this attempt alone is asked with. */
  private asAsked(candidate: Candidate, isFresh: boolean): Candidate {
    const { withheld, trace } = this;
    const { healthId } = candidate.target;
    this.refuses = withheld?.targetId === healthId ? withheld.names : this.parts.refused.of(healthId);
    if (!this.refuses && !trace && !isFresh) return candidate;
    return {
      ...candidate,
      ...(this.refuses ? { refuses: this.refuses } : {}),
      ...(trace ? { traceHeaders: trace.headers } : {}),
      ...(isFresh ? { isFresh } : {}),
    };
  }

  private signalFacts(position: number): SignalFacts {
    const { exchange } = this;
    const candidate = this.at(position);
    return {
      rateLimitCooldownMs: candidate.target.provider.entry.breaker.rateLimitCooldownMs,
      hasStoredState: exchange.facts.storedState !== undefined,
      patience: isOwnersRoute(exchange, candidate)
        ? undefined
        : (timer) => {
            const name = timer === 'first-event' ? this.firstEvent : (`${timer}Ms` as const);
            return {
              givenMs: timeoutFor(exchange, candidate, name, this.parts.defaults),
              ownersMs: ownersTimeoutFor(candidate, name, this.parts.defaults),
            };
          },
    };
  }

  private meter(begun: Begun, result: AttemptResult<Answer>): LedgerRecord {
    const { parts, exchange } = this;
    const failure = 'failure' in result ? result.failure : undefined;
    const cause = failure && causeOf(failure);
    const answer = uncountedAnswer(result);
    const course: Course = {
      startedAtMs: result.startedAtMs,
      durationMs: result.durationMs,
      firstContentMs: result.firstContentMs,
      outcome: result.outcome,
      status: result.status,
      usage: result.usage,
      outputEstimate: answer.tokens,
      isSent: result.isSent,
      lacksOutput: result.lacksOutput,
      goesOn: result.goesOn,
      failure: failure && failureCode(failure),
      cause,
    };
    const record = this.recordOf(begun, course);
    if (cause !== undefined) {
      const clientRequestId = readClientRequestId(exchange.request.rawHeaders);
      parts.onUnusable?.({ ...record, cause, clientRequestId });
    }
    const isUncounted = result.usage === undefined && record.usage.input > 0;
    if (!parts.tokens || !isUncounted || !isCountable(record.upstreamModel)) {
      this.settle(begun, result, course, record);
      return record;
    }
    this.keep(begun, course);
    const { chunks: request, bytes: requestBytes } = this.request.inputOf(this.call);
    const trace = this.trace;
    parts.tokens
      .count({ request, requestBytes, answer: answer.text, answerLength: answer.length })
      .then((counted) => {
        const exact = { ...course, counted };
        this.settle(begun, result, exact, this.recordOf(begun, exact), trace);
      })
      .catch((error: unknown) => logFailure(parts, exchange, error));
    return record;
  }

  private settle(
    begun: Begun,
    result: AttemptResult<Answer>,
    course: Course,
    record: LedgerRecord,
    trace = this.trace,
  ): void {
    const { request } = this;
    if (trace?.span) {
      this.exchange.trace?.endAttempt(trace.span, record, { target: begun.candidate.target, ...result });
    }
    const recordFor = (isWasted: boolean): LedgerRecord =>
      isWasted ? this.recordOf(begun, { ...course, isWasted }) : record;
    const { isWasted } = request;
    if (isWasted !== undefined) {
      this.write(begun, result, recordFor(isWasted), trace);
      return;
    }
    request.whenDecided((isSo) => this.write(begun, result, recordFor(isSo), trace));
    this.keep(begun, course);
  }

  private write(
    { candidate }: Begun,
    { malformedFrames }: AttemptResult<Answer>,
    record: LedgerRecord,
    trace: AttemptTrace | undefined,
  ): void {
    const { journal, metrics, onUsage } = this.parts;
    journal.append(record);
    this.request.onRecord(record);
    metrics.onAttempt(record, {
      model: this.exchange.plan.route.entry.model,
      providerType: candidate.target.provider.entry.type,
    });
    onUsage?.(record, trace?.span);
    if (malformedFrames > 0) metrics.onMalformedFrames(record, malformedFrames);
  }

  /** What the journal has of it if the process ends before its record is written. */
  private keep(begun: Begun, course: Course): void {
    this.parts.journal.begin(recordId(this.exchange.requestId, begun.number), () =>
      this.recordOf(begun, { ...course, isWasted: this.request.isUndelivered }),
    );
  }

  private recordSoFar(begun: Begun): LedgerRecord {
    const { startedAt, startedAtMs, firstContentAt, reader } = begun;
    // Of what is held back, nobody has seen anything.
    const isSeen = firstContentAt !== undefined && !this.request.isUndelivered;
    return this.recordOf(begun, {
      ...factsSoFar(reader),
      outcome: 'interrupted',
      startedAtMs,
      durationMs: this.clock.now() - startedAt,
      firstContentMs: isSeen ? firstContentAt - startedAt : undefined,
    });
  }

  private recordOf({ candidate, number }: Begun, course: Course): LedgerRecord {
    const { requestId, view, caller, plan, facts, dialect } = this.exchange;
    return buildLedgerRecord({
      ...course,
      failure: course.failure,
      requestId,
      number,
      call: this.call,
      tableGeneration: view.generation,
      caller,
      route: plan.route,
      model: facts.model,
      target: candidate.target,
      providerKey: candidate.endpoint.key?.name,
      clientDialect: dialect.name,
      upstreamDialect: candidate.dialect,
      isStream: facts.isStream,
      isBackground: facts.isBackground,
      estimateInput: () => this.request.estimateInputOf(this.call),
      outputReserved: () => this.request.outputOfCall,
    });
  }
}

/** What the loop of the attempts needs to know of a candidate. */
export function factsOf({ target, endpoint }: Candidate): CandidateFacts {
  return {
    keyId: endpoint.healthId,
    targetId: target.entry.name,
    endpointId: target.provider.entry.id,
    tier: target.entry.priority,
    contextLength: target.entry.contextLength,
  };
}

/** What an attempt itself adds to a record. */
type Course = Pick<
  AttemptFacts,
  'startedAtMs' | 'durationMs' | 'firstContentMs' | 'outcome' | 'status' | 'usage' | 'outputEstimate'
> &
  Pick<AttemptFacts, 'isSent' | 'counted' | 'lacksOutput' | 'goesOn' | 'isWasted'> & {
    readonly failure?: string | undefined;
    readonly cause?: string | undefined;
  };

/** Of a plain answer nothing is known until it is whole. */
function factsSoFar(
  reader: AnswerReader<Answer> | undefined,
): Pick<Course, 'status' | 'usage' | 'outputEstimate' | 'goesOn'> {
  if (reader === undefined || reader.type === 'plain')
    return { status: undefined, usage: undefined, outputEstimate: 0 };
  const { usage, outputEstimate, goesOn, hasContent } = reader.stream.facts;
  return {
    status: hasContent ? 200 : undefined,
    usage: believeUsage(usage, { isWhole: false, outputEstimate }),
    outputEstimate,
    goesOn,
  };
}
