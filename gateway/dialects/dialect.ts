// What does a dialect have to be able to do? The seats every dialect folder fills, as client's
// language and as upstream's language.

import type { Usage } from '../contract/ledger-record.ts';
import type { DialectName } from '../contract/routing-table.ts';
import type { ErrorObject, ErrorShape } from '../errors.ts';
import type { RequestBody } from '../json/request-body.ts';
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
}

/** A failure told by an upstream in its own words: an error body, or an error event in a stream. */
export interface UpstreamError {
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** The HTTP status the error stands for, where the body or event names one. */
  readonly status: number | null;
}

/** Why an answer cannot be used. */
export type AnswerFault =
  /** The upstream said so, in the stream. */
  | { readonly kind: 'error-event'; readonly error: UpstreamError }
  /** What came is not this dialect. */
  | { readonly kind: 'malformed'; readonly detail: string }
  /** The stream ended without its terminal marker. */
  | { readonly kind: 'truncated' };

/** What is known of an answer so far; one mutable record per attempt, read after every step. */
export interface AnswerFacts {
  /** A content event was seen: the commit point may be passed. */
  hasContent: boolean;
  /** The dialect's terminal marker was seen: nothing more is needed from the upstream. */
  isComplete: boolean;
  fault: AnswerFault | undefined;
  usage: Usage | undefined;
  /** Output tokens by our own count, used where the upstream reports no usage. */
  outputEstimate: number;
  servedModel: string | undefined;
}

/** A streamed answer on its way from upstream bytes to client bytes. */
export interface AnswerStream {
  readonly facts: AnswerFacts;
  /** Takes upstream bytes, gives what the client gets for them; look at `facts` afterwards. */
  push(chunk: Buffer): Buffer | undefined;
  /** The upstream's body ended. Sets `facts.isComplete`, or `facts.fault` to `truncated`. */
  end(): Buffer | undefined;
}

/** A plain answer, understood. */
export type AnswerDocument =
  | {
      readonly ok: true;
      readonly body: Buffer;
      readonly usage: Usage | undefined;
      readonly outputEstimate: number;
      readonly servedModel: string | undefined;
    }
  | { readonly ok: false; readonly fault: AnswerFault };

/** A client's request in our form, with the way back to the client's form. */
export interface Translation {
  /** Several where one client request stands for several upstream calls. */
  readonly conversations: readonly Conversation[];
  /** One plain answer from the answers to all conversations, in their order. */
  encodeAnswer(answers: readonly ModelAnswer[], head: AnswerHead): Buffer;
  /** A fresh encoder for one streamed client answer. */
  streamEncoder(head: AnswerHead): StreamEncoder;
}

/** What stands at the top of an answer of our own making. */
export interface AnswerHead {
  /** Random part of the answer's id; the dialect puts its own prefix before it. */
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
}

/** Stream parts to client bytes, for all conversations of one request. */
export interface StreamEncoder {
  /**
   * A fresh encoder for one attempt at a conversation; what an earlier attempt gave is forgotten.
   *
   * @param conversation Counts from 0 in the order of `Translation.conversations`.
   */
  open(conversation: number): (parts: readonly StreamPart[]) => string;
  /** What is sent when every conversation has ended, before the dialect's `streamEnd`. */
  close(): string;
}

/** Our request in an upstream's form, and its answer in ours. */
export interface UpstreamTranslation {
  encodeRequest(conversation: Conversation, target: UpstreamTarget): Buffer;
  decodeAnswer(
    body: Buffer,
  ):
    | { readonly ok: true; readonly answer: ModelAnswer }
    | { readonly ok: false; readonly fault: AnswerFault };
  /** A fresh decoder for one streamed upstream answer to a conversation with so many choices. */
  streamDecoder(choices: number): StreamDecoder;
}

/** Upstream bytes to stream parts; read `facts` after every step. */
export interface StreamDecoder {
  readonly facts: AnswerFacts;
  push(chunk: Buffer): readonly StreamPart[];
  end(): readonly StreamPart[];
}

export interface UpstreamTarget {
  readonly upstreamModel: string;
  readonly isStream: boolean;
  /** Members sent where the caller gave none of that name. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Where client and upstream speak the same dialect: bytes go through, single members change. */
export interface SameDialect {
  editRequest(body: RequestBody, facts: RequestFacts, target: UpstreamTarget): Buffer[];
  relayStream(facts: RequestFacts): AnswerStream;
  relayAnswer(body: Buffer, facts: RequestFacts): AnswerDocument;
}

export interface Dialect {
  readonly name: DialectName;
  /** Path behind a base URL that ends in `/v1`, on both sides. */
  readonly path: string;
  readonly errorShape: ErrorShape;
  /** What ends a complete stream. */
  readonly streamEnd: string;
  /**
   * Checks the top-level members of a request and says what the gateway needs to know.
   *
   * @throws {GatewayError} `invalid_parameter`, naming the parameter.
   */
  readRequest(body: RequestBody): RequestFacts;
  /** The frame that tells a client in mid-stream that its answer is broken off. */
  errorFrame(error: ErrorObject, requestId: string): string;
  /** Lenient: whatever an upstream sends with an error status. */
  readError(body: Buffer): UpstreamError;
  readonly same: SameDialect;
  /**
   * Absent: this dialect is not served from other dialects' upstreams yet.
   *
   * @throws {GatewayError} `invalid_parameter` or `unsupported_parameter`, naming the parameter.
   */
  readonly translate?: (body: RequestBody) => Translation;
  /** Absent: this dialect's upstreams do not serve other dialects' clients yet. */
  readonly asUpstream?: UpstreamTranslation;
}
