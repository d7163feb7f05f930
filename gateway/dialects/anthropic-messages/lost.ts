// What does a call lose that depends on its model, and on the rest of the request?

import type { Feature } from '../../../core/catalog/capabilities.ts';
import { isAnswerForced, isFormLost } from '../anthropic/answer-tool.ts';
import { encodeThinking } from '../anthropic/encode-thinking.ts';
import { type ModelTraits, traitsOf } from '../anthropic/model-traits.ts';
import type { Conversation, Reasoning } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';

/** By what is really sent: whether the model will think decides about both. */
export function lostAt(conversation: Conversation, target: UpstreamTarget): readonly Feature[] {
  const traits = traitsOf(target.upstreamModel, target.messagesSchemas);
  const isForced = isAnswerForced(conversation, traits);
  const { isThinking } = encodeThinking(conversation, target, traits, isForced);
  const { output, reasoning } = conversation;
  const isLess = asksToThink(reasoning) && (!isThinking || isLowered(reasoning, traits));
  return [
    ...(isThinking || !traits.takesSampling ? samplingFeatures : []),
    ...(isLess ? (['reasoning'] as const) : []),
    ...(output.type !== 'text' && isFormLost(conversation, traits) ? [output.type] : []),
  ];
}

function asksToThink(reasoning: Reasoning | undefined): reasoning is Reasoning {
  return reasoning !== undefined && reasoning.mode !== 'off' && reasoning.effort !== 'none';
}

/** To the nearest effort that the model knows. */
function isLowered({ effort }: Reasoning, { efforts }: ModelTraits): boolean {
  return effort !== undefined && efforts.length > 0 && !efforts.includes(effort);
}

const samplingFeatures = ['temperature', 'temperature-above-1', 'top-p', 'top-k'] as const;
