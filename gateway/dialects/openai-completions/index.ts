// Text completions: the service's specification, "POST /completions"; OpenAI API reference, "Completions".

import type { Dialect } from '../dialect.ts';
import { encodeOpenAiErrorFrame, readOpenAiError } from '../openai-error.ts';
import { readCompletionRequest } from './read-request.ts';
import { relayCompletions } from './relay.ts';
import { translateCompletion } from './translate.ts';
import { completionsUpstream } from './upstream.ts';

export const openAiCompletions: Dialect = {
  name: 'openai-completions',
  path: '/completions',
  errorShape: 'openai',
  streamEnd: 'data: [DONE]\n\n',
  readRequest: readCompletionRequest,
  errorFrame: encodeOpenAiErrorFrame,
  readError: readOpenAiError,
  same: relayCompletions,
  translate: translateCompletion,
  asUpstream: completionsUpstream,
};
