// Which dialects are there? A new dialect is a folder and a line here.

import type { DialectName } from '../../core/contract/routing-table.ts';
import { anthropicMessages } from './anthropic-messages/index.ts';
import type { Dialect } from './dialect.ts';
import { openAiChat } from './openai-chat/index.ts';
import { openAiCompletions } from './openai-completions/index.ts';
import { openAiResponses } from './openai-responses/index.ts';

const dialects: Readonly<Record<DialectName, Dialect>> = {
  'openai-chat': openAiChat,
  'openai-completions': openAiCompletions,
  'openai-responses': openAiResponses,
  'anthropic-messages': anthropicMessages,
};

export function findDialect(name: DialectName): Dialect {
  return dialects[name];
}
