// Our turns as messages.

import type { ModelTraits } from '../anthropic/model-traits.ts';
import { nativeBlockOf } from '../anthropic/thinking-blocks.ts';
import { toolInput } from '../anthropic/tool-input.ts';
import type { Conversation, Part, PartOf, Turn } from '../conversation.ts';
import { asReminder } from '../reminder.ts';
import { commonImageTypes } from '../request/data-url.ts';
import { fitToolIds } from '../tools/tool-ids.ts';
import type { ToolNames } from '../tools/tool-names.ts';

type Block = Readonly<Record<string, unknown>>;

interface Message {
  readonly role: Turn['role'];
  readonly content: Block[];
}

/** The dialect's ids have no limit of their own; other upstreams' may be long. */
const idLengthMax = 128;

/** @param mayPrefill Whether the model may be given the beginning of its answer. */
export function encodeMessages(
  conversation: Conversation,
  names: ToolNames,
  { takesLaterSystem }: ModelTraits,
  mayPrefill: boolean,
): readonly Message[] {
  const fitId = fitToolIds(conversation, idLengthMax);
  const messages: Message[] = [];
  for (const turn of conversation.turns) {
    const parts = turn.role === 'system' ? turn.parts.filter(({ type }) => type === 'text') : turn.parts;
    const content = parts.flatMap((part) => encodePart(part, names, fitId));
    if (content.length === 0) continue;
    const last = messages.at(-1);
    // Never as the first message, which is what the member `system` is for.
    const mayStay = takesLaterSystem && last !== undefined && last.role !== 'assistant';
    if (turn.role === 'system' && !mayStay) {
      push(messages, { role: 'user', content: content.map(reminderOf) });
    } else push(messages, { role: turn.role, content });
  }
  // The dialect wants the user to speak first; a conversation of system text alone has no message left.
  if (messages[0]?.role !== 'user') messages.unshift(nudge);
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return messages;
  return mayPrefill ? [...messages.slice(0, -1), withoutLastSpace(last)] : [...messages, nudge];
}

/** User text for a place where the dialect demands a user turn and the caller has none. */
const nudge: Message = { role: 'user', content: [{ type: 'text', text: 'Go on.' }] };

/** Neighbours of one role are one message: what became of a system turn, or stood around one left out. */
function push(messages: Message[], message: Message): void {
  const last = messages.at(-1);
  if (last?.role !== message.role) messages.push(message);
  else for (const block of message.content) last.content.push(block);
}

/** Where the model takes no system text between the turns. */
function reminderOf(block: Block): Block {
  return { ...block, text: asReminder(String(block.text)) };
}

/** The beginning of an answer must not end in white space. */
function withoutLastSpace({ role, content }: Message): Message {
  const last = content.at(-1);
  if (typeof last?.text !== 'string') return { role, content };
  return { role, content: [...content.slice(0, -1), { ...last, text: last.text.trimEnd() }] };
}

export function encodeText({ text, cacheHint }: PartOf<'text' | 'refusal'>): Block {
  return { type: 'text', text, ...encodeHint(cacheHint) };
}

export function encodeHint(cacheHint: unknown): Block {
  return cacheHint === undefined ? {} : { cache_control: cacheHint };
}

function encodePart(part: Part, names: ToolNames, fitId: (id: string) => string): readonly Block[] {
  const hint = encodeHint(part.cacheHint);
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text.trim() === '' ? [] : [encodeText(part)];
    case 'image':
      return encodeImage(part);
    case 'file':
      return encodeFile(part);
    case 'audio':
      return [];
    case 'thinking': {
      const block = nativeBlockOf(part);
      return block ? [block] : [];
    }
    case 'tool-call': {
      const input = part.kind === 'custom' ? { input: part.input } : toolInput(part.input);
      return [{ type: 'tool_use', id: fitId(part.id), name: names.wireName(part), input, ...hint }];
    }
    case 'tool-result': {
      const { id, isError } = part;
      const inner = part.parts.flatMap((inside) => encodePart(inside, names, fitId));
      const content = inner.length === 0 ? {} : { content: plainText(inner) ?? inner };
      const error = isError ? { is_error: true } : {};
      return [{ type: 'tool_result', tool_use_id: fitId(id), ...content, ...error, ...hint }];
    }
  }
}

/** A single text without marks may be a string. */
function plainText(blocks: readonly Block[]): string | undefined {
  const [only] = blocks;
  if (blocks.length !== 1 || only?.type !== 'text' || only.cache_control !== undefined) return undefined;
  return String(only.text);
}

function encodeImage({ source, cacheHint }: PartOf<'image'>): readonly Block[] {
  const hint = encodeHint(cacheHint);
  if (source.kind === 'url') return [{ type: 'image', source: { type: 'url', url: source.url }, ...hint }];
  const { mediaType, data } = source;
  if (!commonImageTypes.has(mediaType)) return [];
  return [{ type: 'image', source: { type: 'base64', media_type: mediaType, data }, ...hint }];
}

function encodeFile({ source, filename, cacheHint }: PartOf<'file'>): readonly Block[] {
  const rest = { ...(filename === undefined ? {} : { title: filename }), ...encodeHint(cacheHint) };
  if (source.kind === 'url') return [{ type: 'document', source: { type: 'url', url: source.url }, ...rest }];
  const { mediaType, data } = source;
  if (mediaType === 'application/pdf') {
    return [{ type: 'document', source: { type: 'base64', media_type: mediaType, data }, ...rest }];
  }
  if (!mediaType.startsWith('text/plain')) return [];
  const text = Buffer.from(data, 'base64').toString('utf8');
  return [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...rest }];
}
