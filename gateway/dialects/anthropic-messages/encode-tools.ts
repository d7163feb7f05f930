// Our tools and how they may be called, as messages has them.

import { isRecord } from '../../json/record.ts';
import { changeAsWritten } from '../../json/sources.ts';
import { encodeAnswerTool } from '../anthropic/answer-tool.ts';
import type { ModelTraits } from '../anthropic/model-traits.ts';
import type { Conversation, PartOf, Tool, ToolName } from '../conversation.ts';
import { ToolIndex } from '../tools/tool-index.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { emptySchema } from '../tools/tool-schema.ts';
import { wrappedDescription, wrappedInputSchema } from '../tools/wrapped-tool.ts';
import { encodeHint } from './encode-turns.ts';

type Members = Readonly<Record<string, unknown>>;

const webSearch = { type: 'web_search_20250305', name: 'web_search' };

/** The members `tools` and `tool_choice`; without tools neither. */
export function encodeTools(
  conversation: Conversation,
  names: ToolNames,
  answerTool: string | undefined,
  traits: ModelTraits,
): Members {
  const { toolChoice, hasWebSearch } = conversation;
  const offered =
    toolChoice?.type === 'subset' ? chosenOf(conversation.tools, toolChoice.tools) : conversation.tools;
  const tools = [
    ...offered.map((tool) => encodeTool(tool, names)),
    ...(hasWebSearch && toolChoice?.type !== 'subset' ? [webSearch] : []),
  ];
  if (answerTool !== undefined) {
    const { tool, choice } = encodeAnswerTool(answerTool, conversation, traits);
    return {
      tools: [...(tools.length > 0 ? tools : calledTools(conversation, names)), tool],
      tool_choice: choice,
    };
  }
  if (tools.length > 0) {
    const choice = encodeChoice(conversation, names);
    return { tools, ...(choice ? { tool_choice: choice } : {}) };
  }
  // The dialect refuses calls of tools that are not defined, also in the past.
  const called = calledTools(conversation, names);
  return called.length === 0 ? {} : { tools: called, tool_choice: { type: 'none' } };
}

function chosenOf(tools: readonly Tool[], chosen: readonly ToolName[]): readonly Tool[] {
  const index = new ToolIndex<true>();
  for (const tool of chosen) index.add(tool, true);
  return tools.filter((tool) => index.has(tool));
}

function encodeTool(tool: Tool, names: ToolNames): Members {
  const { kind, description, schema, cacheHint } = tool;
  const text = kind === 'custom' ? wrappedDescription(tool) : description;
  return {
    name: names.wireName(tool),
    ...(text ? { description: text } : {}),
    input_schema: kind === 'custom' ? wrappedInputSchema : changeAsWritten(schema, asObject),
    ...encodeHint(cacheHint),
  };
}

function asObject(schema: unknown): unknown {
  return { ...(isRecord(schema) ? schema : emptySchema), type: 'object' };
}

function encodeChoice(
  { toolChoice, mayCallInParallel }: Conversation,
  names: ToolNames,
): Members | undefined {
  const single = mayCallInParallel === false ? { disable_parallel_tool_use: true } : {};
  switch (toolChoice?.type) {
    case 'none':
      return { type: 'none' };
    case 'required':
      return { type: 'any', ...single };
    case 'tool':
      return { type: 'tool', name: names.wireName(toolChoice.tool), ...single };
    case 'web-search':
      return { type: 'tool', name: webSearch.name, ...single };
    case 'subset':
      return { type: toolChoice.mode === 'required' ? 'any' : 'auto', ...single };
    case 'auto':
      return { type: 'auto', ...single };
    case undefined:
      return mayCallInParallel === false ? { type: 'auto', ...single } : undefined;
  }
}

function calledTools({ turns }: Conversation, names: ToolNames): readonly Members[] {
  const calls = turns.flatMap(({ parts }) =>
    parts.filter((part): part is PartOf<'tool-call'> => part.type === 'tool-call'),
  );
  const called = new Set(calls.map((call) => names.wireName(call)));
  return [...called].map((name) => ({ name, input_schema: { type: 'object' } }));
}
