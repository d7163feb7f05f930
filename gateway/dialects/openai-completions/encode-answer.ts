// Our answers as a text completion: one list of choices over all prompts.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { writeJson } from '../../json/write-json.ts';
import type { ModelAnswer } from '../conversation.ts';
import type { AnswerHead } from '../dialect.ts';
import { addUsage, encodeOpenAiUsage } from '../openai/convert-usage.ts';
import { encodeCompletionFinish } from '../openai/map-finish-reason.ts';

/** What encoding needs to know of the request besides the answers. */
export interface CompletionShape {
  /** Answers wanted for each prompt. */
  readonly n: number;
  /** How many of them one upstream call gives: all, or one. */
  readonly choicesPerCall: number;
  /** The prompts, where the caller asked for them to stand before the text. */
  readonly echoed: readonly string[] | undefined;
  readonly wantsUsage: boolean;
}

/** @param answers One for each call, in order. */
export function encodeCompletionAnswer(
  answers: readonly ModelAnswer[],
  head: AnswerHead,
  shape: CompletionShape,
): Buffer {
  const usage = sumUsage(answers.map((answer) => answer.usage));
  const choices = answers.flatMap((answer, call) =>
    answer.choices.map(({ index, parts, finish }) => ({
      text:
        echoOf(call, shape) +
        parts.map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : '')).join(''),
      index: firstIndex(call, shape) + index,
      logprobs: null,
      finish_reason: encodeCompletionFinish(
        finish,
        parts.some(({ type }) => type === 'refusal'),
      ),
    })),
  );
  return Buffer.from(
    writeJson({
      id: `cmpl-${head.id}`,
      object: 'text_completion',
      created: head.createdAt,
      model: answers[0]?.model || head.model,
      choices: choices.toSorted((a, b) => a.index - b.index),
      ...(usage ? { usage: encodeOpenAiUsage(usage) } : {}),
    }),
  );
}

/** Choices are numbered over all calls: prompt × n + sample. */
export function firstIndex(
  call: number,
  { choicesPerCall }: Pick<CompletionShape, 'choicesPerCall'>,
): number {
  return call * choicesPerCall;
}

/** The prompt text that precedes the text of a call's answers, if the request asks for an echo. */
export function echoOf(call: number, { n, choicesPerCall, echoed }: CompletionShape): string {
  return echoed?.[Math.floor((call * choicesPerCall) / n)] ?? '';
}

export function sumUsage(usages: readonly (Usage | undefined)[]): Usage | undefined {
  return usages.reduce((sum, usage) => (sum && usage ? addUsage(sum, usage) : (sum ?? usage)), undefined);
}
