// What is said in the system text and the messages, in our own form?

import type { JsonRecord } from '../../json/record.ts';
import { promptQuirks } from '../../request/prompt-quirks.ts';
import type { Part, PartOf, Turn } from '../conversation.ts';
import {
  type NoteAsk,
  noteMembers,
  readList,
  readOptionalRecord,
  readOptionalText,
  readRecord,
} from '../request/read-values.ts';
import { decodeContent } from './decode-blocks.ts';
import { checkRole } from './read-request.ts';

interface DecodedTurns {
  readonly system: readonly Part[];
  readonly turns: readonly Turn[];
  /** The effort that the last system message asks for. */
  readonly effort?: string;
}

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function decodeTurns(system: unknown, messages: unknown, note: NoteAsk): DecodedTurns {
  const leading = [...decodeSystem(system, note)];
  const turns: Turn[] = [];
  let effort: string | undefined;
  for (const [index, entry] of readList(messages, 'messages').entries()) {
    const path = `messages[${index}]`;
    const message = readRecord(entry, path);
    const { role } = message;
    checkRole(role, `${path}.role`);
    if (role === 'system') effort = decodeEffort(message, path, note) ?? effort;
    const { content } = message;
    const isEmpty = role === 'system' && (content === undefined || content === null);
    const parts = isEmpty ? [] : decodeContent(content, role, `${path}.content`, note);
    if (role !== 'system') turns.push({ role, parts });
    else if (parts.length > 0 && turns.length > 0) {
      note('later-system-text', path);
      turns.push({ role, parts });
    } else if (parts.length > 0) {
      note('system-text', path);
      leading.push(...parts);
    }
  }
  if (turns.length > 1) note('several-turns', 'messages');
  return { system: leading, turns, ...(effort === undefined ? {} : { effort }) };
}

function decodeSystem(system: unknown, note: NoteAsk): readonly Part[] {
  if (system === undefined) return [];
  const parts = decodeContent(system, 'system', 'system', note);
  const [first, ...others] = parts;
  const kept =
    first?.type === 'text' && promptQuirks.some(({ start }) => first.text.startsWith(start))
      ? [...withoutFirstLine(first), ...others]
      : parts;
  if (kept.length > 0) note('system-text', 'system');
  return kept;
}

/** The line changes with every request and would spoil the prompt caches of other vendors. It usually fills a whole block. */
function withoutFirstLine(part: PartOf<'text'>): readonly Part[] {
  const end = part.text.indexOf('\n');
  const text = end === -1 ? '' : part.text.slice(end + 1);
  return text.trim() === '' ? [] : [{ ...part, text }];
}

function decodeEffort(message: JsonRecord, path: string, note: NoteAsk): string | undefined {
  noteMembers(message, path, { clear_at: 'vendor-member' }, note);
  const config = readOptionalRecord(message.output_config, `${path}.output_config`);
  const at = `${path}.output_config.effort`;
  const effort = readOptionalText(config?.effort, at);
  if (effort !== undefined) note('reasoning', at);
  return effort;
}
