// What does a body of POST /v1/responses ask for? As strict as OpenAI is, so that a bad translation is seen.
// (OpenAI API reference, "Responses".)

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
  missing,
  number,
  oneOf,
  onlyKnown,
  string,
} from './checks.ts';
import type { ReadContext } from './dialect.ts';
import type { OutputForm, Prompt, Tool, ToolChoice } from './prompt.ts';
import { reasoningTokensOf } from './reasoning-effort.ts';
import { inputItems, readItems } from './responses-items.ts';
import { itemsOfStored } from './stored-responses.ts';
import { countTokens } from './tokens.ts';

export type ResponsesSettings = {
  /** The request's own settings, which the answer repeats. */
  echo: Bag;
  hasSummary: boolean;
  includesEncrypted: boolean;
  includesLogprobs: boolean;
  /** All items, and where the response is kept; absent where it is not to be. */
  keep?: (response: Bag) => void;
  /** Whether the conversation is to be compacted instead of continued. */
  isCompaction: boolean;
  hasUsage: boolean;
};

type ResponsesRequest = { prompt: Prompt; isStream: boolean; settings: ResponsesSettings };

/** Throws BadRequest. */
export function readResponsesRequest(body: Bag, context: ReadContext): ResponsesRequest {
  if (context.directives.isStrict) onlyKnown(body, knownMembers);
  filledString(body.model, ['model']);
  const earlier = readState(body, context);
  const isStream = boolean(body.stream, ['stream']) ?? false;
  const own = inputItems(body.input);
  const items = readItems(own, earlier, context);
  const ownTools = isAbsent(body.tools) ? [] : readTools(list(body.tools, ['tools']), ['tools']);
  const tools = [...ownTools, ...items.tools.flatMap(({ tools: more, path }) => readTools(more, path))];
  const instructions = isAbsent(body.instructions) ? '' : string(body.instructions, ['instructions']);
  const choice = readToolChoice(body.tool_choice, tools);
  const tokensMax = integer(body.max_output_tokens, ['max_output_tokens'], { min: 16 });
  checkSampling(body);
  const reasoning = readReasoning(body.reasoning);
  const include = isAbsent(body.include)
    ? []
    : list(body.include, ['include']).map((name, at) => string(name, ['include', at]));
  const prompt: Prompt = {
    model: context.model,
    seed: `${context.model} ${JSON.stringify(body.input)}`,
    lastUserText: items.lastUserText,
    ...(items.toolResult === undefined ? {} : { toolResult: items.toolResult }),
    calledTools: items.calledTools,
    tools: choice.tools,
    toolChoice: items.isCompaction ? { kind: 'none' } : choice.choice,
    isParallel: boolean(body.parallel_tool_calls, ['parallel_tool_calls']) ?? true,
    output: readTextFormat(body.text),
    reasoningTokens: reasoning.tokens,
    ...(tokensMax === undefined ? {} : { tokensMax }),
    sendsHalfCalls: true,
    stops: [],
    samples: 1,
    inputTokens:
      items.tokens +
      countTokens(instructions) +
      (isAbsent(body.tools) ? 0 : countTokens(JSON.stringify(body.tools))),
  };
  return {
    prompt,
    isStream,
    settings: {
      echo: body,
      ...(body.store === false
        ? {}
        : { keep: (response) => context.stored.keep({ response, input: [...earlier, ...own] }) }),
      hasSummary: reasoning.hasSummary,
      includesEncrypted: include.includes('reasoning.encrypted_content'),
      includesLogprobs: include.includes('message.output_text.logprobs'),
      isCompaction: items.isCompaction,
      hasUsage: !context.directives.hasNoUsage,
    },
  };
}

// Responses are kept; conversations, prompts and work in the background are not. Gives the items before the request's own.
function readState(body: Bag, { stored }: ReadContext): unknown[] {
  if (!isAbsent(body.conversation)) throw new BadRequest(['conversation'], 'there is no stored conversation');
  if (boolean(body.background, ['background'])) throw new BadRequest(['background'], 'is not supported here');
  if (!isAbsent(body.prompt)) throw new BadRequest(['prompt'], 'there is no stored prompt');
  boolean(body.store, ['store']);
  if (isAbsent(body.previous_response_id)) return [];
  const id = string(body.previous_response_id, ['previous_response_id']);
  const previous = stored.find(id);
  if (previous !== undefined) return itemsOfStored(previous);
  throw new BadRequest(
    ['previous_response_id'],
    `Previous response with id '${id}' not found.`,
    'previous_response_not_found',
    { isWhole: true },
  );
}

const namePattern = /^[a-zA-Z0-9_-]{1,128}$/;

const hostedTools =
  /^(web_search|web_search_\d{4}_\d\d_\d\d|web_search_preview(_\d{4}_\d\d_\d\d)?|file_search|code_interpreter|image_generation|mcp|computer|computer_use_preview|local_shell|shell|apply_patch|programmatic_tool_calling|tool_search)$/;

function readTools(items: unknown[], path: Path, namespace?: string): Tool[] {
  return items.flatMap((item, at): Tool[] => {
    const here: Path = [...path, at];
    const tool = bag(item, here);
    const type = string(tool.type, [...here, 'type']);
    const inNamespace = namespace === undefined ? {} : { namespace };
    if (type === 'function') {
      const name = matching(tool.name, [...here, 'name'], namePattern);
      return [
        {
          kind: 'function',
          name,
          ...inNamespace,
          ...readParameters(tool.parameters, [...here, 'parameters']),
        },
      ];
    }
    if (type === 'custom') {
      const name = matching(tool.name, [...here, 'name'], namePattern);
      return [{ kind: 'custom', name, ...inNamespace, ...grammarPattern(tool.format) }];
    }
    if (type === 'namespace' && namespace === undefined) {
      const name = matching(tool.name, [...here, 'name'], namePattern);
      return readTools(list(tool.tools, [...here, 'tools']), [...here, 'tools'], name);
    }
    // Hosted tools are never called: the simulator has no web to search.
    if (hostedTools.test(type)) return [];
    throw new BadRequest([...here, 'type'], `'${type}' is not a tool type`);
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
  if (!isBag(format) || format.type !== 'grammar' || format.syntax !== 'regex') return {};
  return typeof format.definition === 'string' ? { pattern: format.definition } : {};
}

function readToolChoice(value: unknown, tools: Tool[]): { choice: ToolChoice; tools: Tool[] } {
  if (isAbsent(value)) return { choice: { kind: 'auto' }, tools };
  if (typeof value === 'string') {
    const kind = oneOf(value, ['tool_choice'], ['none', 'auto', 'required']);
    // Only functions that are there can be required; hosted tools may satisfy it at the vendor.
    return { choice: { kind }, tools };
  }
  const choice = bag(value, ['tool_choice']);
  const type = string(choice.type, ['tool_choice', 'type']);
  if (type === 'function' || type === 'custom') {
    return { choice: { kind: 'one', name: knownTool(choice.name, tools, ['tool_choice', 'name']) }, tools };
  }
  if (type !== 'allowed_tools') return { choice: { kind: 'auto' }, tools };
  const kind = oneOf(choice.mode, ['tool_choice', 'mode'], ['auto', 'required']);
  const names = list(choice.tools, ['tool_choice', 'tools']).flatMap((item, at) => {
    const tool = bag(item, ['tool_choice', 'tools', at]);
    const isOwn = tool.type === 'function' || tool.type === 'custom';
    return isOwn ? [knownTool(tool.name, tools, ['tool_choice', 'tools', at, 'name'])] : [];
  });
  return { choice: { kind }, tools: tools.filter((tool) => names.includes(tool.name)) };
}

function knownTool(value: unknown, tools: Tool[], path: Path): string {
  const name = string(value, path);
  if (!tools.some((tool) => tool.name === name)) {
    throw new BadRequest(path, `Tool choice '${name}' not found in 'tools' parameter`);
  }
  return name;
}

function checkSampling(body: Bag): void {
  number(body.temperature, ['temperature'], { min: 0, max: 2 });
  number(body.top_p, ['top_p'], { min: 0, max: 1 });
  integer(body.top_logprobs, ['top_logprobs'], { min: 0, max: 20 });
  if (!isAbsent(body.truncation)) oneOf(body.truncation, ['truncation'], ['auto', 'disabled']);
}

function readReasoning(value: unknown): { tokens: number; hasSummary: boolean } {
  if (isAbsent(value)) return { tokens: 0, hasSummary: false };
  const reasoning = bag(value, ['reasoning']);
  const effort = isAbsent(reasoning.effort) ? undefined : string(reasoning.effort, ['reasoning', 'effort']);
  const summary = reasoning.summary ?? reasoning.generate_summary;
  if (!isAbsent(summary)) oneOf(summary, ['reasoning', 'summary'], ['auto', 'concise', 'detailed']);
  return { tokens: reasoningTokensOf(effort ?? 'medium'), hasSummary: !isAbsent(summary) };
}

function readTextFormat(value: unknown): OutputForm {
  if (isAbsent(value)) return { kind: 'text' };
  const text = bag(value, ['text']);
  if (isAbsent(text.format)) return { kind: 'text' };
  const path: Path = ['text', 'format'];
  const format = bag(text.format, path);
  const type = oneOf(format.type, [...path, 'type'], ['text', 'json_object', 'json_schema']);
  if (type === 'text') return { kind: 'text' };
  if (type === 'json_object') return { kind: 'json-object' };
  matching(format.name, [...path, 'name'], /^[a-zA-Z0-9_-]{1,64}$/);
  if (format.schema === undefined) throw missing([...path, 'schema']);
  return { kind: 'json-schema', schema: bag(format.schema, [...path, 'schema']) };
}

const knownMembers: ReadonlySet<string> = new Set(
  `model input instructions stream stream_options max_output_tokens max_tool_calls temperature top_p top_logprobs tools
   tool_choice parallel_tool_calls reasoning text include store previous_response_id conversation background truncation
   context_management prompt metadata user safety_identifier prompt_cache_key prompt_cache_options
   prompt_cache_retention service_tier moderation image access_programs client_metadata`.split(/\s+/),
);
