// What has a call in common with those that belong on the same target? A text to be hashed, never shown.

import type { RouteEntry } from '../../core/contract/routing-table.ts';
import { promptQuirks } from '../request/prompt-quirks.ts';
import type { Exchange } from './parts.ts';

/** How much of each member of the prompt is looked at: enough to tell conversations apart, and cheap. */
const headBytes = 1_024;

/** Four marks and a line about the client, which do not count, may precede the prompt. */
const spareBytes = 512;

/**
 * By key: its id. By the beginning of the prompt: the first 1,024 bytes of each member that begins it (`system` and
 * `messages`, `instructions` and `input`, `prompt`) as they were sent, up to the first turn of the model and without what
 * changes from call to call, so that all turns of a conversation give the same text. Requests that begin alike go to the
 * same target.
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
          return member === undefined ? '' : beginningOf(lasting(body.text(member, headBytes + spareBytes)));
        })
        .join('\n');
  }
}

/** Clients move their marks for the prompt cache on with every turn. Quotes inside of texts are escaped: none is taken for a mark. */
const cacheMark =
  /,\s*"cache_control"\s*:\s*(?:\{[^{}]*\}|null)|"cache_control"\s*:\s*(?:\{[^{}]*\}|null)\s*,?\s*/g;

/** What could carry no mark as the text alone; its end may be cut. Without the mark it is that text again. */
const loneText =
  /"content"\s*:\s*\[\s*\{\s*"type"\s*:\s*"text"\s*,\s*"text"\s*:\s*("(?:[^"\\]|\\.|\\$)*(?:"|$))\s*(?:\}\s*\]|\}?\s*$|,[^}\]]*$)/gs;

/** The beginning of what stays as it is from one call to the next. */
function lasting(text: string): string {
  const unmarked = text.replace(cacheMark, '').replace(loneText, '"content":$1');
  return promptQuirks.reduce((rest, { inJson }) => rest.replace(inJson, '$1"'), unmarked).slice(0, headBytes);
}

/** What a model wrote, in the four dialects. Quotes inside of texts are escaped, so that a text cannot contain it. */
const byModel = /"role"\s*:\s*"assistant"|"type"\s*:\s*"(?:reasoning|compaction|mcp_[a-z_]+|[a-z_]+_call)"/;

const byCaller = /"role"\s*:\s*"(?:user|system|developer)"/;

/** The text after the caller's last turn changes with every turn, even if only by a bracket. */
function beginningOf(head: string): string {
  const answerAt = byModel.exec(head)?.index;
  const turns = head.slice(
    0,
    answerAt === undefined ? knownEnd(head) : lastItem(head.slice(0, answerAt)).begin,
  );
  return turns.replace(/[\s,\]]+$/, '');
}

/** A turn that is cut before its role does not count: it may be the model's. */
function knownEnd(head: string): number {
  const { begin, isOpen } = lastItem(head);
  const isUnknown = isOpen && !byCaller.test(head.slice(begin));
  // Texts of a system have no roles, and the first turn is the caller's.
  return isUnknown && head.slice(0, begin).includes('"role"') ? begin : head.length;
}

/** Where the last item begins of a list that may be cut anywhere, however deep, and whether its end is missing. */
function lastItem(list: string): { readonly begin: number; readonly isOpen: boolean } {
  let begin = 0;
  let depth = 0;
  for (const { 0: found, index } of list.matchAll(/"(?:[^"\\]|\\.|\\$)*(?:"|$)|[[\]{}]/gs)) {
    if (found === '{' && depth === 1) begin = index;
    if (found === '{' || found === '[') depth++;
    else if (found === '}' || found === ']') depth--;
  }
  return { begin, isOpen: depth > 1 };
}
