// How is a model held to a schema that has no structured output? By a tool that it must call: what
// the tool would be given is the answer.

import { isRecord } from '../../json/record.ts';
import type { Conversation } from '../conversation.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import type { ModelTraits } from './model-traits.ts';

/** Not where the caller forces another call. */
export function needsAnswerTool(
  { output, tools, toolChoice }: Conversation,
  { takesSchemas }: ModelTraits,
): boolean {
  if (output.type !== 'json-schema' || takesSchemas) return false;
  const choice = toolChoice?.type ?? 'auto';
  const isFree = choice === 'auto' || choice === 'none' || tools.length === 0;
  return isFree && choice !== 'web-search';
}

/** The tool's name; undefined where it is not needed. */
export function answerToolOf(
  conversation: Conversation,
  traits: ModelTraits,
  names: ToolNames,
): string | undefined {
  if (!needsAnswerTool(conversation, traits)) return undefined;
  const { tools } = conversation;
  const taken = new Set(tools.map((tool) => names.wireName(tool)));
  let name = 'answer';
  while (taken.has(name)) name = `${name}_`;
  return name;
}

/** Its definition, and a choice under which the model calls it in the end, and nothing beside it. */
export function encodeAnswerTool(
  name: string,
  { output, tools, toolChoice, hasWebSearch }: Conversation,
): { readonly tool: unknown; readonly choice: unknown } {
  const schema = output.type === 'json-schema' ? output.schema : undefined;
  const isAlone = toolChoice?.type === 'none' || (tools.length === 0 && !hasWebSearch);
  const single = { disable_parallel_tool_use: true };
  return {
    tool: {
      name,
      description: 'Gives the answer to the user. Call it once, with the whole answer.',
      input_schema: { ...(isRecord(schema) ? schema : {}), type: 'object' },
    },
    choice: isAlone ? { type: 'tool', name, ...single } : { type: 'any', ...single },
  };
}
