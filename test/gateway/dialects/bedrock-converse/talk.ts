// Ways to read and write Converse, saying only what matters.

import { bedrockConverse } from '../../../../gateway/dialects/bedrock-converse/index.ts';
import type { Conversation, Part, Turn } from '../../../../gateway/dialects/conversation.ts';
import type { UpstreamCall, UpstreamTarget } from '../../../../gateway/dialects/dialect.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { openCall } from '../../../../gateway/dialects/translate.ts';
import { conversationOf } from '../support/make-conversation.ts';

export const origin = 'here';
export const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
export const nova = 'amazon.nova-pro-v1:0';
export const llama = 'us.meta.llama4-maverick-17b-instruct-v1:0';

export function call(change: Partial<Conversation> = {}, target: Partial<UpstreamTarget> = {}): UpstreamCall {
  return openCall(bedrockConverse, conversationOf({ turns: [userTurn('Hi')], ...change }), {
    upstreamModel: claude,
    isStream: false,
    parameters: {},
    origin,
    ...target,
  });
}

/** What the upstream is sent. */
export function encode(change: Partial<Conversation> = {}, target: Partial<UpstreamTarget> = {}): Sent {
  return JSON.parse(call(change, target).body.toString()) as Sent;
}

export type Block = Readonly<Record<string, unknown>>;

export interface Sent extends Readonly<Record<string, unknown>> {
  readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[];
}

export function userTurn(...parts: readonly (string | Part)[]): Turn {
  return { role: 'user', parts: parts.map(asPart) };
}

export function assistantTurn(...parts: readonly (string | Part)[]): Turn {
  return { role: 'assistant', parts: parts.map(asPart) };
}

function asPart(part: string | Part): Part {
  return typeof part === 'string' ? { type: 'text', text: part } : part;
}

export function toolCall(id: string, name = 'look', input = '{}'): Part {
  return { type: 'tool-call', id, name, kind: 'function', input };
}

export function toolResult(id: string, text: string, isError = false): Part {
  return { type: 'tool-result', id, parts: [{ type: 'text', text }], ...(isError ? { isError } : {}) };
}

/** One server-sent event, as the framing gives it. */
export function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function delta(contentBlockIndex: number, more: object): string {
  return event('contentBlockDelta', { contentBlockIndex, delta: more });
}

export const usage = { inputTokens: 5, outputTokens: 3, totalTokens: 8 };

export function ending(stopReason: string, more: object = {}): string {
  return event('messageStop', { stopReason, ...more }) + event('metadata', { usage });
}

export function decodeStream(
  text: string,
  change: Partial<Conversation> = {},
  pieceBytes = Number.POSITIVE_INFINITY,
) {
  const decoder = call(change, { isStream: true }).streamDecoder();
  const parts: StreamPart[] = [];
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    parts.push(...decoder.push(bytes.subarray(at, Math.min(bytes.length, at + pieceBytes))));
  }
  parts.push(...decoder.end());
  return { parts, facts: decoder.facts };
}

export function decodePlain(answer: object, change: Partial<Conversation> = {}) {
  return call(change).decodeAnswer(Buffer.from(JSON.stringify(answer)));
}
