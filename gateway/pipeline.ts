// THE page to read: one request, stage by stage, in order.
//
//   authenticate → route → decode* → attempt( encode* → send → decode* ) → encode* → meter
//
// (* only where the dialects of client and upstream differ; else the bytes pass through.)

import type { ServerResponse } from 'node:http';
import type { AttemptEnds, AttemptResult } from './attempt/attempt.ts';
import { type AttemptFailure, failureCode, type Judgement } from './attempt/failure.ts';
import { brokenOffError, finalError } from './attempt/final-error.ts';
import { type CallJob, type CallOutcome, runAttempts } from './attempt/run-attempts.ts';
import type { Caller } from './caller.ts';
import type { Clock } from './clock.ts';
import type { Timeouts } from './contract/routing-table.ts';
import type { ModelAnswer } from './dialects/conversation.ts';
import type { Dialect, RequestFacts, StreamEncoder, Translation } from './dialects/dialect.ts';
import { canServe, findDialect } from './dialects/registry.ts';
import { translateAnswer, translateStream } from './dialects/translate.ts';
import { GatewayError } from './errors.ts';
import type { RequestBody } from './json/request-body.ts';
import type { Journal } from './meter/journal.ts';
import { buildLedgerRecord } from './meter/ledger.ts';
import type { Metrics } from './meter/metrics.ts';
import { findModel } from './route/find-model.ts';
import type { Health, HealthSignal } from './route/health.ts';
import { type Candidate, type Plan, selectTargets } from './route/plan.ts';
import { ClientStream } from './stream/client-stream.ts';
import { Leaving } from './stream/leaving.ts';
import type { OpenRequest, OpenStreams } from './stream/open-streams.ts';
import type { TableView } from './table/view.ts';
import type { UpstreamPools } from './upstream/pools.ts';
import { buildRequestHeaders } from './upstream/request-headers.ts';
import { send } from './upstream/send.ts';

/** What the pipeline is put together from. */
export interface PipelineParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly health: Health;
  readonly pools: UpstreamPools;
  readonly journal: Journal;
  readonly metrics: Metrics;
  readonly streams: OpenStreams;
  readonly defaults: PipelineDefaults;
}

export interface PipelineDefaults {
  readonly timeouts: Readonly<Record<keyof Timeouts, number>>;
  readonly openAfterMs: number;
  readonly keepAliveMs: number;
  /** Upstream calls that one request may have under way at the same time. */
  readonly callsAtOnce: number;
  /** Whether answers name the provider that served them. */
  readonly showProvider: boolean;
}

/** One authenticated request, its body read. */
export interface Exchange {
  readonly dialect: Dialect;
  readonly view: TableView;
  readonly caller: Caller;
  readonly body: RequestBody;
  readonly requestId: string;
  readonly response: ServerResponse;
  /** Clock time of its arrival. */
  readonly arrivedAt: number;
}

type Answer =
  | { readonly type: 'bytes'; readonly bytes: Buffer }
  | { readonly type: 'translated'; readonly answer: ModelAnswer };

/**
 * Serves one request to its end: the answer is written when the promise resolves.
 *
 * @throws {GatewayError} where nothing has been sent to the client yet.
 */
export async function serve(parts: PipelineParts, exchange: Exchange): Promise<void> {
  const facts = exchange.dialect.readRequest(exchange.body);
  const run = new Run(parts, exchange, facts);
  parts.streams.add(run);
  try {
    await run.serve();
  } catch (error) {
    run.onRefused(error);
    throw error;
  } finally {
    parts.streams.remove(run);
  }
}

/** The state of one request. */
class Run implements OpenRequest {
  private readonly parts: PipelineParts;
  private readonly exchange: Exchange;
  private readonly facts: RequestFacts;
  private readonly plan: Plan;
  private readonly caller = new Leaving();
  private readonly totalAt: number;
  private attempts = 0;
  private servedBy: Candidate | undefined;
  private firstContentMs: number | undefined;
  private status = 200;
  private brokenOffBy: GatewayError | undefined;

  constructor(parts: PipelineParts, exchange: Exchange, facts: RequestFacts) {
    this.parts = parts;
    this.exchange = exchange;
    this.facts = facts;
    const { view, caller, dialect } = exchange;
    const route = findModel(view, caller, facts.model, dialect.name);
    this.plan = selectTargets(route, (upstream) => canServe(dialect, upstream), parts.random);
    const totals = this.plan.candidates.map((candidate) => this.timeout(candidate, 'totalMs'));
    this.totalAt = exchange.arrivedAt + Math.max(0, ...totals);
    exchange.response.once('close', () => this.caller.leave());
  }

  async serve(): Promise<void> {
    const { dialect, body } = this.exchange;
    const isTranslated = this.plan.candidates.some((candidate) => candidate.dialect !== dialect.name);
    const translation = isTranslated ? dialect.translate?.(body) : undefined;
    if (this.facts.isStream) await this.serveStream(translation);
    else await this.servePlain(translation);
    this.meterRequest();
  }

  /** The process is going: the upstream is let go, the client is told. */
  breakOff(error: GatewayError): void {
    this.brokenOffBy = error;
    this.caller.leave();
  }

  onRefused(error: unknown): void {
    this.status = error instanceof GatewayError ? error.status : 500;
    this.meterRequest();
  }

  private async servePlain(translation: Translation | undefined): Promise<void> {
    const { response, requestId } = this.exchange;
    const outcomes = await this.runCalls(translation, (candidate, call) =>
      this.plainEnds(candidate, translation, call),
    );
    const answers = this.settle(outcomes);
    if (!answers) return;
    const bytes = this.encodePlain(answers, translation, requestId);
    response.writeHead(200, {
      ...this.headers(),
      'content-type': 'application/json',
      'content-length': bytes.length,
    });
    response.end(bytes);
  }

  private encodePlain(
    answers: readonly (Answer | undefined)[],
    translation: Translation | undefined,
    requestId: string,
  ): Buffer {
    const [first] = answers;
    if (first?.type === 'bytes') return first.bytes;
    const translated = answers.flatMap((answer) => (answer?.type === 'translated' ? [answer.answer] : []));
    if (!translation || translated.length !== answers.length) throw new Error('an answer is missing');
    return translation.encodeAnswer(translated, this.answerHead(requestId));
  }

  private async serveStream(translation: Translation | undefined): Promise<void> {
    const { response, requestId, dialect } = this.exchange;
    const { clock, defaults } = this.parts;
    const [first] = this.plan.candidates;
    const client = new ClientStream(response, {
      clock,
      openAfterMs: defaults.openAfterMs,
      keepAliveMs: defaults.keepAliveMs,
      writeStallMs: first ? this.timeout(first, 'clientWriteMs') : defaults.timeouts.clientWriteMs,
      head: () => this.streamHeaders(),
      onStall: () => this.caller.leave(),
    });
    const encoder = translation?.streamEncoder(this.answerHead(requestId));
    try {
      const outcomes = await this.runCalls(translation, (candidate, call) =>
        this.streamEnds(candidate, client, translation, encoder, call),
      );
      if (this.settle(outcomes)) client.end((encoder?.close() ?? '') + dialect.streamEnd);
    } catch (error) {
      if (!client.isOpen) throw error;
      const told = asGatewayError(error);
      this.status = told.status;
      client.breakOff(dialect.errorFrame(told.toErrorObject(dialect.errorShape), requestId));
    }
  }

  /** One call for a body that passes through, else one for each conversation. */
  private async runCalls(
    translation: Translation | undefined,
    open: (candidate: Candidate, call: number) => AttemptEnds<Answer>,
  ): Promise<readonly CallOutcome<Answer>[]> {
    const calls = translation?.conversations.length ?? 1;
    if (calls === 1) return [await runAttempts(this.job(this.caller, (candidate) => open(candidate, 0)))];
    // The calls share one fate: the first that fails takes the others with it.
    const group = new Leaving();
    this.caller.onLeave(() => group.leave());
    const outcomes: CallOutcome<Answer>[] = [];
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < calls && !group.hasLeft) {
        const call = next++;
        const outcome = await runAttempts(this.job(group, (candidate) => open(candidate, call)));
        outcomes[call] = outcome;
        if (outcome.type !== 'answered') group.leave();
      }
    };
    await Promise.all(Array.from({ length: Math.min(calls, this.parts.defaults.callsAtOnce) }, worker));
    return outcomes;
  }

  private job(caller: Leaving, open: (candidate: Candidate) => AttemptEnds<Answer>): CallJob<Answer> {
    const { clock, health, random } = this.parts;
    const { candidates, route } = this.plan;
    const at = (position: number): Candidate => {
      const candidate = candidates[position];
      if (!candidate) throw new RangeError(`there is no candidate ${position}`);
      return candidate;
    };
    const numbers = new Map<number, number>();
    return {
      candidates: candidates.map(({ target, endpoint }) => ({
        keyId: endpoint.healthId,
        targetId: target.entry.name,
        endpointId: target.provider.entry.id,
      })),
      failover: route.entry.failover,
      totalAt: this.totalAt,
      caller,
      clock,
      random,
      isUsable: (position) => health.isUsable(at(position), clock.now()),
      limits: (position, isLast) => ({
        firstEventMs: this.facts.isStream
          ? this.timeout(at(position), isLast ? 'lastFirstEventMs' : 'firstEventMs')
          : null,
        livenessMs: this.timeout(at(position), 'livenessMs'),
        progressMs: this.timeout(at(position), 'progressMs'),
      }),
      open: (position) => open(at(position)),
      onStart: (position) => {
        this.attempts++;
        numbers.set(position, this.attempts);
        this.servedBy = at(position);
        health.onStart(at(position), clock.now());
      },
      onEnd: (position, result, judgement) => {
        const candidate = at(position);
        health.onEnd(candidate, healthSignal(candidate, result, judgement), clock.now());
        this.meterAttempt(candidate, numbers.get(position) ?? 0, result);
      },
    };
  }

  private plainEnds(
    candidate: Candidate,
    translation: Translation | undefined,
    call: number,
  ): AttemptEnds<Answer> {
    const { upstream, requestBody, isNative } = this.encode(candidate, translation, call);
    return {
      send: (receiver) => this.send(candidate, upstream, requestBody, receiver),
      readError: upstream.readError,
      reader: {
        type: 'plain',
        read: (bytes) => {
          if (!isNative) return translateAnswer(upstream, bytes);
          const document = upstream.same.relayAnswer(bytes, this.facts);
          return document.ok ? { ...document, value: { type: 'bytes', bytes: document.body } } : document;
        },
      },
    };
  }

  private streamEnds(
    candidate: Candidate,
    client: ClientStream,
    translation: Translation | undefined,
    encoder: StreamEncoder | undefined,
    call: number,
  ): AttemptEnds<Answer> {
    const { upstream, requestBody, isNative } = this.encode(candidate, translation, call);
    const conversation = translation?.conversations[call];
    const stream =
      isNative || !encoder || !conversation
        ? upstream.same.relayStream(this.facts)
        : translateStream(upstream, conversation.choices, encoder.open(call));
    return {
      send: (receiver) => this.send(candidate, upstream, requestBody, receiver),
      readError: upstream.readError,
      reader: {
        type: 'stream',
        stream,
        sink: {
          write: (bytes) => {
            this.firstContentMs ??= this.parts.clock.now() - this.exchange.arrivedAt;
            return client.write(bytes);
          },
          onDrain: (resume) => client.onDrain(resume),
        },
      },
    };
  }

  /** The request in the candidate's language: the caller's own bytes where that is theirs too. */
  private encode(
    candidate: Candidate,
    translation: Translation | undefined,
    call: number,
  ): { upstream: Dialect; requestBody: readonly Buffer[]; isNative: boolean } {
    const { dialect, body } = this.exchange;
    const upstream = findDialect(candidate.dialect);
    if (!upstream) throw new Error(`no dialect ${candidate.dialect}`);
    const { entry } = candidate.target;
    const target = {
      upstreamModel: entry.upstreamModel,
      isStream: this.facts.isStream,
      parameters: entry.parameters,
    };
    const isWhole = (translation?.conversations.length ?? 1) === 1;
    if (upstream.name === dialect.name && isWhole) {
      return { upstream, requestBody: dialect.same.editRequest(body, this.facts, target), isNative: true };
    }
    const conversation = translation?.conversations[call];
    if (!conversation || !upstream.asUpstream) {
      throw new Error(`${dialect.name} cannot be served from ${upstream.name}`);
    }
    const requestBody = [upstream.asUpstream.encodeRequest(conversation, target)];
    return { upstream, requestBody, isNative: false };
  }

  private send(
    candidate: Candidate,
    upstream: Dialect,
    body: readonly Buffer[],
    receiver: Parameters<typeof send>[1],
  ): ReturnType<typeof send> {
    const { provider } = candidate.target;
    const base = new URL(provider.entry.baseUrl);
    return send(
      {
        pool: this.parts.pools.poolFor(provider, this.timeout(candidate, 'connectMs')),
        path: base.pathname.replace(/\/$/, '') + upstream.path,
        headers: buildRequestHeaders(provider, candidate.endpoint, this.facts.isStream),
        body,
      },
      receiver,
    );
  }

  /**
   * The answers of all calls; undefined where the caller went away.
   *
   * @throws {GatewayError} where one of the calls failed.
   */
  private settle(outcomes: readonly CallOutcome<Answer>[]): readonly (Answer | undefined)[] | undefined {
    const failed = outcomes.find((outcome) => outcome?.type === 'failed' || outcome?.type === 'broken-off');
    if (failed?.type === 'failed') throw this.finalError(failed.failures);
    if (failed?.type === 'broken-off') throw brokenOffError(failed.failure, this.facts.model);
    if (this.brokenOffBy) throw this.brokenOffBy;
    if (this.caller.hasLeft || outcomes.some((outcome) => outcome.type === 'cancelled')) {
      this.status = 499;
      return undefined;
    }
    return outcomes.map((outcome) => (outcome.type === 'answered' ? outcome.answer : undefined));
  }

  private finalError(failures: readonly AttemptFailure[]): GatewayError {
    const { caller } = this.exchange;
    const { candidates } = this.plan;
    return finalError(failures, {
      model: this.facts.model,
      isOwnProvider: candidates.every(
        ({ target }) => !target.provider.entry.isPlatform && target.provider.namespace === caller.namespace,
      ),
      usableInMs: this.parts.health.usableInMs(candidates, this.parts.clock.now()),
    });
  }

  /** The nearest block wins: target, then route, then provider, then the gateway's own. */
  private timeout({ target }: Candidate, name: keyof Timeouts): number {
    return (
      target.entry.timeouts[name] ??
      this.plan.route.entry.timeouts[name] ??
      target.provider.entry.timeouts[name] ??
      this.parts.defaults.timeouts[name]
    );
  }

  private headers(): Record<string, string> {
    const { view, requestId } = this.exchange;
    const { servedBy } = this;
    return {
      'x-request-id': requestId,
      'request-id': requestId,
      'x-penstock-generation': String(view.generation),
      'x-penstock-attempts': String(this.attempts),
      ...(servedBy && this.parts.defaults.showProvider
        ? { 'x-penstock-provider': servedBy.target.provider.entry.id }
        : {}),
      'cache-control': 'no-store',
    };
  }

  private streamHeaders(): Record<string, string> {
    return {
      ...this.headers(),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-store',
      // Asks nginx-like intermediaries not to gather the stream.
      'x-accel-buffering': 'no',
    };
  }

  private answerHead(requestId: string): { id: string; createdAt: number } {
    return { id: requestId.replace(/^req_/, ''), createdAt: Math.floor(this.parts.clock.wallMs() / 1000) };
  }

  private meterAttempt(candidate: Candidate, number: number, result: AttemptResult<Answer>): void {
    const { exchange, facts, plan } = this;
    const { journal, metrics } = this.parts;
    const record = buildLedgerRecord({
      requestId: exchange.requestId,
      number,
      tableGeneration: exchange.view.generation,
      caller: exchange.caller,
      route: plan.route,
      model: facts.model,
      target: candidate.target,
      providerKey: candidate.endpoint.key?.name,
      clientDialect: exchange.dialect.name,
      upstreamDialect: candidate.dialect,
      isStream: facts.isStream,
      startedAtMs: result.startedAtMs,
      durationMs: result.durationMs,
      firstContentMs: result.firstContentMs,
      outcome: result.outcome,
      status: result.status,
      failure: 'failure' in result ? failureCode(result.failure) : undefined,
      usage: result.usage,
      outputEstimate: result.outputEstimate,
      requestBytes: exchange.body.bytes,
    });
    journal.append(record);
    metrics.onAttempt(record, plan.route.entry.model);
  }

  private meterRequest(): void {
    const { clock, metrics } = this.parts;
    metrics.onRequest({
      endpoint: this.exchange.dialect.path,
      model: this.plan.route.entry.model,
      status: this.status,
      durationMs: clock.now() - this.exchange.arrivedAt,
      firstContentMs: this.firstContentMs,
    });
  }
}

/** Rests of a key: out of money and rejected keys need a person; they are tried again now and then. */
const outOfMoneyRestMs = 300_000;
const rejectedRestMs = 60_000;
const rateLimitRestMaxMs = 300_000;

function healthSignal(
  { target }: Candidate,
  result: AttemptResult<Answer>,
  judgement: Judgement | undefined,
): HealthSignal {
  if (result.outcome === 'answered') return { type: 'success' };
  if (result.outcome === 'cancelled' || !judgement) return { type: 'none' };
  switch (judgement.keyRest) {
    case 'out-of-money':
      return { type: 'key-rest', forMs: outOfMoneyRestMs };
    case 'rejected':
      return { type: 'key-rest', forMs: rejectedRestMs };
    case 'rate-limit': {
      const told = result.failure.kind === 'status' ? result.failure.retryAfterMs : undefined;
      const forMs = told ?? target.provider.entry.breaker.rateLimitCooldownMs;
      return { type: 'key-rest', forMs: Math.min(forMs, rateLimitRestMaxMs) };
    }
    case null:
      if (!judgement.isHealthSignal) return { type: 'none' };
      return { type: judgement.scope === 'endpoint' ? 'endpoint-failure' : 'target-failure' };
  }
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError('internal_error', 'The gateway failed while answering.', { cause: error });
}
