// How is the answer to be made? Everything of a request but its input and tools. A member with its default value demands no feature.

import { asRecord, isRecord } from '../../json/record.ts';
import type { Conversation, OutputFormat, Reasoning, Sampling } from '../conversation.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import { type NoteAsk, readFlag, readOptionalText, readText } from '../request/read-values.ts';

/** A member of the request; undefined if it is absent or null. */
export type ReadMember = (name: string) => unknown;

type Settings = Pick<
  Conversation,
  | 'sampling'
  | 'maxOutputTokens'
  | 'logprobs'
  | 'output'
  | 'verbosity'
  | 'reasoning'
  | 'endUser'
  | 'promptCacheKey'
  | 'serviceTier'
  | 'store'
  | 'metadata'
>;

/** @throws {GatewayError} `invalid_parameter`. */
export function decodeSettings(read: ReadMember, ask: NoteAsk): Settings {
  const text = asRecord(read('text')) ?? {};
  const limit = read('max_output_tokens');
  if (limit !== undefined) ask('max-tokens', 'max_output_tokens');
  const reasoning = decodeReasoning(read, ask);
  const logprobs = decodeInclude(read, ask);
  const verbosity = readOptionalText(text.verbosity, 'text.verbosity');
  if (verbosity !== undefined && verbosity !== 'medium') ask('verbosity', 'text.verbosity');
  return {
    sampling: decodeSampling(read, ask),
    ...(limit === undefined ? {} : { maxOutputTokens: Number(limit) }),
    ...(logprobs ? { logprobs } : {}),
    output: decodeFormat(text.format, ask),
    ...(verbosity === undefined ? {} : { verbosity }),
    ...(reasoning ? { reasoning } : {}),
    ...decodeCaller(read, ask),
  };
}

function decodeSampling(read: ReadMember, ask: NoteAsk): Sampling {
  const temperature = read('temperature');
  const topP = read('top_p');
  const isHeated = temperature !== undefined && temperature !== 1;
  const isNarrowed = topP !== undefined && topP !== 1;
  if (isHeated) {
    ask('temperature', 'temperature');
    if (Number(temperature) > 1) ask('temperature-above-1', 'temperature');
  }
  if (isNarrowed) {
    ask('top-p', 'top_p');
    if (temperature !== undefined) ask('top-p-beside-temperature', 'top_p');
  }
  return {
    ...(temperature === undefined ? {} : { temperature: Number(temperature) }),
    ...(topP === undefined ? {} : { topP: Number(topP) }),
  };
}

function decodeReasoning(read: ReadMember, ask: NoteAsk): Reasoning | undefined {
  const { effort: tier, summary, generate_summary: old, context, mode } = asRecord(read('reasoning')) ?? {};
  const effort = readOptionalText(tier, 'reasoning.effort');
  const shown =
    readOptionalText(summary, 'reasoning.summary') ?? readOptionalText(old, 'reasoning.generate_summary');
  if (typeof context === 'string' && context !== 'auto') ask('vendor-member', 'reasoning.context');
  if (typeof mode === 'string' && mode !== 'standard') ask('vendor-member', 'reasoning.mode');
  if (effort === 'none') return { mode: 'off' };
  const wish = {
    ...(effort === undefined ? {} : { effort }),
    ...(shown === undefined ? {} : { summary: shown }),
  };
  if (Object.keys(wish).length === 0) return undefined;
  ask('reasoning', 'reasoning');
  if (wish.summary !== undefined) {
    ask(
      'reasoning-summary',
      typeof summary === 'string' ? 'reasoning.summary' : 'reasoning.generate_summary',
    );
  }
  return { mode: 'adaptive', ...wish };
}

function decodeFormat(value: unknown, ask: NoteAsk): OutputFormat {
  const format = asRecord(value);
  if (!format || format.type === 'text') return { type: 'text' };
  if (format.type === 'json_object') {
    ask('json-object', 'text.format');
    return { type: 'json-object' };
  }
  if (format.type !== 'json_schema') {
    return invalidParameter('text.format.type', 'must be text, json_object or json_schema');
  }
  const { schema, strict } = format;
  const description = readOptionalText(format.description, 'text.format.description');
  const isStrict = readFlag(strict, 'text.format.strict');
  if (!isRecord(schema)) invalidParameter('text.format.schema', 'is required and must be an object');
  ask('json-schema', 'text.format');
  return {
    type: 'json-schema',
    name: readText(format.name, 'text.format.name'),
    ...(description === undefined ? {} : { description }),
    schema,
    ...(typeof strict === 'boolean' ? { isStrict } : {}),
  };
}

/** What it asks for besides log probabilities: reasoning state always comes, the rest is of hosted tools. */
function decodeInclude(read: ReadMember, ask: NoteAsk): Conversation['logprobs'] {
  const include = read('include');
  const names: readonly unknown[] = Array.isArray(include) ? include : [];
  const known = ['reasoning.encrypted_content', 'message.output_text.logprobs'];
  if (names.some((name) => !known.includes(String(name)))) ask('include', 'include');
  if (!names.includes('message.output_text.logprobs')) return undefined;
  const top = Number(read('top_logprobs') ?? 0);
  ask('logprobs', 'include');
  if (top > 5) ask('many-logprobs', 'top_logprobs');
  return { top };
}

function decodeCaller(
  read: ReadMember,
  ask: NoteAsk,
): Pick<Conversation, 'endUser' | 'promptCacheKey' | 'serviceTier' | 'store' | 'metadata'> {
  const userName = read('safety_identifier') === undefined ? 'user' : 'safety_identifier';
  const endUser = read(userName);
  const promptCacheKey = read('prompt_cache_key');
  const serviceTier = read('service_tier');
  const metadata = asRecord(read('metadata')) ?? {};
  const isTierWanted = typeof serviceTier === 'string' && serviceTier !== 'auto';
  // True is the default of this dialect, but a caller relies on it only if it is set.
  const isStored = read('store') === true;
  if (endUser !== undefined) ask('end-user', userName);
  if (promptCacheKey !== undefined) ask('prompt-cache-key', 'prompt_cache_key');
  if (isTierWanted) ask('service-tier', 'service_tier');
  if (isStored) ask('store', 'store');
  if (Object.keys(metadata).length > 0) ask('metadata', 'metadata');
  return {
    ...(endUser === undefined ? {} : { endUser: String(endUser) }),
    ...(promptCacheKey === undefined ? {} : { promptCacheKey: String(promptCacheKey) }),
    ...(isTierWanted ? { serviceTier } : {}),
    ...(isStored ? { store: true } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
  };
}
