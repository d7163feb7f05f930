// How does a tool that takes free text reach a dialect without such tools? As a function with one
// string; the way back is in `answer/part-writer.ts`.

import type { Tool } from '../conversation.ts';

export const wrappedInputSchema = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
} as const;

/** Description of the tool, with the form that its text must have. */
export function wrappedDescription({ description, grammar }: Tool): string | undefined {
  if (!grammar) return description;
  const form = `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`;
  return description === undefined ? form : `${description}\n\n${form}`;
}

/** The text of a call in its wrapping. */
export function wrapInput(input: string): string {
  return JSON.stringify({ input });
}
