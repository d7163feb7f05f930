// How many tokens would a conversation be as input, where no upstream counts them?

import type { Conversation, Part } from '../dialects/conversation.ts';

/** English has about four bytes a token, code and other scripts about three. */
const bytesPerToken = 3;
/** The most that a provider counts for one picture. */
const imageTokens = 5_000;
/** Roles and separators. */
const turnTokens = 8;
/** What a provider puts around tools by itself. */
const toolsTokens = 600;

/** What the conversation costs as input, rather too much than too little. */
export function estimateInput({ system, turns, tools, output }: Conversation): number {
  const parts = [...system, ...turns.flatMap((turn) => turn.parts)];
  const fixed = turnTokens * (turns.length + 1) + (tools.length > 0 ? toolsTokens : 0);
  const definitions = JSON.stringify([tools, output]);
  return parts.reduce((sum, part) => sum + tokensOf(part), fixed) + tokensOfText(definitions);
}

function tokensOf(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'thinking':
      return tokensOfText(part.text);
    case 'image':
      return imageTokens;
    case 'file':
      return part.source.kind === 'base64' ? tokensOfText(part.source.data) : imageTokens;
    case 'audio':
      return tokensOfText(part.data);
    case 'tool-call':
      return tokensOfText(part.name + part.input) + turnTokens;
    case 'tool-result':
      return part.parts.reduce((sum, inner) => sum + tokensOf(inner), turnTokens);
  }
}

/** Short words and signs are a token each, however short. */
function tokensOfText(text: string): number {
  const pieces = text.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu)?.length ?? 0;
  return Math.max(pieces, Math.ceil(Buffer.byteLength(text) / bytesPerToken));
}
