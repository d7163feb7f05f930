// Completions from a completions upstream: what changes in the bytes?

import type { AnswerDocument, SameDialect } from '../dialect.ts';
import { editOpenAiRequest, relayOpenAiAnswer } from '../openai-pass-through.ts';
import { relayOpenAiStream } from '../openai-relay.ts';
import { completionDefaults } from './read-request.ts';

export const relayCompletions: SameDialect = {
  editRequest(body, facts, target) {
    return editOpenAiRequest(body, facts, target, completionDefaults);
  },
  relayStream(facts) {
    return relayOpenAiStream({
      choices: facts.choices,
      wantsUsage: facts.wantsUsage,
      hasContent: ({ text }) => typeof text === 'string' && text !== '',
    });
  },
  relayAnswer(body): AnswerDocument {
    return relayOpenAiAnswer(body, ({ text }) => (typeof text === 'string' ? text : ''));
  },
};
