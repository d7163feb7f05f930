// What came is not the dialect it should be: how is that said of a stream, and of a plain answer?

import type { AnswerFacts, AnswerFault } from '../dialect.ts';

/** The fault of an event that clients could not parse. */
const noObject = 'an event is not a JSON object';

export function failMalformed(facts: AnswerFacts, detail: string): void {
  facts.fault = { kind: 'malformed', detail };
}

/**
 * An event that cannot be read. One of a stream may be left out, but only where the client has seen content:
 * before, another upstream can give the whole answer. The attempt knows what the client has seen, and looks at
 * `malformedFrames`.
 */
export function leaveOut(facts: AnswerFacts): void {
  facts.malformedFrames++;
  if (!facts.hasContent || facts.malformedFrames > 1) failMalformed(facts, noObject);
}

/**
 * As `leaveOut`, if it is known what the event would have been.
 *
 * @param isPiece Of the output. Without the start or the end of a part, a stream falls apart.
 */
export function loseEvent(facts: AnswerFacts, isPiece: boolean): void {
  leaveOut(facts);
  if (!isPiece) failMalformed(facts, noObject);
}

/**
 * Called where a stream gives input of a tool call, or ends with one. Input with a gap may still be valid JSON, and the client would
 * call a tool with arguments that the model has not written.
 */
export function checkCallsAreWhole(facts: AnswerFacts): void {
  if (facts.malformedFrames > 0) failMalformed(facts, 'an event was lost, and the answer calls tools');
}

/** Not a fault of the upstream: the size is beyond our own bound. */
export function failTooLarge(facts: AnswerFacts, detail: string): void {
  facts.fault = { kind: 'too-large', detail };
}

/** As `failTooLarge`, of a plain answer. */
export function tooLarge(detail: string): { readonly ok: false; readonly fault: AnswerFault } {
  return { ok: false, fault: { kind: 'too-large', detail } };
}

export function malformed(detail: string): { readonly ok: false; readonly fault: AnswerFault } {
  return { ok: false, fault: { kind: 'malformed', detail } };
}

/** Not a fault of the upstream: it matters only with assured delivery. */
export function unusable(detail: string): { readonly ok: false; readonly fault: AnswerFault } {
  return { ok: false, fault: { kind: 'unusable', detail } };
}
