// What is known of an answer before any of it has come?

import type { AnswerFacts } from './dialect.ts';

export function freshFacts(): AnswerFacts {
  return {
    hasContent: false,
    isComplete: false,
    fault: undefined,
    usage: undefined,
    outputEstimate: 0,
    servedModel: undefined,
  };
}
