// Which plain text completion do the chunks of a stream make up, and can its client use it?

import type { JsonRecord } from '../../json/record.ts';
import type { AnswerGatherer } from '../dialect.ts';
import { flawOfOpenAi, gatherOpenAi } from '../openai/gather-chunks.ts';

export function gatherCompletion(): AnswerGatherer {
  return gatherOpenAi({
    object: 'text_completion',
    encodeChoice: (choice) => ({
      ...choice,
      text: choice.text ?? '',
      logprobs: choice.logprobs ?? null,
      finish_reason: choice.finish_reason ?? null,
    }),
  });
}

export function flawOfCompletion(answer: JsonRecord): string | undefined {
  return flawOfOpenAi(answer, () => []);
}
