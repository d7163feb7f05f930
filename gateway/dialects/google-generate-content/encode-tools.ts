// Our tools and how they may be called, as Gemini has them.

import { isRecord } from '../../json/record.ts';
import { changeAsWritten } from '../../json/sources.ts';
import type { Conversation, Tool } from '../conversation.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { wrappedDescription, wrappedInputSchema } from '../tools/wrapped-tool.ts';
import { geminiSchema } from './json-schema.ts';
import type { ModelTraits } from './model-traits.ts';
import { openApiSchema } from './open-api-schema.ts';

type Members = Readonly<Record<string, unknown>>;

/** The members `tools` and `toolConfig`; without tools neither. */
export function encodeTools(conversation: Conversation, names: ToolNames, traits: ModelTraits): Members {
  const { tools } = conversation;
  const declarations = tools.map((tool) => encodeTool(tool, names, traits));
  const offered = [
    ...(declarations.length > 0 ? [{ functionDeclarations: declarations }] : []),
    ...(searches(conversation, traits) ? [{ googleSearch: {} }] : []),
  ];
  if (offered.length === 0) return {};
  const config = declarations.length > 0 ? encodeChoice(conversation, names) : undefined;
  return { tools: offered, ...(config ? { toolConfig: { functionCallingConfig: config } } : {}) };
}

/** Models that take one of the two kinds only keep the functions: an agent goes on with its own. */
export function searches({ hasWebSearch, tools }: Conversation, { combinesTools }: ModelTraits): boolean {
  return hasWebSearch === true && (tools.length === 0 || combinesTools);
}

function encodeTool(tool: Tool, names: ToolNames, { takesJsonSchema }: ModelTraits): Members {
  const { kind, description } = tool;
  const text = kind === 'custom' ? wrappedDescription(tool) : description;
  const schema = kind === 'custom' ? wrappedInputSchema : tool.schema;
  const head = { name: names.wireName(tool), ...(text ? { description: text } : {}) };
  // A function without arguments has no schema: one without properties is refused.
  if (!hasProperties(schema)) return head;
  return takesJsonSchema
    ? { ...head, parametersJsonSchema: changeAsWritten(schema, geminiSchema) }
    : { ...head, parameters: openApiSchema(schema) };
}

function hasProperties(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  if (isRecord(schema.properties)) return Object.keys(schema.properties).length > 0;
  return Object.keys(schema).some((word) => word === '$ref' || word === 'anyOf' || word === 'oneOf');
}

function encodeChoice({ toolChoice }: Conversation, names: ToolNames): Members | undefined {
  switch (toolChoice?.type) {
    case 'none':
      return { mode: 'NONE' };
    case 'auto':
      return { mode: 'AUTO' };
    case 'required':
      return { mode: 'ANY' };
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [names.wireName(toolChoice.tool)] };
    case 'subset':
      return {
        mode: toolChoice.mode === 'required' ? 'ANY' : 'VALIDATED',
        allowedFunctionNames: toolChoice.tools.map((tool) => names.wireName(tool)),
      };
    case 'web-search':
    case undefined:
      return undefined;
  }
}
