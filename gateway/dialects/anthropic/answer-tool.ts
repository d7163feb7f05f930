// How is a model held to a form that structured output cannot give it? By a tool that it must call: what
// the tool would be given is the answer. Models without structured output need it for every schema, the
// others for maps, free objects and schemas that contain themselves, and all of them for JSON of any kind.

import { isRecord } from '../../json/record.ts';
import { changeAsWritten } from '../../json/sources.ts';
import type { Conversation, OutputFormat } from '../conversation.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import type { ModelTraits } from './model-traits.ts';
import { fitsStructuredOutput } from './output-schema.ts';

/** Not where the caller forces another call. */
function needsAnswerTool({ output, tools, toolChoice }: Conversation, traits: ModelTraits): boolean {
  if (output.type === 'text' || isStructured(output, traits)) return false;
  const choice = toolChoice?.type ?? 'auto';
  const isFree = choice === 'auto' || choice === 'none' || tools.length === 0;
  return isFree && choice !== 'web-search';
}

/** Whether the model is held to the form of its answer by structured output. */
export function isStructured(
  output: OutputFormat,
  { takesSchemas }: ModelTraits,
): output is Extract<OutputFormat, { type: 'json-schema' }> {
  return takesSchemas && output.type === 'json-schema' && fitsStructuredOutput(output.schema);
}

/** Whether nothing forces the model into the requested form. */
export function isFormLost({ output, toolChoice }: Conversation, traits: ModelTraits): boolean {
  if (output.type === 'text' || isStructured(output, traits)) return false;
  return toolChoice?.type === 'web-search' || !traits.takesForcedCalls;
}

/** Whether the model is forced to call the tool; otherwise only instructed. */
export function isAnswerForced(conversation: Conversation, traits: ModelTraits): boolean {
  return traits.takesForcedCalls && needsAnswerTool(conversation, traits);
}

/** The tool's name; undefined if it is not needed. */
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
  { takesForcedCalls }: ModelTraits,
): { readonly tool: unknown; readonly choice: unknown } {
  const schema = output.type === 'json-schema' ? output.schema : undefined;
  const isAlone = toolChoice?.type === 'none' || (tools.length === 0 && !hasWebSearch);
  const forced = isAlone ? { type: 'tool', name } : { type: 'any' };
  return {
    tool: {
      name,
      description: 'Gives the answer to the user. Call it once, with the whole answer.',
      input_schema: changeAsWritten(schema, asObject),
    },
    choice: { ...(takesForcedCalls ? forced : { type: 'auto' }), disable_parallel_tool_use: true },
  };
}

function asObject(schema: unknown): unknown {
  return { ...(isRecord(schema) ? schema : {}), type: 'object' };
}

/** Instruction for a model that cannot be forced to call the tool. */
export function answerInstruction(name: string): string {
  return `Give your answer by calling the tool "${name}", with the whole answer as its input. Write no other text.`;
}
