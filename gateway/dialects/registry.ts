// Which dialects are there, and which can be served from which? A new dialect is a folder and a line.

import type { DialectName } from '../contract/routing-table.ts';
import type { Dialect } from './dialect.ts';
import { openAiChat } from './openai-chat/index.ts';
import { openAiCompletions } from './openai-completions/index.ts';

const dialects: Partial<Record<DialectName, Dialect>> = {
  'openai-chat': openAiChat,
  'openai-completions': openAiCompletions,
};

/** The dialect of that name, if this version speaks it. */
export function findDialect(name: DialectName): Dialect | undefined {
  return dialects[name];
}

/** Whether a caller of one dialect can be served by an upstream of another, or the same. */
export function canServe(client: Dialect, upstream: DialectName): boolean {
  if (client.name === upstream) return true;
  return client.translate !== undefined && findDialect(upstream)?.asUpstream !== undefined;
}
