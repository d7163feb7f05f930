// What does a client get for its request, served through an upstream's dialect? One request on the
// way that the pipeline takes, without sockets, times and failover: the upstream's bytes are given.

import type { DialectName } from '../../core/contract/routing-table.ts';
import type { AttemptFailure } from '../../gateway/attempt/failure.ts';
import { brokenOffError, finalError } from '../../gateway/attempt/final-error.ts';
import { estimateTokensOfLength } from '../../gateway/dialects/answer/estimate-tokens.ts';
import { findImpossible, impossible, listDropped } from '../../gateway/dialects/compatibility.ts';
import type { ModelAnswer } from '../../gateway/dialects/conversation.ts';
import type {
  AnswerFacts,
  AnswerHead,
  AnswerStream,
  Dialect,
  RequestFacts,
  StreamEncoder,
  Translation,
  UpstreamCall,
  UpstreamError,
  UpstreamTarget,
} from '../../gateway/dialects/dialect.ts';
import { findDialect } from '../../gateway/dialects/registry.ts';
import { originOf } from '../../gateway/dialects/state/opaque.ts';
import { openCall, translateAnswer, translateStream } from '../../gateway/dialects/translate.ts';
import { RequestBody } from '../../gateway/json/request-body.ts';
import { encodeErrorBody, type GatewayError } from '../../gateway/request/errors.ts';

/** Fixed, so that answers can be compared byte by byte. */
const fixedHead = { id: '0000000000000000000000', createdAt: 1_763_700_000 };
export const throughRequestId = `req_${fixedHead.id}`;

export interface ThroughOptions {
  readonly upstreamModel?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly maxOutputTokens?: number;
  readonly chatOrder?: 'strict';
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type PlainOutcome =
  | { readonly type: 'answered'; readonly body: Buffer }
  | { readonly type: 'failed'; readonly error: GatewayError };

export type StreamOutcome =
  | { readonly type: 'answered'; readonly text: string; readonly facts: readonly AnswerFacts[] }
  /** The client has got a part and the frame that says so. */
  | {
      readonly type: 'broken-off';
      readonly text: string;
      readonly error: GatewayError;
      readonly facts: readonly AnswerFacts[];
    }
  /** Nothing was sent: the client gets a status. */
  | { readonly type: 'failed'; readonly error: GatewayError; readonly facts: readonly AnswerFacts[] };

/** One request, as far as it is known before the upstream answers. */
export interface Through {
  readonly facts: RequestFacts;
  /** The bytes pass through. */
  readonly isNative: boolean;
  /** The body of each upstream call. */
  readonly sent: readonly Buffer[];
  /** Named in `x-penstock-dropped`. */
  readonly dropped: readonly string[];
  /** @param bodyOf The upstream's answer to each call. */
  plain(bodyOf: (call: number) => Buffer): PlainOutcome;
  /** @param piecesOf The upstream's bytes for each call, as the network cuts them. */
  stream(piecesOf: (call: number) => readonly Buffer[]): StreamOutcome;
  /** The upstream answers with an error status. */
  refuse(status: number, body: Buffer): GatewayError;
}

/** @throws {GatewayError} where the request is not valid, or cannot be carried. */
export function translateThrough(
  clientName: DialectName,
  upstreamName: DialectName,
  request: Buffer,
  options: ThroughOptions = {},
): Through {
  const client = findDialect(clientName);
  const upstream = findDialect(upstreamName);
  const body = new RequestBody([request]);
  // As the server does with small bodies.
  body.parse();
  const facts = client.readRequest(body);
  const target: UpstreamTarget = {
    upstreamModel: options.upstreamModel ?? 'upstream-model',
    isStream: facts.isStream,
    parameters: options.parameters ?? {},
    origin: originOf(upstreamName, 'upstream-model'),
    maxOutputTokens: options.maxOutputTokens,
    chatOrder: options.chatOrder,
  };
  const head = { ...fixedHead, model: facts.model, inputEstimate: estimateTokensOfLength(body.bytes) };
  const outcome = { client, upstream, facts, head };
  if (clientName === upstreamName) {
    return new NativeThrough(outcome, Buffer.concat(client.same.editRequest(body, facts, target)));
  }
  const translation = client.translate(body, {
    upstreams: new Set([upstreamName]),
    header: (name) => options.headers?.[name],
  });
  for (const conversation of translation.conversations) {
    const ask = findImpossible(clientName, upstreamName, conversation);
    if (ask) throw impossible(ask, upstreamName);
  }
  const calls = translation.conversations.map((conversation) => openCall(upstream, conversation, target));
  const dropped = listDropped(clientName, upstream, translation.conversations, target);
  return new TranslatedThrough(outcome, translation, calls, dropped);
}

/** The body of the answer to a request that failed. */
export function errorBody(error: GatewayError, client: DialectName): string {
  return encodeErrorBody(error, findDialect(client).errorShape, throughRequestId);
}

interface Ends {
  readonly client: Dialect;
  readonly upstream: Dialect;
  readonly facts: RequestFacts;
  readonly head: AnswerHead;
}

class NativeThrough implements Through {
  readonly isNative = true;
  readonly dropped = [];
  readonly sent: readonly Buffer[];
  readonly facts: RequestFacts;
  private readonly ends: Ends;

  constructor(ends: Ends, sent: Buffer) {
    this.ends = ends;
    this.facts = ends.facts;
    this.sent = [sent];
  }

  plain(bodyOf: (call: number) => Buffer): PlainOutcome {
    const document = this.ends.client.same.relayAnswer(bodyOf(0), this.facts);
    if (document.ok) return { type: 'answered', body: document.body };
    return { type: 'failed', error: failed(this.ends, { kind: 'answer', fault: document.fault }) };
  }

  stream(piecesOf: (call: number) => readonly Buffer[]): StreamOutcome {
    return readStreams(this.ends, [this.ends.client.same.relayStream(this.facts)], piecesOf, undefined);
  }

  refuse(status: number, body: Buffer): GatewayError {
    return refused(this.ends, status, body);
  }
}

class TranslatedThrough implements Through {
  readonly isNative = false;
  readonly dropped: readonly string[];
  readonly sent: readonly Buffer[];
  readonly facts: RequestFacts;
  private readonly ends: Ends;
  private readonly translation: Translation;
  private readonly calls: readonly UpstreamCall[];

  constructor(
    ends: Ends,
    translation: Translation,
    calls: readonly UpstreamCall[],
    dropped: readonly string[],
  ) {
    this.ends = ends;
    this.facts = ends.facts;
    this.translation = translation;
    this.calls = calls;
    this.dropped = dropped;
    this.sent = calls.map((call) => call.body);
  }

  plain(bodyOf: (call: number) => Buffer): PlainOutcome {
    const answers: ModelAnswer[] = [];
    for (const [index, call] of this.calls.entries()) {
      const reading = translateAnswer(call, bodyOf(index));
      if (!reading.ok) {
        return { type: 'failed', error: failed(this.ends, { kind: 'answer', fault: reading.fault }) };
      }
      answers.push(reading.value.answer);
    }
    return { type: 'answered', body: this.translation.encodeAnswer(answers, this.ends.head) };
  }

  stream(piecesOf: (call: number) => readonly Buffer[]): StreamOutcome {
    const encoder = this.translation.streamEncoder(this.ends.head);
    const streams = this.calls.map((call, index) => translateStream(call, encoder.open(index)));
    return readStreams(this.ends, streams, piecesOf, encoder);
  }

  refuse(status: number, body: Buffer): GatewayError {
    return refused(this.ends, status, body);
  }
}

/** One call after the other. What comes before the first content is held, as at the commit point. */
function readStreams(
  ends: Ends,
  streams: readonly AnswerStream[],
  piecesOf: (call: number) => readonly Buffer[],
  encoder: StreamEncoder | undefined,
): StreamOutcome {
  const out: Buffer[] = [];
  const facts = streams.map((stream) => stream.facts);
  for (const [call, stream] of streams.entries()) {
    const held = readWhole(stream, piecesOf(call));
    const { fault, hasContent } = stream.facts;
    if (!fault || hasContent) out.push(...held);
    if (!fault) continue;
    const failure: AttemptFailure = { kind: 'answer', fault };
    if (out.length === 0) return { type: 'failed', error: failed(ends, failure), facts };
    const error = brokenOffError(failure, ends.facts.model);
    const object = error.toErrorObject(ends.client.errorShape);
    const frame = stream.errorFrame?.(object) ?? ends.client.errorFrame(object, throughRequestId);
    return { type: 'broken-off', text: textOf(out) + frame, error, facts };
  }
  return {
    type: 'answered',
    text: textOf(out) + (encoder?.close() ?? '') + ends.client.streamEnd,
    facts,
  };
}

function readWhole(stream: AnswerStream, pieces: readonly Buffer[]): readonly Buffer[] {
  const out: Buffer[] = [];
  for (const piece of pieces) {
    const bytes = stream.push(piece);
    if (bytes) out.push(bytes);
    if (stream.facts.isComplete || stream.facts.fault) return out;
  }
  const bytes = stream.end();
  if (bytes) out.push(bytes);
  return out;
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('utf8');
}

function refused(ends: Ends, status: number, body: Buffer): GatewayError {
  const error = ends.upstream.readError(body);
  return failed(ends, {
    kind: 'status',
    status,
    error,
    retryAfterMs: undefined,
  });
}

function failed(ends: Ends, failure: AttemptFailure): GatewayError {
  const { client, facts } = ends;
  return finalError([asTold(ends, failure)], {
    model: facts.model,
    shape: client.errorShape,
    targets: 1,
    targetsAsked: 1,
    isOwnProvider: false,
    usableInMs: 0,
    commonCooldown: undefined,
  });
}

/** As an attempt hands it on. */
function asTold({ client, upstream }: Ends, failure: AttemptFailure): AttemptFailure {
  const tell = (error: UpstreamError): UpstreamError =>
    upstream.errorShape === client.errorShape ? error : { ...error, isForeign: true };
  if (failure.kind === 'status') return { ...failure, error: tell(failure.error) };
  if (failure.kind !== 'answer' || failure.fault.kind !== 'error-event') return failure;
  return { ...failure, fault: { ...failure.fault, error: tell(failure.fault.error) } };
}
