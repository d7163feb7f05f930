// What does a call lose that depends on its model, and on the rest of the request?

import type { Feature } from '../../../core/catalog/capabilities.ts';
import type { Conversation } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';
import { isFormKept } from './encode-request.ts';
import { encodeThinking } from './encode-thinking.ts';
import { searches } from './encode-tools.ts';
import { traitsOf } from './model-traits.ts';

export function lostAt(conversation: Conversation, { upstreamModel }: UpstreamTarget): readonly Feature[] {
  const traits = traitsOf(upstreamModel);
  const { output } = conversation;
  return [
    ...(encodeThinking(conversation, traits).isWeakened ? (['reasoning'] as const) : []),
    ...(traits.takesPenalties ? [] : (['penalties'] as const)),
    ...(output.type !== 'text' && !isFormKept(conversation, traits) ? [output.type] : []),
    ...(searches(conversation, traits) ? [] : (['web-search'] as const)),
  ];
}
