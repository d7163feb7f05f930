// Where a stream breaks off, is that noticed? At every byte: it counts as complete exactly when the terminal marker or
// the last finish reason has arrived whole. Taking a cut answer for a whole one is the one thing that must not happen.

import { describe, expect, test } from 'vitest';
import type { AnswerFacts } from '../../../../gateway/dialects/dialect.ts';
import { relayChat } from '../../../../gateway/dialects/openai-chat/relay.ts';
import { relayCompletions } from '../../../../gateway/dialects/openai-completions/relay.ts';
import {
  delta,
  done,
  frame,
  piece,
  usageChunk,
  wholeChat,
  wholeCompletion,
} from '../support/openai-streams.ts';
import { readPieces, type StreamReader } from '../support/read-pieces.ts';
import { chatDecoder, completionDecoder } from '../support/upstream-call.ts';

const twoChoices = (end: string): string =>
  [
    frame(delta({ role: 'assistant', content: 'one é' }, null, 0)),
    frame(delta({ content: 'two 😀' }, null, 1)),
    frame(delta({}, 'stop', 1)),
    frame(delta({}, 'length', 0)),
    end,
  ].join('');

const chat = (choices: number): StreamReader<unknown>[] => [
  relayChat.relayStream({ model: 'm', isStream: true, choices, wantsUsage: false }),
  relayChat.relayStream({ model: 'm', isStream: true, choices, wantsUsage: true }),
  chatDecoder(choices),
];

const completions = (): StreamReader<unknown>[] => [
  relayCompletions.relayStream({ model: 'm', isStream: true, choices: 1, wantsUsage: false }),
  completionDecoder(1),
];

describe.each([
  ['a chat', wholeChat, '"finish_reason":"stop"', () => chat(1)],
  ['a chat with CRLF', wholeChat.replaceAll('\n', '\r\n'), '"finish_reason":"stop"', () => chat(1)],
  ['a chat without finish reasons', wholeChat.replace('"stop"', 'null'), '[DONE]', () => chat(1)],
  [
    'a chat whose reasons are the word “null”',
    wholeChat.replaceAll('"finish_reason":null', '"finish_reason":"null"'),
    '"finish_reason":"stop"',
    () => chat(1),
  ],
  ['two choices', twoChoices(frame(usageChunk) + done), '"finish_reason":"length"', () => chat(2)],
  ['two choices without a terminal marker', twoChoices(''), '"finish_reason":"length"', () => chat(2)],
  ['a completion', wholeCompletion, '"finish_reason":"length"', completions],
  [
    'a completion without a terminal marker',
    frame(piece('a')) + frame(piece('b', 'stop')),
    '"finish_reason":"stop"',
    completions,
  ],
] as const)('%s', (_, text, deciding, open) => {
  const bytes = Buffer.from(text);
  // The event that decides is whole with its last brace; its blank line may be missing.
  const isDecided = Buffer.byteLength(text.slice(0, endOfEvent(text, text.indexOf(deciding))));

  test('13: cut at any byte it is complete exactly after the event that decides', () => {
    for (let at = 0; at <= bytes.length; at++) {
      const wanted: Partial<AnswerFacts> =
        at >= isDecided
          ? { isComplete: true, fault: undefined }
          : { isComplete: false, fault: { kind: 'truncated' } };
      for (const reader of open()) {
        const { facts } = readPieces(reader, [bytes.subarray(0, at)]);
        expect({ isComplete: facts.isComplete, fault: facts.fault }, `cut at ${at}`).toEqual(wanted);
      }
    }
  });
});

function endOfEvent(text: string, from: number): number {
  const end = text.slice(from).search(/\r?\n/);
  return end === -1 ? text.length : from + end;
}
