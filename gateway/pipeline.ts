// THE page to read: one request, stage by stage, in order.
//
//   authenticate → route → decode* → limits → attempt( limits → encode* → send → decode* ) → encode* → meter
//
// (* only where the dialects of client and upstream differ; else the bytes pass through.)
//
// `admit` runs before the body is read, `serve` behind it. What an attempt is made of stands in
// pipeline/attempt-ends.ts, what is noted about it in pipeline/call-job.ts.

import { heldContentBytesMax } from './attempt/commit-point.ts';
import type { AttemptEnds } from './attempt/ends.ts';
import { brokenOffError, noAnswerRoom } from './attempt/final-error.ts';
import { type CallOutcome, runAttempts } from './attempt/run-attempts.ts';
import { authenticate, type Credential, readCredential } from './auth/authenticate.ts';
import { droppedHeader } from './dialects/carry.ts';
import type { AnswerStream } from './dialects/dialect.ts';
import { nanodollarsOf } from './limits/nanodollars.ts';
import { answerHead } from './pipeline/answer-head.ts';
import { droppedAt, passesThrough, plainEnds, streamEnds } from './pipeline/attempt-ends.ts';
import { costOfCaller } from './pipeline/budgets.ts';
import { CallBodies } from './pipeline/call-bodies.ts';
import { CallInputs } from './pipeline/call-inputs.ts';
import { buildCallJob } from './pipeline/call-job.ts';
import { estimateSpend, type SpendEstimate } from './pipeline/estimate-spend.ts';
import { runCalls } from './pipeline/fan-out.ts';
import { enterRequest, type Granted, tokensOfCaller } from './pipeline/limits.ts';
import { logFailure } from './pipeline/log-failure.ts';
import {
  type Answer,
  type Exchange,
  type PipelineParts,
  type RoutedExchange,
  timeoutFor,
} from './pipeline/parts.ts';
import { routeExchange } from './pipeline/route-exchange.ts';
import { type Full, tellFailure } from './pipeline/tell-failure.ts';
import { servedHeaders } from './request/answer-headers.ts';
import type { Caller } from './request/caller.ts';
import { GatewayError, statusOf } from './request/errors.ts';
import type { Candidate } from './route/plan.ts';
import type { AnswerShare } from './stream/answer-room.ts';
import { ClientStream } from './stream/client-stream.ts';
import { HeldAnswer } from './stream/held-answer.ts';
import { type LeaveSignal, Leaving } from './stream/leaving.ts';
import type { OpenRequest } from './stream/open-streams.ts';
import { takingMsMax } from './stream/taken-bytes.ts';
import type { TableHolder } from './table/holder.ts';
import type { TableView } from './table/view.ts';

/** What every stage needs of the process to let a request in. */
type Doorkeeping = Pick<PipelineParts, 'clock' | 'metrics'> & { readonly holder: TableHolder };

/**
 * Takes the table once, for the whole request, and finds out who is asking.
 *
 * @param rawHeaders Names and values in turn, as received.
 * @throws {GatewayError} `not_ready` without a table, `invalid_api_key` for a missing or bad key,
 * `invalid_parameter` for a repeated header.
 */
export function admit(
  door: Doorkeeping,
  rawHeaders: readonly string[],
): { readonly view: TableView; readonly caller: Caller } {
  const view = currentView(door.holder);
  return { view, caller: authenticateCounted(door, view, readCredential(rawHeaders)) };
}

/** As `admit`, for routes that a caller without a key may use too; a bad key is refused all the same. */
export function admitAnyone(
  door: Doorkeeping,
  rawHeaders: readonly string[],
): { readonly view: TableView; readonly caller: Caller | undefined } {
  const view = currentView(door.holder);
  const credential = readCredential(rawHeaders);
  return {
    view,
    caller: credential.type === 'none' ? undefined : authenticateCounted(door, view, credential),
  };
}

/** Who is asking, before it is let in; undefined: nobody who is known. Nothing is counted or refused. */
export function findCaller(
  { clock, holder }: Pick<Doorkeeping, 'clock' | 'holder'>,
  rawHeaders: readonly string[],
): Caller | undefined {
  const view = holder.current();
  try {
    return view && authenticate(readCredential(rawHeaders), view, clock.wallMs());
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function currentView(holder: TableHolder): TableView {
  const view = holder.current();
  if (view) return view;
  // Never 401: without a table nobody can say whether a key is good, and clients would discard it.
  throw new GatewayError('not_ready', 'The gateway has no routing table yet; try again shortly.', {
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

/**
 * Serves one request to its end: the answer is written, or the caller is gone, when it resolves. Among the open streams it stays
 * until its reader has taken it.
 *
 * @throws {GatewayError} where nothing has been sent to the caller yet.
 */
export async function serve(parts: PipelineParts, exchange: Exchange): Promise<void> {
  const run = new Run(parts, routeCounted(parts, exchange));
  parts.streams.add(run);
  try {
    await run.serve();
  } finally {
    parts.streams.removeOnceTaken(run, exchange.response);
    run.settle();
    run.meter();
  }
}

function routeCounted(parts: PipelineParts, exchange: Exchange): RoutedExchange {
  try {
    return routeExchange(parts, exchange);
  } catch (error) {
    parts.metrics.onRefused(exchange.dialect.path, statusOf(error));
    throw error;
  }
}

/** The state of one request on its way. */
class Run implements OpenRequest {
  place = 0;
  private readonly parts: PipelineParts;
  private readonly exchange: RoutedExchange;
  private readonly caller = new Leaving();
  private readonly totalAt: number;
  private readonly share: AnswerShare;
  private readonly bodies: CallBodies;
  private readonly inputs: CallInputs;
  /** One for a body that passes through, else one for each conversation. */
  private readonly calls: number;
  private attempts = 0;
  /** By the calls that the request takes: whom each has asked last. */
  private readonly asked = new Map<number, Candidate>();
  /** Nobody else takes over any more. */
  private isAnswered = false;
  private firstContentMs: number | undefined;
  /** By the limits of the ApiKey and of the ModelRoute; undefined where they have none. */
  private granted: Granted | undefined;
  /** What the caller has used, and what it costs the caller. */
  private tokens = 0;
  private picodollars = 0;
  /** Attempts whose tokens are being counted, or that are under way. */
  private uncounted = 0;
  private isOver = false;
  /** Of a request that stands for several calls: what waits to hear whether any of them was delivered. */
  private readonly undecided: ((isWasted: boolean) => void)[] = [];
  private isWasted = false;
  private spend: SpendEstimate | undefined;
  private readonly full = new Map<Candidate, Full>();
  /** Of the attempt under way. */
  private stream: AnswerStream | undefined;
  /** What the caller was told; 499: it went away first. */
  private status = 200;
  private brokenOffBy: GatewayError | undefined;

  constructor(parts: PipelineParts, exchange: RoutedExchange) {
    this.parts = parts;
    this.exchange = exchange;
    this.calls = exchange.translation?.conversations.length ?? 1;
    const totals = exchange.plan.candidates.map((candidate) =>
      timeoutFor(exchange, candidate, 'totalMs', parts.defaults),
    );
    this.totalAt = exchange.arrivedAt + Math.max(0, ...totals);
    this.share = parts.answers.open(exchange.caller.key.id);
    this.bodies = new CallBodies(exchange);
    this.inputs = new CallInputs(exchange);
    exchange.response.once('close', () => {
      this.caller.leave();
      this.share.close();
    });
  }

  async serve(): Promise<void> {
    try {
      if (!this.parts.answers.hasRoomFor(this.exchange.caller.key.id)) throw noAnswerRoom();
      const entering = this.enter();
      if (entering instanceof Promise) {
        this.granted = await entering;
        // It took a moment, in which the caller may have left, or the process been told to go.
        if (this.caller.hasLeft) {
          this.conclude([]);
          return;
        }
      } else this.granted = entering;
      if (this.exchange.facts.isStream) await this.serveStream();
      else await this.servePlain();
    } catch (error) {
      this.isWasted = true;
      this.status = asGatewayError(error).status;
      this.exchange.response.setHeader('x-penstock-attempts', String(this.attempts));
      throw error;
    }
  }

  /** The process is going: upstreams are let go, the caller is told. */
  breakOff(error: GatewayError): void {
    this.brokenOffBy = error;
    this.isWasted = this.firstContentMs === undefined;
    this.caller.leave();
  }

  /** However it ended. What failed before anything was delivered has used nothing. */
  settle(): void {
    this.isOver = true;
    for (const note of this.undecided.splice(0)) note(this.isWasted);
    this.settleCounted();
  }

  /** What it costs is known when all its tokens are counted, which may take a moment longer than the answer. */
  private settleCounted(): void {
    if (!this.isOver || this.uncounted > 0) return;
    this.granted?.settle({ tokens: this.tokens, nanodollars: nanodollarsOf(this.picodollars) });
  }

  meter(): void {
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

  /** @throws {GatewayError} where a limit is reached, perhaps later. */
  private enter(): Granted | Promise<Granted> | undefined {
    const { parts, exchange, totalAt } = this;
    const estimate = () => ({ ...this.estimate(), takesPlace: true as const });
    return enterRequest(parts, exchange, estimate, totalAt - parts.clock.now());
  }

  private estimate(): SpendEstimate {
    const { facts, body, plan, translation } = this.exchange;
    this.spend ??= estimateSpend(facts, body, plan, translation);
    return this.spend;
  }

  private async servePlain(): Promise<void> {
    const { parts, exchange, share, bodies } = this;
    const outcomes = await this.run((candidate, call) =>
      plainEnds(parts, exchange, candidate, call, share, bodies),
    );
    const answers = this.conclude(outcomes);
    if (!answers) return;
    const bytes = this.encodeAnswers(answers);
    const headers = this.headers();
    headers.push('cache-control', 'no-store', 'content-type', 'application/json');
    headers.push('content-length', String(bytes.length));
    exchange.response.writeHead(200, headers);
    exchange.response.end(bytes);
  }

  private async serveStream(): Promise<void> {
    const { parts, exchange, share, bodies } = this;
    const { dialect, requestId, translation } = exchange;
    const client = this.openClient();
    const encoder = translation?.streamEncoder(answerHead(this.parts, this.exchange));
    const sink = {
      write: (bytes: Buffer): boolean => {
        this.firstContentMs ??= parts.clock.now() - exchange.arrivedAt;
        return client.write(bytes);
      },
      onDrain: (resume: () => void): void => client.onDrain(resume),
      onHeld: share.change,
      onTooLong: (): void => parts.metrics.onTooLongToHold(),
    };
    // One answer may take several calls: only when all have answered is it whole.
    const held = exchange.delivery.isAssured
      ? new HeldAnswer(sink, { ...sink, bytesMax: heldContentBytesMax })
      : undefined;
    try {
      const outcomes = await this.run((candidate, call) => {
        const ends = streamEnds(parts, exchange, candidate, call, share, bodies, held ?? sink, encoder);
        if (ends.reader.type === 'stream') this.stream = ends.reader.stream;
        return ends;
      });
      if (!this.conclude(outcomes)) return;
      if (held) {
        client.giveUpAfter(takingMsMax);
        await held.release(this.caller);
        if (!this.conclude(outcomes)) return;
      }
      // What passed through has its own end; the encoder of another attempt has nothing to add to it.
      const isOwn = [...this.asked.values()].some((candidate) => passesThrough(exchange, candidate));
      client.end((isOwn ? '' : (encoder?.close() ?? '')) + dialect.streamEnd);
    } catch (error) {
      if (!client.isOpen) {
        client.stop();
        throw error;
      }
      if (!(error instanceof GatewayError)) logFailure(parts, exchange, error);
      const told = asGatewayError(error);
      this.status = told.status;
      this.isWasted = this.firstContentMs === undefined;
      const object = told.toErrorObject(dialect.errorShape);
      // What an attempt has not given out, the client does not know of.
      const frame = this.firstContentMs === undefined ? undefined : this.stream?.errorFrame?.(object);
      client.breakOff(frame ?? dialect.errorFrame(object, requestId));
    } finally {
      held?.discard();
    }
  }

  /** All calls of the request, and where each has come to. */
  private async run(
    open: (candidate: Candidate, call: number) => AttemptEnds<Answer>,
  ): Promise<readonly CallOutcome<Answer>[]> {
    const { parts, exchange, totalAt, calls, inputs } = this;
    const runCall = (call: number, caller: LeaveSignal): Promise<CallOutcome<Answer>> => {
      // What was full for one call may not be so for the next: others may have ended.
      this.full.clear();
      return runAttempts(
        buildCallJob(parts, exchange, {
          totalAt,
          tokens: () => Math.ceil(this.estimate().tokens / calls),
          output: () => Math.ceil(this.estimate().output / calls),
          full: this.full,
          caller,
          call,
          inputs,
          open: (candidate) => open(candidate, call),
          onStart: (candidate) => {
            this.uncounted += 1;
            this.asked.set(call, candidate);
            return ++this.attempts;
          },
          onDecided: (note) => {
            const isLater = calls > 1 && !this.isOver;
            if (isLater) this.undecided.push(note);
            else note(this.isWasted);
            return isLater;
          },
          isUndelivered: () => (this.isOver ? this.isWasted : this.firstContentMs === undefined),
          onRecord: (record) => {
            this.uncounted -= 1;
            this.tokens += tokensOfCaller(record);
            this.picodollars += costOfCaller(record);
            this.settleCounted();
          },
        }),
      );
    };
    const outcomes = await runCalls(calls, parts.defaults.callsAtOnce, this.caller, runCall, this.bodies);
    this.isAnswered = true;
    return outcomes;
  }

  /**
   * The answers of all calls in their order; undefined where the caller went away.
   *
   * @throws {GatewayError} where one of the calls failed, or the process is going.
   */
  private conclude(outcomes: readonly CallOutcome<Answer>[]): readonly (Answer | undefined)[] | undefined {
    if (this.brokenOffBy) throw this.brokenOffBy;
    for (const outcome of outcomes) {
      if (outcome.type === 'failed') throw tellFailure(this.parts, this.exchange, outcome, this.full);
      if (outcome.type === 'broken-off') throw brokenOffError(outcome.failure, this.exchange.facts.model);
    }
    if (this.caller.hasLeft) {
      this.status = 499;
      return undefined;
    }
    return outcomes.map((outcome) => (outcome.type === 'answered' ? outcome.answer : undefined));
  }

  private encodeAnswers(answers: readonly (Answer | undefined)[]): Buffer {
    const [first] = answers;
    if (first?.type === 'bytes') return first.bytes;
    const translated = answers.flatMap((answer) => (answer?.type === 'translated' ? [answer.answer] : []));
    const { translation } = this.exchange;
    if (!translation || translated.length !== answers.length) throw new Error('an answer is missing');
    return translation.encodeAnswer(translated, answerHead(this.parts, this.exchange));
  }

  private openClient(): ClientStream {
    const { clock, defaults } = this.parts;
    const { response } = this.exchange;
    return new ClientStream(response, {
      clock,
      openAfterMs: defaults.openAfterMs,
      keepAliveMs: defaults.keepAliveMs,
      keepAlive: this.exchange.dialect.keepAlive,
      writeStallMs: () => {
        const times = this.servers().map((one) => timeoutFor(this.exchange, one, 'clientWriteMs', defaults));
        return times.length > 0 ? Math.max(...times) : defaults.timeouts.clientWriteMs;
      },
      head: () => {
        const headers = this.headers();
        headers.push('content-type', 'text/event-stream; charset=utf-8');
        // no-transform: what compresses on its way through gathers too.
        headers.push('cache-control', 'no-cache, no-store, no-transform');
        // Asks intermediaries like nginx not to gather the stream.
        headers.push('x-accel-buffering', 'no');
        return headers;
      },
      onStall: () => this.caller.leave(),
    });
  }

  private headers(): string[] {
    const servers = this.servers();
    const [provider, ...others] = new Set(servers.map(({ target }) => target.provider.entry.id));
    const isShown = this.parts.defaults.showProvider && others.length === 0;
    const dropped = this.dropped(servers);
    const headers = servedHeaders(this.exchange);
    headers.push('x-penstock-attempts', String(this.attempts));
    if (provider !== undefined && isShown) headers.push('x-penstock-provider', provider);
    if (dropped !== undefined) headers.push('x-penstock-dropped', dropped);
    return headers;
  }

  /** Who serves the request; where nothing of an answer is there to be given out, or a call is still to be made, another one may take over. */
  private servers(): readonly Candidate[] {
    const { exchange, asked, calls } = this;
    const isOpen = this.firstContentMs === undefined || (calls > 1 && !this.isAnswered);
    if (exchange.facts.isStream && isOpen) return exchange.plan.candidates;
    return [...new Set(asked.values())];
  }

  /** What those that serve the request are not told. */
  private dropped(servers: readonly Candidate[]): string | undefined {
    const names = servers.flatMap((server) => droppedAt(this.exchange, server));
    return droppedHeader([...new Set(names)].sort());
  }
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError('internal_error', 'The gateway failed while answering.', { cause: error });
}
