// Text completions: the service's specification, "POST /completions"; OpenAI API reference, "Completions".

import { DIALECTS } from '../../../core/catalog/dialects.ts';
import { readErrorBody } from '../answer/read-error.ts';
import type { Dialect } from '../dialect.ts';
import { encodeOpenAiErrorFrame } from '../openai/error-frame.ts';
import { forwardsOpenAiHeader } from '../openai/forward-headers.ts';
import { translateCompletion } from './decode-request.ts';
import { openCompletionCall } from './encode-request.ts';
import { readCompletionRequest } from './read-request.ts';
import { relayCompletions } from './relay.ts';

const facts = DIALECTS['openai-completions'];

export const openAiCompletions: Dialect = {
  name: 'openai-completions',
  path: facts.path,
  errorShape: facts.errorShape,
  streamEnd: 'data: [DONE]\n\n',
  keepAlive: ': keep-alive\n\n',
  upstreamHeaders: facts.headers,
  forwardsHeader: forwardsOpenAiHeader,
  keepsQuery: false,
  readRequest: readCompletionRequest,
  hasSideEffects: () => false,
  promptMembers: ['prompt'],
  readsPrompt: true,
  errorFrame: encodeOpenAiErrorFrame,
  readError: readErrorBody,
  same: relayCompletions,
  translate: translateCompletion,
  asUpstream: { open: openCompletionCall },
};
