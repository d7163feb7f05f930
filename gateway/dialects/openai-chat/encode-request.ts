// A conversation as a chat completion request.

import { GatewayError } from '../../errors.ts';
import type { Conversation, Part, Turn } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';

/** @throws {GatewayError} `unsupported_parameter` for what chat completions cannot carry. */
export function encodeChatRequest(conversation: Conversation, target: UpstreamTarget): Buffer {
  const { sampling, defaults, maxOutputTokens } = conversation;
  // Upstreams refuse a request with both names of the limit; a target that sets the newer one wants it.
  const limit = 'max_completion_tokens' in target.parameters ? 'max_completion_tokens' : 'max_tokens';
  return Buffer.from(
    JSON.stringify({
      ...(defaults && {
        [limit]: defaults.maxOutputTokens,
        temperature: defaults.temperature,
        top_p: defaults.topP,
      }),
      ...target.parameters,
      model: target.upstreamModel,
      messages: encodeMessages(conversation),
      ...(maxOutputTokens === undefined ? {} : { [limit]: maxOutputTokens }),
      ...(sampling.temperature === undefined ? {} : { temperature: sampling.temperature }),
      ...(sampling.topP === undefined ? {} : { top_p: sampling.topP }),
      ...(sampling.presencePenalty === undefined ? {} : { presence_penalty: sampling.presencePenalty }),
      ...(sampling.frequencyPenalty === undefined ? {} : { frequency_penalty: sampling.frequencyPenalty }),
      ...(sampling.seed === undefined ? {} : { seed: sampling.seed }),
      ...(sampling.logitBias === undefined ? {} : { logit_bias: sampling.logitBias }),
      ...(sampling.stop === undefined ? {} : { stop: sampling.stop }),
      ...(conversation.endUser === undefined ? {} : { user: conversation.endUser }),
      ...(conversation.choices === 1 ? {} : { n: conversation.choices }),
      ...(target.isStream
        ? {
            stream: true,
            stream_options: { include_usage: true },
          }
        : {}),
    }),
  );
}

function encodeMessages({ system, turns }: Conversation): unknown[] {
  const leading: readonly Turn[] = system.length === 0 ? [] : [{ role: 'system', parts: system }];
  return [...leading, ...turns].map(({ role, parts }) => ({ role, content: parts.map(textOf).join('') }));
}

function textOf(part: Part): string {
  if (part.type === 'text' || part.type === 'refusal') return part.text;
  throw new GatewayError(
    'unsupported_parameter',
    `A part of type '${part.type}' cannot be sent to a chat completions upstream.`,
  );
}
