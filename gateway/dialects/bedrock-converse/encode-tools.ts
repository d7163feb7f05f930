// Our tools and how they may be called, as Converse has them.

import { isRecord } from '../../json/record.ts';
import { changeAsWritten } from '../../json/sources.ts';
import { encodeAnswerTool } from '../anthropic/answer-tool.ts';
import type { Conversation, PartOf, Tool, ToolName } from '../conversation.ts';
import { ToolIndex } from '../tools/tool-index.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { emptySchema } from '../tools/tool-schema.ts';
import { wrappedDescription, wrappedInputSchema } from '../tools/wrapped-tool.ts';
import { cachePoint } from './cache-points.ts';
import type { Block } from './encode-turns.ts';
import type { ConverseTraits } from './model-traits.ts';

interface EncodedTools {
  /** Empty: without `toolConfig`, which may hold no empty list. */
  readonly tools: readonly Block[];
  readonly toolChoice?: Block;
  /** Of `additionalModelRequestFields`. */
  readonly fields: Block;
}

export function encodeConverseTools(
  conversation: Conversation,
  names: ToolNames,
  answerTool: string | undefined,
  traits: ConverseTraits,
): EncodedTools {
  const { toolChoice, tools: all } = conversation;
  const offered = toolChoice?.type === 'subset' ? chosenOf(all, toolChoice.tools) : all;
  const called = calledTools(conversation, names);
  const tools = offered.flatMap((tool) => encodeTool(tool, names, traits));
  if (answerTool !== undefined) {
    const { tool, choice } = encodeAnswerTool(answerTool, conversation, traits);
    const { name, description, input_schema: json } = tool as Record<string, unknown>;
    const spec = { toolSpec: { name, description, inputSchema: { json } } };
    const { type } = choice as { readonly type: 'tool' | 'any' | 'auto' };
    return {
      tools: [...(tools.length > 0 ? tools : called), spec],
      toolChoice: type === 'tool' ? { tool: { name: answerTool } } : { [type]: {} },
      fields: {},
    };
  }
  // Calls of tools that are not defined are refused, also in the past.
  if (tools.length === 0) return { tools: called, fields: {} };
  // There is no way to say that none may be called: without calls in the past, the tools are left out.
  if (toolChoice?.type === 'none') return { tools: called.length === 0 ? [] : tools, fields: {} };
  const choice = encodeChoice(conversation, names);
  return {
    tools,
    ...(choice ? { toolChoice: choice } : {}),
    fields: encodeSingle(conversation, choice, traits),
  };
}

function chosenOf(tools: readonly Tool[], chosen: readonly ToolName[]): readonly Tool[] {
  const index = new ToolIndex<true>();
  for (const tool of chosen) index.add(tool, true);
  return tools.filter((tool) => index.has(tool));
}

function encodeTool(
  tool: Tool,
  names: ToolNames,
  { maker, takesCachePoints }: ConverseTraits,
): readonly Block[] {
  const { kind, description, schema, cacheHint } = tool;
  const name = names.wireName(tool);
  const text = kind === 'custom' ? wrappedDescription(tool) : description;
  const json = kind === 'custom' ? wrappedInputSchema : changeAsWritten(schema, asObject);
  const spec = {
    toolSpec: { name, description: text?.trim() ? text : name, inputSchema: { json } },
  };
  const isMarked = cacheHint !== undefined && takesCachePoints && maker === 'claude';
  return isMarked ? [spec, cachePoint(cacheHint)] : [spec];
}

function asObject(schema: unknown): unknown {
  return { ...(isRecord(schema) ? schema : emptySchema), type: 'object' };
}

function encodeChoice({ toolChoice }: Conversation, names: ToolNames): Block | undefined {
  switch (toolChoice?.type) {
    case 'required':
      return { any: {} };
    case 'tool':
      return { tool: { name: names.wireName(toolChoice.tool) } };
    case 'subset':
      return { [toolChoice.mode === 'required' ? 'any' : 'auto']: {} };
    case 'auto':
      return { auto: {} };
    default:
      return undefined;
  }
}

/** One call at most: Claude has a word for it. */
function encodeSingle(
  { mayCallInParallel }: Conversation,
  choice: Block | undefined,
  { maker }: ConverseTraits,
): Block {
  if (mayCallInParallel !== false || maker !== 'claude') return {};
  const [type = 'auto', more] = Object.entries(choice ?? {})[0] ?? [];
  return { tool_choice: { type, ...(more as object), disable_parallel_tool_use: true } };
}

function calledTools({ turns }: Conversation, names: ToolNames): readonly Block[] {
  const calls = turns.flatMap(({ parts }) =>
    parts.filter((part): part is PartOf<'tool-call'> => part.type === 'tool-call'),
  );
  const called = new Set(calls.map((call) => names.wireName(call)));
  return [...called].map((name) => ({
    toolSpec: { name, description: name, inputSchema: { json: { type: 'object' } } },
  }));
}
