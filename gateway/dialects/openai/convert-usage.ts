// How do the OpenAI text dialects count tokens? The usage object of chat completions and
// completions, to and from our own counts.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { believeCount } from '../answer/believe-count.ts';

/**
 * Reads a usage object leniently; undefined if it holds no counts. Prompt tokens include cached
 * ones, completion tokens include reasoning ones; where a provider leaves reasoning out of the
 * completion tokens, the total still has it. Without a total, more reasoning than completion says so.
 */
export function readOpenAiUsage(value: unknown): Usage | undefined {
  const usage = asRecord(value);
  const prompt = count(usage?.prompt_tokens);
  const completion = count(usage?.completion_tokens);
  if (!usage || (prompt === undefined && completion === undefined)) return undefined;
  // With one absurd count, the other is dropped too: half a bill would look like a whole one.
  if (isAbsurd(usage.prompt_tokens, prompt) || isAbsurd(usage.completion_tokens, completion))
    return undefined;
  const total = count(usage.total_tokens);
  // A prompt alone is half a bill.
  if (completion === undefined && total === undefined) return undefined;
  const input = prompt ?? Math.max(0, (total ?? 0) - (completion ?? 0));
  const promptDetails = asRecord(usage.prompt_tokens_details);
  const completionDetails = asRecord(usage.completion_tokens_details);
  const reasoning = count(completionDetails?.reasoning_tokens);
  const isBeside = total === undefined && completion !== undefined && (reasoning ?? 0) > completion;
  const generated = (completion ?? 0) + (isBeside ? (reasoning ?? 0) : 0);
  const output = Math.max(generated, (total ?? 0) - input);
  const cachedInput = Math.min(firstCount(usage, cacheReads), input);
  const cacheWrite = Math.min(firstCount(usage, cacheWrites), input - cachedInput);
  const cacheWriteHour = Math.min(firstCount(usage, cacheWritesForAnHour), cacheWrite);
  const audioInput = Math.min(count(promptDetails?.audio_tokens) ?? 0, input);
  const audioOutput = Math.min(count(completionDetails?.audio_tokens) ?? 0, output);
  const read: Usage = {
    input,
    cachedInput,
    cacheWrite,
    output,
    reasoning: Math.min(reasoning ?? output - (completion ?? output), output),
  };
  if (cacheWriteHour > 0) read.cacheWriteHour = cacheWriteHour;
  if (audioInput > 0) read.audioInput = audioInput;
  if (audioOutput > 0) read.audioOutput = audioOutput;
  return read;
}

/** Members on the way to a count, from the usage object down. */
type Path = readonly string[];

const details = 'prompt_tokens_details';

/** Of Alibaba, in the responses dialect: one entry, with the details that its own object lacks (its page on session caches, May 2026). */
const entry = ['x_details', '0', details];

/** Tokens of the prompt that came from a cache, by the names that vendors give them. */
const cacheReads: readonly Path[] = [
  // OpenAI, and most others.
  [details, 'cached_tokens'],
  // DeepSeek (api-docs.deepseek.com, context caching).
  ['prompt_cache_hit_tokens'],
  // Moonshot.
  ['cached_tokens'],
  // Databricks, and LiteLLM beside the details (databricks/databricks-ai-bridge#446, langchain-ai/langchain#40668).
  ['cache_read_input_tokens'],
  [...entry, 'cached_tokens'],
];

/** Tokens of the prompt that were written to a cache. */
const cacheWrites: readonly Path[] = [
  // OpenAI from GPT-5.6 on, and OpenRouter.
  [details, 'cache_write_tokens'],
  // LiteLLM, which repeats the count beside the details (langchain-ai/langchainjs#11194).
  [details, 'cache_creation_tokens'],
  // Alibaba (alibabacloud.com, Model Studio, context cache).
  [details, 'cache_creation_input_tokens'],
  // new-api and its relatives.
  [details, 'cached_creation_tokens'],
  // Databricks.
  ['cache_creation_input_tokens'],
  [...entry, 'cache_creation_input_tokens'],
];

/** Of those, the ones that are kept for an hour: they cost more. */
const cacheWritesForAnHour: readonly Path[] = [
  // Alibaba, for Qwen4 (help.aliyun.com, explicit cache).
  [details, 'cache_creation', 'ephemeral_1h_input_tokens'],
  // LiteLLM.
  [details, 'cache_creation_token_details', 'ephemeral_1h_input_tokens'],
  // Anthropic's own form, beside the details.
  ['cache_creation', 'ephemeral_1h_input_tokens'],
  // new-api.
  ['claude_cache_creation_1_h_tokens'],
];

/** The first count above zero: a count under a second name is the same count again, never another one. */
function firstCount(usage: JsonRecord, paths: readonly Path[]): number {
  for (const path of paths) {
    let value: unknown = usage;
    for (const name of path) value = memberOf(value, name);
    const found = value === undefined ? undefined : count(value);
    if (found) return found;
  }
  return 0;
}

function memberOf(value: unknown, name: string): unknown {
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value.at(Number(name)) : asRecord(value)?.[name];
}

/** Whether each count of tokens in it is one: vendors' prices and times beside them may be anything. */
export function hasSoundCounts(usage: JsonRecord, depth = 0): boolean {
  for (const name in usage) {
    const value = usage[name];
    if (isRecord(value)) {
      if (depth < 2 && !hasSoundCounts(value, depth + 1)) return false;
    } else if (value !== null && !isWhole(value) && name.endsWith('_tokens')) return false;
  }
  return true;
}

function isWhole(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** The raw usage of a chunk: Moonshot sends it with the choice that ends. */
export function usageIn({ usage, choices }: JsonRecord): unknown {
  if (asRecord(usage) || !Array.isArray(choices)) return usage;
  for (const choice of choices) {
    const own = asRecord(choice)?.usage;
    if (isRecord(own)) return own;
  }
  return usage;
}

function isAbsurd(reported: unknown, believed: number | undefined): boolean {
  return reported !== undefined && reported !== null && believed === undefined;
}

/** Left out without audio tokens: few answers have sound. */
function audioOf({ audioInput = 0, audioOutput = 0 }: Pick<Usage, 'audioInput' | 'audioOutput'>) {
  return { ...(audioInput > 0 ? { audioInput } : {}), ...(audioOutput > 0 ? { audioOutput } : {}) };
}

/** The three counts every client knows, and the details only if there are any. */
export function encodeOpenAiUsage(usage: Usage): Record<string, unknown> {
  const { cachedInput, cacheWrite, reasoning, audioInput = 0, audioOutput = 0 } = usage;
  const promptDetails = {
    ...(cachedInput + cacheWrite > 0 ? { cached_tokens: cachedInput, cache_write_tokens: cacheWrite } : {}),
    ...(audioInput > 0 ? { audio_tokens: audioInput } : {}),
  };
  const completionDetails = {
    ...(reasoning > 0 ? { reasoning_tokens: reasoning } : {}),
    ...(audioOutput > 0 ? { audio_tokens: audioOutput } : {}),
  };
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    ...(Object.keys(promptDetails).length > 0 ? { prompt_tokens_details: promptDetails } : {}),
    ...(Object.keys(completionDetails).length > 0 ? { completion_tokens_details: completionDetails } : {}),
  };
}

/** Some send the counts so far with each event. A count of output never falls. */
export function laterUsage(known: Usage | undefined, later: Usage): Usage {
  return known === undefined || later.output >= known.output ? later : known;
}

/** As `laterUsage`, of usage objects that are not read yet; what holds no counts is not later than what does. */
export function laterReported(known: unknown, later: unknown): unknown {
  const before = readOpenAiUsage(known);
  const after = readOpenAiUsage(later);
  const isKept = before !== undefined && (after === undefined || laterUsage(before, after) === before);
  return isKept ? known : later;
}

/** The sum over several upstream calls of one request. */
export function addUsage(a: Usage, b: Usage): Usage {
  const hour = (a.cacheWriteHour ?? 0) + (b.cacheWriteHour ?? 0);
  return {
    input: a.input + b.input,
    cachedInput: a.cachedInput + b.cachedInput,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    ...(hour > 0 ? { cacheWriteHour: hour } : {}),
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    ...audioOf({
      audioInput: (a.audioInput ?? 0) + (b.audioInput ?? 0),
      audioOutput: (a.audioOutput ?? 0) + (b.audioOutput ?? 0),
    }),
  };
}

/** Perhaps in quotes. */
function count(value: unknown): number | undefined {
  return believeCount(typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value);
}
