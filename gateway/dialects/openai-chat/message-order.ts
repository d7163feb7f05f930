// In which order does an upstream take the messages of a chat request? Most take any. A strict one refuses a user's message right
// after a tool's, and system text after a tool's or the assistant's: "Unexpected role 'user' after role 'tool'", code 3230.
// What must not follow a tool's message follows a short one of the assistant's, with the words of Mistral's own client
// (mistralai/mistral-vibe#578); the text stays the user's. Rules: mistral-common's validator, 2026-11.

import { readParts } from '../../json/read-parts.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { Edit, RequestBody } from '../../json/request-body.ts';
import { asReminder } from '../reminder.ts';
import { mayHold, tryRead } from '../state/foreign-state.ts';

const bridge = { role: 'assistant', content: 'Understood.' };

/** The change to one message. */
interface Change {
  /** The bridge comes first. */
  readonly isBridged: boolean;
  /** System text becomes a reminder of the user's. */
  readonly isReminder: boolean;
}

export function inStrictOrder(messages: readonly JsonRecord[]): readonly JsonRecord[] {
  const changes = changesOf(messages);
  return messages.flatMap((message, at) => changed(message, changes[at]));
}

/** The same in the bytes of a request that passes. Only a tool's messages are looked for: the search must be cheap. */
export function strictOrderEdits(body: RequestBody): readonly Edit[] {
  const member = body.member('messages');
  if (!member || !mayHold(body.chunks, (bytes) => bytes.includes('"tool"'))) return [];
  const messages = tryRead(body, member);
  if (!Array.isArray(messages)) return [];
  const changes = changesOf(messages.map((message) => asRecord(message) ?? {}));
  if (!changes.some((change) => change.isBridged || change.isReminder)) return [];
  const text = Buffer.concat(body.chunks).toString('latin1', member.valueStart, member.valueEnd);
  return readParts(text, 0).flatMap(({ valueStart, end }, at): readonly Edit[] => {
    const change = changes[at];
    const from = member.valueStart + valueStart;
    const front = change?.isBridged ? `${JSON.stringify(bridge)},` : '';
    if (change?.isReminder) {
      const reminder = JSON.stringify(reminderOf(asRecord(messages[at]) ?? {}));
      return [{ from, to: member.valueStart + end, text: front + reminder }];
    }
    return front === '' ? [] : [{ from, to: from, text: front }];
  });
}

function changesOf(messages: readonly JsonRecord[]): readonly Change[] {
  let before: unknown;
  return messages.map(({ role }) => {
    const isSystem = role === 'system' || role === 'developer';
    const isReminder = isSystem && (before === 'tool' || before === 'assistant');
    const isBridged = before === 'tool' && (isSystem || role === 'user');
    before = isReminder ? 'user' : role;
    return { isBridged, isReminder };
  });
}

function changed(message: JsonRecord, change: Change | undefined): readonly JsonRecord[] {
  const own = change?.isReminder ? reminderOf(message) : message;
  return change?.isBridged ? [bridge, own] : [own];
}

function reminderOf({ role: _, content, ...message }: JsonRecord): JsonRecord {
  return {
    role: 'user',
    content: Array.isArray(content) ? content.map(reminderPart) : reminderText(content),
    ...message,
  };
}

function reminderPart(part: unknown): unknown {
  const record = asRecord(part);
  return record && typeof record.text === 'string' ? { ...record, text: asReminder(record.text) } : part;
}

function reminderText(content: unknown): unknown {
  return typeof content === 'string' ? asReminder(content) : content;
}
