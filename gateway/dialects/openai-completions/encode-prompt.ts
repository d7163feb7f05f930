// A conversation as one prompt: text only, each turn with the name of its role in front.
//
//   You are terse.
//   user: What is 2 + 2?
//   assistant:
//
// The model goes on behind the last line, and stops before it would speak for the user.

import type { Conversation, Part, Turn } from '../conversation.ts';
import { documentText } from '../openai/text-document.ts';

/** Ends what the assistant says: behind it the user would speak. */
export const userStop = '\nuser:';

interface EncodedPrompt {
  readonly prompt: string;
  /** The turns are told apart by their labels. */
  readonly isLabelled: boolean;
}

/** The one text of a user stays as it is. */
export function encodePrompt({ system, turns }: Conversation): EncodedPrompt {
  const [only, ...others] = turns;
  const isOneText = system.length === 0 && others.length === 0 && (only?.role ?? 'user') === 'user';
  if (isOneText) return { prompt: textOf(only?.parts ?? []), isLabelled: false };
  const lines = [...system.map((part) => textOf([part])), ...turns.map(lineOf), 'assistant:'];
  return { prompt: lines.join('\n'), isLabelled: true };
}

function lineOf({ role, parts }: Turn): string {
  const text = textOf(parts);
  return role === 'system' ? text : `${role}: ${text}`;
}

function textOf(parts: readonly Part[]): string {
  return parts
    .flatMap((part) => {
      if (part.type === 'file') return documentText(part) ?? [];
      return part.type === 'text' || part.type === 'refusal' ? part.text : [];
    })
    .join('\n');
}
