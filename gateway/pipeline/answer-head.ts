// What stands at the top of an answer that is of our own making, in whole or in part?

import { estimateTokensOfLength } from '../dialects/answer/estimate-tokens.ts';
import type { AnswerHead } from '../dialects/dialect.ts';
import type { PipelineParts, RoutedExchange } from './parts.ts';

export function answerHead(
  { clock }: Pick<PipelineParts, 'clock'>,
  { requestId, facts, body }: Pick<RoutedExchange, 'requestId' | 'facts' | 'body'>,
): AnswerHead {
  return {
    id: requestId.replace(/^req_/, ''),
    createdAt: Math.floor(clock.wallMs() / 1000),
    model: facts.model,
    inputEstimate: estimateTokensOfLength(body.bytes),
  };
}
