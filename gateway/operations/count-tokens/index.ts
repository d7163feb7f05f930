// How many tokens would this request be? POST /v1/messages/count_tokens: asked of the upstream where
// it can count, else estimated, rather too high than too low: a client that counts too few makes
// its conversation shorter too late. It is no generation: nothing is metered, and of all limits only those on requests count it.

import type { Receiver } from '../../attempt/ends.ts';
import { judgeFailure } from '../../attempt/failure.ts';
import type { Conversation } from '../../dialects/conversation.ts';
import { serverSentEvents } from '../../dialects/events/framing.ts';
import { findDialect } from '../../dialects/registry.ts';
import { openCall } from '../../dialects/translate.ts';
import { parseWhole } from '../../endpoints/parse-body.ts';
import { asRecord, tryParseJson } from '../../json/record.ts';
import { passesThrough, targetOf } from '../../pipeline/attempt-ends.ts';
import { ordinaryDelivery } from '../../pipeline/delivery.ts';
import { estimateInput } from '../../pipeline/estimate-input.ts';
import { healthSignal } from '../../pipeline/health-signal.ts';
import { enterRequest } from '../../pipeline/limits.ts';
import type { Exchange, PipelineParts, RoutedExchange } from '../../pipeline/parts.ts';
import { firstOf, planFor, translateFor } from '../../pipeline/route-exchange.ts';
import { askOf, type Outgoing, sendUpstream } from '../../pipeline/send-upstream.ts';
import { answerHeaders } from '../../request/answer-headers.ts';
import type { HealthSignal } from '../../route/health.ts';
import type { Candidate } from '../../route/plan.ts';
import { type LeaveSignal, Leaving } from '../../stream/leaving.ts';
import { Pieces } from '../../stream/pieces.ts';

/** For all attempts together. Clients ask this in bursts, and can do without: nobody waits long for an exact number. */
const countWithinMs = 5_000;

/** @throws {GatewayError} where the request is not valid, or leads nowhere. */
export async function serveTokenCount(
  parts: PipelineParts,
  exchange: Omit<Exchange, 'dialect'>,
): Promise<void> {
  const dialect = findDialect('anthropic-messages');
  const facts = dialect.readRequest(exchange.body, 'count');
  const plan = planFor(parts, { ...exchange, dialect }, facts);
  const routed = { ...exchange, dialect, facts, plan, delivery: ordinaryDelivery, translation: undefined };
  const caller = new Leaving();
  exchange.response.once('close', () => caller.leave());
  await enterRequest(parts, routed, () => ({ takesPlace: false }), 0);
  const { counted, attempts } = await askUpstreams(parts, routed, caller);
  const inputTokens = counted ?? estimateInput(decode(routed));
  const body = JSON.stringify({ input_tokens: inputTokens });
  exchange.response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...answerHeaders(exchange.requestId, exchange.view.generation),
    // Where nobody has counted.
    ...(counted === undefined ? { 'x-penstock-estimated': 'true' } : {}),
  });
  exchange.response.end(body);
  exchange.trace?.onServed({
    model: plan.route.entry.model,
    status: 200,
    firstContentMs: undefined,
    attempts,
    isStream: false,
  });
}

interface Asked {
  /** Undefined where nobody has counted. */
  readonly counted: number | undefined;
  readonly attempts: number;
}

/** The first of the upstreams that can count and is surely in service; one try each, and three in all. */
async function askUpstreams(
  parts: PipelineParts,
  exchange: RoutedExchange,
  caller: LeaveSignal,
): Promise<Asked> {
  const { health, clock } = parts;
  const giveUpAt = clock.now() + countWithinMs;
  let attempts = 0;
  for (const candidate of exchange.plan.candidates) {
    const leftMs = giveUpAt - clock.now();
    if (caller.hasLeft || attempts === attemptsMax || leftMs <= 0) break;
    if (!health.isUsable(candidate, clock.now()) || health.awaitsTrial(candidate, clock.now())) continue;
    const request = countRequest(exchange, candidate);
    if (!request) continue;
    attempts++;
    const watched = health.onStart(candidate, false, clock.now(), exchange.caller.key.id);
    const traced = exchange.trace?.openAttempt(candidate);
    const asked = traced ? { ...candidate, traceHeaders: traced.headers } : candidate;
    const answer = await ask(parts, exchange, asked, request, leftMs, caller);
    if (traced?.span) {
      exchange.trace?.endCount(traced.span, { target: candidate.target, status: answer?.status });
    }
    health.onEnd(watched, signalOf(answer, candidate), clock.now());
    const tokens = answer?.status === 200 ? asRecord(tryParseJson(answer.body))?.input_tokens : undefined;
    if (Number.isSafeInteger(tokens) && Number(tokens) >= 0) return { counted: Number(tokens), attempts };
  }
  return { counted: undefined, attempts };
}

/** Counting has limits, rights and troubles of its own: only of an account without money it says what holds for all requests. */
function signalOf(answer: CountAnswer | undefined, candidate: Candidate): HealthSignal {
  if (answer === undefined || answer.status === 200) return { type: 'none' };
  const error = findDialect(candidate.dialect).readError(Buffer.from(answer.body));
  const failure = { kind: 'status', status: answer.status, error, retryAfterMs: undefined } as const;
  const judgement = judgeFailure(failure);
  if (judgement.keyRest !== 'out-of-money') return { type: 'none' };
  return healthSignal({ outcome: 'failed', failure, firstContentMs: undefined, durationMs: 0 }, judgement, {
    rateLimitCooldownMs: 0,
    hasStoredState: false,
  });
}

const attemptsMax = 3;

interface CountAnswer {
  readonly status: number;
  readonly body: string;
}

function countRequest(exchange: RoutedExchange, candidate: Candidate): Outgoing | undefined {
  const upstream = findDialect(candidate.dialect);
  const { counting } = upstream.asUpstream;
  if (!counting) return undefined;
  const { dialect, facts, body } = exchange;
  // A default for the answer is nothing to count.
  const target = { ...targetOf(exchange, candidate), parameters: {} };
  const isWhole = passesThrough(exchange, candidate);
  return {
    upstream,
    ask: askOf(exchange, candidate, upstream, 'count-tokens', counting.path, isWhole, false),
    framing: serverSentEvents,
    body: isWhole
      ? dialect.same.editRequest(body, facts, target)
      : [Buffer.from(onlyMembers(openCall(upstream, decode(exchange), target).body, counting.members))],
    isNative: upstream.name === dialect.name,
  };
}

function onlyMembers(request: Buffer, names: ReadonlySet<string> | undefined): string {
  const members = Object.entries(asRecord(tryParseJson(request.toString('utf8'))) ?? {});
  return JSON.stringify(Object.fromEntries(members.filter(([name]) => names?.has(name) ?? true)));
}

/** Undefined where it is late or broken, or the caller has gone. */
function ask(
  parts: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  request: Outgoing,
  withinMs: number,
  caller: LeaveSignal,
): Promise<CountAnswer | undefined> {
  return new Promise((resolve) => {
    const told = new Pieces();
    let status = 0;
    const finish = (value: CountAnswer | undefined): void => {
      cancel();
      stopListening();
      resolve(value);
    };
    const receiver: Receiver = {
      onHead: (head) => {
        status = head;
      },
      onBody: (chunk) => {
        told.add(chunk);
        if (told.length > toldBytesMax) giveUp();
      },
      onEnd: () => finish({ status, body: told.take().toString('utf8') }),
      onBreak: () => finish(undefined),
    };
    const giveUp = (): void => {
      call.abort();
      finish(undefined);
    };
    const cancel = parts.clock.setTimer(withinMs, giveUp);
    const stopListening = caller.onLeave(giveUp);
    const call = sendUpstream(parts, exchange, candidate, request, receiver);
  });
}

/** A number is short, and so is what an upstream says instead. Callers may ask for many at once, of an upstream of their own, and it has no other bound. */
const toldBytesMax = 16 * 1024;

function decode(exchange: RoutedExchange): Conversation {
  parseWhole(exchange.body);
  return firstOf(translateFor(exchange, exchange.plan));
}
