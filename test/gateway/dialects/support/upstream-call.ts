// One upstream call in tests: a conversation showing only what matters, and how its answer is read.

import type { Conversation } from '../../../../gateway/dialects/conversation.ts';
import type { Dialect, StreamDecoder, UpstreamTarget } from '../../../../gateway/dialects/dialect.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { openAiCompletions } from '../../../../gateway/dialects/openai-completions/index.ts';
import { openCall } from '../../../../gateway/dialects/translate.ts';
import { RequestBody } from '../../../../gateway/json/request-body.ts';
import { conversationOf } from './make-conversation.ts';

export const target: UpstreamTarget = {
  upstreamModel: 'up',
  isStream: false,
  parameters: {},
  origin: 'here',
};

/** One text of the user, unless another is said. */
export function makeConversation(more: Partial<Conversation> = {}): Conversation {
  return conversationOf({ turns: [{ role: 'user', parts: [{ type: 'text', text: 'p' }] }], ...more });
}

export function bodyOf(request: unknown): RequestBody {
  return new RequestBody([Buffer.from(JSON.stringify(request))]);
}

/** What an upstream of the dialect is sent. */
export function sentBody(
  dialect: Pick<Dialect, 'asUpstream'>,
  conversation: Conversation,
  more: Partial<UpstreamTarget> = {},
): Record<string, unknown> {
  const { body } = dialect.asUpstream.open(conversation, { ...target, ...more });
  return JSON.parse(body.toString('utf8'));
}

/** The same, tidied for this target first, as the gateway does. */
export function tidyBody(dialect: Dialect, conversation: Conversation): Record<string, unknown> {
  return JSON.parse(openCall(dialect, conversation, target).body.toString('utf8'));
}

export function chatDecoder(choices = 1, more: Partial<Conversation> = {}): StreamDecoder {
  return openAiChat.asUpstream.open(makeConversation({ ...more, choices }), target).streamDecoder();
}

export function completionDecoder(choices = 1): StreamDecoder {
  return openAiCompletions.asUpstream.open(makeConversation({ choices }), target).streamDecoder();
}
