// What came is not the dialect it should be: how is that said of a stream, and of a plain answer?

import type { AnswerFacts, AnswerFault } from '../dialect.ts';

export function failMalformed(facts: AnswerFacts, detail: string): void {
  facts.fault = { kind: 'malformed', detail };
}

export function malformed(detail: string): { readonly ok: false; readonly fault: AnswerFault } {
  return { ok: false, fault: { kind: 'malformed', detail } };
}
