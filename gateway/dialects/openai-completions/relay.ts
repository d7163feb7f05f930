// Completions from a completions upstream: what changes in the bytes?

import type { JsonRecord } from '../../json/record.ts';
import type { AnswerDocument, SameDialect } from '../dialect.ts';
import { encodeOpenAiEvents } from '../openai/events-of-answer.ts';
import { editOpenAiRequest, emptyLists, relayOpenAiAnswer } from '../openai/pass-through.ts';
import { relayOpenAiStream } from '../openai/relay-stream.ts';
import { OpenAiRepair, type RepairShape } from '../openai/repair.ts';
import { flawOfCompletion, gatherCompletion } from './gather-answer.ts';
import { completionDefaults } from './read-request.ts';

const mayBeEmpty = ['stop'];

export const relayCompletions: SameDialect = {
  editRequest(body, facts, target) {
    return editOpenAiRequest(body, facts, target, {
      defaults: completionDefaults,
      unsent: emptyLists(body, mayBeEmpty),
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
      head && (() => new OpenAiRepair(repairShape, head)),
    );
  },
  openGatherer: gatherCompletion,
  eventsOf: (answer) => encodeOpenAiEvents(answer, repairShape.object, (choice) => choice),
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
