// encode* → send → decode*: how does a request reach one candidate, and its answer the caller?
// The caller's own bytes where the candidate speaks the same dialect, else through our own form.

import { isUpstreamOnly } from '../../core/catalog/dialects.ts';
import { parseJson } from '../../core/parse-json.ts';
import {
  type AnswerReader,
  type AttemptIo,
  type PlainReader,
  type PlainReading,
  plainBytesMax,
  type Receiver,
  type Transmission,
  type Unfold,
} from '../attempt/attempt-io.ts';
import { type ClientSink, heldBytesMax, heldContentBytesMax } from '../attempt/commit-point.ts';
import { flawOfChoices } from '../dialects/answer/flaw.ts';
import { GatheredStream } from '../dialects/answer/gathered-stream.ts';
import { malformed, tooLarge, unusable } from '../dialects/answer/malformed.ts';
import { listDropped } from '../dialects/compatibility.ts';
import type {
  AnswerHead,
  AnswerStream,
  RequestFacts,
  SameDialect,
  StreamEncoder,
  UpstreamCall,
  UpstreamError,
  UpstreamTarget,
} from '../dialects/dialect.ts';
import { doneMark } from '../dialects/events/event-text.ts';
import { type Framing, readFrames } from '../dialects/events/framing.ts';
import { readSse } from '../dialects/events/sse-events.ts';
import { findUpstreamDialect } from '../dialects/registry.ts';
import { withheldMembers } from '../dialects/request/target-edits.ts';
import { answerAsRequested, streamAsRequested } from '../dialects/response-model.ts';
import { originOf } from '../dialects/state/opaque.ts';
import { openCall, translateAnswer, translateStream } from '../dialects/translate.ts';
import { asRecord, type JsonRecord } from '../json/record.ts';
import type { Candidate } from '../route/plan.ts';
import { hasSeveralNative } from '../route/several-native.ts';
import type { AnswerShare } from '../stream/answer-room.ts';
import type { RouteView, TargetView } from '../table/view.ts';
import { redactCredentials } from '../upstream/request-headers.ts';
import { seatsOf } from '../upstream/seats.ts';
import { answerHead } from './answer-head.ts';
import type { CallBodies } from './call-bodies.ts';
import type { Answer, PipelineParts, RoutedExchange } from './parts.ts';
import { askOf, credentialOf, type Outgoing, sendUpstream } from './send-upstream.ts';

/** Limit for the events of an answer: each token has a frame around it. */
const gatheredBytesMax = 2 * plainBytesMax;

/** What an attempt gives its answer to; undefined: one in one piece. */
interface Streaming {
  readonly sink: ClientSink;
  /** Shared by all calls of the request; undefined if nothing is translated. */
  readonly encoder: StreamEncoder | undefined;
}

/** @param call Counts the upstream calls of the request from 0. */
export function openEnds(
  parts: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  call: number,
  share: AnswerShare,
  bodies: () => CallBodies,
  streaming?: Streaming,
): AttemptIo<Answer> {
  const encoded = encodeFor(parts, exchange, candidate, call, bodies);
  const head = (): AnswerHead => answerHead(parts, exchange);
  return new CandidateEnds(
    parts,
    exchange,
    candidate,
    encoded,
    share,
    streaming
      ? streamReader(exchange, encoded, call, head, streaming)
      : plainReader(exchange, encoded, call, head),
  );
}

class CandidateEnds implements AttemptIo<Answer> {
  readonly reader: AnswerReader<Answer>;
  readonly framing: Framing;
  readonly speaksForeign: boolean;
  readonly turns: PipelineParts['turns'];
  readonly place: RoutedExchange['place'];
  private readonly parts: PipelineParts;
  private readonly exchange: RoutedExchange;
  private readonly candidate: Candidate;
  private readonly encoded: EncodedRequest;
  private readonly share: AnswerShare;

  constructor(
    parts: PipelineParts,
    exchange: RoutedExchange,
    candidate: Candidate,
    encoded: EncodedRequest,
    share: AnswerShare,
    reader: AnswerReader<Answer>,
  ) {
    this.reader = reader;
    this.framing = encoded.framing;
    this.speaksForeign = encoded.upstream.errorShape !== exchange.dialect.errorShape;
    this.turns = parts.turns;
    this.place = exchange.place;
    this.parts = parts;
    this.exchange = exchange;
    this.candidate = candidate;
    this.encoded = encoded;
    this.share = share;
  }

  send(receiver: Receiver): Transmission {
    return sendUpstream(this.parts, this.exchange, this.candidate, this.encoded, receiver);
  }

  readError(body: Buffer): UpstreamError {
    return this.encoded.upstream.readError(body);
  }

  redact(text: string): string {
    const { lease } = credentialOf(this.parts, this.exchange, this.candidate);
    return redactCredentials(text, this.candidate.target, lease);
  }

  hold(change: number): boolean {
    return this.share.change(change);
  }
}

type Head = () => AnswerHead;

function plainReader(
  exchange: RoutedExchange,
  encoded: EncodedRequest,
  call: number,
  head: Head,
): AnswerReader<Answer> {
  const reader = new WholeReader(exchange, encoded, call, head);
  const { same } = encoded.upstream;
  return exchange.delivery.fetchesStream && same
    ? gatheredReader(exchange, same, call, head, reader)
    : reader;
}

class WholeReader implements PlainReader<Answer> {
  readonly type = 'plain';
  private readonly exchange: RoutedExchange;
  private readonly encoded: EncodedRequest;
  private readonly call: number;
  private readonly head: Head;

  constructor(exchange: RoutedExchange, encoded: EncodedRequest, call: number, head: Head) {
    this.exchange = exchange;
    this.encoded = encoded;
    this.call = call;
    this.head = head;
  }

  read(bytes: Buffer): PlainReading<Answer> {
    const { exchange, encoded, head } = this;
    const { framing } = encoded;
    if (framing.formOf(bytes) !== 'events') return readPlain(exchange, encoded, head, bytes);
    const frames = readFrames(framing, bytes);
    if (!frames.ok) return malformed(frames.flaw);
    const folded = fold(exchange, encoded, this.call, head, frames.events);
    return folded.ok ? readPlain(exchange, encoded, head, folded.body) : folded;
  }
}

/** Events came instead of a plain answer: they are gathered into one. */
function fold(
  exchange: RoutedExchange,
  { upstream: { same } }: EncodedRequest,
  call: number,
  head: Head,
  bytes: Buffer,
): { readonly ok: true; readonly body: Buffer } | Extract<PlainReading<Answer>, { readonly ok: false }> {
  const noAnswer = malformed(
    'the answer is a stream instead of one body, and its events form no complete answer',
  );
  if (!same) return noAnswer;
  const streamFacts = gatheredFacts(exchange, call);
  const stream = new GatheredStream(same.relayStream(streamFacts, undefined, head), same, gatheredBytesMax);
  stream.push(bytes);
  stream.end();
  const { fault } = stream.facts;
  if (fault?.kind === 'error-event') return { ok: false, fault };
  const body = fault === undefined ? encodeJson(stream.answer()) : onlyEvent(bytes);
  return body ? { ok: true, body } : noAnswer;
}

/** The plain answer as the only event of a stream. */
function onlyEvent(bytes: Buffer): Buffer | undefined {
  const reader = readSse(plainBytesMax);
  const [first, ...more] = [...reader.push(bytes), ...reader.end()].filter(
    ({ data }) => data.trim() !== doneMark,
  );
  return first && more.length === 0 ? Buffer.from(first.data) : undefined;
}

/** A plain answer came instead of a stream: it becomes the events that its upstream would have sent. */
function unfoldAs({ facts }: RoutedExchange, same: SameDialect | undefined, head: Head): Unfold {
  return (body) => {
    if (!same) return malformed('the answer is one body instead of a stream');
    const document = same.relayAnswer(body, facts, undefined, head);
    if (!document.ok) return document;
    return { ok: true, events: Buffer.from(same.eventsOf(parseObject(document.body))) };
  };
}

/** Of one of the upstream calls, as a stream that is put together. */
function gatheredFacts({ facts, translation }: RoutedExchange, call: number): RequestFacts {
  const choices = translation ? (translation.conversations[call]?.choices ?? 1) : facts.choices;
  return { ...facts, choices, isStream: true, wantsUsage: true };
}

function readPlain(
  { dialect: { same }, facts, delivery }: RoutedExchange,
  { translated, marksAs }: EncodedRequest,
  head: Head,
  bytes: Buffer,
): PlainReading<Answer> {
  if (translated) {
    const reading = translateAnswer(translated, bytes);
    const flaw = delivery.isAssured && reading.ok ? flawOfChoices(reading.value.answer.choices) : undefined;
    return flaw === undefined ? reading : unusable(flaw);
  }
  const document = same.relayAnswer(bytes, facts, marksAs, head);
  if (!document.ok) return document;
  // Judged before repairs, because added members only make an answer look whole.
  const flaw = delivery.isAssured ? same.flawOf(parseObject(bytes)) : undefined;
  if (flaw !== undefined) return unusable(flaw);
  const named = delivery.namesRequested ? answerAsRequested(document.body, facts.model) : document.body;
  return { ...document, value: { type: 'bytes', bytes: named } };
}

/**
 * The answer is fetched as a stream and put together in the upstream's own dialect, then read as if it had come in
 * one piece: a request is served alike, whichever way its answer comes.
 */
function gatheredReader(
  exchange: RoutedExchange,
  same: SameDialect,
  call: number,
  head: Head,
  whole: PlainReader<Answer>,
): AnswerReader<Answer> {
  const relayed = same.relayStream(gatheredFacts(exchange, call), undefined, head);
  const stream = new GatheredStream(relayed, same, gatheredBytesMax);
  return {
    type: 'gathered',
    stream,
    unfold: unfoldAs(exchange, same, head),
    read() {
      if (stream.isTooLong)
        return tooLarge(`its events are longer than ${gatheredBytesMax / 1024 / 1024} MiB`);
      const flaw = exchange.delivery.isAssured ? relayed.flaw?.() : undefined;
      if (flaw !== undefined) return unusable(flaw);
      const body = encodeJson(stream.answer());
      // A stream is forwarded if the caller asks for one.
      return body ? whole.read(body) : unusable(stream.unanswered);
    },
  };
}

/** Undefined also if it is nested too deeply to be written as JSON. */
function encodeJson(value: JsonRecord | undefined): Buffer | undefined {
  try {
    return value && Buffer.from(JSON.stringify(value));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function parseObject(body: Buffer): JsonRecord {
  return asRecord(parseJson(body.toString('utf8'))) ?? {};
}

function streamReader(
  exchange: RoutedExchange,
  encoded: EncodedRequest,
  call: number,
  head: Head,
  { sink, encoder }: Streaming,
): AnswerReader<Answer> {
  return {
    type: 'stream',
    stream: openStream(exchange, encoded, call, head, encoder),
    unfold: unfoldAs(exchange, encoded.upstream.same, head),
    sink,
    commitRule: exchange.delivery.commitRule,
  };
}

function openStream(
  { dialect: { same }, facts, delivery: { isAssured, namesRequested } }: RoutedExchange,
  { translated, marksAs }: EncodedRequest,
  call: number,
  head: Head,
  encoder: StreamEncoder | undefined,
): AnswerStream {
  if (translated && encoder) {
    return translateStream(translated, encoder.open(call), isAssured ? heldContentBytesMax : undefined);
  }
  const relayed = same.relayStream(facts, marksAs, head);
  const stream = isAssured ? new GatheredStream(relayed, same, heldBytesMax + heldContentBytesMax) : relayed;
  return namesRequested ? streamAsRequested(stream, same, facts.model) : stream;
}

interface EncodedRequest extends Outgoing {
  /** Absent if the caller's own bytes go through. */
  readonly translated: UpstreamCall | undefined;
  /** With what opaque state is marked that goes through to the caller; undefined: it is not. */
  readonly marksAs: string | undefined;
}

function encodeFor(
  { seats }: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  call: number,
  bodies: () => CallBodies,
): EncodedRequest {
  const { dialect, facts } = exchange;
  const upstream = findUpstreamDialect(candidate.dialect);
  const target = targetOf(exchange, candidate);
  const isNative = passesThrough(exchange, candidate);
  const { isStream } = target;
  const ask = askOf(exchange, candidate, upstream, 'generate', upstream.path, isNative, isStream);
  const framing = seatsOf(seats, candidate.target.provider).framingFor(ask);
  if (isNative) {
    const body = dialect.same.editRequest(
      exchange.body,
      target.forcesStream ? { ...facts, isStream: true } : facts,
      target,
    );
    const marksAs = hasSeveralNative(exchange.plan.route, dialect.name) ? target.origin : undefined;
    return { upstream, ask, framing, body, isNative, translated: undefined, marksAs };
  }
  const translated = bodies().open(call, candidate, (conversation) =>
    openCall(upstream, conversation, target),
  );
  return { upstream, ask, framing, body: [translated.body], isNative, translated, marksAs: undefined };
}

/**
 * Whether the bytes of the caller go to this candidate unchanged, and the bytes of the candidate to the caller. A request that
 * needs several upstream calls is split for every candidate, also for a candidate of the same dialect.
 */
export function passesThrough(
  { dialect, translation }: Pick<RoutedExchange, 'dialect' | 'translation'>,
  candidate: Candidate,
): boolean {
  const isWhole = translation === undefined || translation.conversations.length === 1;
  return candidate.dialect === dialect.name && isWhole;
}

export function targetOf(
  { facts, plan, delivery }: Pick<RoutedExchange, 'facts' | 'plan' | 'delivery'>,
  { target, refuses, dialect }: Candidate,
): UpstreamTarget {
  // A stream of a dialect that no client speaks is put together by nothing.
  const fetchesStream = delivery.fetchesStream && !isUpstreamOnly(dialect);
  const asked = askedOf(plan.route, target, facts.isStream || fetchesStream);
  const forcesStream = asked.isStream && !facts.isStream;
  return refuses || forcesStream ? { ...asked, refuses, forcesStream } : asked;
}

function askedOf({ entry }: RouteView, target: TargetView, isStream: boolean): UpstreamTarget {
  const asked = isStream ? streamed : plain;
  let known = asked.get(target);
  if (known === undefined) {
    const { upstreamModel, parameters } = target.entry;
    const { id, chatNames, chatOrder, messagesSchemas, modelMembers } = target.provider.entry;
    const origin = originOf(id, upstreamModel);
    const { maxOutputTokens } = entry;
    known = {
      upstreamModel,
      parameters,
      isStream,
      origin,
      chatNames,
      chatOrder,
      messagesSchemas,
      modelMembers,
      maxOutputTokens,
    };
    asked.set(target, known);
  }
  return known;
}

/** Kept as long as the table view that their targets belong to. */
const streamed = new WeakMap<TargetView, UpstreamTarget>();
const plain = new WeakMap<TargetView, UpstreamTarget>();

/** The parameters of the request that are left out or weakened at this candidate. */
export function droppedAt(
  exchange: Pick<RoutedExchange, 'body' | 'dialect' | 'facts' | 'translation' | 'plan' | 'delivery'>,
  candidate: Candidate,
): readonly string[] {
  const { body, dialect, translation } = exchange;
  const { entry } = candidate.target.provider;
  if (passesThrough(exchange, candidate)) return withheldMembers(body, entry).map(({ name }) => name);
  if (!translation || candidate.dialect === dialect.name) return [];
  const upstream = findUpstreamDialect(candidate.dialect);
  return listDropped(dialect.name, upstream, translation.conversations, targetOf(exchange, candidate));
}
