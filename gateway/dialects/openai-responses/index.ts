// Responses: OpenAI API reference, "Responses".

import type { Dialect } from '../dialect.ts';
import { readOpenAiError } from '../openai-error.ts';
import { forwardsOpenAiHeader } from '../openai-headers.ts';
import { encodeResponsesErrorFrame, keepAlive } from './error-body.ts';
import { readResponsesRequest } from './read-request.ts';
import { relayResponses } from './relay.ts';
import { translateResponses } from './translate.ts';
import { responsesUpstream } from './upstream.ts';

export const openAiResponses: Dialect = {
  name: 'openai-responses',
  path: '/responses',
  errorShape: 'openai',
  // The terminal event is enough.
  streamEnd: '',
  keepAlive,
  upstreamHeaders: [],
  forwardsHeader: (name, isOwnProvider) =>
    forwardsOpenAiHeader(name, isOwnProvider) || (isOwnProvider && name === 'openai-beta'),
  keepsQuery: false,
  readRequest: readResponsesRequest,
  errorFrame: encodeResponsesErrorFrame,
  readError: readOpenAiError,
  same: relayResponses,
  translate: translateResponses,
  asUpstream: responsesUpstream,
};
