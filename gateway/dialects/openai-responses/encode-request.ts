// A conversation as a responses request. Stop sequences are not known here: the gateway cuts the text.

import { asWritten, changeAsWritten } from '../../json/sources.ts';
import { writeJson } from '../../json/write-json.ts';
import type { Conversation, OutputFormat, Part, Tool, ToolName } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';
import { fitEndUser } from '../openai/end-user.ts';
import { effortOf } from '../request/reasoning-effort.ts';
import { ToolIndex } from '../tools/tool-index.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { cleanSchema, functionSchema } from '../tools/tool-schema.ts';
import { encodeItems } from './encode-items.ts';

const outputTokensMin = 16;

/** @param conversation Tidied for this target. */
export function encodeResponsesRequest(
  conversation: Conversation,
  target: UpstreamTarget,
  names: ToolNames,
): Buffer {
  const { defaults, sampling, maxOutputTokens, system } = conversation;
  const request = {
    ...(defaults && {
      max_output_tokens: Math.max(outputTokensMin, defaults.maxOutputTokens),
      temperature: defaults.temperature,
      top_p: defaults.topP,
    }),
    ...target.parameters,
    model: target.upstreamModel,
    ...(system.length === 0 ? {} : { instructions: system.map(textOf).join('\n\n') }),
    input: encodeItems(conversation, names),
    ...encodeTools(conversation, names),
    ...(maxOutputTokens === undefined
      ? {}
      : { max_output_tokens: Math.max(outputTokensMin, maxOutputTokens) }),
    ...(sampling.temperature === undefined ? {} : { temperature: sampling.temperature }),
    ...(sampling.topP === undefined ? {} : { top_p: sampling.topP }),
    ...encodeAnswerForm(conversation),
    ...encodeCaller(conversation),
    // The caller could not refer to anything stored there.
    ...(target.refuses?.has('store') ? {} : { store: false }),
    ...(target.isStream ? { stream: true } : {}),
  };
  return Buffer.from(writeJson(request));
}

function textOf(part: Part): string {
  return 'text' in part ? part.text : '';
}

function encodeTools(conversation: Conversation, names: ToolNames): Record<string, unknown> {
  const { tools, hasWebSearch, toolChoice, mayCallInParallel } = conversation;
  const offered = tools
    .filter(({ namespace }) => namespace === undefined)
    .map((tool) => encodeTool(tool, names));
  for (const [namespace, inside] of Map.groupBy(tools, (tool) => tool.namespace)) {
    if (namespace === undefined) continue;
    offered.push({
      type: 'namespace',
      name: namespace,
      description: namespace,
      tools: inside.map((tool) => encodeTool(tool, names)),
    });
  }
  if (hasWebSearch) offered.push({ type: 'web_search' });
  if (offered.length === 0) return {};
  return {
    tools: offered,
    ...(toolChoice ? { tool_choice: encodeToolChoice(toolChoice, tools, names) } : {}),
    ...(mayCallInParallel === false ? { parallel_tool_calls: false } : {}),
  };
}

function encodeTool(tool: Tool, names: ToolNames): unknown {
  const { description, schema, isStrict, grammar } = tool;
  const named = { name: names.wireName(tool), ...(description === undefined ? {} : { description }) };
  if (tool.kind === 'custom') {
    return { type: 'custom', ...named, ...(grammar ? { format: { type: 'grammar', ...grammar } } : {}) };
  }
  // If nothing is said, this dialect is strict and the others are not.
  return {
    type: 'function',
    ...named,
    parameters: changeAsWritten(schema, functionSchema),
    strict: isStrict ?? false,
  };
}

function encodeToolChoice(
  choice: NonNullable<Conversation['toolChoice']>,
  tools: readonly Tool[],
  names: ToolNames,
): unknown {
  const kinds = new ToolIndex<Tool['kind']>();
  for (const tool of tools) kinds.add(tool, tool.kind);
  const reference = (wanted: ToolName): unknown => ({
    type: kinds.has(wanted) ? kinds.get(wanted) : 'function',
    name: names.wireName(wanted),
    ...(wanted.namespace === undefined ? {} : { namespace: wanted.namespace }),
  });
  switch (choice.type) {
    case 'tool':
      return reference(choice.tool);
    case 'web-search':
      return { type: 'web_search' };
    case 'subset':
      return { type: 'allowed_tools', mode: choice.mode, tools: choice.tools.map(reference) };
    default:
      return choice.type;
  }
}

function encodeAnswerForm(conversation: Conversation): Record<string, unknown> {
  const { output, verbosity, reasoning, logprobs, maxOutputTokens, turns } = conversation;
  const format = encodeFormat(output);
  const effort = reasoning && effortOf(reasoning, maxOutputTokens);
  const hasOwnState = turns.some(({ parts }) =>
    parts.some((part) => part.type === 'thinking' && part.opaque?.state.kind === 'encrypted'),
  );
  const include = [
    // Models without reasoning refuse this parameter.
    ...(hasOwnState || (reasoning && reasoning.mode !== 'off') ? ['reasoning.encrypted_content'] : []),
    ...(logprobs ? ['message.output_text.logprobs'] : []),
  ];
  return {
    ...(format || verbosity !== undefined
      ? { text: { ...(format ? { format } : {}), ...(verbosity === undefined ? {} : { verbosity }) } }
      : {}),
    ...(reasoning
      ? {
          reasoning: {
            ...(effort === undefined ? {} : { effort }),
            ...(reasoning.summary === undefined ? {} : { summary: reasoning.summary }),
          },
        }
      : {}),
    ...(include.length === 0 ? {} : { include }),
    ...(logprobs ? { top_logprobs: logprobs.top } : {}),
  };
}

function encodeFormat(output: OutputFormat): unknown {
  if (output.type === 'text') return undefined;
  if (output.type === 'json-object') return { type: 'json_object' };
  const { name = 'response', description, schema, isStrict } = output;
  return {
    type: 'json_schema',
    name,
    ...(description === undefined ? {} : { description }),
    schema: changeAsWritten(schema, cleanSchema),
    ...(isStrict === undefined ? {} : { strict: isStrict }),
  };
}

function encodeCaller(conversation: Conversation): Record<string, unknown> {
  const { endUser, promptCacheKey, serviceTier, metadata } = conversation;
  return {
    ...(endUser === undefined ? {} : { safety_identifier: fitEndUser(endUser) }),
    ...(promptCacheKey === undefined ? {} : { prompt_cache_key: promptCacheKey }),
    ...(serviceTier === undefined ? {} : { service_tier: serviceTier }),
    ...(metadata === undefined ? {} : { metadata: asWritten(metadata) }),
  };
}
