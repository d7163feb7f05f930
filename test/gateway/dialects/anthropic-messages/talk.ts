// Ways to read and write the messages dialect, saying only what matters.

import { anthropicMessages } from '../../../../gateway/dialects/anthropic-messages/index.ts';
import type { Conversation, Part, Turn } from '../../../../gateway/dialects/conversation.ts';
import type { AnswerFacts, UpstreamCall, UpstreamTarget } from '../../../../gateway/dialects/dialect.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { openCall } from '../../../../gateway/dialects/translate.ts';
import { RequestBody } from '../../../../gateway/json/request-body.ts';
import { conversationOf } from '../support/make-conversation.ts';

type Members = Readonly<Record<string, unknown>>;

export const question = { role: 'user', content: 'Hi' };

export function bodyOf(members: Members): RequestBody {
  const body = new RequestBody([Buffer.from(JSON.stringify(members))]);
  body.parse();
  return body;
}

/** A request of one user message, but for these members, in our own form. */
export function decodeRequest(
  members: Members,
  headers: Readonly<Record<string, string>> = {},
): Conversation {
  const { conversations } = anthropicMessages.translate(
    bodyOf({ model: 'm', max_tokens: 1000, messages: [question], ...members }),
    { upstreams: new Set(['openai-chat']), header: (name) => headers[name] },
  );
  const [conversation] = conversations;
  if (!conversation) throw new Error('no conversation');
  return conversation;
}

/** What the request asks for, but for its limit, which every request has. */
export function asksOf(members: Members): string[] {
  const { asks } = decodeRequest(members);
  return asks
    .filter(({ feature }) => feature !== 'max-tokens')
    .map(({ feature, param }) => `${feature} ${param}`);
}

/** The parts of the last turn. */
export function decodeBlocks(role: string, content: unknown): readonly Part[] {
  return decodeRequest({ messages: [question, { role, content }] }).turns.at(-1)?.parts ?? [];
}

export const origin = 'here';

export function call(change: Partial<Conversation> = {}, target: Partial<UpstreamTarget> = {}): UpstreamCall {
  return openCall(anthropicMessages, conversationOf({ turns: [userTurn('Hi')], ...change }), {
    upstreamModel: 'claude-sonnet-4-5',
    isStream: false,
    parameters: {},
    origin,
    ...target,
  });
}

/** What the upstream is sent. */
export function encodeRequest(change: Partial<Conversation> = {}, target: Partial<UpstreamTarget> = {}) {
  return JSON.parse(call(change, target).body.toString('utf8'));
}

export function userTurn(...parts: readonly (Part | string)[]): Turn {
  return { role: 'user', parts: parts.map(partOf) };
}

export function assistantTurn(...parts: readonly (Part | string)[]): Turn {
  return { role: 'assistant', parts: parts.map(partOf) };
}

export function systemTurn(...parts: readonly (Part | string)[]): Turn {
  return { role: 'system', parts: parts.map(partOf) };
}

function partOf(part: Part | string): Part {
  return typeof part === 'string' ? { type: 'text', text: part } : part;
}

export function toolCall(id: string, input = '{}', name = 'look'): Part {
  return { type: 'tool-call', id, name, kind: 'function', input };
}

export function toolResult(id: string, ...parts: readonly (Part | string)[]): Part {
  return { type: 'tool-result', id, parts: parts.map(partOf) };
}

export function signed(text: string, value = 'sig', from = origin): Part {
  return { type: 'thinking', text, opaque: { origin: from, state: { kind: 'signature', value } } };
}

interface DecodedStream {
  readonly parts: readonly StreamPart[];
  readonly facts: AnswerFacts;
}

export function decodeStream(
  text: string | readonly Buffer[],
  conversation: Partial<Conversation> = {},
): DecodedStream {
  const decoder = call(conversation).streamDecoder();
  const pieces = typeof text === 'string' ? [Buffer.from(text)] : text;
  const parts = pieces.flatMap((piece) => decoder.push(piece));
  return { parts: [...parts, ...decoder.end()], facts: decoder.facts };
}

/** One line a part, usage and start left out. */
export function short(parts: readonly StreamPart[]): string[] {
  return parts.map(lineOf).filter((line) => line !== '');
}

function lineOf(part: StreamPart): string {
  switch (part.type) {
    case 'part-start':
      return `${part.index} ${part.head.type}${part.head.type === 'tool-call' ? ` ${part.head.name}` : ''}`;
    case 'part-delta':
      return `${part.index} + ${part.text}`;
    case 'part-end':
      return `${part.index} end${part.opaque ? ` ${JSON.stringify(part.opaque.state)}` : ''}`;
    case 'choice-end':
      return part.finish;
    case 'ping':
      return 'ping';
    case 'answer-start':
    case 'usage':
      return '';
  }
}
