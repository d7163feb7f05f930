// What do the stream parts of one whole choice amount to? So that a dialect reads its plain answers
// and its streams by one and the same rules.

import type { AnswerChoice, Part } from '../conversation.ts';
import type { MarkedState } from '../state/opaque.ts';
import type { PartHead, StreamPart } from '../stream-part.ts';

/** @param parts All of one choice, its end included. */
export function gatherChoice(parts: readonly StreamPart[], index: number): AnswerChoice {
  const gathered: Part[] = [];
  const logprobs: unknown[] = [];
  let head: PartHead | undefined;
  let texts: string[] = [];
  let choice: AnswerChoice = { index, parts: gathered, finish: 'stop' };
  for (const part of parts) {
    switch (part.type) {
      case 'part-start':
        head = part.head;
        texts = [];
        break;
      case 'part-delta':
        texts.push(part.text);
        for (const entry of part.logprobs ?? []) logprobs.push(entry);
        break;
      case 'part-end':
        if (head) gathered.push(wholePart(head, texts.join(''), part.opaque));
        break;
      case 'choice-end': {
        const { finish, isAssumed, stopSequence, refusal } = part;
        choice = {
          ...choice,
          finish,
          ...(isAssumed ? { isAssumed } : {}),
          ...(stopSequence === undefined ? {} : { stopSequence }),
          ...(refusal === undefined ? {} : { refusal }),
        };
        break;
      }
      case 'answer-start':
      case 'usage':
      case 'ping':
    }
  }
  return logprobs.length === 0 ? choice : { ...choice, logprobs };
}

function wholePart(head: PartHead, text: string, opaque: MarkedState | undefined): Part {
  if (head.type === 'tool-call') return { ...head, input: text };
  if (head.type === 'thinking' && opaque) return { type: 'thinking', text, opaque };
  return { type: head.type, text };
}
