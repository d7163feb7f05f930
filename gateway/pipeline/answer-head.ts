// Which top-level members does an answer have that the gateway writes itself, in whole or in part?

import type { AnswerHead } from '../dialects/dialect.ts';
import { estimateInputOfBody } from './estimate-spend.ts';
import type { PipelineParts, RoutedExchange } from './parts.ts';

export function answerHead(
  { clock }: Pick<PipelineParts, 'clock'>,
  { requestId, facts, body }: Pick<RoutedExchange, 'requestId' | 'facts' | 'body'>,
): AnswerHead {
  return {
    id: requestId.replace(/^req_/, ''),
    createdAt: Math.floor(clock.wallMs() / 1000),
    model: facts.model,
    inputEstimate: estimateInputOfBody(body),
  };
}
