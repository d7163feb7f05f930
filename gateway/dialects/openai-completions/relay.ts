// Completions from a completions upstream: what changes in the bytes?

import type { JsonRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import type { Member } from '../../json/scan-members.ts';
import type { AnswerDocument, SameDialect } from '../dialect.ts';
import { editOpenAiRequest, relayOpenAiAnswer } from '../openai/pass-through.ts';
import { relayOpenAiStream } from '../openai/relay-stream.ts';
import { flawOfCompletion, gatherCompletion } from './gather-answer.ts';
import { completionDefaults } from './read-request.ts';

export const relayCompletions: SameDialect = {
  editRequest(body, facts, target) {
    return editOpenAiRequest(body, facts, target, {
      defaults: completionDefaults,
      unsent: emptyStop(body),
    });
  },
  relayStream(facts) {
    return relayOpenAiStream({
      choices: facts.choices,
      wantsUsage: facts.wantsUsage,
      hasContent: hasText,
      hasCalls: () => false,
    });
  },
  relayAnswer(body): AnswerDocument {
    return relayOpenAiAnswer(body, ({ text }) => (typeof text === 'string' ? text : ''));
  },
  openGatherer: gatherCompletion,
  flawOf: flawOfCompletion,
};

/** Of one entry of `choices`. */
export function hasText({ text }: JsonRecord): boolean {
  return typeof text === 'string' && text !== '';
}

/** No stops at all may be written as an empty list, which some upstreams refuse. */
function emptyStop(body: RequestBody): readonly Member[] {
  const member = body.member('stop');
  const value = member && body.read(member);
  return member && Array.isArray(value) && value.length === 0 ? [member] : [];
}
