// What can a provider do with one call? Every behaviour of the wall, as plain data.

import type { Split } from './split.ts';

/** A time to wait: a number of milliseconds, or until a promise the test holds is settled. */
export type Delay = { ms: number } | { until: Promise<unknown> };

/**
 * A place in the answer. `bytes` counts body bytes (after removal of chunk framing), `wireBytes` counts from the
 * first byte of the status line on, `events` counts SSE events, `contentEvents` only those that carry content.
 * For a plain body the two event points mean the same share of its bytes as of the events of the streamed form,
 * and never all of them.
 */
export type Point =
  | { bytes: number }
  | { wireBytes: number }
  | { events: number }
  | { contentEvents: number };

/** How the end of the body is marked on the wire (RFC 9112, section 6.3). */
export type Framing = 'chunked' | 'content-length' | 'close';

/** Tokens as the provider counts them. `inputTokens` include cached and written ones, `outputTokens` include reasoning. */
export interface WallUsage {
  inputTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
}

export interface ToolCall {
  name: string;
  /** The JSON text of the arguments; streamed in pieces of eight characters. */
  arguments: string;
  id?: string;
}

/** One choice of an answer. Text is cut into tokens after each blank, unless `tokens` says how. */
export interface Choice {
  text?: string;
  tokens?: readonly string[];
  reasoning?: string;
  toolCalls?: readonly ToolCall[];
  finishReason?: string;
}

/**
 * The parts of a stream that can be left out, in the terms of every dialect: `start` and `finish` also hold what opens
 * and closes a block or an item, `end` is the last event (`[DONE]`, `message_stop`, `response.completed`). Where usage
 * has no event of its own, leaving it out leaves out the member.
 */
export type StreamSegment = 'start' | 'content' | 'finish' | 'usage' | 'end';

/** How SSE events are written. All of it is legal for a provider (WHATWG HTML, section 9.2). */
export interface SseStyle {
  newline?: '\n' | '\r\n' | '\r';
  /** `data:{…}` instead of `data: {…}`. */
  noSpace?: boolean;
  /** An `id:` line in each event. */
  ids?: boolean;
  /** A `retry:` line before the first event. */
  retryMs?: number;
  /** A comment in front of each event. */
  comments?: boolean;
  /** An event with empty data in front of each event. */
  emptyData?: boolean;
  /** JSON spread over several `data:` lines. */
  multiline?: boolean;
  /** An `event:` name on every event that has none of its own. */
  eventName?: string;
  /** A byte order mark before the stream. */
  byteOrderMark?: boolean;
}

/** A whole, good answer and how it is put on the wire. Everything has a default. */
export interface Answer extends Choice {
  /** Overrides the request's `n`: exactly these choices. */
  choices?: readonly Choice[];
  usage?: Partial<WallUsage>;
  /** Default: the model of the request. */
  model?: string;
  id?: string;
  /** `as-asked` follows the request's `stream`. */
  mode?: 'as-asked' | 'stream' | 'plain';
  /** `as-asked` follows the request's `stream_options.include_usage`. */
  usageChunk?: 'as-asked' | 'always' | 'never' | 'twice';
  omit?: readonly StreamSegment[];
  headers?: Readonly<Record<string, string>>;
  contentType?: string;
  /** Default: chunked for a stream, content-length for a plain body. */
  framing?: Framing;
  /** Sent with `content-encoding: gzip`, asked for or not. */
  gzip?: boolean;
  sse?: SseStyle;
  /** `body`: each piece is an HTTP chunk and a write of its own. `wire`: headers and framing are split too. */
  split?: { body?: Split; wire?: Split };
  beforeHeaders?: Delay;
  beforeFirstEvent?: Delay;
  beforeFirstContent?: Delay;
  betweenEvents?: Delay;
  /** Trickle: body bytes in small pieces, each after a pause. */
  trickle?: { bytes: number; everyMs: number };
  /** What becomes of the connection: kept; closed as announced; closed or reset without a word. */
  afterwards?: 'keep-alive' | 'close' | 'fin-unannounced' | 'reset-unannounced';
}

export interface ProviderError {
  message?: string;
  type?: string;
  code?: string | number;
}

/**
 * How an error is reported inside a stream. `data`: `data: {"error":{…}}` without a name. `event`: `event: error` with a
 * nested error. `chunk`: in an ordinary event of the dialect, such as a chunk with `finish_reason: "error"` and an
 * `error` beside the choices, or `response.failed`.
 */
export type ErrorEventShape = 'data' | 'event' | 'chunk';

/**
 * What the wall does with one call. The three `…-event` faults answer with a stream whatever was asked for; all others
 * follow the request.
 */
export type Behaviour =
  | ({ type: 'answer' } & Answer)
  /** A finished answer with this status. Without a body: an error in the dialect's own shape. */
  | {
      type: 'status';
      status: number;
      headers?: Readonly<Record<string, string>>;
      error?: ProviderError;
      /** An object is sent as JSON, a string as it is. */
      body?: string | object;
      beforeHeaders?: Delay;
    }
  | { type: 'redirect'; status?: 301 | 302 | 303 | 307 | 308; location: string }
  /** Silence, until the caller leaves. */
  | { type: 'hang'; when: 'before-headers' | 'after-headers'; answer?: Answer }
  /** RST. Without `after`: before any byte of the answer. */
  | { type: 'reset'; after?: Point; answer?: Answer }
  /** A clean FIN inside the answer. `framing` decides whether the caller can see that it is short. */
  | { type: 'cut'; after: Point; framing?: Framing; answer?: Answer }
  /** Silence inside the answer; for ever, or for a time and then one of the ends. */
  | {
      type: 'stall';
      after: Point;
      for?: Delay;
      followedBy?: 'go-on' | 'fin' | 'reset';
      /** Comments while it is silent: bytes without content. */
      pingEveryMs?: number;
      answer?: Answer;
    }
  /** A 200 whose stream holds an error; without a shape in the dialect's own. */
  | {
      type: 'error-event';
      afterEvents?: number;
      shape?: ErrorEventShape;
      error?: ProviderError;
      followedBy?: 'end' | 'end-marker' | 'fin' | 'reset' | 'hang';
      answer?: Answer;
    }
  /** Event number `atEvent` (from 1) is an additional one that is not JSON; the rest is fine. */
  | { type: 'garbage-event'; atEvent: number; data?: string; answer?: Answer }
  /** Event number `atEvent` (from 1) is an additional content event of about this many bytes. */
  | { type: 'oversized-event'; atEvent?: number; bytes?: number; answer?: Answer }
  | { type: 'html'; status?: number; body?: string }
  | { type: 'empty'; status?: number; contentType?: string }
  /** A complete HTTP message, whose JSON ends early. */
  | { type: 'truncated-json'; bytes?: number; answer?: Answer }
  /** A good answer with this many bytes of headers. */
  | { type: 'huge-headers'; bytes: number; answer?: Answer }
  /** Informational responses (RFC 9110, section 15.2) in front of the real one. */
  | { type: 'informational'; statuses?: readonly number[]; next?: Behaviour }
  /** Exactly these bytes, nothing parsed, then the end. */
  | { type: 'raw'; bytes: string | Uint8Array; followedBy: 'keep-alive' | 'fin' | 'reset' | 'hang' }
  /**
   * The keep-alive race: on a connection that has served a request before, it is closed just when the next one
   * arrives. On a fresh connection `fresh` is played.
   */
  | { type: 'stale-reuse'; how?: 'fin' | 'reset'; fresh?: Behaviour };
