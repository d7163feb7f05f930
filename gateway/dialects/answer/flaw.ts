// Why is a complete answer unusable for the client? Checked while the whole answer is held back, so
// that another upstream can still be tried: half a JSON object is no usable tool call.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../json/record.ts';
import type { AnswerChoice, FinishReason } from '../conversation.ts';

/** Every other finish reason cuts an answer short on purpose: a limit of the caller's, or a filter. */
const whole: ReadonlySet<FinishReason> = new Set(['stop', 'stop-sequence', 'tool-calls']);

export function flawOfChoices(choices: readonly AnswerChoice[]): string | undefined {
  if (choices.length === 0) return 'the answer is empty';
  for (const { parts, finish, isAssumed } of choices) {
    if (isAssumed) return 'a choice of the answer has no finish reason';
    if (!whole.has(finish)) continue;
    for (const part of parts) {
      if (part.type !== 'tool-call' || part.kind !== 'function') continue;
      const flaw = flawOfArguments(part.input);
      if (flaw) return flaw;
    }
  }
  return undefined;
}

/** @param text Of a function call; without any text there are no arguments. */
export function flawOfArguments(text: unknown): string | undefined {
  if (asRecord(text)) return undefined;
  const isObject = typeof text === 'string' && (text.trim() === '' || asRecord(parseJson(text)));
  return isObject ? undefined : 'the arguments of a tool call are not a JSON object';
}
