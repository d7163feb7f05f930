// One upstream call of a request: its candidates, timers, health, and what is written down about each attempt. In which order they are
// asked, and how often, is decided in attempt/call.ts.

import type { AnswerReader, AttemptIo, AttemptResult } from '../attempt/attempt-io.ts';
import type { CallJob, CallOutcome } from '../attempt/call.ts';
import { causeOf } from '../attempt/cause.ts';
import type { Limits } from '../attempt/deadlines.ts';
import type { RequestSize } from '../attempt/error-quirks.ts';
import { failureCode, type Judgement } from '../attempt/failure.ts';
import type { CandidateFacts } from '../attempt/next-step.ts';
import type { UpstreamError } from '../dialects/dialect.ts';
import { refusedMember } from '../dialects/request/added-members.ts';
import type { RatedAttempt } from '../meter/ledger.ts';
import { MeteredAttempt, type MeteredCall } from '../meter/metered-attempt.ts';
import { isCountable } from '../meter/token-counter.ts';
import { readClientRequestId } from '../request/request-id.ts';
import type { Watched } from '../route/health.ts';
import type { Candidate } from '../route/plan.ts';
import { renewCandidate } from '../route/renew.ts';
import { type Staged, turnEnd } from '../stream/turn-end.ts';
import type { AttemptTrace } from '../trace/request-trace.ts';
import type { Saturated } from './fail-request.ts';
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
import { uncountedAnswer } from './uncounted-answer.ts';

/** The request that a call is made for. `call`: which of its upstream calls, from 0. */
export interface CallingRequest {
  readonly parts: PipelineParts;
  readonly exchange: RoutedExchange;
  /** Clock time at which the whole request ends. */
  readonly totalAt: number;
  /** What a call is expected to use. */
  readonly tokensOfCall: number;
  /** The answer's part of them. */
  readonly outputOfCall: number;
  /** Nothing has been sent to the client so far. */
  readonly isUndelivered: boolean;
  /** Whether all of it was for nothing; undefined: it depends on its other calls, and is known when it ends. */
  readonly isWasted: boolean | undefined;
  /** The input of a call, as far as counting needs it. */
  inputOf(call: number): { readonly chunks: readonly Buffer[]; readonly bytes: number };
  estimateInputOf(call: number): number;
  open(candidate: Candidate, call: number): AttemptIo<Answer>;
  /** Until when the quotas of a candidate are used up, as this request found them; clock time. */
  fullUntil(candidate: Candidate): number;
  noteSaturated(candidate: Candidate, full: Saturated): void;
  /** Gives the attempt's number within the request. */
  onStart(candidate: Candidate, call: number): number;
  /** `note` is called when `isWasted` is known. */
  whenDecided(note: (isWasted: boolean) => void): void;
  /** An attempt is written down; where its tokens had to be counted, after the call has ended. */
  onRecord(rated: RatedAttempt): void;
}

/** Callbacks for the end of a call. */
export type CallEnd = Pick<CallJob<Answer>, 'onOver' | 'onThrown'>;

/** A quota that was used up is not asked again at once, however soon it lets another one in. */
const fullMsMin = 1_000;

const noSignal = { type: 'none' } as const;
/** For an attempt that has not failed, where these facts do not matter. */
const noFacts: SignalFacts = { rateLimitCooldownMs: 0, hasStoredState: false };

export class UpstreamJob implements CallJob<Answer>, MeteredCall {
  readonly candidates: CandidateFacts[];
  readonly failover: CallJob<Answer>['failover'];
  readonly failed: CallJob<Answer>['failed'] = [];
  waitedMs = 0;
  remainingMs = 0;
  readonly totalAt: number;
  readonly clock: PipelineParts['clock'];
  readonly timers: PipelineParts['timers'];
  readonly random: () => number;
  readonly call: number;
  private readonly parts: PipelineParts;
  private readonly exchange: RoutedExchange;
  private readonly request: CallingRequest;
  private readonly end: CallEnd;
  /** Only of this call, if it has replaced any: each call notices new credentials separately. */
  private targets: readonly Candidate[];
  /** Positions whose credentials are no longer those of their provider. */
  private replaced: Set<number> | undefined;
  private granted: Granted | undefined;
  private firstEvent: 'firstEventMs' | 'lastFirstEventMs' = 'firstEventMs';
  /** The previous attempt, if it failed. */
  private left: { readonly position: number; readonly failure: string } | undefined;
  private trace: AttemptTrace | undefined;
  private reader: AnswerReader<Answer> | undefined;
  private attempt: MeteredAttempt | undefined;
  private watched: Watched | undefined;
  /** Members that a target refused in this request, until it has answered without them. */
  private withheld: { readonly targetId: string; readonly names: ReadonlySet<string> } | undefined;
  /** Members left out of the attempt in flight. */
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

  estimateInput(): number {
    return this.request.estimateInputOf(this.call);
  }

  outputReserved(): number {
    return this.request.outputOfCall;
  }

  get isUndelivered(): boolean {
    return this.request.isUndelivered;
  }

  get isWasted(): boolean | undefined {
    return this.request.isWasted;
  }

  size(): RequestSize {
    return { input: this.estimateInput(), output: this.outputReserved() };
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
    const entrance = enterAttempt(this.parts, this.exchange, this.at(position), this.request);
    if (entrance instanceof Promise) return entrance.then((value) => this.take(position, value));
    return entrance === undefined || this.take(position, entrance);
  }

  leave(): void {
    this.granted?.giveBack();
  }

  open(position: number, isFresh: boolean): AttemptIo<Answer> {
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
    const isCoolingDown = (candidate: Candidate): boolean =>
      this.parts.health.cooldownReason(candidate, this.clock.now()) !== undefined;
    const { id } = this.exchange.plan.route.entry;
    const renewed = newest && renewCandidate(this.at(position), id, newest, isCoolingDown);
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
    // A member of the caller is the caller's to correct, and a parameter of the route its owner's.
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
    this.watched = parts.health.onStart(candidate, isRepetition, clock.now(), exchange.caller.key.id);
    const { reader } = this;
    const stream = reader === undefined || reader.type === 'plain' ? undefined : reader.stream;
    this.attempt = new MeteredAttempt(exchange, this, candidate, number, stream, clock);
    parts.journal.begin(this.attempt);
  }

  onContent(): void {
    const at = this.clock.now();
    this.inFlight().onContent(at);
    this.parts.health.onContent(this.healthOf(), at);
  }

  onEnd(
    position: number,
    result: AttemptResult<Answer>,
    judgement: Judgement | undefined,
    isExcused: boolean,
  ): void {
    const { parts, exchange, granted } = this;
    const { target } = this.at(position);
    const signal = isExcused
      ? noSignal
      : healthSignal(result, judgement, judgement === undefined ? noFacts : this.signalFacts(position));
    parts.health.onEnd(this.healthOf(), signal, this.clock.now());
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
    const ended = new EndedAttempt(this, this.inFlight(), result, isExcused, this.trace, granted);
    // The client's stream is still open, and ends with an error if this fails.
    if (exchange.facts.isStream || !turnEnd.recordsLater(ended)) this.record(ended);
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

  private inFlight(): MeteredAttempt {
    if (!this.attempt) throw new Error('no attempt is in flight');
    return this.attempt;
  }

  private healthOf(): Watched {
    if (!this.watched) throw new Error('no attempt is in flight');
    return this.watched;
  }

  private isPassedOver(position: number): boolean {
    return (
      this.replaced?.has(position) === true || this.clock.now() < this.request.fullUntil(this.at(position))
    );
  }

  private take(position: number, entrance: Entrance): boolean {
    if (entrance.type === 'granted') {
      this.granted = entrance;
      return true;
    }
    const untilMs = this.clock.now() + Math.max(entrance.waitMs, fullMsMin);
    this.request.noteSaturated(this.at(position), { untilMs, isUnknown: entrance.isUnknown });
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

  record(ended: EndedAttempt): void {
    const { isExcused, granted } = ended;
    const { usage } = this.meter(ended);
    // An excused attempt is sent again, because the upstream never received it.
    if (isExcused) granted?.giveBack();
    else granted?.settle({ tokens: usage.input + usage.output }); // guard: quota-settled
  }

  recordLate(ended: EndedAttempt): void {
    try {
      this.record(ended);
    } catch (error) {
      logFailure(this.parts, this.exchange, error);
    }
  }

  private meter(ended: EndedAttempt): RatedAttempt {
    const { parts, exchange } = this;
    const { journal, tokens } = parts;
    const { attempt, result } = ended;
    const failure = 'failure' in result ? result.failure : undefined;
    const cause = failure && causeOf(failure);
    const answer = uncountedAnswer(result);
    const rated = attempt.end(result, failure && failureCode(failure), cause, answer.tokens);
    if (cause !== undefined) {
      const clientRequestId = readClientRequestId(exchange.request.rawHeaders);
      parts.onUnusable?.({ ...attempt.record(), cause, clientRequestId });
    }
    const isUncounted = result.usage === undefined && rated.usage.input > 0;
    if (!tokens || !isUncounted || !isCountable(rated.upstreamModel)) {
      this.settle(ended, ended.isWasted);
      return rated;
    }
    journal.begin(attempt);
    const { chunks: request, bytes: requestBytes } = this.request.inputOf(this.call);
    tokens
      .count({ request, requestBytes, answer: answer.text, answerLength: answer.length })
      .then((counted) => {
        attempt.count(counted);
        this.settle(ended, this.isWasted);
      })
      .catch((error: unknown) => logFailure(parts, exchange, error));
    return rated;
  }

  private settle({ attempt, result, trace }: EndedAttempt, isWasted: boolean | undefined): void {
    const { request, exchange, parts } = this;
    if (trace?.span) {
      exchange.trace?.endAttempt(trace.span, attempt.record(), { target: attempt.target, ...result });
    }
    if (isWasted !== undefined) {
      this.write(attempt, isWasted, result.malformedFrames, trace);
      return;
    }
    request.whenDecided((isSo) => this.write(attempt, isSo, result.malformedFrames, trace));
    parts.journal.begin(attempt);
  }

  private write(
    attempt: MeteredAttempt,
    isWasted: boolean,
    malformedFrames: number,
    trace: AttemptTrace | undefined,
  ): void {
    const { journal, metrics, onUsage } = this.parts;
    const rated = attempt.decide(isWasted);
    journal.append(attempt);
    this.request.onRecord(rated);
    metrics.onAttempt(rated, {
      model: attempt.route.entry.model,
      providerType: attempt.target.provider.entry.type,
    });
    onUsage?.(attempt.record(), trace?.span);
    if (malformedFrames > 0) metrics.onMalformedFrames(rated, malformedFrames);
  }
}

/** An attempt that is still to be written down. */
class EndedAttempt implements Staged {
  readonly attempt: MeteredAttempt;
  readonly result: AttemptResult<Answer>;
  readonly isExcused: boolean;
  readonly trace: AttemptTrace | undefined;
  readonly granted: Granted | undefined;
  /** As it was known at its end. */
  readonly isWasted: boolean | undefined;
  private readonly job: UpstreamJob;

  constructor(
    job: UpstreamJob,
    attempt: MeteredAttempt,
    result: AttemptResult<Answer>,
    isExcused: boolean,
    trace: AttemptTrace | undefined,
    granted: Granted | undefined,
  ) {
    this.job = job;
    this.attempt = attempt;
    this.result = result;
    this.isExcused = isExcused;
    this.trace = trace;
    this.granted = granted;
    this.isWasted = job.isWasted;
  }

  onTurnEnd(): void {
    this.job.recordLate(this);
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
