// What does a dialect have to say? The seat every dialect of the wall fills; the faults know nothing else of it.

import type {
  Answer,
  Choice,
  ErrorEventShape,
  ProviderError,
  StreamSegment,
  ToolCall,
  WallUsage,
} from './behaviour.ts';

/** The request's JSON object, or an empty one. */
export type RequestJson = Readonly<Record<string, unknown>>;

/** One SSE event before it is written. `outputTokens`: how many tokens the provider has generated with it. */
export interface VoiceEvent {
  segment: StreamSegment;
  data: string;
  event?: string | undefined;
  outputTokens: number;
  reportsUsage: boolean;
}

/** An answer with every default filled in. */
export interface Said {
  id: string;
  model: string;
  /** Unix seconds. */
  created: number;
  choices: readonly SaidChoice[];
  usage: WallUsage;
  usageChunk: 'never' | 'once' | 'twice';
}

export interface SaidChoice {
  tokens: readonly string[];
  reasoning: readonly string[];
  toolCalls: readonly Required<ToolCall>[];
  finishReason: string;
}

export interface Voice {
  name: string;
  matches(method: string, path: string): boolean;
  isStreamAsked(request: RequestJson): boolean;
  isUsageAsked(request: RequestJson): boolean;
  /** How many choices a request asks for. */
  choiceCount(request: RequestJson): number;
  /** What the prompt costs by the wall's own simple count: one token per word. */
  inputTokens(request: RequestJson): number;
  plain(said: Said): object;
  events(said: Said): VoiceEvent[];
  /** One more event that carries this text, between two others; `place` counts from 0. */
  contentEvent(said: Said, text: string, place: number): VoiceEvent;
  errorBody(status: number, error: ProviderError): object;
  /** What tells of an error inside the stream of `said`, from `place` on; without a shape in the dialect's own. */
  errorEvents(
    shape: ErrorEventShape | undefined,
    error: ProviderError,
    stream: { said: Said; place: number },
  ): VoiceEvent[];
  /** The end marker alone, as some providers send it even after an error. */
  endMarker(): VoiceEvent;
}

const answerTextDefault = 'The gate opens and the water runs down to the turbine.';

/** A text of exactly sixty words, one token each. */
export const sixtyWords = Array.from({ length: 60 }, (_, index) => `word${index + 1}`).join(' ');

/** Fills every default of an answer from the request it answers. `number` makes the id unique, `nowMs` the date. */
export function fillAnswer(
  answer: Answer,
  request: RequestJson,
  voice: Voice,
  call: { number: number; nowMs: number },
): Said {
  const choices =
    answer.choices?.map(fillChoice) ??
    Array.from({ length: voice.choiceCount(request) }, () => fillChoice(answer));
  const reasoningTokens = sum(choices.map((choice) => choice.reasoning.length));
  const outputTokens = sum(choices.map(countTokens));
  const isUsageLeftOut = answer.usageChunk === 'never' || answer.omit?.includes('usage') === true;
  const isUsageWanted = answer.usageChunk === 'always' || voice.isUsageAsked(request);
  return {
    id: answer.id ?? `wall-${call.number}`,
    model: answer.model ?? (typeof request.model === 'string' ? request.model : 'wall-model'),
    created: Math.floor(call.nowMs / 1000),
    choices,
    usage: {
      inputTokens: voice.inputTokens(request),
      cachedTokens: 0,
      cacheWriteTokens: 0,
      outputTokens,
      reasoningTokens,
      ...answer.usage,
    },
    usageChunk: answer.usageChunk === 'twice' ? 'twice' : !isUsageLeftOut && isUsageWanted ? 'once' : 'never',
  };
}

function fillChoice(choice: Choice): SaidChoice {
  const toolCalls = (choice.toolCalls ?? []).map((call, index) => ({ id: `call_${index + 1}`, ...call }));
  const textDefault = toolCalls.length > 0 ? '' : answerTextDefault;
  return {
    tokens: choice.tokens ?? cutIntoTokens(choice.text ?? textDefault),
    reasoning: cutIntoTokens(choice.reasoning ?? ''),
    toolCalls,
    finishReason: choice.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
  };
}

/** For dialects whose answers have one choice. */
export function onlyChoice({ choices }: Said): SaidChoice {
  const [choice, ...more] = choices;
  if (choice === undefined || more.length > 0) {
    throw new RangeError(`An answer of this dialect has one choice, not ${choices.length}`);
  }
  return choice;
}

function cutIntoTokens(text: string): string[] {
  return text === '' ? [] : text.split(/(?<= )/);
}

function countTokens(choice: SaidChoice): number {
  const toolTokens = choice.toolCalls.map((call) => 1 + cutArguments(call.arguments).length);
  return choice.tokens.length + choice.reasoning.length + sum(toolTokens);
}

/** The pieces in which tool arguments are streamed. */
export function cutArguments(text: string): string[] {
  return text.match(/[\s\S]{1,8}/gu) ?? [];
}

/** Words of every string below a value: the wall's count of a prompt. */
export function countWords(value: unknown): number {
  if (typeof value === 'string') return value.split(/\s+/).filter((word) => word !== '').length;
  if (typeof value !== 'object' || value === null) return 0;
  return sum(Object.values(value).map(countWords));
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
