// Is an answer in one piece a whole one of chat completions or completions, and which choices does it hold?

import type { JsonRecord } from '../../json/record.ts';
import { malformed } from '../answer/malformed.ts';
import { readAnswer } from '../answer/read-answer.ts';
import { readErrorMember } from '../answer/read-error.ts';
import type { AnswerFault } from '../dialect.ts';

type ReadChoices =
  | { readonly ok: true; readonly answer: JsonRecord; readonly choices: readonly unknown[] }
  | { readonly ok: false; readonly fault: AnswerFault };

export function readChoices(body: Buffer): ReadChoices {
  const read = readAnswer(body, readErrorMember);
  if (!read.ok) return read;
  const { answer } = read;
  if (!Array.isArray(answer.choices) || answer.choices.length === 0) {
    return malformed("the answer has no 'choices'");
  }
  return { ok: true, answer, choices: answer.choices };
}
