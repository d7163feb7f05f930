// A responses client and a responses upstream, in short: what one asks and gets, and what the other
// is sent and says.

import type { Conversation } from '../../../../gateway/dialects/conversation.ts';
import type { StreamDecoder } from '../../../../gateway/dialects/dialect.ts';
import { normalise } from '../../../../gateway/dialects/normalise.ts';
import { translateResponses } from '../../../../gateway/dialects/openai-responses/translate.ts';
import { responsesUpstream } from '../../../../gateway/dialects/openai-responses/upstream.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { readPieces } from '../support/read-pieces.ts';
import { bodyOf, makeConversation, target } from '../support/upstream-call.ts';

export const head = { id: 'abc', createdAt: 1_700_000_000, model: 'm', inputEstimate: 7 };

const translate = (request: object) => translateResponses(bodyOf({ model: 'm', input: 'p', ...request }));

/** What the members beyond model and input mean. */
export function decodeRequest(request: object): Conversation {
  const [conversation] = translate(request).conversations;
  if (!conversation) throw new Error('no conversation');
  return conversation;
}

/** The request's wishes, each as `feature at parameter`. */
export function asksOf(request: object): readonly string[] {
  return decodeRequest(request).asks.map(({ feature, param }) => `${feature} at ${param}`);
}

/** All that a client is streamed for these parts, and for the end. */
export function streamText(parts: readonly StreamPart[], request: object = {}): string {
  const encoder = translate(request).streamEncoder(head);
  return encoder.open(0).encode(parts) + encoder.close();
}

/** An encoder in the middle of its stream. */
export function openEncoder(request: object = {}) {
  return translate(request).streamEncoder(head).open(0);
}

export function plainAnswer(
  answer: Parameters<ReturnType<typeof translate>['encodeAnswer']>[0][number],
  request: object = {},
): unknown {
  return JSON.parse(translate(request).encodeAnswer([answer], head).toString('utf8'));
}

export function decoder(more: Partial<Conversation> = {}): StreamDecoder {
  return responsesUpstream.open(makeConversation(more), target).streamDecoder();
}

export function decodeStream(text: string, more: Partial<Conversation> = {}) {
  const { out, facts } = readPieces(decoder(more), [Buffer.from(text)]);
  return { parts: out.flat(), facts };
}

export function decodePlain(answer: unknown, more: Partial<Conversation> = {}) {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  return responsesUpstream.open(makeConversation(more), target).decodeAnswer(Buffer.from(text));
}

/** What an upstream is sent for a conversation, tidied as the gateway does. */
export function sentRequest(conversation: Partial<Conversation>): Record<string, unknown> {
  const tidied = normalise(makeConversation(conversation), target);
  return JSON.parse(responsesUpstream.open(tidied, target).body.toString('utf8'));
}

/** Parts as short lines. */
export function inShort(parts: readonly StreamPart[]): string[] {
  return parts.map((part) => {
    switch (part.type) {
      case 'answer-start':
        return `start ${part.id} ${part.model}`;
      case 'part-start': {
        const { head: begun } = part;
        return begun.type === 'tool-call'
          ? `${part.index}( ${begun.kind} ${begun.id} ${begun.name}`
          : `${part.index}( ${begun.type}`;
      }
      case 'part-delta':
        return `${part.index}: ${part.text}`;
      case 'part-end':
        return part.opaque ? `${part.index}) ${JSON.stringify(part.opaque)}` : `${part.index})`;
      case 'choice-end':
        return part.finish;
      case 'usage':
        return `usage ${part.usage.input} ${part.usage.output}`;
      default:
        return part.type;
    }
  });
}
