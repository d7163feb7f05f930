// What does the simulator understand of a request, whatever the dialect, and what does it answer? Types only.

/** A tool that the model may call. */
export type Tool = {
  kind: 'function' | 'custom';
  name: string;
  namespace?: string;
  /** JSON Schema of the arguments (function), absent: no arguments. */
  schema?: unknown;
  /** Custom tools with a regex grammar: the pattern that the input must match. */
  pattern?: string;
};

export type ToolChoice = { kind: 'none' | 'auto' | 'required' } | { kind: 'one'; name: string };

export type OutputForm =
  | { kind: 'text' }
  | { kind: 'json-object' }
  | { kind: 'json-schema'; schema: unknown };

export type Prompt = {
  /** The model's name without directives. */
  model: string;
  /** All that the answer depends on, as text: the same seed gives the same answer. */
  seed: string;
  lastUserText: string;
  /** Text of the last tool result in the conversation; absent without one. */
  toolResult?: string;
  /** Names of the tools that the conversation holds calls of. */
  calledTools: ReadonlySet<string>;
  /** The tools that may be called, the allowed subset already taken. */
  tools: Tool[];
  toolChoice: ToolChoice;
  isParallel: boolean;
  output: OutputForm;
  /** Tokens of reasoning asked for; 0: none. */
  reasoningTokens: number;
  /** Upper bound of all generated tokens: reasoning, text and calls. */
  tokensMax?: number;
  /** Whether a call that does not fit into `tokensMax` is sent half (as OpenAI does) or left out (as messages needs it). */
  sendsHalfCalls: boolean;
  stops: string[];
  samples: number;
  inputTokens: number;
};

/** One delta of the answer: a text and the number of tokens in it. */
export type Piece = { text: string; tokens: number };

export type Part =
  | { kind: 'reasoning'; pieces: Piece[]; isRedacted: boolean }
  | { kind: 'text' | 'refusal'; pieces: Piece[] }
  | { kind: 'call'; id: string; tool: Tool; nameTokens: number; pieces: Piece[]; isWhole: boolean };

export type Finish = 'stop' | 'stop-sequence' | 'length' | 'tool-calls' | 'refusal' | 'filter';

export type Choice = { index: number; parts: Part[]; finish: Finish; stopSequence: string | null };

/** Tokens by kind. `input` includes `cached` and `cacheWrite`; `output` includes `reasoning`. */
export type Usage = { input: number; cached: number; cacheWrite: number; output: number; reasoning: number };

export type Answer = { choices: Choice[]; usage: Usage };

export function joinPieces(pieces: Piece[]): string {
  let text = '';
  for (const piece of pieces) text += piece.text;
  return text;
}
