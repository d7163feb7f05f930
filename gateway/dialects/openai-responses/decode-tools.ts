// Which tools may the model call, and which must it? Tools stand at the top level and in items.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import type { Tool, ToolChoice, ToolName } from '../conversation.ts';
import { checkToolForms, invalidParameter } from '../request/parameter-rules.ts';
import {
  type NoteAsk,
  readFlag,
  readList,
  readName,
  readOptionalText,
  readRecord,
  readText,
} from '../request/read-values.ts';
import { type ClientToolType, clientToolAsFunction, clientToolType, isComputer } from './client-tools.ts';

interface DecodedTools {
  readonly tools: readonly Tool[];
  /** Among the tools: those that are functions elsewhere only. */
  readonly clientTools: ReadonlySet<ClientToolType>;
  readonly hasWebSearch: boolean;
  /** There are tools that the provider itself runs. */
  readonly hasHosted: boolean;
}

/**
 * Of two tools with the same name the first counts.
 *
 * @param lists Of the top level and of items, each with its path in the request.
 * @throws {GatewayError} `invalid_parameter`, naming the tool.
 */
export function decodeTools(
  lists: readonly (readonly [name: string, tools: unknown])[],
  ask: NoteAsk,
): DecodedTools {
  const tools = new Map<string, Tool>();
  const clientTools = new Set<ClientToolType>();
  let hasWebSearch = false;
  let hasHosted = false;
  const add = (tool: Tool): void => {
    const key = `${tool.namespace ?? ''} ${tool.name}`;
    if (!tools.has(key)) tools.set(key, tool);
  };
  checkToolForms(lists[0]?.[1], 'responses');
  for (const [listName, list] of lists) {
    for (const [index, value] of readList(list, listName).entries()) {
      const name = `${listName}[${index}]`;
      const tool = readRecord(value, name);
      const type = readText(tool.type, `${name}.type`);
      const clientTool = clientToolType(tool);
      if (type === 'function' || type === 'custom') add(decodeTool(tool, undefined, name, ask));
      else if (clientTool) {
        clientTools.add(clientTool);
        noteClientTool(tool, name, ask);
      } else if (type === 'namespace') for (const inner of decodeNamespace(tool, name, ask)) add(inner);
      else if (isWebSearch(type)) {
        hasWebSearch = true;
        ask('web-search', name);
      } else if (type === 'tool_search') ask('tool-search', name);
      else {
        hasHosted = true;
        ask(isComputer(type) ? 'computer-tool' : 'hosted-tool', name);
      }
    }
  }
  for (const type of clientTools) {
    if (tools.has(` ${type}`))
      invalidParameter(
        'tools',
        `has a tool named '${type}' and a tool of the type '${type}'; keep one of them`,
      );
    add(clientToolAsFunction(type));
  }
  const [first] = lists;
  if (tools.size > 0 && first) ask('tools', first[0]);
  return { tools: [...tools.values()], clientTools, hasWebSearch, hasHosted };
}

function noteClientTool({ environment }: JsonRecord, name: string, ask: NoteAsk): void {
  ask('client-tool', name);
  if (asRecord(environment)?.skills) ask('vendor-member', `${name}.environment.skills`);
}

function isWebSearch(type: string): boolean {
  return /^web_search(_|$)/.test(type);
}

function decodeNamespace(tool: JsonRecord, name: string, ask: NoteAsk): readonly Tool[] {
  const namespace = readToolName(tool.name, `${name}.name`);
  const list = readList(tool.tools, `${name}.tools`);
  ask('tool-namespace', name);
  return list.flatMap((value, index): readonly Tool[] => {
    const innerName = `${name}.tools[${index}]`;
    const inner = readRecord(value, innerName);
    const { type = 'function' } = inner;
    if (type === 'function' || type === 'custom') return [decodeTool(inner, namespace, innerName, ask)];
    ask('hosted-tool', innerName);
    return [];
  });
}

const nameLengthMax = 128;

/** Name of a tool or of a namespace. Each tool repeats the name of its namespace, so a long one would cost once per tool. */
function readToolName(value: unknown, path: string): string {
  const name = readName(value, path);
  return name.length > nameLengthMax
    ? invalidParameter(path, `must have at most ${nameLengthMax} characters`)
    : name;
}

function decodeTool(tool: JsonRecord, namespace: string | undefined, name: string, ask: NoteAsk): Tool {
  const { parameters, strict, format } = tool;
  const description = readOptionalText(tool.description, `${name}.description`);
  const named = {
    name: readToolName(tool.name, `${name}.name`),
    ...(namespace === undefined ? {} : { namespace }),
    ...(description === undefined ? {} : { description }),
  };
  if (tool.defer_loading === true) ask('tool-search', `${name}.defer_loading`);
  for (const member of ['output_schema', 'allowed_callers']) {
    if ((tool[member] ?? null) !== null) ask('vendor-member', `${name}.${member}`);
  }
  if (tool.type === 'custom') {
    ask('custom-tool', name);
    const { type, syntax, definition } = asRecord(format) ?? {};
    if (type !== 'grammar') return { kind: 'custom', ...named };
    const grammar = {
      syntax: readText(syntax, `${name}.format.syntax`),
      definition: readText(definition, `${name}.format.definition`),
    };
    return { kind: 'custom', ...named, grammar };
  }
  if ((parameters ?? null) !== null && !isRecord(parameters)) {
    invalidParameter(`${name}.parameters`, 'must be an object: a JSON Schema');
  }
  const isStrict = readFlag(strict, `${name}.strict`);
  if (isStrict) ask('strict-tool', `${name}.strict`);
  return {
    kind: 'function',
    ...named,
    ...(isRecord(parameters) ? { schema: parameters } : {}),
    ...(typeof strict === 'boolean' ? { isStrict } : {}),
  };
}

/**
 * @returns Undefined if the model may choose: the default.
 * @throws {GatewayError} `invalid_parameter`.
 */
export function decodeToolChoice(
  value: unknown,
  offered: DecodedTools,
  ask: NoteAsk,
): ToolChoice | undefined {
  if (value === undefined || value === null || value === 'auto') return undefined;
  if (value === 'required') return decodeRequired(offered, ask);
  if (value === 'none') return { type: value };
  const { tools, hasWebSearch } = offered;
  const choice = asRecord(value);
  if (!choice) {
    return invalidParameter('tool_choice', 'must be none, auto, required, or an object that names a tool');
  }
  const type = readText(choice.type, 'tool_choice.type');
  if (type === 'function' || type === 'custom') {
    return { type: 'tool', tool: findTool(choice, indexTools(tools), 'tool_choice') };
  }
  if (clientToolType(choice)) {
    return { type: 'tool', tool: findTool({ name: type }, indexTools(tools), 'tool_choice') };
  }
  if (type === 'allowed_tools') return decodeSubset(choice, tools, ask);
  if (isWebSearch(type) && hasWebSearch) {
    ask('forced-web-search', 'tool_choice');
    return { type: 'web-search' };
  }
  ask('forced-hosted-tool', 'tool_choice');
  return undefined;
}

/** If nothing but the provider's own tools can be meant, those are forced. */
function decodeRequired({ tools, hasWebSearch, hasHosted }: DecodedTools, ask: NoteAsk): ToolChoice {
  if (tools.length === 0 && hasWebSearch) {
    ask('forced-web-search', 'tool_choice');
    return { type: 'web-search' };
  }
  if (tools.length === 0 && hasHosted) ask('forced-hosted-tool', 'tool_choice');
  return { type: 'required' };
}

function decodeSubset(choice: JsonRecord, tools: readonly Tool[], ask: NoteAsk): ToolChoice {
  const { mode, tools: list } = choice;
  if (mode !== 'auto' && mode !== 'required') {
    invalidParameter('tool_choice.mode', 'must be auto or required');
  }
  ask('tool-subset', 'tool_choice');
  const offered = indexTools(tools);
  const named = readList(list, 'tool_choice.tools').flatMap((value, index): readonly ToolName[] => {
    const name = `tool_choice.tools[${index}]`;
    const tool = readRecord(value, name);
    if (tool.type === 'function' || tool.type === 'custom') return [findTool(tool, offered, name)];
    if (clientToolType(tool)) return [findTool({ name: tool.type }, offered, name)];
    ask('hosted-tool', name);
    return [];
  });
  return { type: 'subset', mode, tools: named };
}

/** Tools by name, those of one name by namespace. */
type OfferedTools = ReadonlyMap<string, ReadonlyMap<string | undefined, Tool>>;

function indexTools(tools: readonly Tool[]): OfferedTools {
  const offered = new Map<string, Map<string | undefined, Tool>>();
  for (const tool of tools) {
    const alike = offered.get(tool.name);
    if (alike) alike.set(tool.namespace, tool);
    else offered.set(tool.name, new Map([[tool.namespace, tool]]));
  }
  return offered;
}

/** A namespace may be left out where the name is clear without it. */
function findTool(choice: JsonRecord, offered: OfferedTools, name: string): ToolName {
  const wanted = readName(choice.name, `${name}.name`);
  const { namespace } = choice;
  const alike = offered.get(wanted);
  const [first] = alike?.values() ?? [];
  const found = typeof namespace === 'string' ? alike?.get(namespace) : (alike?.get(undefined) ?? first);
  if (!found) return invalidParameter(name, `names the tool '${wanted}', which is not among the tools`);
  return { name: found.name, ...(found.namespace === undefined ? {} : { namespace: found.namespace }) };
}
