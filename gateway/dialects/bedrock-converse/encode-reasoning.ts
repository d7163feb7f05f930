// How shall the model think, and which of the model's own request fields says so?

import { asRecord } from '../../json/record.ts';
import { encodeThinking } from '../anthropic/encode-thinking.ts';
import type { Conversation } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';
import { effortOf } from '../request/reasoning-effort.ts';
import type { ConverseTraits } from './model-traits.ts';

interface EncodedReasoning {
  /** Of `additionalModelRequestFields`. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Undefined: the model's own. */
  readonly maxTokens: number | undefined;
  readonly takesSampling: boolean;
  /** False if the model cannot think as requested. */
  readonly isKept: boolean;
}

export function encodeReasoning(
  conversation: Conversation,
  target: UpstreamTarget,
  traits: ConverseTraits,
  isAnswerForced: boolean,
): EncodedReasoning {
  const { reasoning, maxOutputTokens, defaults } = conversation;
  const { maxTokens: preset } = asRecord(target.parameters.inferenceConfig) ?? {};
  const own = maxOutputTokens ?? (typeof preset === 'number' ? preset : defaults?.maxOutputTokens);
  const plain = { fields: {}, maxTokens: own, takesSampling: true, isKept: reasoning === undefined };
  if (traits.maker === 'claude') return encodeClaude(conversation, target, traits, isAnswerForced, own);
  const wanted = reasoning && effortOf(reasoning, maxOutputTokens);
  if (reasoning === undefined || (wanted === undefined && traits.maker !== 'nova-2')) return plain;
  const effort = efforts[wanted ?? 'medium'] ?? 'high';
  switch (traits.maker) {
    case 'nova-2': {
      if (wanted === 'none')
        return { ...plain, fields: { reasoningConfig: { type: 'disabled' } }, isKept: true };
      const fields = { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } };
      // With the highest effort it refuses these three.
      if (effort === 'high') return { fields, maxTokens: undefined, takesSampling: false, isKept: true };
      return { ...plain, fields, isKept: true };
    }
    case 'gpt-oss':
      return { ...plain, fields: { reasoning_effort: effort }, isKept: wanted !== 'none' };
    default:
      return { ...plain, isKept: wanted === 'none' };
  }
}

const efforts: Readonly<Record<string, string>> = {
  none: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
};

function encodeClaude(
  conversation: Conversation,
  target: UpstreamTarget,
  traits: ConverseTraits,
  isAnswerForced: boolean,
  own: number | undefined,
): EncodedReasoning {
  const { thinking: preset } = asRecord(target.parameters.additionalModelRequestFields) ?? {};
  const seen = { ...target, parameters: { max_tokens: own, thinking: preset } };
  const { maxTokens, thinking, effort, isThinking } = encodeThinking(
    conversation,
    seen,
    traits,
    isAnswerForced,
  );
  const { reasoning } = conversation;
  const asks = reasoning !== undefined && reasoning.mode !== 'off' && reasoning.effort !== 'none';
  return {
    fields: {
      ...(thinking ? { thinking } : {}),
      ...(effort === undefined ? {} : { output_config: { effort } }),
    },
    // Thinking on a budget has to be below a limit that is known.
    maxTokens: own ?? (thinking?.type === 'enabled' ? maxTokens : undefined),
    takesSampling: traits.takesSampling && !isThinking,
    isKept: !asks || isThinking,
  };
}
