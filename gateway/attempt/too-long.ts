// A prompt is too long for an upstream: which words make the caller's program shorten its conversation? Vendors' words in, a client's
// words out; one row each.

import type { ErrorShape } from '../../core/catalog/dialects.ts';

/** How many tokens a server says that a prompt has, and may have. */
interface LengthQuirk {
  readonly vendor: string;
  readonly maximum: RegExp;
  /** Tokens of the prompt and of the answer. */
  readonly parts: RegExp;
  readonly actual: RegExp;
  readonly source: string;
  readonly seen: string;
}

const openAi: LengthQuirk = {
  vendor: 'OpenAI, and servers of its dialects after it',
  maximum: /maximum context length is (\d+)/i,
  parts: /\((\d{1,9}) in (?:the messages|your prompt)[,;] (\d{1,9}) (?:in|for) the completion\)/i,
  actual: /(?:resulted in|requested) (\d+)/i,
  source: 'https://github.com/musistudio/claude-code-router/issues/1292',
  seen: '2026-03',
};

/** On what a program acts. */
interface ClientQuirk {
  readonly client: string;
  /** Matches messages that the client understands already. */
  readonly isKnown: RegExp;
  /** The message after which the client shortens its conversation. */
  tooLong(actual: string, maximum: string): string;
  /** The message after which the client asks for a shorter answer. */
  tooLongTogether(prompt: string, answer: string, maximum: string): string;
  /** As `tooLong`, where the numbers are not known. */
  readonly unknown: string;
  readonly sources: readonly string[];
  readonly seen: string;
}

const clients: Readonly<Partial<Record<ErrorShape, ClientQuirk>>> = {
  messages: {
    client: 'Claude Code',
    isKnown: /prompt is too long/i,
    tooLong: (actual, maximum) => `prompt is too long: ${actual} tokens > ${maximum} maximum`,
    tooLongTogether: (prompt, answer, maximum) =>
      `input length and \`max_tokens\` exceed context limit: ${prompt} + ${answer} > ${maximum}`,
    // Where it was seen is not recorded.
    unknown: 'capability_rejected: prompt_too_long',
    sources: [
      'https://github.com/anthropics/claude-code/issues/4123',
      'https://github.com/anthropics/claude-code/issues/42',
    ],
    seen: '2025-07',
  },
};

/** The upstream's words come first. */
export function inClientWords(message: string, shape: ErrorShape): string {
  const client = clients[shape];
  if (client === undefined || client.isKnown.test(message)) return message;
  const [, maximum] = openAi.maximum.exec(message) ?? [];
  if (maximum === undefined) return `${message} (${client.unknown})`;
  const [, prompt, answer] = openAi.parts.exec(message) ?? [];
  if (prompt !== undefined && answer !== undefined && Number(prompt) < Number(maximum))
    return `${message} (${client.tooLongTogether(prompt, answer, maximum)})`;
  const actual = prompt ?? openAi.actual.exec(message)?.[1];
  return `${message} (${actual === undefined ? client.unknown : client.tooLong(actual, maximum)})`;
}
