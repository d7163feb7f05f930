// Responses: OpenAI API reference, "Responses".

import { DIALECTS } from '../../../core/catalog/dialects.ts';
import { readErrorBody } from '../answer/read-error.ts';
import type { Dialect } from '../dialect.ts';
import { forwardsOpenAiHeader } from '../openai/forward-headers.ts';
import { isGiven, isSet, offersHostedTools } from '../request/side-effects.ts';
import { encodeResponsesErrorFrame, keepAlive } from './error-body.ts';
import { readResponsesRequest } from './read-request.ts';
import { relayResponses } from './relay.ts';
import { translateResponses } from './translate.ts';
import { responsesUpstream } from './upstream.ts';

const facts = DIALECTS['openai-responses'];

export const openAiResponses: Dialect = {
  name: 'openai-responses',
  path: facts.path,
  errorShape: facts.errorShape,
  // The terminal event is enough.
  streamEnd: '',
  keepAlive,
  upstreamHeaders: facts.headers,
  forwardsHeader: (name, isOwnProvider) =>
    forwardsOpenAiHeader(name, isOwnProvider) || (isOwnProvider && name === 'openai-beta'),
  keepsQuery: false,
  readRequest: readResponsesRequest,
  hasSideEffects: (body) =>
    isSet(body, 'background') ||
    isSet(body, 'store') ||
    isGiven(body, 'previous_response_id') ||
    isGiven(body, 'conversation') ||
    offersHostedTools(body),
  promptMembers: ['instructions', 'input'],
  errorFrame: encodeResponsesErrorFrame,
  readError: readErrorBody,
  same: relayResponses,
  translate: translateResponses,
  asUpstream: responsesUpstream,
};
