// Who said what? The messages of a chat request as system blocks and turns.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { Part, Turn } from '../conversation.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import {
  type NoteAsk,
  readList,
  readName,
  readOptionalText,
  readRecord,
  readText,
} from '../request/read-values.ts';
import { decodeContent } from './decode-content.ts';
import { decodeThinking } from './decode-thinking.ts';

interface DecodedMessages {
  readonly system: readonly Part[];
  readonly turns: readonly Turn[];
}

/** @throws {GatewayError} `invalid_parameter`, naming the message. */
export function decodeMessages(messages: readonly unknown[], note: NoteAsk): DecodedMessages {
  const system: Part[] = [];
  const turns: Turn[] = [];
  const legacy = new LegacyCalls();
  for (const [index, entry] of messages.entries()) {
    const path = `messages[${index}]`;
    const message = readRecord(entry, path);
    const turn = decodeMessage(message, path, legacy, note);
    if (readOptionalText(message.name, `${path}.name`) !== undefined && message.role !== 'function') {
      note('author-name', `${path}.name`);
    }
    if (turn.role !== 'system') {
      turns.push(turn);
      continue;
    }
    const isLeading = turns.length === 0;
    note(isLeading ? 'system-text' : 'later-system-text', path);
    if (isLeading) system.push(...turn.parts);
    else turns.push(turn);
  }
  if (turns.filter(({ role }) => role !== 'system').length > 1) note('several-turns', 'messages');
  return { system, turns };
}

function decodeMessage(message: JsonRecord, path: string, legacy: LegacyCalls, note: NoteAsk): Turn {
  const at = `${path}.content`;
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', parts: decodeContent(message.content, at, 'system', note) };
    case 'user':
      return { role: 'user', parts: decodeContent(message.content, at, 'user', note) };
    case 'assistant':
      return { role: 'assistant', parts: decodeAssistant(message, path, legacy, note) };
    case 'tool': {
      note('tools', path);
      const id = readName(message.tool_call_id, `${path}.tool_call_id`);
      const parts = decodeContent(message.content, at, 'tool', note);
      return { role: 'user', parts: [{ type: 'tool-result', id, parts }] };
    }
    case 'function': {
      note('tools', path);
      const id = legacy.answer(readName(message.name, `${path}.name`));
      const parts = decodeContent(message.content, at, 'tool', note);
      return { role: 'user', parts: [{ type: 'tool-result', id, parts }] };
    }
    default:
      return invalidParameter(
        `${path}.role`,
        'must be one of developer, system, user, assistant, tool, function',
      );
  }
}

function decodeAssistant(message: JsonRecord, path: string, legacy: LegacyCalls, note: NoteAsk): Part[] {
  const refusal = readOptionalText(message.refusal, `${path}.refusal`) ?? '';
  // The audio is stored at the provider that made it, under an id.
  if (asRecord(message.audio)) note('audio-out', `${path}.audio`);
  return [
    ...decodeThinking(message, path, note),
    ...decodeContent(message.content, `${path}.content`, 'assistant', note),
    ...(refusal === '' ? [] : [{ type: 'refusal', text: refusal } as const]),
    ...decodeCalls(message, path, legacy, note),
  ];
}

function decodeCalls(message: JsonRecord, path: string, legacy: LegacyCalls, note: NoteAsk): Part[] {
  const { tool_calls: calls, function_call: call } = message;
  if (call !== undefined && call !== null) {
    const at = `${path}.function_call`;
    note('tools', at);
    const value = readRecord(call, at);
    return [functionCall(value, legacy.call(readName(value.name, `${at}.name`)), at, note)];
  }
  if (calls === undefined || calls === null) return [];
  const entries = readList(calls, `${path}.tool_calls`);
  if (entries.length > 0) note('tools', `${path}.tool_calls`);
  return entries.map((value, index) => {
    const at = `${path}.tool_calls[${index}]`;
    const entry = readRecord(value, at);
    const id = readName(entry.id, `${at}.id`);
    if (entry.type !== 'custom') {
      return functionCall(readRecord(entry.function, `${at}.function`), id, `${at}.function`, note);
    }
    note('custom-tool', at);
    const custom = readRecord(entry.custom, `${at}.custom`);
    const name = readName(custom.name, `${at}.custom.name`);
    return {
      type: 'tool-call',
      id,
      name,
      kind: 'custom',
      input: readText(custom.input, `${at}.custom.input`),
    };
  });
}

function functionCall(value: JsonRecord, id: string, path: string, note: NoteAsk): Part {
  const name = readName(value.name, `${path}.name`);
  const text = readOptionalText(value.arguments, `${path}.arguments`) ?? '';
  const input = text.trim() === '' ? '{}' : text;
  if (!asRecord(parseJson(input))) note('malformed-arguments', `${path}.arguments`);
  return { type: 'tool-call', id, name, kind: 'function', input };
}

/** Calls without ids, of the time before tools: a result belongs to the latest call of that function. */
class LegacyCalls {
  private readonly latest = new Map<string, string>();
  private count = 0;

  call(name: string): string {
    const id = `call_function_${this.count++}`;
    this.latest.set(name, id);
    return id;
  }

  answer(name: string): string {
    return this.latest.get(name) ?? 'call_function';
  }
}
