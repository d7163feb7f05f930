// Our answer as a response object.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { writeJson } from '../../json/write-json.ts';
import { estimateTokensOfLength } from '../answer/estimate-tokens.ts';
import type { ModelAnswer, Part } from '../conversation.ts';
import type { AnswerHead } from '../dialect.ts';
import { type ItemForms, OutputItems } from './output-items.ts';
import { buildResponse, type ResponseSettings } from './response-object.ts';

/** What encoding needs to know of the request besides the answer. */
export interface AnswerShape extends ItemForms {
  readonly settings: ResponseSettings;
}

export function encodeResponsesAnswer(answer: ModelAnswer, head: AnswerHead, shape: AnswerShape): Buffer {
  const items = new OutputItems(head.id, shape, () => {});
  const [choice] = answer.choices;
  let logprobs = choice?.logprobs;
  for (const part of choice?.parts ?? []) {
    writePart(items, part, part.type === 'text' ? logprobs : undefined);
    // They come as one list for all of the text.
    if (part.type === 'text') logprobs = undefined;
  }
  const end = items.finish(choice?.finish ?? 'stop', choice?.refusal);
  const settings = answer.serviceTier
    ? { ...shape.settings, service_tier: answer.serviceTier }
    : shape.settings;
  const response = buildResponse(head, settings, end, {
    model: answer.model || head.model,
    output: items.output,
    usage: answer.usage ?? estimateUsage(head, items.textLength),
  });
  return Buffer.from(writeJson(response));
}

function writePart(items: OutputItems, part: Part, logprobs: readonly unknown[] | undefined): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'thinking': {
      items.start({ type: part.type });
      if (part.text !== '') items.delta(part.text, logprobs);
      items.end(part.type === 'thinking' ? part.opaque : undefined);
      return;
    }
    case 'tool-call': {
      const { id, name, namespace, kind, input } = part;
      items.start({ type: 'tool-call', id, name, kind, ...(namespace === undefined ? {} : { namespace }) });
      if (input !== '') items.delta(input);
      items.end();
      return;
    }
    default:
      // Answers hold no other parts.
      return;
  }
}

/** Where the upstream has not counted: clients of this dialect refuse an end without counts. */
export function estimateUsage({ inputEstimate }: AnswerHead, outputLength: number): Usage {
  return {
    input: inputEstimate,
    cachedInput: 0,
    cacheWrite: 0,
    output: estimateTokensOfLength(outputLength),
    reasoning: 0,
  };
}
