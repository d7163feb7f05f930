// A conversation as one prompt: text only, each turn starts with the name of its role.
//
//   You are terse.
//   user: What is 2 + 2?
//   assistant:
//
// The model continues after the last line. A stop sequence ends it before it speaks for the user.

import type { Conversation, Part, Turn } from '../conversation.ts';
import { documentText } from '../openai/text-document.ts';

/** Ends the assistant's text: the user's turn would follow. */
export const userStop = '\nuser:';

interface EncodedPrompt {
  readonly prompt: string;
  /** Labels with the role separate the turns. */
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
