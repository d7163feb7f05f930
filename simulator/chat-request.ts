// What does a body of POST /v1/chat/completions ask for? As strict as OpenAI is, so that a bad translation is seen.
// (OpenAI API reference, "Chat completions".)

import type { Bag, Path } from './checks.ts';
import {
  BadRequest,
  bag,
  boolean,
  filledString,
  integer,
  isAbsent,
  isBag,
  list,
  matching,
  number,
  oneOf,
  onlyKnown,
  stopList,
  string,
} from './checks.ts';
import type { ReadContext } from './dialect.ts';
import { readIncludeUsage } from './include-usage.ts';
import { isMistral, mayFollowAtMistral } from './model-quirks.ts';
import type { OutputForm, Prompt, Tool, ToolChoice } from './prompt.ts';
import { reasoningTokensOf } from './reasoning-effort.ts';
import { countTokens } from './tokens.ts';

/** Inputs of the encoder besides the prompt. */
export type ChatSettings = {
  isLegacy: boolean;
  hasLogprobs: boolean;
  includesUsage: boolean;
  hasUsage: boolean;
  serviceTier: string | undefined;
};

type ChatRequest = { prompt: Prompt; isStream: boolean; settings: ChatSettings };

/** Throws BadRequest. */
export function readChatRequest(body: Bag, context: ReadContext): ChatRequest {
  if (context.directives.isStrict) onlyKnown(body, knownMembers);
  filledString(body.model, ['model']);
  const messages = list(body.messages, ['messages'], { min: 1 }).map((message, at) =>
    bag(message, ['messages', at]),
  );
  if (isMistral(context.model)) checkMistralOrder(messages);
  const conversation = readMessages(messages);
  const isStream = boolean(body.stream, ['stream']) ?? false;
  const isLegacy = isAbsent(body.tools) && !isAbsent(body.functions);
  const tools = isLegacy ? readFunctions(body.functions) : readTools(body.tools);
  const choice = isLegacy
    ? { choice: readFunctionCall(body.function_call, tools), tools }
    : readToolChoice(body.tool_choice, tools);
  const isParallel = boolean(body.parallel_tool_calls, ['parallel_tool_calls']);
  if (isParallel !== undefined && tools.length === 0) throw onlyWithTools('parallel_tool_calls');
  checkSampling(body);
  const hasLogprobs = boolean(body.logprobs, ['logprobs']) ?? false;
  if (integer(body.top_logprobs, ['top_logprobs'], { min: 0, max: 20 }) !== undefined && !hasLogprobs) {
    throw new BadRequest(['top_logprobs'], "Only allowed when 'logprobs' is true");
  }
  const tokensMax = readTokensMax(body);
  const prompt: Prompt = {
    model: context.model,
    seed: `${context.model} ${JSON.stringify(messages)}`,
    lastUserText: conversation.lastUserText,
    ...(conversation.toolResult === undefined ? {} : { toolResult: conversation.toolResult }),
    calledTools: conversation.calledTools,
    tools: choice.tools,
    toolChoice: choice.choice,
    isParallel: !isLegacy && (isParallel ?? true),
    output: readResponseFormat(body.response_format),
    reasoningTokens: isAbsent(body.reasoning_effort)
      ? 0
      : reasoningTokensOf(string(body.reasoning_effort, ['reasoning_effort'])),
    ...(tokensMax === undefined ? {} : { tokensMax }),
    sendsHalfCalls: true,
    stops: stopList(body.stop, ['stop']),
    samples: integer(body.n, ['n'], { min: 1, max: 128 }) ?? 1,
    inputTokens:
      conversation.tokens +
      (tools.length === 0 ? 0 : countTokens(JSON.stringify(body.tools ?? body.functions))),
  };
  const settings: ChatSettings = {
    isLegacy,
    hasLogprobs,
    includesUsage: readIncludeUsage(body.stream_options, isStream),
    hasUsage: !context.directives.hasNoUsage,
    serviceTier: isAbsent(body.service_tier) ? undefined : string(body.service_tier, ['service_tier']),
  };
  return { prompt, isStream, settings };
}

type Conversation = { lastUserText: string; toolResult?: string; calledTools: Set<string>; tokens: number };

// Four tokens a message for its role and frame, beside its text.
const messageTokens = 4;
const imageTokens = 100;

function readMessages(messages: Bag[]): Conversation {
  const conversation: Conversation = { lastUserText: '', calledTools: new Set(), tokens: 0 };
  let openCalls = new Set<string>();
  let callsAt = 0;
  for (const [at, message] of messages.entries()) {
    const path: Path = ['messages', at];
    const role = oneOf(message.role, [...path, 'role'], roles);
    if (role !== 'tool' && openCalls.size > 0) throw unanswered(callsAt, openCalls);
    const content = readContent(message, role, [...path, 'content']);
    conversation.tokens += messageTokens + content.tokens;
    if (role === 'user') conversation.lastUserText = content.text;
    if (role === 'assistant') {
      openCalls = readCalls(message.tool_calls, [...path, 'tool_calls'], conversation);
      callsAt = at;
    }
    if (role === 'tool') {
      const id = string(message.tool_call_id, [...path, 'tool_call_id']);
      if (!openCalls.delete(id)) throw unasked(at);
      conversation.toolResult = content.text;
    }
    if (role === 'function') {
      string(message.name, [...path, 'name']);
      conversation.toolResult = content.text;
    }
  }
  if (openCalls.size > 0) throw unanswered(callsAt, openCalls);
  return conversation;
}

const roles = ['developer', 'system', 'user', 'assistant', 'tool', 'function'] as const;

function checkMistralOrder(messages: Bag[]): void {
  let before: string | undefined;
  for (const { role } of messages) {
    const now = String(role);
    if (before !== undefined && !mayFollowAtMistral(now, before)) {
      throw wrongOrder(`Unexpected role '${now}' after role '${before}'`);
    }
    before = now;
  }
  if (before !== 'user' && before !== 'tool') {
    throw wrongOrder(
      `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${before}`,
    );
  }
}

function wrongOrder(fact: string): BadRequest {
  return new BadRequest([], fact, '3230', { type: 'invalid_request_message_order' });
}

function unanswered(at: number, ids: Set<string>): BadRequest {
  return new BadRequest(
    ['messages', at, 'role'],
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`,
    'invalid_value',
    { isWhole: true },
  );
}

function unasked(at: number): BadRequest {
  return new BadRequest(
    ['messages', at, 'role'],
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    'invalid_value',
    { isWhole: true },
  );
}

function readContent(
  message: Bag,
  role: (typeof roles)[number],
  path: Path,
): { text: string; tokens: number } {
  const { content } = message;
  if (typeof content === 'string') return { text: content, tokens: countTokens(content) };
  if (isAbsent(content)) {
    const hasCalls = !isAbsent(message.tool_calls) || !isAbsent(message.function_call);
    const mayBeEmpty =
      role === 'function' || (role === 'assistant' && (hasCalls || !isAbsent(message.refusal)));
    if (mayBeEmpty) return { text: '', tokens: 0 };
    throw new BadRequest(path, 'expected a string or an array of parts, got null', 'invalid_type');
  }
  const texts: string[] = [];
  let tokens = 0;
  for (const [at, item] of list(content, path, { min: 1 }).entries()) {
    const part = bag(item, [...path, at]);
    const text = readPart(part, partTypes[role], [...path, at]);
    if (text === undefined) tokens += imageTokens;
    else {
      texts.push(text);
      tokens += countTokens(text);
    }
  }
  return { text: texts.join('\n'), tokens };
}

const partTypes = {
  developer: ['text'],
  system: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
  function: ['text'],
} as const satisfies Record<(typeof roles)[number], readonly string[]>;

function readPart(part: Bag, types: readonly string[], path: Path): string | undefined {
  const type = oneOf(part.type, [...path, 'type'], types);
  if (type === 'text') return string(part.text, [...path, 'text']);
  if (type === 'refusal') return string(part.refusal, [...path, 'refusal']);
  if (type === 'image_url') {
    const image = bag(part.image_url, [...path, 'image_url']);
    matching(image.url, [...path, 'image_url', 'url'], /^(https?:\/\/|data:image\/[a-z+]+;base64,)/);
    if (!isAbsent(image.detail))
      oneOf(image.detail, [...path, 'image_url', 'detail'], ['auto', 'low', 'high', 'original']);
  } else if (type === 'input_audio') {
    const audio = bag(part.input_audio, [...path, 'input_audio']);
    string(audio.data, [...path, 'input_audio', 'data']);
    oneOf(audio.format, [...path, 'input_audio', 'format'], ['wav', 'mp3']);
  } else {
    const file = bag(part.file, [...path, 'file']);
    if (isAbsent(file.file_data) && isAbsent(file.file_id))
      throw new BadRequest([...path, 'file'], 'Needs file_data or file_id');
  }
  return undefined;
}

function readCalls(value: unknown, path: Path, conversation: Conversation): Set<string> {
  const ids = new Set<string>();
  if (isAbsent(value)) return ids;
  for (const [at, item] of list(value, path, { min: 1 }).entries()) {
    const call = bag(item, [...path, at]);
    ids.add(matching(call.id, [...path, at, 'id'], callIdPattern));
    const type = oneOf(call.type, [...path, at, 'type'], ['function', 'custom']);
    const target = bag(call[type], [...path, at, type]);
    const name = filledString(target.name, [...path, at, type, 'name']);
    const argument = type === 'function' ? 'arguments' : 'input';
    conversation.calledTools.add(name);
    conversation.tokens +=
      countTokens(name) + countTokens(string(target[argument], [...path, at, type, argument]));
  }
  return ids;
}

// OpenAI refuses longer call ids, its own and those of others.
const callIdPattern = /^.{1,40}$/;

const toolNamePattern = /^[a-zA-Z0-9_-]{1,64}$/;

function readTools(value: unknown): Tool[] {
  if (isAbsent(value)) return [];
  return list(value, ['tools'], { min: 1, max: 128 }).map((item, at) => {
    const path: Path = ['tools', at];
    const tool = bag(item, path);
    const kind = oneOf(tool.type, [...path, 'type'], ['function', 'custom']);
    const inner = bag(tool[kind], [...path, kind]);
    const name = matching(inner.name, [...path, kind, 'name'], toolNamePattern);
    if (kind === 'custom') return { kind, name, ...grammarPattern(inner.format) };
    return { kind, name, ...readParameters(inner.parameters, [...path, 'function', 'parameters']) };
  });
}

function readParameters(value: unknown, path: Path): { schema?: unknown } {
  if (isAbsent(value)) return {};
  const schema = bag(value, path);
  if (Object.keys(schema).length > 0 && schema.type !== 'object') {
    throw new BadRequest(
      path,
      'schema must be a JSON Schema of \'type: "object"\'',
      'invalid_function_parameters',
    );
  }
  return { schema };
}

function grammarPattern(format: unknown): { pattern?: string } {
  if (!isBag(format) || format.type !== 'grammar') return {};
  const grammar = bag(format.grammar, ['tools', 'custom', 'format', 'grammar']);
  return grammar.syntax === 'regex' && typeof grammar.definition === 'string'
    ? { pattern: grammar.definition }
    : {};
}

function readToolChoice(value: unknown, tools: Tool[]): { choice: ToolChoice; tools: Tool[] } {
  if (isAbsent(value)) return { choice: { kind: tools.length > 0 ? 'auto' : 'none' }, tools };
  if (value === 'none' && tools.length === 0) return { choice: { kind: 'none' }, tools };
  if (tools.length === 0) throw onlyWithTools('tool_choice');
  if (typeof value === 'string')
    return { choice: { kind: oneOf(value, ['tool_choice'], ['none', 'auto', 'required']) }, tools };
  const choice = bag(value, ['tool_choice']);
  const type = oneOf(choice.type, ['tool_choice', 'type'], ['function', 'custom', 'allowed_tools']);
  const inner = bag(choice[type], ['tool_choice', type]);
  if (type !== 'allowed_tools') {
    return {
      choice: { kind: 'one', name: knownTool(inner.name, tools, ['tool_choice', type, 'name']) },
      tools,
    };
  }
  const mode = oneOf(inner.mode, ['tool_choice', type, 'mode'], ['auto', 'required']);
  const names = list(inner.tools, ['tool_choice', type, 'tools']).map((item, at) => {
    const tool = bag(item, ['tool_choice', type, 'tools', at]);
    const target = tool.type === 'custom' ? tool.custom : tool.function;
    return knownTool(isBag(target) ? target.name : undefined, tools, ['tool_choice', type, 'tools', at]);
  });
  return { choice: { kind: mode }, tools: tools.filter((tool) => names.includes(tool.name)) };
}

function knownTool(name: unknown, tools: Tool[], path: Path): string {
  const text = string(name, path);
  if (!tools.some((tool) => tool.name === text))
    throw new BadRequest(path, `Tool choice '${text}' not found in 'tools' parameter`);
  return text;
}

function onlyWithTools(name: string): BadRequest {
  return new BadRequest([name], `'${name}' is only allowed when 'tools' are specified.`, 'invalid_value', {
    isWhole: true,
  });
}

function readFunctions(value: unknown): Tool[] {
  return list(value, ['functions'], { min: 1, max: 128 }).map((item, at) => {
    const inner = bag(item, ['functions', at]);
    const name = matching(inner.name, ['functions', at, 'name'], toolNamePattern);
    return { kind: 'function', name, ...readParameters(inner.parameters, ['functions', at, 'parameters']) };
  });
}

function readFunctionCall(value: unknown, tools: Tool[]): ToolChoice {
  if (isAbsent(value)) return { kind: 'auto' };
  if (typeof value === 'string') return { kind: oneOf(value, ['function_call'], ['none', 'auto']) };
  const choice = bag(value, ['function_call']);
  return { kind: 'one', name: knownTool(choice.name, tools, ['function_call', 'name']) };
}

function checkSampling(body: Bag): void {
  number(body.temperature, ['temperature'], { min: 0, max: 2 });
  number(body.top_p, ['top_p'], { min: 0, max: 1 });
  number(body.presence_penalty, ['presence_penalty'], { min: -2, max: 2 });
  number(body.frequency_penalty, ['frequency_penalty'], { min: -2, max: 2 });
  integer(body.seed, ['seed']);
  if (!isAbsent(body.logit_bias)) {
    for (const [token, bias] of Object.entries(bag(body.logit_bias, ['logit_bias']))) {
      number(bias, ['logit_bias', token], { min: -100, max: 100 });
    }
  }
  if (!isAbsent(body.metadata)) {
    for (const [name, value] of Object.entries(bag(body.metadata, ['metadata'])))
      string(value, ['metadata', name]);
  }
}

function readTokensMax(body: Bag): number | undefined {
  const old = integer(body.max_tokens, ['max_tokens'], { min: 1 });
  const current = integer(body.max_completion_tokens, ['max_completion_tokens'], { min: 1 });
  if (old !== undefined && current !== undefined) {
    throw new BadRequest(
      ['max_tokens'],
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
      'invalid_parameter_combination',
      { isWhole: true },
    );
  }
  return current ?? old;
}

function readResponseFormat(value: unknown): OutputForm {
  if (isAbsent(value)) return { kind: 'text' };
  const format = bag(value, ['response_format']);
  const type = oneOf(format.type, ['response_format', 'type'], ['text', 'json_object', 'json_schema']);
  if (type === 'text') return { kind: 'text' };
  if (type === 'json_object') return { kind: 'json-object' };
  const path: Path = ['response_format', 'json_schema'];
  const inner = bag(format.json_schema, path);
  matching(inner.name, [...path, 'name'], toolNamePattern);
  boolean(inner.strict, [...path, 'strict']);
  return { kind: 'json-schema', schema: bag(inner.schema, [...path, 'schema']) };
}

const knownMembers: ReadonlySet<string> = new Set(
  `model messages stream stream_options max_completion_tokens max_tokens temperature top_p n stop presence_penalty
   frequency_penalty logit_bias logprobs top_logprobs seed tools tool_choice parallel_tool_calls functions function_call
   response_format reasoning_effort verbosity modalities audio prediction web_search_options service_tier store metadata
   user safety_identifier prompt_cache_key prompt_cache_options prompt_cache_retention moderation`.split(
    /\s+/,
  ),
);
