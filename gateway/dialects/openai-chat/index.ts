// Chat completions: OpenAI API reference, "Chat".

import type { Dialect } from '../dialect.ts';
import { encodeOpenAiErrorFrame, readOpenAiError } from '../openai-error.ts';
import { forwardsOpenAiHeader } from '../openai-headers.ts';
import { translateChat } from './decode-request.ts';
import { openChatCall } from './encode-request.ts';
import { readChatRequest } from './read-request.ts';
import { relayChat } from './relay.ts';

export const openAiChat: Dialect = {
  name: 'openai-chat',
  path: '/chat/completions',
  errorShape: 'openai',
  streamEnd: 'data: [DONE]\n\n',
  keepAlive: ': keep-alive\n\n',
  upstreamHeaders: [],
  forwardsHeader: forwardsOpenAiHeader,
  keepsQuery: false,
  readRequest: readChatRequest,
  errorFrame: encodeOpenAiErrorFrame,
  readError: readOpenAiError,
  same: relayChat,
  translate: translateChat,
  asUpstream: { open: openChatCall },
};
