// One call of a responses upstream: the request, and how its answer is read.

import type { UpstreamTranslation } from '../dialect.ts';
import { nameTools } from '../tools/tool-names.ts';
import { decodeResponsesAnswer } from './decode-answer.ts';
import { decodeResponsesStream } from './decode-stream.ts';
import { encodeResponsesRequest } from './encode-request.ts';

export const responsesUpstream: UpstreamTranslation = {
  open(conversation, target) {
    const names = nameTools(conversation, { lengthMax: 128, hasNamespaces: true, hasCustom: true });
    const context = { names, origin: target.origin };
    const { stop } = conversation.sampling;
    return {
      body: encodeResponsesRequest(conversation, target, names),
      ...(stop && stop.length > 0 ? { stopsLeft: stop } : {}),
      decodeAnswer: (body) => decodeResponsesAnswer(body, context),
      streamDecoder: () => decodeResponsesStream(context),
    };
  },
  // What says how it should be answered is refused.
  countingMembers: new Set(['model', 'input', 'instructions', 'tools', 'tool_choice', 'text', 'reasoning']),
};
