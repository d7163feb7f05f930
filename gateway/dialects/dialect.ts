// What does a dialect have to be able to do? The seats every dialect folder fills, as client's
// language and as upstream's language.

import type { Feature } from '../../core/catalog/capabilities.ts';
import type { ErrorShape } from '../../core/catalog/dialects.ts';
import type { Usage } from '../../core/contract/ledger-record.ts';
import type { DialectName, UpstreamDialectName } from '../../core/contract/routing-table.ts';
import type { JsonRecord } from '../json/record.ts';
import type { RequestBody } from '../json/request-body.ts';
import type { ErrorObject } from '../request/errors.ts';
import type { Conversation, ModelAnswer } from './conversation.ts';
import type { StreamPart } from './stream-part.ts';

/** What the gateway itself needs to know of a request, whatever is done with its body. */
export interface RequestFacts {
  readonly model: string;
  readonly isStream: boolean;
  /** The caller asked for a usage chunk in the stream. */
  readonly wantsUsage: boolean;
  /** How many answers (choices) one upstream call gives; its stream is complete when each has ended. */
  readonly choices: number;
  /** How many answers an upstream makes, where it makes more than it gives; absent: as many. */
  readonly generated?: number;
  /** How many tokens each of them may have at most; absent: the caller does not say. */
  readonly outputTokensMax?: number;
  /** The request uses only the newer name of the bound, which not every upstream of the dialect knows. */
  readonly hasNewerBoundOnly?: boolean;
  /** How many the dialect asks for where neither the caller nor the target's parameters say it; absent: it asks for none. */
  readonly outputTokensDefault?: number;
  /** The parameter that names something one provider has stored: only that provider can serve it. */
  readonly storedState?: string | undefined;
  /** Part of its input is stored at a provider, and its size is unknown here. */
  readonly hasStoredInput?: boolean;
  /** The request asks the upstream to go on generating without a client (background mode). */
  readonly isBackground?: boolean;
}

export type RequestPurpose = 'answer' | 'count';

/** A failure in the upstream's own words: an error body, or an error event in a stream. */
export interface UpstreamError {
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** The HTTP status of the error, if the body or event names one. */
  readonly status: number | null;
  /** From another dialect than the caller's: type, code and parameter would mean nothing to the caller. */
  readonly isForeign?: boolean;
  /** How long it says to wait, where it says so itself and not in a header. */
  readonly retryAfterMs?: number;
  /** What the messages dialect says beside the words: its SDK keys on it. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Why an answer cannot be used. */
export type AnswerFault =
  /** The upstream said so, in the stream. */
  | { readonly kind: 'error-event'; readonly error: UpstreamError }
  /** What came is not this dialect. */
  | { readonly kind: 'malformed'; readonly detail: string }
  /** An answer that others get as it comes, but none that can be given out as a whole. */
  | { readonly kind: 'unusable'; readonly detail: string }
  /** A valid answer, perhaps, but above one of our own limits, which `detail` names. */
  | { readonly kind: 'too-large'; readonly detail: string }
  /** The stream ended without its terminal marker. */
  | { readonly kind: 'truncated' };

/** What is known of an answer so far; one mutable record per attempt, read after every step. */
export interface AnswerFacts {
  /** A content event was seen: the commit point may be passed. */
  hasContent: boolean;
  /** Every choice has said how it ended: what may still come is the counts and the terminal marker. It may turn out otherwise. */
  awaitsEnd: boolean;
  /** The dialect's terminal marker was seen: nothing more is needed from the upstream. */
  isComplete: boolean;
  fault: AnswerFault | undefined;
  usage: Usage | undefined;
  /** `usage` is of its beginning alone, so far: what it says of the output is no count of it. */
  lacksOutput?: boolean;
  /** Whether the upstream goes on generating after the connection ends, at a cost that no usage reports; absent: it has not said so. */
  goesOn?: boolean;
  /** Output tokens by our own count, used where the upstream reports no usage: of a stream, its content events. */
  outputEstimate: number;
  /**
   * Events that show an upstream at its answer without being output that we count: items as a whole, steps of the upstream's own
   * tools. For timeouts only, not for billing.
   */
  steps: number;
  servedModel: string | undefined;
  /** Kept of an event that has not ended. */
  pendingBytes: number;
  /** Bytes kept of finished events: parts that wait for others, and text that the end repeats. */
  keptBytes: number;
  /** Events that cannot be read, left out or the end of the stream: see `leaveOut`. */
  malformedFrames: number;
  /** The upstream's body broke off, or ended in the middle of an event. Set before `end` is called, or by it. */
  isTorn?: boolean;
  /** The gateway cut the answer short, as at a stop sequence: the rest of the upstream's answer is dropped. */
  isCut?: boolean;
}

/** A streamed answer, from upstream bytes to client bytes. */
export interface AnswerStream {
  readonly facts: AnswerFacts;
  /** Takes upstream bytes, gives what the client gets for them; look at `facts` afterwards. */
  push(chunk: Buffer): Buffer | undefined;
  /** The upstream's body ended. Sets `facts.isComplete`, or `facts.fault` to `truncated`. */
  end(): Buffer | undefined;
  /** Asked of a complete answer before it is given out whole: why its client could not use it. */
  readonly flaw?: (() => string | undefined) | undefined;
  /** The client dialect's `errorFrame`, where the frame depends on what was sent before it. */
  readonly errorFrame?: ((error: ErrorObject) => string) | undefined;
}

/** A plain answer, understood. */
export type AnswerDocument =
  | {
      readonly ok: true;
      readonly body: Buffer;
      readonly usage: Usage | undefined;
      readonly outputEstimate: number;
      /** The answer's text, if the upstream reported no usage. */
      readonly uncounted?: string;
      /** See `AnswerFacts`. */
      readonly goesOn?: boolean;
      readonly servedModel: string | undefined;
    }
  | { readonly ok: false; readonly fault: AnswerFault };

/** A client's request in our form, with the way back to the client's form. */
export interface Translation {
  /** More than one if a client request needs several upstream calls. */
  readonly conversations: readonly Conversation[];
  /** How often the input is sent: once for each answer, where an upstream gives one a call. Absent: once. */
  readonly inputTimes?: number;
  /** One plain answer from the answers to all conversations, in their order. */
  encodeAnswer(answers: readonly ModelAnswer[], head: AnswerHead): Buffer;
  /** A fresh encoder for one streamed client answer. */
  streamEncoder(head: AnswerHead): StreamEncoder;
}

/** Top-level members of an answer that the gateway writes itself. */
export interface AnswerHead {
  /** Random part of the answer's id; the dialect puts its own prefix before it. */
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** As the caller wrote it; said where the upstream does not name its model. */
  readonly model: string;
  /** Input tokens by the gateway's own estimate; used if the upstream reported none. */
  readonly inputEstimate: number;
}

/** Stream parts to client bytes, for all conversations of one request. */
export interface StreamEncoder {
  /**
   * A fresh encoder for one attempt at a conversation; what an earlier attempt gave is forgotten.
   *
   * @param conversation Counts from 0 in the order of `Translation.conversations`.
   */
  open(conversation: number): PartsEncoder;
  /** What is sent when every conversation has ended, before the dialect's `streamEnd`. */
  close(): string;
}

export interface PartsEncoder {
  /** What the client gets for these parts. */
  encode(parts: readonly StreamPart[]): string;
  /** What is kept of them; absent: nothing that grows. */
  readonly keptBytes?: number;
  /** See `AnswerStream.errorFrame`. */
  readonly errorFrame?: ((error: ErrorObject) => string) | undefined;
}

/** Our request in an upstream's form, and its answer in ours. */
export interface UpstreamTranslation {
  /**
   * @param conversation Tidied (`tidy.ts`) for this target, and known to be carried by this dialect.
   */
  open(conversation: Conversation, target: UpstreamTarget): UpstreamCall;
  /** Text of white space only is refused, also between other texts. */
  readonly refusesBlankText?: boolean;
  /**
   * What this very call does not carry, though its dialect has a word for it.
   *
   * @param conversation Tidied for this target.
   */
  readonly lost?: (conversation: Conversation, target: UpstreamTarget) => readonly Feature[];
  /** The members of a request that its counting of tokens takes, where it refuses others; absent: it takes all. */
  readonly countingMembers?: ReadonlySet<string>;
  /** The member of its answer that holds their number; absent: `input_tokens`. */
  readonly countMember?: string;
}

/** One upstream call: what is sent, and how its answer is read. */
export interface UpstreamCall {
  readonly body: Buffer;
  /** Stop sequences that the upstream did not get: the gateway cuts the text at them. */
  readonly stopsLeft?: readonly string[];
  decodeAnswer(body: Buffer): DecodedAnswer;
  /** A fresh decoder of the streamed answer. */
  streamDecoder(): StreamDecoder;
}

export type DecodedAnswer =
  | { readonly ok: true; readonly answer: ModelAnswer }
  | { readonly ok: false; readonly fault: AnswerFault };

/** Upstream bytes to stream parts; read `facts` after every step. */
export interface StreamDecoder {
  readonly facts: AnswerFacts;
  push(chunk: Buffer): readonly StreamPart[];
  end(): readonly StreamPart[];
}

export interface UpstreamTarget {
  readonly upstreamModel: string;
  readonly isStream: boolean;
  /** The caller has asked for a plain answer, the upstream is asked for a stream. */
  readonly forcesStream?: boolean;
  /** Members sent where the caller gave none of that name. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Marks opaque state of this provider, see `state/opaque.ts`. */
  readonly origin: string;
  /** See the provider's `chatNames` in the routing table. */
  readonly chatNames?: 'current' | 'common' | undefined;
  /** See the provider's `chatOrder` in the routing table. */
  readonly chatOrder?: 'strict' | undefined;
  /** See the provider's `messagesSchemas` in the routing table. */
  readonly messagesSchemas?: 'by-tool' | undefined;
  /** See the provider's `modelMembers` in the routing table. */
  readonly modelMembers?: readonly string[] | undefined;
  /** What the model can give at most, where the route says it. */
  readonly maxOutputTokens?: number | undefined;
  /** Members that the upstream refuses: nothing of these names is sent that the caller has not written. */
  readonly refuses?: ReadonlySet<string> | undefined;
}

/**
 * Where client and upstream speak the same dialect: bytes go through, single members change.
 *
 * With an `origin`, opaque state of an answer gets its mark, see `state/mark-state.ts`; without one it goes
 * as it came.
 */
export interface SameDialect {
  editRequest(body: RequestBody, facts: RequestFacts, target: UpstreamTarget): Buffer[];
  /**
   * @param head Asked where an upstream has left out what clients go by; absent: nothing is put in.
   */
  relayStream(facts: RequestFacts, origin?: string, head?: () => AnswerHead): AnswerStream;
  relayAnswer(body: Buffer, facts: RequestFacts, origin?: string, head?: () => AnswerHead): AnswerDocument;
  /** The member of an event that holds the head of the answer with its model; absent: the event itself. */
  readonly headMember?: string;
  /** A fresh gatherer of one stream. */
  openGatherer(): AnswerGatherer;
  /** The way back: the events of a stream that make up this plain answer, as they are sent. */
  eventsOf(answer: JsonRecord): string;
  /** Why a client could not use this plain answer, though it is complete; undefined: it could. */
  flawOf(answer: JsonRecord): string | undefined;
}

/** Puts the events of a stream together to the plain answer that they stand for. */
export interface AnswerGatherer {
  /** The data of one event, in their order. */
  add(event: JsonRecord): void;
  /** Undefined if they make none. */
  answer(): JsonRecord | undefined;
}

/** A dialect as an upstream speaks it. */
export interface UpstreamDialect {
  readonly name: UpstreamDialectName;
  /** Path after a base URL that ends in `/v1`, on both sides. */
  readonly path: string;
  /** Headers of every request that we build in this dialect, unless the caller or the Provider gives them. */
  readonly upstreamHeaders: readonly (readonly [name: string, value: string])[];
  /** Lenient: whatever an upstream sends with an error status. */
  readError(body: Buffer): UpstreamError;
  readonly asUpstream: UpstreamTranslation;
  /** How it looks to its own clients; absent: no client speaks it. */
  readonly errorShape?: ErrorShape;
  readonly same?: SameDialect;
  /**
   * Of a dialect that no client speaks: what a healthy upstream streams in a drill, as server-sent events. Each piece but the last one
   * holds content.
   */
  readonly sampleStream?: readonly string[];
}

/** A dialect that clients speak as well. */
export interface Dialect extends UpstreamDialect {
  readonly name: DialectName;
  readonly errorShape: ErrorShape;
  /** What ends a complete stream. */
  readonly streamEnd: string;
  /** Heartbeat of an idle stream, so that no proxy or client takes the connection for dead. */
  readonly keepAlive: string;
  /** Whether a client's header is forwarded to an upstream of this dialect; the name is in lower case. */
  forwardsHeader(name: string, isOwnProvider: boolean): boolean;
  /** The query of the client's address is forwarded, too. */
  readonly keepsQuery: boolean;
  /**
   * Checks the top-level members of a request and says what the gateway needs to know.
   *
   * @param purpose Where only its tokens are counted, what an answer needs may be missing.
   * @throws {GatewayError} `invalid_parameter`, naming the parameter.
   */
  readRequest(body: RequestBody, purpose?: RequestPurpose): RequestFacts;
  /** Whether a request that was checked does more than answer: something is stored, run or looked up at the provider. */
  hasSideEffects(body: RequestBody): boolean;
  /** Members with which a prompt begins, in their order. */
  readonly promptMembers: readonly string[];
  /** Its prompt is read also where the request passes through: it says how many calls there are. */
  readonly readsPrompt?: boolean;
  /** The frame that tells a client in mid-stream that its answer is broken off. */
  errorFrame(error: ErrorObject, requestId: string): string;
  readonly same: SameDialect;
  /** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
  translate(body: RequestBody, context: TranslationContext): Translation;
}

export interface TranslationContext {
  /** The dialects that the request may be sent in. */
  readonly upstreams: ReadonlySet<UpstreamDialectName>;
  /** A header of the client's; the name is in lower case. */
  header(name: string): string | undefined;
}
