// Which tools may the model use, and must it? `tools` and `tool_choice`, or `functions` and
// `function_call` of the time before them.

import { isRecord, type JsonRecord } from '../../json/record.ts';
import type { Conversation, Tool, ToolChoice } from '../conversation.ts';
import { checkToolForms, invalidParameter } from '../request/parameter-rules.ts';
import {
  type NoteAsk,
  readCacheHint,
  readFlag,
  readList,
  readName,
  readOptionalRecord,
  readOptionalText,
  readRecord,
  readText,
} from '../request/read-values.ts';

export interface ToolMembers {
  readonly tools: unknown;
  readonly toolChoice: unknown;
  readonly parallel: unknown;
  readonly functions: unknown;
  readonly functionCall: unknown;
}

type DecodedTools = Pick<Conversation, 'tools' | 'toolChoice' | 'mayCallInParallel'>;

/** @throws {GatewayError} `invalid_parameter`, naming the tool. */
export function decodeTools(members: ToolMembers, note: NoteAsk): DecodedTools {
  const isLegacy = usesFunctions(members);
  const [path, list] = isLegacy
    ? (['functions', members.functions] as const)
    : (['tools', members.tools] as const);
  const entries = list === undefined ? [] : readList(list, path);
  if (!isLegacy) checkToolForms(entries, 'chat');
  const tools = entries.flatMap((entry, index) => {
    const at = `${path}[${index}]`;
    const tool = readRecord(entry, at);
    return isLegacy ? [decodeFunction(tool, tool, at, note)] : decodeTool(tool, at, note);
  });
  if (tools.length > 0) note('tools', path);
  const toolChoice = isLegacy
    ? decodeFunctionCall(members.functionCall, tools)
    : decodeToolChoice(members.toolChoice, tools, entries.length > tools.length, note);
  if (members.parallel === false) note('parallel-calls-off', 'parallel_tool_calls');
  return {
    tools,
    ...(toolChoice ? { toolChoice } : {}),
    // The old form has one call an answer.
    ...(members.parallel === false || (isLegacy && tools.length > 0) ? { mayCallInParallel: false } : {}),
  };
}

/** The answer has to have the old form, too. */
export function usesFunctions({ tools, functions }: Pick<ToolMembers, 'tools' | 'functions'>): boolean {
  return functions !== undefined && tools === undefined;
}

/** Tools of other types run at a provider; they are left out, as the ask says. */
function decodeTool(tool: JsonRecord, path: string, note: NoteAsk): Tool[] {
  const type = readName(tool.type, `${path}.type`);
  if (type === 'function') {
    return [decodeFunction(readRecord(tool.function, `${path}.function`), tool, `${path}.function`, note)];
  }
  if (type === 'custom') return [decodeCustom(tool, path, note)];
  note('hosted-tool', path);
  return [];
}

function decodeFunction(value: JsonRecord, holder: JsonRecord, path: string, note: NoteAsk): Tool {
  const description = readOptionalText(value.description, `${path}.description`);
  const schema = readOptionalRecord(value.parameters, `${path}.parameters`);
  const isStrict = readFlag(value.strict, `${path}.strict`);
  if (isStrict) note('strict-tool', `${path}.strict`);
  return {
    kind: 'function',
    name: readName(value.name, `${path}.name`),
    ...(description === undefined ? {} : { description }),
    ...(schema === undefined ? {} : { schema }),
    ...(typeof value.strict === 'boolean' ? { isStrict } : {}),
    ...readCacheHint(holder.cache_control === undefined ? value : holder, path, note),
  };
}

function decodeCustom(tool: JsonRecord, path: string, note: NoteAsk): Tool {
  note('custom-tool', path);
  const at = `${path}.custom`;
  const custom = readRecord(tool.custom, at);
  const description = readOptionalText(custom.description, `${at}.description`);
  const format = readOptionalRecord(custom.format, `${at}.format`);
  const grammar = format?.type === 'grammar' ? readRecord(format.grammar, `${at}.format.grammar`) : undefined;
  return {
    kind: 'custom',
    name: readName(custom.name, `${at}.name`),
    ...(description === undefined ? {} : { description }),
    ...(grammar === undefined
      ? {}
      : {
          grammar: {
            syntax: readName(grammar.syntax, `${at}.format.grammar.syntax`),
            definition: readText(grammar.definition, `${at}.format.grammar.definition`),
          },
        }),
    ...readCacheHint(tool, path, note),
  };
}

function decodeToolChoice(
  choice: unknown,
  tools: readonly Tool[],
  hasLeftOut: boolean,
  note: NoteAsk,
): ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (choice === 'none' || choice === 'auto' || choice === 'required') {
    if (choice === 'required' && tools.length === 0) {
      if (!hasLeftOut) invalidParameter('tool_choice', "'required' needs 'tools'");
      note('forced-hosted-tool', 'tool_choice');
    }
    return tools.length === 0 ? undefined : { type: choice };
  }
  if (!isRecord(choice)) return invalidParameter('tool_choice', 'must be none, auto, required, or an object');
  const type = readName(choice.type, 'tool_choice.type');
  if (type === 'function' || type === 'custom') {
    return { type: 'tool', tool: { name: nameIn(choice, 'tool_choice', namesOf(tools)) } };
  }
  if (type === 'allowed_tools') return decodeSubset(choice, tools, note);
  note('forced-hosted-tool', 'tool_choice');
  return undefined;
}

function decodeSubset(value: JsonRecord, tools: readonly Tool[], note: NoteAsk): ToolChoice {
  const path = 'tool_choice.allowed_tools';
  note('tool-subset', path);
  const allowed = readRecord(value.allowed_tools, path);
  const { mode } = allowed;
  if (mode !== 'auto' && mode !== 'required')
    invalidParameter(`${path}.mode`, "must be 'auto' or 'required'");
  const entries = readList(allowed.tools, `${path}.tools`);
  const offered = namesOf(tools);
  const names = entries.flatMap((entry, index) => {
    const at = `${path}.tools[${index}]`;
    const tool = readRecord(entry, at);
    return tool.type === 'function' || tool.type === 'custom' ? [{ name: nameIn(tool, at, offered) }] : [];
  });
  return { type: 'subset', mode: mode === 'required' ? 'required' : 'auto', tools: names };
}

function namesOf(tools: readonly Tool[]): ReadonlySet<string> {
  return new Set(tools.map(({ name }) => name));
}

/** The name of a tool that is offered. */
function nameIn(value: JsonRecord, path: string, offered: ReadonlySet<string>): string {
  const key = value.type === 'custom' ? 'custom' : 'function';
  const at = `${path}.${key}`;
  const name = readName(readRecord(value[key], at).name, `${at}.name`);
  if (!offered.has(name)) invalidParameter(`${at}.name`, 'is not the name of a tool in this request');
  return name;
}

function decodeFunctionCall(choice: unknown, tools: readonly Tool[]): ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (choice === 'none' || choice === 'auto') return tools.length === 0 ? undefined : { type: choice };
  if (!isRecord(choice))
    return invalidParameter('function_call', "must be 'none', 'auto' or name a function");
  const name = readName(choice.name, 'function_call.name');
  if (!tools.some((tool) => tool.name === name)) {
    invalidParameter('function_call.name', 'is not the name of a function in this request');
  }
  return { type: 'tool', tool: { name } };
}
