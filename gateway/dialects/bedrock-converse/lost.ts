// What does a call lose that depends on its model, and on the rest of the request?

import type { Feature } from '../../../core/catalog/capabilities.ts';
import { isAnswerForced, isFormLost } from '../anthropic/answer-tool.ts';
import type { Conversation } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';
import { encodeReasoning } from './encode-reasoning.ts';
import { converseTraitsOf } from './model-traits.ts';

export function lostAtConverse(conversation: Conversation, target: UpstreamTarget): readonly Feature[] {
  const traits = converseTraitsOf(target.upstreamModel);
  const { maker } = traits;
  const { output } = conversation;
  const { takesSampling, isKept } = encodeReasoning(
    conversation,
    target,
    traits,
    isAnswerForced(conversation, traits),
  );
  return [
    ...(takesSampling ? [] : samplingFeatures),
    ...(isKept ? [] : (['reasoning'] as const)),
    ...(maker === 'claude' ? [] : (['parallel-calls-off'] as const)),
    ...(maker === 'other' || maker === 'gpt-oss' ? (['top-k'] as const) : []),
    ...(output.type !== 'text' && isFormLost(conversation, traits) ? [output.type] : []),
  ];
}

const samplingFeatures = ['temperature', 'temperature-above-1', 'top-p', 'top-k'] as const;
