// Text completions: the service's specification, "POST /completions"; OpenAI API reference, "Completions".

import type { Dialect } from '../dialect.ts';
import { encodeOpenAiErrorFrame, readOpenAiError } from '../openai-error.ts';
import { forwardsOpenAiHeader } from '../openai-headers.ts';
import { translateCompletion } from './decode-request.ts';
import { openCompletionCall } from './encode-request.ts';
import { readCompletionRequest } from './read-request.ts';
import { relayCompletions } from './relay.ts';

export const openAiCompletions: Dialect = {
  name: 'openai-completions',
  path: '/completions',
  errorShape: 'openai',
  streamEnd: 'data: [DONE]\n\n',
  keepAlive: ': keep-alive\n\n',
  upstreamHeaders: [],
  forwardsHeader: forwardsOpenAiHeader,
  keepsQuery: false,
  readRequest: readCompletionRequest,
  errorFrame: encodeOpenAiErrorFrame,
  readError: readOpenAiError,
  same: relayCompletions,
  translate: translateCompletion,
  asUpstream: { open: openCompletionCall },
};
