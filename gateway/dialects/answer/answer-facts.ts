// What is known of an answer before any of it has come, and when is nothing more wanted of it?

import type { AnswerFacts } from '../dialect.ts';

export function freshFacts(): AnswerFacts {
  return {
    hasContent: false,
    awaitsEnd: false,
    isComplete: false,
    fault: undefined,
    usage: undefined,
    outputEstimate: 0,
    steps: 0,
    pendingBytes: 0,
    keptBytes: 0,
    malformedFrames: 0,
    servedModel: undefined,
  };
}

/** The answer is complete or unusable: later bytes are not read. */
export function isOver({ isComplete, fault }: AnswerFacts): boolean {
  return isComplete || fault !== undefined;
}
