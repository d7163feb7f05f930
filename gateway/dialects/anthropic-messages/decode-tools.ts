// Which tools are offered, and how may they be called?

import { isRecord, type JsonRecord } from '../../json/record.ts';
import { requiresAll } from '../anthropic/output-schema.ts';
import type { Conversation, Tool, ToolChoice } from '../conversation.ts';
import { checkToolForms, invalidParameter } from '../request/parameter-rules.ts';
import {
  type NoteAsk,
  noteMembers,
  readCacheHint,
  readFlag,
  readList,
  readName,
  readOptionalRecord,
  readOptionalText,
  readRecord,
} from '../request/read-values.ts';
import { clientToolForm, isComputer } from './client-tools.ts';

type DecodedTools = Pick<Conversation, 'tools' | 'hasWebSearch' | 'toolChoice' | 'mayCallInParallel'>;

/** A tool that the provider runs, or whose shape only the vendor's models know. */
type Offer = { readonly tool: Tool } | { readonly hosted: 'web-search' | 'tool-search' | 'other' };

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function decodeTools(tools: unknown, choice: unknown, note: NoteAsk): DecodedTools {
  const offers = new Map<string, Offer>();
  const list = tools === undefined ? [] : readList(tools, 'tools');
  checkToolForms(list, 'messages');
  for (const [index, entry] of list.entries()) {
    const path = `tools[${index}]`;
    const tool = readRecord(entry, path);
    // A connection to a server's tools has no name.
    const isUnnamed = tool.type === 'mcp_toolset';
    const name = isUnnamed ? path : readName(tool.name, `${path}.name`);
    offers.set(name, decodeOffer(tool, name, path, note));
  }
  const own = [...offers.values()].flatMap((offer) => ('tool' in offer ? [offer.tool] : []));
  if (own.length > 0) note('tools', 'tools');
  const hasWebSearch = [...offers.values()].some((offer) => isWebSearch(offer));
  return {
    tools: own,
    ...(hasWebSearch ? { hasWebSearch } : {}),
    ...decodeChoice(readOptionalRecord(choice, 'tool_choice'), offers, note),
  };
}

function isWebSearch(offer: Offer | undefined): boolean {
  return offer !== undefined && 'hosted' in offer && offer.hosted === 'web-search';
}

function decodeOffer(tool: JsonRecord, name: string, path: string, note: NoteAsk): Offer {
  const type = readOptionalText(tool.type, `${path}.type`) ?? 'custom';
  if (type === 'custom') return { tool: decodeTool(tool, name, path, note) };
  const form = clientToolForm(type);
  if (form) {
    note('client-tool', path);
    return { tool: { kind: 'function', name, ...form, ...decodeExtras(tool, path, note) } };
  }
  if (type.startsWith('web_search_')) {
    note('web-search', path);
    noteMembers(tool, path, searchLimits, note);
    return { hosted: 'web-search' };
  }
  if (type.startsWith('tool_search_tool')) {
    note('tool-search', path);
    return { hosted: 'tool-search' };
  }
  note(isComputer(type) ? 'computer-tool' : 'hosted-tool', path);
  return { hosted: 'other' };
}

const searchLimits = {
  max_uses: 'vendor-member',
  allowed_domains: 'vendor-member',
  blocked_domains: 'vendor-member',
  user_location: 'vendor-member',
} as const;

function decodeTool(tool: JsonRecord, name: string, path: string, note: NoteAsk): Tool {
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
    invalidParameter(`${path}.name`, 'must be 1 to 128 letters, digits, underscores or hyphens');
  }
  const { input_schema: schema } = tool;
  if (!isRecord(schema)) invalidParameter(`${path}.input_schema`, 'is required and must be an object');
  const description = readOptionalText(tool.description, `${path}.description`);
  const isStrict = readFlag(tool.strict, `${path}.strict`);
  if (isStrict) note('strict-tool', `${path}.strict`);
  return {
    kind: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    schema,
    // This dialect holds a call to optional properties too. Others refuse a strict tool that has some.
    ...(isStrict && requiresAll(schema) ? { isStrict } : {}),
    ...decodeExtras(tool, path, note),
  };
}

/** What every tool may have. */
function decodeExtras(tool: JsonRecord, path: string, note: NoteAsk): Pick<Tool, 'cacheHint'> {
  if (readFlag(tool.defer_loading, `${path}.defer_loading`)) note('tool-search', `${path}.defer_loading`);
  noteMembers(tool, path, { input_examples: 'vendor-member' }, note);
  const { allowed_callers: callers } = tool;
  if (Array.isArray(callers) && callers.some((caller) => caller !== 'direct')) {
    note('vendor-member', `${path}.allowed_callers`);
  }
  return readCacheHint(tool, path, note);
}

function decodeChoice(
  choice: JsonRecord | undefined,
  offers: ReadonlyMap<string, Offer>,
  note: NoteAsk,
): Pick<DecodedTools, 'toolChoice' | 'mayCallInParallel'> {
  if (!choice) return {};
  const toolChoice = decodeChoiceType(choice, offers, note);
  const path = 'tool_choice.disable_parallel_tool_use';
  if (!readFlag(choice.disable_parallel_tool_use, path)) return { toolChoice };
  note('parallel-calls-off', path);
  return { toolChoice, mayCallInParallel: false };
}

function decodeChoiceType(choice: JsonRecord, offers: ReadonlyMap<string, Offer>, note: NoteAsk): ToolChoice {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { type: choice.type };
    case 'any':
      return anyOf(offers, note);
    case 'tool':
      return oneOf(readName(choice.name, 'tool_choice.name'), offers, note);
    default:
      return invalidParameter('tool_choice.type', 'must be one of auto, any, tool, none');
  }
}

function anyOf(offers: ReadonlyMap<string, Offer>, note: NoteAsk): ToolChoice {
  const all = [...offers];
  const own = all.filter(([, offer]) => 'tool' in offer);
  if (all.length === 0) invalidParameter('tool_choice', "of type 'any' needs 'tools'");
  if (own.length > 0) return { type: 'required' };
  const search = all.find(([, offer]) => isWebSearch(offer)) ?? all[0];
  return search ? oneOf(search[0], offers, note) : { type: 'required' };
}

function oneOf(name: string, offers: ReadonlyMap<string, Offer>, note: NoteAsk): ToolChoice {
  const offer = offers.get(name);
  if (!offer) return invalidParameter('tool_choice.name', "must be the name of one of 'tools'");
  if ('tool' in offer) return { type: 'tool', tool: { name } };
  if (isWebSearch(offer)) {
    note('forced-web-search', 'tool_choice');
    return { type: 'web-search' };
  }
  note('forced-hosted-tool', 'tool_choice');
  return { type: 'auto' };
}
