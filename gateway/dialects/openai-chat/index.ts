// Chat completions: OpenAI API reference, "Chat".

import type { Dialect } from '../dialect.ts';
import { encodeOpenAiErrorFrame, readOpenAiError } from '../openai-error.ts';
import { decodeChatAnswer, decodeChatStream } from './decode-answer.ts';
import { encodeChatRequest } from './encode-request.ts';
import { readChatRequest } from './read-request.ts';
import { relayChat } from './relay.ts';

export const openAiChat: Dialect = {
  name: 'openai-chat',
  path: '/chat/completions',
  errorShape: 'openai',
  streamEnd: 'data: [DONE]\n\n',
  readRequest: readChatRequest,
  errorFrame: encodeOpenAiErrorFrame,
  readError: readOpenAiError,
  same: relayChat,
  asUpstream: {
    encodeRequest: encodeChatRequest,
    decodeAnswer: decodeChatAnswer,
    streamDecoder: decodeChatStream,
  },
};
