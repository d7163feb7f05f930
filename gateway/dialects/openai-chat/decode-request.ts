// A chat completion request in our own form: one conversation, all it asks for, and the way back.

import { isRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import type { Ask, Conversation, OutputFormat } from '../conversation.ts';
import type { Translation } from '../dialect.ts';
import { decodeOpenAiSampling } from '../openai/sampling.ts';
import { invalidParameter, type ParameterValues } from '../request/parameter-rules.ts';
import {
  type NoteAsk,
  readFlag,
  readList,
  readMember,
  readName,
  readOptionalText,
  readRecord,
  readWhole,
} from '../request/read-values.ts';
import { decodeEffort } from './decode-effort.ts';
import { decodeMessages } from './decode-messages.ts';
import { decodeTools, type ToolMembers, usesFunctions } from './decode-tools.ts';
import { encodeChatAnswer } from './encode-answer.ts';
import { encodeChatStream } from './encode-stream.ts';
import { checkMessages, isChatParameter, readChat } from './read-request.ts';

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function translateChat(body: RequestBody): Translation {
  const { facts, values } = readChat(body);
  const members: ToolMembers = {
    tools: readWhole(body, 'tools'),
    toolChoice: readMember(body, 'tool_choice'),
    parallel: values.get('parallel_tool_calls'),
    functions: readWhole(body, 'functions'),
    functionCall: readMember(body, 'function_call'),
  };
  const shape = { wantsUsage: facts.wantsUsage, usesFunctions: usesFunctions(members) };
  return {
    conversations: [decodeConversation(body, values, members, facts.choices)],
    encodeAnswer: (answers, head) => encodeChatAnswer(answers, head, shape),
    streamEncoder: (head) => encodeChatStream(head, shape),
  };
}

function decodeConversation(
  body: RequestBody,
  values: ParameterValues,
  members: ToolMembers,
  choices: number,
): Conversation {
  const asks: Ask[] = [];
  const note: NoteAsk = (feature, param) => asks.push({ feature, param });
  const reasoning = decodeEffort(
    {
      effort: textOf(values, 'reasoning_effort'),
      reasoning: readMember(body, 'reasoning'),
      thinking: readMember(body, 'thinking'),
    },
    note,
  );
  const tools = decodeTools(members, note);
  const messages = readList(readMember(body, 'messages'), 'messages');
  checkMessages(messages);
  if (choices > 1) note('choices', 'n');
  noteUncarried(body, values, note);
  return {
    asks,
    ...decodeMessages(messages, note),
    ...tools,
    sampling: decodeOpenAiSampling(values, readMember(body, 'logit_bias'), note),
    ...decodeLimit(values, note),
    choices,
    ...decodeLogprobs(values, note),
    output: decodeFormat(readWhole(body, 'response_format'), note),
    ...(reasoning ? { reasoning } : {}),
    ...decodeRest(body, values, note),
  };
}

/** The newer name counts where both are given. */
function decodeLimit(values: ParameterValues, note: NoteAsk): Pick<Conversation, 'maxOutputTokens'> {
  for (const name of ['max_completion_tokens', 'max_tokens']) {
    const limit = values.get(name);
    if (typeof limit !== 'number') continue;
    note('max-tokens', name);
    return { maxOutputTokens: limit };
  }
  return {};
}

function decodeLogprobs(values: ParameterValues, note: NoteAsk): Pick<Conversation, 'logprobs'> {
  if (values.get('logprobs') !== true) return {};
  const top = Number(values.get('top_logprobs') ?? 0);
  note('logprobs', 'logprobs');
  if (top > 5) note('many-logprobs', 'top_logprobs');
  return { logprobs: { top } };
}

function decodeFormat(value: unknown, note: NoteAsk): OutputFormat {
  if (value === undefined) return { type: 'text' };
  const format = readRecord(value, 'response_format');
  const type = readName(format.type, 'response_format.type');
  if (type === 'text') return { type: 'text' };
  if (type === 'json_object') {
    note('json-object', 'response_format');
    return { type: 'json-object' };
  }
  if (type !== 'json_schema') {
    invalidParameter('response_format.type', 'must be one of text, json_object, json_schema');
  }
  note('json-schema', 'response_format');
  const path = 'response_format.json_schema';
  const wanted = readRecord(format.json_schema, path);
  const name = readOptionalText(wanted.name, `${path}.name`);
  const description = readOptionalText(wanted.description, `${path}.description`);
  const isStrict = readFlag(wanted.strict, `${path}.strict`);
  return {
    type: 'json-schema',
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    schema: readRecord(wanted.schema, `${path}.schema`),
    ...(typeof wanted.strict === 'boolean' ? { isStrict } : {}),
  };
}

type Rest = Pick<
  Conversation,
  'verbosity' | 'serviceTier' | 'store' | 'metadata' | 'promptCacheKey' | 'endUser'
>;

function decodeRest(body: RequestBody, values: ParameterValues, note: NoteAsk): Rest {
  const verbosity = textOf(values, 'verbosity');
  if (verbosity !== undefined && verbosity !== 'medium') note('verbosity', 'verbosity');
  const serviceTier = textOf(values, 'service_tier');
  if (serviceTier !== undefined && serviceTier !== 'auto') note('service-tier', 'service_tier');
  const store = values.get('store') === true;
  if (store) note('store', 'store');
  const metadata = readWhole(body, 'metadata');
  const hasMetadata = isRecord(metadata) && Object.keys(metadata).length > 0;
  if (hasMetadata) note('metadata', 'metadata');
  const promptCacheKey = textOf(values, 'prompt_cache_key');
  if (promptCacheKey !== undefined) note('prompt-cache-key', 'prompt_cache_key');
  const userName = values.has('safety_identifier') ? 'safety_identifier' : 'user';
  const endUser = textOf(values, userName);
  if (endUser !== undefined) note('end-user', userName);
  return {
    ...(verbosity === undefined ? {} : { verbosity }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(store ? { store } : {}),
    ...(hasMetadata ? { metadata } : {}),
    ...(promptCacheKey === undefined ? {} : { promptCacheKey }),
    ...(endUser === undefined ? {} : { endUser }),
  };
}

/** What no other dialect has a word for. */
function noteUncarried(body: RequestBody, values: ParameterValues, note: NoteAsk): void {
  const modalities = values.get('modalities');
  if (Array.isArray(modalities) && modalities.includes('audio')) note('audio-out', 'modalities');
  else if (values.has('audio')) note('audio-out', 'audio');
  if (values.has('prediction')) note('prediction', 'prediction');
  if (values.has('web_search_options')) note('hosted-tool', 'web_search_options');
  for (const name of ['prompt_cache_options', 'prompt_cache_retention']) {
    if (values.has(name)) note('cache-hint', name);
  }
  if (values.has('moderation')) note('vendor-member', 'moderation');
  for (const { name } of body.scan.members) {
    const isRead = isChatParameter(name) || name === 'reasoning' || name === 'thinking';
    if (!isRead && readMember(body, name) !== undefined) note('unknown-member', name);
  }
}

function textOf(values: ParameterValues, name: string): string | undefined {
  const value = values.get(name);
  return typeof value === 'string' ? value : undefined;
}
