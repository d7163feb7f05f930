// What did the caller ask, in our own form? The neutral request and the neutral plain answer that
// every dialect is translated through.
//
// Tool arguments stay text: they are parsed only where a dialect wants an object. Enumerations
// that providers extend (effort, service tier) are plain strings.

import type { Usage } from '../contract/ledger-record.ts';
import type { DialectName } from '../contract/routing-table.ts';

export type MediaSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'file-id'; readonly id: string };

/** Opaque state of a provider: only ever sent back to where it came from. */
export interface Origin {
  readonly dialect: DialectName;
  readonly provider: string;
}

interface Cacheable {
  /** The caller marked the end of a prompt prefix worth caching here; in its dialect's own form. */
  readonly cacheHint?: unknown;
}

export type Part = Cacheable &
  (
    | { readonly type: 'text'; readonly text: string }
    | { readonly type: 'image'; readonly source: MediaSource; readonly detail?: string }
    | { readonly type: 'file'; readonly source: MediaSource; readonly filename?: string }
    | { readonly type: 'audio'; readonly data: string; readonly format: string }
    | { readonly type: 'refusal'; readonly text: string }
    | {
        readonly type: 'thinking';
        readonly text: string;
        /** Signature or encrypted content, exactly as it came. */
        readonly opaque?: string;
        readonly isRedacted?: boolean;
        readonly origin?: Origin;
      }
    | {
        readonly type: 'tool-call';
        readonly id: string;
        readonly name: string;
        readonly namespace?: string;
        readonly kind: 'function' | 'custom';
        readonly input: string;
      }
    | {
        readonly type: 'tool-result';
        readonly id: string;
        readonly parts: readonly Part[];
        readonly isError?: boolean;
      }
    /** Something only its own dialect understands. */
    | { readonly type: 'hosted'; readonly dialect: DialectName; readonly value: unknown }
  );

export interface Turn {
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly Part[];
}

export interface Tool {
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly namespace?: string;
  readonly description?: string;
  /** JSON Schema of the arguments; absent: no arguments. */
  readonly schema?: unknown;
  readonly isStrict?: boolean;
  /** Of a custom tool: the input format, as given. */
  readonly format?: unknown;
  readonly cacheHint?: unknown;
}

export type ToolChoice =
  | { readonly type: 'none' | 'auto' | 'required' }
  | { readonly type: 'tool'; readonly name: string }
  | { readonly type: 'subset'; readonly mode: 'auto' | 'required'; readonly names: readonly string[] };

export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly seed?: number;
  readonly logitBias?: Readonly<Record<string, number>>;
  readonly stop?: readonly string[];
}

export type OutputFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json-object' }
  | {
      readonly type: 'json-schema';
      readonly name?: string;
      readonly schema: unknown;
      readonly isStrict?: boolean;
    };

/** One request for one upstream call. */
export interface Conversation {
  /** System text before the first user or assistant turn. */
  readonly system: readonly Part[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice;
  readonly mayCallInParallel?: boolean;
  readonly sampling: Sampling;
  readonly maxOutputTokens?: number;
  /** What the client's dialect promises where neither the caller nor the target's parameters say it. */
  readonly defaults?: {
    readonly maxOutputTokens: number;
    readonly temperature: number;
    readonly topP: number;
  };
  /** Answers wanted from this one call. */
  readonly choices: number;
  readonly logprobs?: { readonly top: number };
  readonly output: OutputFormat;
  readonly reasoning?: {
    readonly mode: 'off' | 'adaptive' | 'budget';
    readonly effort?: string;
    readonly budgetTokens?: number;
    readonly summary?: string;
  };
  readonly endUser?: string;
  /** Members without a place above, re-emitted only to the dialect they came from. */
  readonly extras: { readonly dialect: DialectName; readonly members: Readonly<Record<string, unknown>> };
}

/** Why an answer ended. */
export type FinishReason =
  | 'stop'
  | 'stop-sequence'
  | 'length'
  | 'context-full'
  | 'tool-calls'
  | 'content-filter'
  | 'pause';

export interface AnswerChoice {
  readonly index: number;
  readonly parts: readonly Part[];
  readonly finish: FinishReason;
  readonly stopSequence?: string;
  readonly logprobs?: unknown;
}

/** A whole plain answer in our own form. */
export interface ModelAnswer {
  readonly id: string;
  readonly model: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly choices: readonly AnswerChoice[];
  readonly usage?: Usage;
}
