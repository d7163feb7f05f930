// A conversation of which only what matters is said.

import type { Conversation } from '../../../../gateway/dialects/conversation.ts';

export function conversationOf(change: Partial<Conversation> = {}): Conversation {
  return {
    asks: [],
    system: [],
    turns: [],
    tools: [],
    sampling: {},
    choices: 1,
    output: { type: 'text' },
    ...change,
  };
}
