// One upstream call as a job for the attempt loop: its candidates, timers, health, and what is
// written down about each attempt.

import type { Span } from '@opentelemetry/api';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import { causeOf } from '../attempt/cause.ts';
import type { AnswerReader, AttemptEnds, AttemptResult } from '../attempt/ends.ts';
import { failureCode } from '../attempt/failure.ts';
import type { CandidateFacts } from '../attempt/next-step.ts';
import type { CallJob } from '../attempt/run-attempts.ts';
import { believeUsage } from '../dialects/answer/believe-count.ts';
import { refusedMember } from '../dialects/request/added-members.ts';
import { type AttemptFacts, buildLedgerRecord, recordId } from '../meter/ledger.ts';
import { isCountable } from '../meter/token-counter.ts';
import { readClientRequestId } from '../request/request-id.ts';
import type { Watched } from '../route/health.ts';
import type { Candidate } from '../route/plan.ts';
import { renewCandidate } from '../route/renew.ts';
import type { LeaveSignal } from '../stream/leaving.ts';
import type { AttemptTrace } from '../trace/request-trace.ts';
import type { CallInputs } from './call-inputs.ts';
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

interface CallOptions {
  /** Clock time at which the whole request ends. */
  readonly totalAt: number;
  /** Of this call alone: what it is expected to use. */
  readonly tokens: () => number;
  /** Of them, those of the answer. */
  readonly output: () => number;
  /** Candidates whose quotas are used up, as this request found them. */
  readonly full: Map<Candidate, Full>;
  readonly caller: LeaveSignal;
  /** Which of the upstream calls of the request, from 0. */
  readonly call: number;
  readonly inputs: CallInputs;
  open(candidate: Candidate): AttemptEnds<Answer>;
  /** Gives the attempt's number within the request. */
  onStart(candidate: Candidate): number;
  /**
   * `note` is called once it is known whether an attempt was for nothing: at once, where the request is one call alone.
   *
   * @returns True: later.
   */
  onDecided(note: (isWasted: boolean) => void): boolean;
  /** Whether the caller has been given nothing of the request so far. */
  isUndelivered(): boolean;
  /** What is written down about an attempt; where its tokens had to be counted, after the call has ended. */
  onRecord(record: LedgerRecord): void;
}

/** A quota that was used up is not asked again at once, however soon it lets another one in. */
const fullMsMin = 1_000;

export function buildCallJob(
  parts: PipelineParts,
  exchange: RoutedExchange,
  options: CallOptions,
): CallJob<Answer> {
  const { totalAt, tokens, output, full, caller, call, inputs, open, onStart, isUndelivered } = options;
  const { clock, health, holder, random, defaults } = parts;
  const { route } = exchange.plan;
  // Of this call alone: another one learns for itself what has been replaced.
  const candidates = [...exchange.plan.candidates];
  const facts = candidates.map(factsOf);
  /** Positions whose credentials are no longer those of their provider. */
  const replaced = new Set<number>();
  const at = (position: number): Candidate => {
    const candidate = candidates[position];
    if (!candidate) throw new RangeError(`there is no candidate ${position}`);
    return candidate;
  };
  const estimateInput = (): number => inputs.estimate(call);
  const asked = { call, estimateInput, outputReserved: output };
  let number = 0;
  let reader: AnswerReader<Answer> | undefined;
  let firstContentAt: number | undefined;
  let watched: Watched | undefined;
  let granted: Granted | undefined;
  /** Of the attempt under way. */
  let firstEvent: 'firstEventMs' | 'lastFirstEventMs' = 'firstEventMs';
  const patienceWith = (candidate: Candidate): SignalFacts['patience'] => {
    if (isOwnersRoute(exchange, candidate)) return undefined;
    return (timer) => {
      const name = timer === 'first-event' ? firstEvent : (`${timer}Ms` as const);
      return {
        givenMs: timeoutFor(exchange, candidate, name, defaults),
        ownersMs: ownersTimeoutFor(candidate, name, defaults),
      };
    };
  };
  const take = (position: number, entrance: Entrance): boolean => {
    if (entrance.type === 'open') {
      granted = entrance.granted;
      return true;
    }
    const untilMs = clock.now() + Math.max(entrance.waitMs, fullMsMin);
    full.set(at(position), { untilMs, isUnknown: entrance.isUnknown });
    return false;
  };
  const isFull = (position: number): boolean => clock.now() < (full.get(at(position))?.untilMs ?? 0);
  const isPassedOver = (position: number): boolean => replaced.has(position) || isFull(position);
  /** The attempt before, where it has failed. */
  let left: { readonly position: number; readonly failure: string } | undefined;
  let attemptTrace: AttemptTrace | undefined;
  /** What a target refused in this request, until it has answered without. */
  let withheld: { readonly targetId: string; readonly names: ReadonlySet<string> } | undefined;
  /** Members that the attempt under way is sent without. */
  let refuses: ReadonlySet<string> | undefined;
  const underWay = (): Watched => {
    if (!watched) throw new Error('no attempt is under way');
    return watched;
  };
  return {
    candidates: facts,
    failover: route.entry.failover,
    totalAt,
    caller,
    clock,
    random,
    hasSideEffects: () => exchange.dialect.hasSideEffects(exchange.body),
    isUsable: (position) => !isPassedOver(position) && health.isUsable(at(position), clock.now()),
    isClosed: (position) => health.isClosed(at(position), clock.now()),
    restMs: (position) => health.restMs(at(position), clock.now()),
    coolsForMs: (position, hasWaited) =>
      isPassedOver(position) ? undefined : health.coolsForMs(at(position), clock.now(), hasWaited),
    size: () => ({ input: estimateInput(), output: output() }),
    hasRetryBudget: (position) => health.hasBudget(at(position), clock.now()),
    lastResort: () => health.lastResort(candidates, clock.now(), isPassedOver),
    limits: (position, isLast) => {
      firstEvent = isLast ? 'lastFirstEventMs' : 'firstEventMs';
      return {
        firstEventMs: streamsUpstream(exchange)
          ? timeoutFor(exchange, at(position), firstEvent, defaults)
          : null,
        livenessMs: timeoutFor(exchange, at(position), 'livenessMs', defaults),
        progressMs: timeoutFor(exchange, at(position), 'progressMs', defaults),
        totalMs: timeoutFor(exchange, at(position), 'totalMs', defaults),
      };
    },
    enter: (position) => {
      granted = undefined;
      const entrance = enterAttempt(parts, exchange, at(position), tokens);
      if (entrance instanceof Promise) return entrance.then((value) => take(position, value));
      return entrance === undefined || take(position, entrance);
    },
    leave: () => granted?.giveBack(),
    open: (position, isFresh) => {
      try {
        attemptTrace = exchange.trace?.openAttempt(at(position));
        const { healthId } = at(position).target;
        refuses = withheld?.targetId === healthId ? withheld.names : parts.refused.of(healthId);
        const known = refuses ? { ...at(position), refuses } : at(position);
        const traced = attemptTrace ? { ...known, traceHeaders: attemptTrace.headers } : known;
        const ends = open(isFresh ? { ...traced, isFresh } : traced);
        ({ reader } = ends);
        return ends;
      } catch (error) {
        granted?.giveBack();
        throw error;
      }
    },
    renew: (position) => {
      const newest = holder.current();
      const rests = (candidate: Candidate): boolean =>
        health.restReason(candidate, clock.now()) !== undefined;
      const renewed = newest && renewCandidate(at(position), route.entry.id, newest, rests);
      if (renewed === undefined || clock.now() >= totalAt || caller.hasLeft) return undefined;
      replaced.add(position);
      facts.push(factsOf(renewed));
      return candidates.push(renewed) - 1;
    },
    withhold: (position, error) => {
      const name = refusedMember(error);
      const { target } = at(position);
      if (name === undefined || refuses?.has(name)) return false;
      // What the caller wrote is the caller's to mend, and a parameter of the route its owner's.
      if (exchange.body.member(name) || Object.hasOwn(target.entry.parameters, name)) return false;
      withheld = { targetId: target.healthId, names: new Set([...(refuses ?? []), name]) };
      return clock.now() < totalAt && !caller.hasLeft;
    },
    onStart: (position, isRepetition) => {
      if (left !== undefined && left.position !== position) {
        parts.metrics.onFailover(route.entry.model, at(left.position).target.provider.entry.id, left.failure);
      }
      number = onStart(at(position));
      watched = health.onStart(at(position), isRepetition, clock.now(), exchange.caller.key.id);
      firstContentAt = undefined;
      const startedAt = clock.now();
      const begun = { ...asked, candidate: at(position), number, reader, startedAt };
      const startedAtMs = clock.wallMs();
      parts.journal.begin(recordId(exchange.requestId, number), () =>
        recordOf(exchange, begun.candidate, begun, {
          ...factsSoFar(begun.reader),
          outcome: 'interrupted',
          startedAtMs,
          durationMs: clock.now() - begun.startedAt,
          // Of what is held back, nobody has seen anything.
          firstContentMs:
            firstContentAt === undefined || isUndelivered() ? undefined : firstContentAt - begun.startedAt,
        }),
      );
    },
    onContent() {
      firstContentAt = clock.now();
      health.onContent(underWay(), firstContentAt);
    },
    onEnd: (position, result, judgement, isExcused) => {
      const signal = isExcused
        ? ({ type: 'none' } as const)
        : healthSignal(result, judgement, {
            rateLimitCooldownMs: at(position).target.provider.entry.breaker.rateLimitCooldownMs,
            hasStoredState: exchange.facts.storedState !== undefined,
            patience: patienceWith(at(position)),
          });
      health.onEnd(underWay(), signal, clock.now());
      if (result.outcome === 'answered' && withheld?.targetId === at(position).target.healthId) {
        parts.refused.learn(withheld.targetId, withheld.names);
        withheld = undefined;
      }
      if ('failure' in result && result.failure.kind === 'gateway' && result.failure.error !== undefined) {
        logFailure(parts, exchange, result.failure.error);
      }
      left =
        !isExcused && 'failure' in result ? { position, failure: failureCode(result.failure) } : undefined;
      if (isStale(result)) parts.metrics.onStaleReuse(at(position).target.provider.entry.id);
      const record = meterAttempt(
        parts,
        exchange,
        at(position),
        { ...asked, number },
        result,
        attemptTrace?.span,
        options,
      );
      // Where the same is asked once more, the upstream has not been asked yet.
      if (isExcused) granted?.giveBack();
      else granted?.settle({ tokens: record.usage.input + record.usage.output }); // guard: quota-settled
    },
  };
}

function isStale(result: AttemptResult<Answer>): boolean {
  return 'failure' in result && result.failure.kind === 'transport' && result.failure.isStale === true;
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

function meterAttempt(
  parts: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  place: Place,
  result: AttemptResult<Answer>,
  span: Span | undefined,
  {
    inputs,
    onDecided,
    isUndelivered,
    onRecord,
  }: Pick<CallOptions, 'inputs' | 'onDecided' | 'isUndelivered' | 'onRecord'>,
): LedgerRecord {
  const { journal, metrics, tokens, onUsage } = parts;
  const { plan, trace } = exchange;
  const failure = 'failure' in result ? failureCode(result.failure) : undefined;
  const cause = 'failure' in result ? causeOf(result.failure) : undefined;
  const write = (record: LedgerRecord): void => {
    journal.append(record);
    onRecord(record);
    metrics.onAttempt(record, {
      model: plan.route.entry.model,
      providerType: candidate.target.provider.entry.type,
    });
    onUsage?.(record, span);
    if (result.malformedFrames > 0) metrics.onMalformedFrames(record, result.malformedFrames);
  };
  const answer = uncountedAnswer(result);
  const recordFor = (course: Course, isWasted: boolean): LedgerRecord =>
    recordOf(exchange, candidate, place, { ...course, isWasted });
  /** What the journal has of it if the process ends before its record is written. */
  const keep = (course: Course): void =>
    journal.begin(recordId(exchange.requestId, place.number), () => recordFor(course, isUndelivered()));
  const settle = (course: Course, record: LedgerRecord): void => {
    if (span) trace?.endAttempt(span, record, { target: candidate.target, ...result });
    const isLater = onDecided((isWasted) => write(isWasted ? recordFor(course, isWasted) : record));
    if (isLater) keep(course);
  };
  const course = { ...result, failure, cause, outputEstimate: answer.tokens };
  const record = recordOf(exchange, candidate, place, course);
  if (cause !== undefined) {
    parts.onUnusable?.({
      ...record,
      cause,
      clientRequestId: readClientRequestId(exchange.request.rawHeaders),
    });
  }
  const isUncounted = result.usage === undefined && record.usage.input > 0;
  if (!tokens || !isUncounted || !isCountable(record.upstreamModel)) {
    settle(course, record);
    return record;
  }
  keep(course);
  const { chunks: request, bytes: requestBytes } = inputs.of(place.call);
  tokens
    .count({ request, requestBytes, answer: answer.text, answerLength: answer.length })
    .then((counted) => ({ ...course, counted }))
    .then((exact) => settle(exact, recordOf(exchange, candidate, place, exact)))
    .catch((error: unknown) => logFailure(parts, exchange, error));
  return record;
}

/** Of an attempt in its request. */
type Place = Pick<AttemptFacts, 'call' | 'number' | 'estimateInput' | 'outputReserved'>;

/** What an attempt itself adds to a record. */
type Course = Pick<
  AttemptFacts,
  'startedAtMs' | 'durationMs' | 'firstContentMs' | 'outcome' | 'status' | 'usage' | 'outputEstimate'
> &
  Pick<AttemptFacts, 'isSent' | 'counted' | 'lacksOutput' | 'goesOn' | 'isWasted'> & {
    readonly failure?: string | undefined;
    readonly cause?: string | undefined;
  };

function recordOf(
  { requestId, view, caller, plan, facts, dialect }: RoutedExchange,
  candidate: Candidate,
  { call, number, estimateInput, outputReserved }: Place,
  course: Course,
): LedgerRecord {
  return buildLedgerRecord({
    ...course,
    failure: course.failure,
    requestId,
    number,
    call,
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
    estimateInput,
    outputReserved,
  });
}

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
