// Messages: Anthropic API reference, "Messages".

import { DIALECTS } from '../../../core/catalog/dialects.ts';
import { answerToolOf } from '../anthropic/answer-tool.ts';
import { traitsOf } from '../anthropic/model-traits.ts';
import type { Dialect, UpstreamTranslation } from '../dialect.ts';
import { isGiven, offersHostedTools } from '../request/side-effects.ts';
import { nameTools, type ToolNameRules } from '../tools/tool-names.ts';
import { decodeMessagesAnswer } from './decode-answer.ts';
import { decodeMessagesRequest } from './decode-request.ts';
import { decodeMessagesStream } from './decode-stream.ts';
import { encodeMessagesAnswer } from './encode-answer.ts';
import { encodeMessagesRequest } from './encode-request.ts';
import { encodeMessagesStream, pingFrame } from './encode-stream.ts';
import { encodeMessagesErrorFrame, readMessagesError } from './error-body.ts';
import { lostAt } from './lost.ts';
import { readMessagesRequest } from './read-request.ts';
import { relayMessages } from './relay.ts';

const toolNameRules: ToolNameRules = { lengthMax: 128, hasNamespaces: false, hasCustom: false };

const asUpstream: UpstreamTranslation = {
  open(conversation, target) {
    const names = nameTools(conversation, toolNameRules);
    const answerTool = answerToolOf(
      conversation,
      traitsOf(target.upstreamModel, target.messagesSchemas),
      names,
    );
    const reading = { names, origin: target.origin, answerTool };
    return {
      body: encodeMessagesRequest(conversation, target, names, answerTool),
      decodeAnswer: (body) => decodeMessagesAnswer(body, reading),
      streamDecoder: () => decodeMessagesStream(reading),
    };
  },
  refusesBlankText: true,
  lost: lostAt,
};

/**
 * Client headers that change the answer. Other `anthropic-*` headers name accounts, workspaces or payers; the platform
 * sets those for its own Provider.
 */
const forwardedHeaders: ReadonlySet<string> = new Set(['anthropic-version', 'anthropic-beta']);

const facts = DIALECTS['anthropic-messages'];

export const anthropicMessages: Dialect = {
  name: 'anthropic-messages',
  path: facts.path,
  errorShape: facts.errorShape,
  // Every answer ends itself, with `message_stop`.
  streamEnd: '',
  keepAlive: pingFrame,
  upstreamHeaders: facts.headers,
  forwardsHeader: (name, isOwnProvider) =>
    forwardedHeaders.has(name) || (isOwnProvider && name.startsWith('anthropic-')),
  // Clients ask for betas in it.
  keepsQuery: true,
  readRequest: readMessagesRequest,
  hasSideEffects: (body) =>
    isGiven(body, 'mcp_servers') || isGiven(body, 'container') || offersHostedTools(body),
  promptMembers: ['system', 'messages'],
  errorFrame: encodeMessagesErrorFrame,
  readError: readMessagesError,
  same: relayMessages,
  translate: (body, context) => ({
    conversations: [decodeMessagesRequest(body, context)],
    encodeAnswer: encodeMessagesAnswer,
    streamEncoder: encodeMessagesStream,
  }),
  asUpstream,
};
