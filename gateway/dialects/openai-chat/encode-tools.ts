// Our tools as those of a chat request. All are functions: few upstreams of this dialect take others.

import { changeAsWritten } from '../../json/sources.ts';
import type { Conversation, Tool, ToolChoice } from '../conversation.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { functionSchema } from '../tools/tool-schema.ts';
import { wrappedDescription, wrappedInputSchema } from '../tools/wrapped-tool.ts';

/** Nothing if no tools are left: upstreams refuse a choice among none. */
export function encodeTools(
  { tools, toolChoice, mayCallInParallel }: Conversation,
  names: ToolNames,
): Record<string, unknown> {
  if (tools.length === 0) return {};
  const choice = toolChoice && encodeToolChoice(toolChoice, names);
  return {
    tools: tools.map((tool) => encodeTool(tool, names)),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(mayCallInParallel === false ? { parallel_tool_calls: false } : {}),
  };
}

function encodeTool(tool: Tool, names: ToolNames): unknown {
  const isCustom = tool.kind === 'custom';
  const description = isCustom ? wrappedDescription(tool) : tool.description;
  return {
    type: 'function',
    function: {
      name: names.wireName(tool),
      ...(description === undefined ? {} : { description }),
      parameters: isCustom ? wrappedInputSchema : changeAsWritten(tool.schema, functionSchema),
      ...(isCustom || tool.isStrict === undefined ? {} : { strict: tool.isStrict }),
    },
  };
}

function encodeToolChoice(choice: ToolChoice, names: ToolNames): unknown {
  switch (choice.type) {
    case 'none':
    case 'auto':
    case 'required':
      return choice.type;
    case 'tool':
      return { type: 'function', function: { name: names.wireName(choice.tool) } };
    case 'subset':
      return {
        type: 'allowed_tools',
        allowed_tools: {
          mode: choice.mode,
          tools: choice.tools.map((tool) => ({
            type: 'function',
            function: { name: names.wireName(tool) },
          })),
        },
      };
    case 'web-search':
      return undefined;
  }
}
