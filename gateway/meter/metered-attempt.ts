// What of one upstream attempt is written down: what is known of it at any moment, and in the end.

import type { Clock } from '../../core/clock.ts';
import type { LedgerRecord, Usage } from '../../core/contract/ledger-record.ts';
import type { DialectName, UpstreamDialectName } from '../../core/contract/routing-table.ts';
import { believeUsage } from '../dialects/answer/believe-count.ts';
import type { AnswerStream } from '../dialects/dialect.ts';
import type { Caller } from '../request/caller.ts';
import type { KeyedEndpoint, RouteView, TargetView } from '../table/view.ts';
import { type AttemptFacts, buildLedgerRecord, type RatedAttempt, rateAttempt, recordId } from './ledger.ts';
import { ledgerLine } from './ledger-line.ts';
import { OpenAttempt } from './open-attempt.ts';
import type { Counted } from './token-counter.ts';

/** What all attempts of a request have in common. */
interface MeteredRequest {
  readonly requestId: string;
  readonly view: { readonly generation: number };
  readonly caller: Caller;
  readonly plan: { readonly route: RouteView };
  readonly dialect: { readonly name: DialectName };
  readonly facts: {
    readonly model: string;
    readonly isStream: boolean;
    readonly isBackground?: boolean | undefined;
  };
}

/** The upstream call of the request that it is an attempt at. */
export interface MeteredCall {
  /** From 0. */
  readonly call: number;
  estimateInput(): number;
  outputReserved(): number;
  /** Whether the caller has been given nothing of the request so far. */
  readonly isUndelivered: boolean;
}

interface MeteredCandidate {
  readonly target: TargetView;
  readonly endpoint: KeyedEndpoint;
  readonly dialect: UpstreamDialectName;
}

/** What came of it. */
type Course = Pick<
  AttemptFacts,
  | ('startedAtMs' | 'durationMs' | 'firstContentMs' | 'outcome' | 'status' | 'usage')
  | ('isSent' | 'lacksOutput' | 'goesOn')
>;

export class MeteredAttempt extends OpenAttempt implements AttemptFacts {
  readonly number: number;
  startedAtMs: number;
  durationMs = 0;
  firstContentMs: number | undefined = undefined;
  outcome: LedgerRecord['outcome'] = 'interrupted';
  status: number | undefined = undefined;
  failure: string | undefined = undefined;
  cause: string | undefined = undefined;
  isSent: boolean | undefined = undefined;
  usage: Usage | undefined = undefined;
  lacksOutput: boolean | undefined = undefined;
  goesOn: boolean | undefined = undefined;
  outputEstimate = 0;
  counted: Counted | undefined = undefined;
  isWasted = false;
  private readonly request: MeteredRequest;
  private readonly asked: MeteredCall;
  private readonly candidate: MeteredCandidate;
  /** The stream; undefined for a plain answer, of which nothing is known until it is whole. */
  private readonly stream: AnswerStream | undefined;
  private readonly clock: Clock;
  private readonly startedAt: number;
  private firstContentAt: number | undefined = undefined;
  private rating: RatedAttempt | undefined = undefined;

  constructor(
    request: MeteredRequest,
    asked: MeteredCall,
    candidate: MeteredCandidate,
    number: number,
    stream: AnswerStream | undefined,
    clock: Clock,
  ) {
    super();
    this.request = request;
    this.asked = asked;
    this.candidate = candidate;
    this.number = number;
    this.stream = stream;
    this.clock = clock;
    this.startedAt = clock.now();
    this.startedAtMs = clock.wallMs();
  }

  onContent(at: number): void {
    this.firstContentAt = at;
  }

  /** @param outputEstimate Tokens of its output, by our own count. */
  end(
    course: Course,
    failure: string | undefined,
    cause: string | undefined,
    outputEstimate: number,
  ): RatedAttempt {
    this.startedAtMs = course.startedAtMs;
    this.durationMs = course.durationMs;
    this.firstContentMs = course.firstContentMs;
    this.outcome = course.outcome;
    this.status = course.status;
    this.failure = failure;
    this.cause = cause;
    this.isSent = course.isSent;
    this.usage = course.usage;
    this.lacksOutput = course.lacksOutput;
    this.goesOn = course.goesOn;
    this.outputEstimate = outputEstimate;
    return this.rate();
  }

  /** Its tokens, which its upstream had not counted. */
  count(counted: Counted | undefined): RatedAttempt {
    this.counted = counted;
    return this.rate();
  }

  /** @param isWasted Another call of the same request failed before anything of this one was delivered. */
  decide(isWasted: boolean): RatedAttempt {
    this.isWasted = isWasted;
    return isWasted ? this.rate() : this.rated;
  }

  get rated(): RatedAttempt {
    return this.rating ?? this.rate();
  }

  get id(): string {
    return recordId(this.requestId, this.number);
  }

  estimate(): string {
    const isUndelivered = this.asked.isUndelivered;
    if (this.rating === undefined) this.look(isUndelivered);
    else this.isWasted = isUndelivered;
    const line = ledgerLine(this, rateAttempt(this));
    // Decided only at the end.
    this.isWasted = false;
    return line;
  }

  line(): string {
    return ledgerLine(this, this.rated);
  }

  record(): LedgerRecord {
    return buildLedgerRecord(this, this.rated);
  }

  estimateInput(): number {
    return this.asked.estimateInput();
  }

  outputReserved(): number {
    return this.asked.outputReserved();
  }

  get requestId(): string {
    return this.request.requestId;
  }

  get call(): number {
    return this.asked.call;
  }

  get tableGeneration(): number {
    return this.request.view.generation;
  }

  get caller(): Caller {
    return this.request.caller;
  }

  get route(): RouteView {
    return this.request.plan.route;
  }

  get model(): string {
    return this.request.facts.model;
  }

  get target(): TargetView {
    return this.candidate.target;
  }

  get providerKey(): string | undefined {
    return this.candidate.endpoint.key?.name;
  }

  get clientDialect(): DialectName {
    return this.request.dialect.name;
  }

  get upstreamDialect(): UpstreamDialectName {
    return this.candidate.dialect;
  }

  get isStream(): boolean {
    return this.request.facts.isStream;
  }

  get isBackground(): boolean | undefined {
    return this.request.facts.isBackground;
  }

  private rate(): RatedAttempt {
    this.rating = rateAttempt(this);
    return this.rating;
  }

  /** What is known of it now. */
  private look(isUndelivered: boolean): void {
    const { firstContentAt, startedAt, stream } = this;
    this.durationMs = this.clock.now() - startedAt;
    // The client has seen nothing of a held answer.
    this.firstContentMs =
      firstContentAt === undefined || isUndelivered ? undefined : firstContentAt - startedAt;
    if (stream === undefined) return;
    const { usage, outputEstimate, goesOn, hasContent } = stream.facts;
    this.status = hasContent ? 200 : undefined;
    this.usage = believeUsage(usage, { isWhole: false, outputEstimate });
    this.outputEstimate = outputEstimate;
    this.goesOn = goesOn;
  }
}
