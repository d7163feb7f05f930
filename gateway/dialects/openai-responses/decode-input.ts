// Which turns does the input stand for? Items become turns in their order; neighbours are merged later.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import type { Part, PartOf, Turn } from '../conversation.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import { type NoteAsk, readText } from '../request/read-values.ts';
import { unpackOpaque } from '../state/opaque.ts';
import { clientItem, decodeClientCall, decodeClientOutput } from './client-tools.ts';
import { decodeContent } from './decode-content.ts';
import { isMintedId } from './minted-ids.ts';
import { checkItem, isReference } from './read-request.ts';

interface DecodedInput {
  readonly system: readonly Part[];
  readonly turns: readonly Turn[];
  /** Tools that stand in items, each list with its name. */
  readonly toolLists: readonly (readonly [name: string, tools: unknown])[];
}

/** @throws {GatewayError} `invalid_parameter`, naming the item. */
export function decodeInput(instructions: unknown, input: unknown, ask: NoteAsk): DecodedInput {
  const system: Part[] = [];
  if (typeof instructions === 'string' && instructions !== '') {
    ask('system-text', 'instructions');
    system.push({ type: 'text', text: instructions });
  }
  if (typeof input === 'string') {
    if (input.length > inputLengthMax) {
      invalidParameter('input', `must have at most ${inputLengthMax} characters`);
    }
    return { system, turns: [{ role: 'user', parts: [{ type: 'text', text: input }] }], toolLists: [] };
  }
  const turns: Turn[] = [];
  const callIds = new Map<string, string>();
  const toolLists: (readonly [name: string, tools: unknown])[] = [];
  for (const [index, value] of (Array.isArray(input) ? input : []).entries()) {
    const name = `input[${index}]`;
    checkItem(value, name);
    const item = asRecord(value) ?? {};
    if ((item.type === 'additional_tools' || item.type === 'tool_search_output') && item.tools) {
      toolLists.push([`${name}.tools`, item.tools]);
    }
    const turn = decodeClientItem(item, name, callIds, ask) ?? decodeItem(item, name, ask);
    if (!turn) continue;
    if (turn.role !== 'system') turns.push(turn);
    else if (turns.length === 0) {
      ask('system-text', name);
      system.push(...turn.parts);
    } else {
      ask('later-system-text', name);
      turns.push(turn);
    }
  }
  if (turns.length > 1) ask('several-turns', 'input');
  return { system, turns, toolLists };
}

const inputLengthMax = 10_485_760;

/** Undefined for what is neither a call nor a result of a tool that the client runs. */
function decodeClientItem(
  item: JsonRecord,
  name: string,
  callIds: Map<string, string>,
  ask: NoteAsk,
): Turn | undefined {
  const found = clientItem(item.type);
  if (!found) return undefined;
  ask('tools', name);
  ask('client-tool', name);
  if (!found.isCall) {
    const idOf = (itemId: string): string => callIds.get(itemId) ?? itemId;
    return { role: 'user', parts: [decodeClientOutput(item, name, idOf)] };
  }
  const call = decodeClientCall(item, found.tool, name);
  if (typeof item.id === 'string') callIds.set(item.id, call.id);
  return { role: 'assistant', parts: [call] };
}

/** Undefined for what is no part of a turn. */
function decodeItem(item: JsonRecord, name: string, ask: NoteAsk): Turn | undefined {
  if (isReference(item)) {
    // Programs with stored answers refer to reasoning items that this gateway minted and does not keep: dropped, as in pass-through.
    if (!isMintedId(item.id)) ask('stored-state', name);
    return undefined;
  }
  switch (item.type) {
    case undefined:
    case null:
    case 'message':
      return decodeMessage(item, name, ask);
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [decodeCall(item, name, ask)] };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'user', parts: [decodeOutput(item, name, ask)] };
    case 'reasoning': {
      const parts = decodeReasoning(item);
      if (parts.length > 0) ask('reasoning-history', name);
      return { role: 'assistant', parts };
    }
    case 'additional_tools':
      return undefined;
    case 'tool_search_call':
    case 'tool_search_output':
      ask('tool-search', name);
      return undefined;
    case 'compaction':
    case 'compaction_trigger':
      ask('compaction', name);
      return undefined;
    default:
      ask('hosted-history', name);
      return undefined;
  }
}

function decodeMessage(item: JsonRecord, name: string, ask: NoteAsk): Turn {
  const parts = decodeContent(item.content, `${name}.content`, ask);
  if (item.role === 'user') return { role: 'user', parts };
  const at = parts.findIndex(({ type }) => type !== 'text' && type !== 'refusal');
  if (at !== -1) {
    invalidParameter(`${name}.content[${at}]`, `must be text in a message with the role '${item.role}'`);
  }
  return { role: item.role === 'assistant' ? 'assistant' : 'system', parts };
}

function decodeCall(item: JsonRecord, name: string, ask: NoteAsk): PartOf<'tool-call'> {
  const { namespace } = item;
  const isCustom = item.type === 'custom_tool_call';
  ask('tools', name);
  const call = {
    type: 'tool-call',
    id: readText(item.call_id, `${name}.call_id`),
    name: readText(item.name, `${name}.name`),
    ...(typeof namespace === 'string' ? { namespace } : {}),
  } as const;
  if (typeof namespace === 'string') ask('tool-namespace', `${name}.namespace`);
  if (isCustom) {
    ask('custom-tool', name);
    return { ...call, kind: 'custom', input: readText(item.input, `${name}.input`) };
  }
  const input = readText(item.arguments, `${name}.arguments`);
  if (input.trim() === '') return { ...call, kind: 'function', input: '{}' };
  if (!isRecord(parseJson(input))) ask('malformed-arguments', `${name}.arguments`);
  return { ...call, kind: 'function', input };
}

function decodeOutput(item: JsonRecord, name: string, ask: NoteAsk): PartOf<'tool-result'> {
  const id = readText(item.call_id, `${name}.call_id`);
  const parts = decodeContent(item.output, `${name}.output`, ask);
  ask('tools', name);
  for (const [index, { type }] of parts.entries()) {
    if (type !== 'text' && type !== 'refusal') ask('tool-result-media', `${name}.output[${index}]`);
  }
  return { type: 'tool-result', id, parts };
}

/** The shown reasoning; nothing if none was shown and no state was kept. */
function decodeReasoning({ id, summary, content, encrypted_content: sealed }: JsonRecord): readonly Part[] {
  const text = textsOf(summary).join('\n\n') || textsOf(content).join('');
  if (typeof sealed !== 'string' || sealed === '') return text === '' ? [] : [{ type: 'thinking', text }];
  const opaque = unpackOpaque(sealed);
  if (opaque === 'damaged') return [];
  if (opaque) return [{ type: 'thinking', text, opaque }];
  const state = { kind: 'encrypted', value: sealed, ...(typeof id === 'string' ? { id } : {}) } as const;
  return [{ type: 'thinking', text, opaque: { state } }];
}

/** The texts of a list of parts. */
export function textsOf(parts: unknown): readonly string[] {
  if (!Array.isArray(parts)) return [];
  return parts.map((part) => asRecord(part)?.text).filter((text) => typeof text === 'string');
}
