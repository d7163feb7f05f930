// How many tokens would a conversation be as input, if no upstream counts them?

import type { Conversation, Part } from '../dialects/conversation.ts';

/** English has about four bytes a token, code and other scripts about three. */
const bytesPerToken = 3;
/** The most that a provider counts for one picture. */
const imageTokens = 5_000;
const pageTokens = 3_000;
/** A page of a PDF is seldom smaller. */
const pageBytesMin = 10 * 1024;
/** Roles and separators. */
const turnTokens = 8;
/** Text that a provider adds around tools. */
const toolsTokens = 600;

/** Input tokens of the conversation, rather too many than too few. */
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
      return part.source.kind === 'base64' ? tokensOfPages(part.source.data.length) : pageTokens;
    case 'audio':
      return tokensOfText(part.data);
    case 'tool-call':
      return tokensOfText(part.name + part.input) + turnTokens;
    case 'tool-result':
      return part.parts.reduce((sum, inner) => sum + tokensOf(inner), turnTokens);
  }
}

/** Pages are counted as text and as pictures; how many there are shows in the size only. */
export function tokensOfPages(base64Length: number): number {
  return pageTokens * Math.max(1, Math.ceil((base64Length * 0.75) / pageBytesMin));
}

/** Short words and signs are a token each, however short. */
function tokensOfText(text: string): number {
  return Math.max(countPieces(text), Math.ceil(Buffer.byteLength(text) / bytesPerToken));
}

/** Runs of letters and digits, and every sign besides white space. */
function countPieces(text: string): number {
  let pieces = 0;
  let isInWord = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const isWord = isWordCharacter(code);
    if (isWord ? !isInWord : code > 0x20) pieces++;
    isInWord = isWord;
  }
  return pieces;
}

/** Digits, letters, and all that is not ASCII. */
function isWordCharacter(code: number): boolean {
  const isDigit = code >= 0x30 && code <= 0x39;
  const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
  return isDigit || isLetter || code >= 0x80;
}
