// Which dialects are there? A new dialect is a folder and a line here.

import type { DialectName, UpstreamDialectName } from '../../core/contract/routing-table.ts';
import { anthropicMessages } from './anthropic-messages/index.ts';
import { bedrockConverse } from './bedrock-converse/index.ts';
import type { Dialect, UpstreamDialect } from './dialect.ts';
import { googleGenerateContent } from './google-generate-content/index.ts';
import { openAiChat } from './openai-chat/index.ts';
import { openAiCompletions } from './openai-completions/index.ts';
import { openAiResponses } from './openai-responses/index.ts';

const dialects: Readonly<Record<DialectName, Dialect>> = {
  'openai-chat': openAiChat,
  'openai-completions': openAiCompletions,
  'openai-responses': openAiResponses,
  'anthropic-messages': anthropicMessages,
};

const upstreamDialects: Readonly<Record<UpstreamDialectName, UpstreamDialect>> = {
  ...dialects,
  'bedrock-converse': bedrockConverse,
  'google-generate-content': googleGenerateContent,
};

/** A dialect as clients speak it. */
export function findDialect(name: DialectName): Dialect {
  return dialects[name];
}

export function findUpstreamDialect(name: UpstreamDialectName): UpstreamDialect {
  return upstreamDialects[name];
}
