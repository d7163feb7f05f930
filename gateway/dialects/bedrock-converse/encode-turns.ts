// Our turns as messages of Converse: alternating, beginning with the user, the results of all calls of a turn in the next one.

import { toolInput } from '../anthropic/tool-input.ts';
import type { Conversation, Part, PartOf, Turn } from '../conversation.ts';
import { asReminder } from '../reminder.ts';
import { toolErrorMark } from '../tools/tool-error.ts';
import { fitToolIds } from '../tools/tool-ids.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { cachePoint } from './cache-points.ts';
import { Documents, encodeImage } from './encode-media.ts';
import type { ConverseTraits } from './model-traits.ts';

export type Block = Readonly<Record<string, unknown>>;

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly Block[];
}

const idLengthMax = 64;

/** @param mayPrefill Whether the model may be given the beginning of its answer. */
export function encodeConverseTurns(
  conversation: Conversation,
  names: ToolNames,
  traits: ConverseTraits,
  mayPrefill: boolean,
): readonly Message[] {
  const encoder = new TurnEncoder(names, traits, fitToolIds(conversation, idLengthMax));
  const messages: { role: Message['role']; content: Block[] }[] = [];
  for (const turn of conversation.turns) {
    const content = encoder.encode(turn);
    if (content.length === 0) continue;
    const role = turn.role === 'assistant' ? 'assistant' : 'user';
    const last = messages.at(-1);
    if (last?.role === role) for (const block of content) last.content.push(block);
    else messages.push({ role, content: [...content] });
  }
  const whole = messages.map(({ role, content }) => ({ role, content: besideDocuments(content) }));
  if (whole[0]?.role !== 'user') whole.unshift(nudge);
  const last = whole.at(-1);
  if (last?.role !== 'assistant') return whole;
  return mayPrefill ? [...whole.slice(0, -1), withoutLastSpace(last)] : [...whole, nudge];
}

/** User text for a place where Converse demands a user turn and the caller has none. */
const nudge: { role: Message['role']; content: Block[] } = { role: 'user', content: [{ text: 'Go on.' }] };

/** A document needs text in its message. */
function besideDocuments(content: Block[]): Block[] {
  const isAlone = content.some(({ document }) => document) && !content.some(({ text }) => text !== undefined);
  return isAlone ? [...content, { text: 'See the document.' }] : content;
}

/** The beginning of an answer must not end in white space. */
function withoutLastSpace({ role, content }: Message): Message {
  const last = content.at(-1);
  if (typeof last?.text !== 'string') return { role, content };
  return { role, content: [...content.slice(0, -1), { text: last.text.trimEnd() }] };
}

class TurnEncoder {
  private readonly names: ToolNames;
  private readonly traits: ConverseTraits;
  private readonly fitId: (id: string) => string;
  private readonly documents = new Documents();

  constructor(names: ToolNames, traits: ConverseTraits, fitId: (id: string) => string) {
    this.names = names;
    this.traits = traits;
    this.fitId = fitId;
  }

  encode({ role, parts }: Turn): readonly Block[] {
    if (role !== 'system') return parts.flatMap((part) => this.marked(part));
    return parts.flatMap((part) =>
      part.type === 'text' ? this.marked({ ...part, text: asReminder(part.text) }) : [],
    );
  }

  /** A cache point is its own block, after the block that it covers. After reasoning, Bedrock would refuse it. */
  private marked(part: Part): readonly Block[] {
    const blocks = this.part(part);
    const isMarked = part.cacheHint !== undefined && this.traits.takesCachePoints;
    if (!isMarked || blocks.length === 0 || part.type === 'thinking') return blocks;
    return [...blocks, cachePoint(part.cacheHint)];
  }

  private part(part: Part): readonly Block[] {
    switch (part.type) {
      case 'text':
      case 'refusal':
        return part.text.trim() === '' ? [] : [{ text: part.text }];
      case 'image':
        return encodeImage(part);
      case 'file':
        return this.documents.encode(part);
      case 'audio':
        return [];
      case 'thinking':
        return encodeThinkingPart(part);
      case 'tool-call': {
        const input = part.kind === 'custom' ? { input: part.input } : toolInput(part.input);
        return [{ toolUse: { toolUseId: this.fitId(part.id), name: this.names.wireName(part), input } }];
      }
      case 'tool-result':
        return [{ toolResult: this.result(part) }];
    }
  }

  private result({ id, parts, isError }: PartOf<'tool-result'>): Block {
    const { takesErrorStatus } = this.traits;
    const inner = parts.flatMap((part) => this.part(part));
    const content = inner.length === 0 ? [{ text: '(no output)' }] : inner;
    const toolUseId = this.fitId(id);
    if (!isError) return { toolUseId, content };
    if (takesErrorStatus) return { toolUseId, content, status: 'error' };
    return { toolUseId, content: [{ text: toolErrorMark }, ...content] };
  }
}

/** Only as the very block it came in: one without its signature spoils the whole conversation. */
function encodeThinkingPart({ text, opaque }: PartOf<'thinking'>): readonly Block[] {
  switch (opaque?.state.kind) {
    case 'signature':
      return [{ reasoningContent: { reasoningText: { text, signature: opaque.state.value } } }];
    case 'redacted':
      return [{ reasoningContent: { redactedContent: toBytes(opaque.state.value) } }];
    default:
      return [];
  }
}

/** As a text that has each byte as one character: what the messages dialect of the same models calls `data`. */
export function ofBytes(base64: string): string {
  return Buffer.from(base64, 'base64').toString('latin1');
}

function toBytes(text: string): string {
  return Buffer.from(text, 'latin1').toString('base64');
}
