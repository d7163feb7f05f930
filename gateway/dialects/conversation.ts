// What did the caller ask, in our own form? The neutral request and the neutral plain answer that
// every dialect is translated through.
//
// Tool arguments stay text: they are parsed only where a dialect wants an object. Enumerations
// that providers extend (effort, service tier) are plain strings.

import type { Feature } from '../../core/catalog/capabilities.ts';
import type { Usage } from '../../core/contract/ledger-record.ts';
import type { JsonRecord } from '../json/record.ts';
import type { MarkedState } from './state/opaque.ts';

/** Files by id are never here: an id is good at one provider only. */
export type MediaSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string };

interface Cacheable {
  /** The caller marked the end of a prompt prefix worth caching here: `{type: 'ephemeral', ttl?}`. */
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
        /** Empty if it is not shown. */
        readonly text: string;
        readonly opaque?: MarkedState;
      }
    | {
        readonly type: 'tool-call';
        /** Links the call with its result; of an answer: as the upstream gave it, else empty. */
        readonly id: string;
        readonly name: string;
        readonly namespace?: string;
        readonly kind: 'function' | 'custom';
        /** Of a function: JSON text, perhaps malformed; `{}` if there are no arguments. */
        readonly input: string;
      }
    | {
        readonly type: 'tool-result';
        readonly id: string;
        readonly parts: readonly Part[];
        readonly isError?: boolean;
      }
  );

export type PartOf<Type extends Part['type']> = Extract<Part, { readonly type: Type }>;

export interface Turn {
  readonly role: 'system' | 'user' | 'assistant';
  /** In the order of the wire. Tool results stand in user turns, tool calls in assistant turns. */
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
  /** Of a custom tool: the input format; absent: any text. */
  readonly grammar?: { readonly syntax: string; readonly definition: string };
  readonly cacheHint?: unknown;
}

/** A tool by the name the client knows it by. */
export type ToolName = Pick<Tool, 'name' | 'namespace'>;

export type ToolChoice =
  | { readonly type: 'none' | 'auto' | 'required' }
  | { readonly type: 'tool'; readonly tool: ToolName }
  | { readonly type: 'web-search' }
  | { readonly type: 'subset'; readonly mode: 'auto' | 'required'; readonly tools: readonly ToolName[] };

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
      readonly description?: string;
      readonly schema: unknown;
      readonly isStrict?: boolean;
    };

export interface Reasoning {
  /** `adaptive`: as much as the model sees fit, or as `effort` says; `budget`: at most `budgetTokens`. */
  readonly mode: 'off' | 'adaptive' | 'budget';
  readonly effort?: string;
  readonly budgetTokens?: number;
  /** The caller wants to read what was thought: `auto`, `concise` or `detailed`. */
  readonly summary?: string;
}

/** One feature that the request uses, and the name of its parameter as the caller wrote it. */
export interface Ask {
  readonly feature: Feature;
  /** A name or a path: `seed`, `messages[2].content[0]`. */
  readonly param: string;
}

/** One request for one upstream call. */
export interface Conversation {
  /**
   * All features that the request uses beyond plain text in one user turn. The capabilities table decides
   * what an upstream gets of each; encoders never decide it.
   */
  readonly asks: readonly Ask[];
  /** System text before the first user or assistant turn; each part is one block. */
  readonly system: readonly Part[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  /** The provider's own web search is offered too. */
  readonly hasWebSearch?: boolean;
  readonly toolChoice?: ToolChoice;
  /** False: at most one call an answer. */
  readonly mayCallInParallel?: boolean;
  readonly sampling: Sampling;
  readonly maxOutputTokens?: number;
  /** Defaults of the client's dialect, if neither the caller nor the target's parameters set a value. */
  readonly defaults?: {
    readonly maxOutputTokens: number;
    readonly temperature: number;
    readonly topP: number;
  };
  /** Answers wanted from this one call. */
  readonly choices: number;
  readonly logprobs?: { readonly top: number };
  readonly output: OutputFormat;
  readonly verbosity?: string;
  readonly reasoning?: Reasoning;
  readonly endUser?: string;
  readonly promptCacheKey?: string;
  /** In OpenAI's words: auto, default, flex, priority. */
  readonly serviceTier?: string;
  readonly store?: boolean;
  /** Of texts. */
  readonly metadata?: JsonRecord;
}

/** Why an answer ended. */
export type FinishReason =
  | 'stop'
  | 'stop-sequence'
  | 'length'
  | 'context-full'
  | 'tool-calls'
  /** Stopped by a filter, or refused by the model. */
  | 'content-filter'
  | 'pause';

export interface RefusalDetails {
  readonly category: string | null;
  readonly explanation: string | null;
}

export interface AnswerChoice {
  readonly index: number;
  readonly parts: readonly Part[];
  readonly finish: FinishReason;
  /** The upstream has not said how it ended: `finish` is assumed. */
  readonly isAssumed?: boolean;
  /** The stop sequence that was met, if it is known. */
  readonly stopSequence?: string;
  readonly refusal?: RefusalDetails;
  /** Of the text, as chat completions write them: a list of `{token, logprob, bytes, top_logprobs}`. */
  readonly logprobs?: readonly unknown[];
}

/** A whole plain answer in our own form. */
export interface ModelAnswer {
  readonly id: string;
  readonly model: string;
  /** Unix seconds; 0 if the upstream does not say. */
  readonly createdAt: number;
  readonly choices: readonly AnswerChoice[];
  readonly usage?: Usage;
  readonly serviceTier?: string;
}
