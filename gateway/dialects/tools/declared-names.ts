// What is a tool called that was called or chosen in another form than it is offered in now? As it is
// offered: upstreams that know namespaces, or free text, take the two for different tools.

import { parseJson } from '../../../core/parse-json.ts';
import { isRecord } from '../../json/record.ts';
import { wholeInput } from '../answer/part-writer.ts';
import type { Conversation, Part, PartOf, Tool, ToolChoice, ToolName } from '../conversation.ts';
import { ToolIndex } from './tool-index.ts';
import { wrapInput } from './wrapped-tool.ts';

/** Calls and choices of tools that are offered, in the form they are offered in. */
export function withDeclaredNames(conversation: Conversation): Conversation {
  const { tools, turns, toolChoice } = conversation;
  if (tools.length === 0) return conversation;
  const index = new ToolIndex<Tool>();
  for (const tool of tools) index.add(tool, tool);
  return {
    ...conversation,
    turns: turns.map(({ role, parts }) => ({ role, parts: parts.map((part) => asDeclared(part, index)) })),
    ...(toolChoice ? { toolChoice: withDeclaredChoice(toolChoice, index) } : {}),
  };
}

function asDeclared(part: Part, index: ToolIndex<Tool>): Part {
  if (part.type !== 'tool-call') return part;
  const tool = index.get(part);
  if (!tool || (tool.kind === part.kind && tool.namespace === part.namespace)) return part;
  const { namespace: _, ...call } = part;
  return { ...call, ...nameOf(tool), kind: tool.kind, input: inputFor(tool.kind, part) };
}

function inputFor(kind: Tool['kind'], call: PartOf<'tool-call'>): string {
  if (kind === call.kind) return call.input;
  if (kind === 'custom') return wholeInput({ name: call.name, kind, isWrapped: true }, call.input);
  return isRecord(parseJson(call.input)) ? call.input : wrapInput(call.input);
}

function withDeclaredChoice(choice: ToolChoice, index: ToolIndex<Tool>): ToolChoice {
  const declared = (tool: ToolName): ToolName => nameOf(index.get(tool) ?? tool);
  switch (choice.type) {
    case 'tool':
      return { ...choice, tool: declared(choice.tool) };
    case 'subset':
      return { ...choice, tools: choice.tools.map(declared) };
    default:
      return choice;
  }
}

function nameOf({ name, namespace }: ToolName): ToolName {
  return namespace === undefined ? { name } : { name, namespace };
}
