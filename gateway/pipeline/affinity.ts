// What has a call in common with those that belong on the same target? A text to be hashed, never shown.

import type { RouteEntry } from '../contract/routing-table.ts';
import type { Exchange } from './parts.ts';

/** How much of each member of the prompt is looked at: enough to tell conversations apart, and cheap. */
const headBytes = 1_024;

/**
 * By key: its id. By the beginning of the prompt: the first 1,024 bytes of each member that begins it (`system` and
 * `messages`, `instructions` and `input`, `prompt`) as they were sent, up to the first turn of the model, so that all
 * turns of a conversation give the same text. Requests that begin alike go to the same target.
 */
export function affinityText(
  affinity: RouteEntry['failover']['affinity'],
  { dialect, body, caller }: Pick<Exchange, 'dialect' | 'body' | 'caller'>,
): string | undefined {
  switch (affinity) {
    case undefined:
      return undefined;
    case 'ApiKey':
      return caller.key.id;
    case 'PromptPrefix':
      return dialect.promptMembers
        .map((name) => {
          const member = body.member(name);
          return member === undefined ? '' : beginningOf(body.text(member, headBytes));
        })
        .join('\n');
  }
}

/** What a model wrote, in the four dialects. Quotes inside of texts are escaped, so that nobody can write it into one. */
const byModel = /"role"\s*:\s*"assistant"|"type"\s*:\s*"(?:reasoning|compaction|mcp_[a-z_]+|[a-z_]+_call)"/;

/** What comes behind the last turn of the caller changes with every turn, be it only a bracket. */
function beginningOf(head: string): string {
  const answerAt = byModel.exec(head)?.index;
  const turns = answerAt === undefined ? head : head.slice(0, itemAround(head, answerAt));
  return turns.replace(/[\s,\]]+$/, '');
}

/** Where the item of a list begins that holds this place, however deep. */
function itemAround(list: string, place: number): number {
  let begin = 0;
  let depth = 0;
  for (const { 0: found, index } of list.slice(0, place).matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (found === '{' && depth === 1) begin = index;
    if (found === '{' || found === '[') depth++;
    else if (found === '}' || found === ']') depth--;
  }
  return begin;
}
