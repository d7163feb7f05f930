// Chat completions: OpenAI API reference, "Chat".

import { DIALECTS } from '../../../core/catalog/dialects.ts';
import { readErrorBody } from '../answer/read-error.ts';
import type { Dialect } from '../dialect.ts';
import { encodeOpenAiErrorFrame } from '../openai/error-frame.ts';
import { forwardsOpenAiHeader } from '../openai/forward-headers.ts';
import { isGiven, isSet, offersHostedTools } from '../request/side-effects.ts';
import { translateChat } from './decode-request.ts';
import { openChatCall } from './encode-request.ts';
import { readChatRequest } from './read-request.ts';
import { relayChat } from './relay.ts';

const facts = DIALECTS['openai-chat'];

export const openAiChat: Dialect = {
  name: 'openai-chat',
  path: facts.path,
  errorShape: facts.errorShape,
  streamEnd: 'data: [DONE]\n\n',
  keepAlive: ': keep-alive\n\n',
  upstreamHeaders: facts.headers,
  forwardsHeader: forwardsOpenAiHeader,
  keepsQuery: false,
  readRequest: readChatRequest,
  hasSideEffects: (body) =>
    isSet(body, 'store') || isGiven(body, 'web_search_options') || offersHostedTools(body),
  promptMembers: ['messages'],
  errorFrame: encodeOpenAiErrorFrame,
  readError: readErrorBody,
  same: relayChat,
  translate: translateChat,
  asUpstream: { open: openChatCall },
};
