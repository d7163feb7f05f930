// What must a dialect be able to do? The interface that the server speaks; it knows no dialect by name.

import type { DialectName } from '../core/catalog/dialects.ts';
import type { BadRequest, Bag } from './checks.ts';
import type { Directives } from './directives.ts';
import type { Answer, Prompt } from './prompt.ts';
import type { Seal } from './seal.ts';
import type { StoredResponses } from './stored-responses.ts';

/** An error for the client, before a dialect gives it a body. */
export type WireError = {
  status: number;
  message: string;
  type?: string | undefined;
  code?: string | undefined;
  param?: string | null | undefined;
  /** Of the messages dialect alone. */
  details?: Record<string, unknown> | undefined;
  /** Whether type and code are the wish of a script, even where the dialect would have none. */
  isScripted?: boolean;
};

/** One server-sent event, with what it carries of the answer. */
export type Frame = {
  event?: string;
  /** JSON, or `[DONE]`. */
  data: string;
  outputTokens: number;
  reasoningTokens: number;
  /** `closing`: from the dialect's terminal marker on. `last`: the very last event. */
  phase: 'body' | 'closing' | 'last';
};

/** What identifies one answer. */
export type Stamp = { id: string; createdS: number; model: string; requestId: string };

export type ReadContext = {
  /** The model's name without directives. */
  model: string;
  headers: NodeJS.Dict<string | string[]>;
  directives: Directives;
  seal: Seal;
  stored: StoredResponses;
  /** Whether tokens are only counted: what bounds the answer may then be missing. */
  isCounting: boolean;
};

/** A request understood, ready to be answered. */
export type Exchange = {
  prompts: Prompt[];
  isStream: boolean;
  plain(answer: Answer, stamp: Stamp): unknown;
  stream(answer: Answer, stamp: Stamp): Iterable<Frame>;
};

export type Dialect = {
  name: DialectName;
  /** Throws BadRequest. */
  read(body: Bag, context: ReadContext): Exchange;
  badRequest(problem: BadRequest): WireError;
  errorBody(error: WireError, requestId: string): unknown;
  /** The events that tell of an error inside a stream, after so many others. */
  errorFrames(error: WireError, stamp: Stamp, framesBefore: number): Frame[];
  responseHeaders(requestId: string): Record<string, string>;
  /** The answer of its counting of tokens; absent: it has none. */
  countBody?(tokens: number): unknown;
};

/** Builds a frame; the event's name is the data's `type` where the dialect names its events. */
export function frame(
  data: unknown,
  options: { event?: string; outputTokens?: number; reasoningTokens?: number; phase?: Frame['phase'] } = {},
): Frame {
  return {
    ...(options.event === undefined ? {} : { event: options.event }),
    data: typeof data === 'string' ? data : JSON.stringify(data),
    outputTokens: options.outputTokens ?? 0,
    reasoningTokens: options.reasoningTokens ?? 0,
    phase: options.phase ?? 'body',
  };
}
