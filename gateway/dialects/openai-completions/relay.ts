// Completions from a completions upstream: what changes in the bytes?

import type { JsonRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import type { Member } from '../../json/scan-members.ts';
import type { AnswerDocument, SameDialect } from '../dialect.ts';
import { editOpenAiRequest, relayOpenAiAnswer } from '../openai/pass-through.ts';
import { relayOpenAiStream } from '../openai/relay-stream.ts';
import { OpenAiRepair, type RepairShape } from '../openai/repair.ts';
import { flawOfCompletion, gatherCompletion } from './gather-answer.ts';
import { completionDefaults } from './read-request.ts';

export const relayCompletions: SameDialect = {
  editRequest(body, facts, target) {
    return editOpenAiRequest(body, facts, target, {
      defaults: completionDefaults,
      unsent: emptyStop(body),
    });
  },
  relayStream(facts, _origin, head) {
    return relayOpenAiStream({
      choices: facts.choices,
      wantsUsage: facts.wantsUsage,
      hasContent: hasText,
      hasCalls: () => false,
      repair: head && new OpenAiRepair(repairShape, head),
    });
  },
  relayAnswer(body, _facts, _origin, head): AnswerDocument {
    return relayOpenAiAnswer(
      body,
      ({ text }) => (typeof text === 'string' ? text : ''),
      head && new OpenAiRepair(repairShape, head),
    );
  },
  openGatherer: gatherCompletion,
  flawOf: flawOfCompletion,
};

/** Chunks and plain answers have one form, and a choice is nothing but its text. */
const repairShape: RepairShape = {
  object: 'text_completion',
  idPrefix: 'cmpl-',
  openChoice: () => ({ endReason: 'stop', emptyPiece: { text: '' }, sound: (choice) => choice }),
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
