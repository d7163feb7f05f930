// Does it matter how the network cuts a stream? It must not: any split of the bytes gives the same output and the
// same facts, also inside a character and between the two halves of a CRLF.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AnswerFacts } from '../../../../gateway/dialects/dialect.ts';
import { eventBytesMax } from '../../../../gateway/dialects/events/sse-events.ts';
import { relayChat } from '../../../../gateway/dialects/openai-chat/relay.ts';
import { relayCompletions } from '../../../../gateway/dialects/openai-completions/relay.ts';
import { cutStep } from '../../../support/runs.ts';
import { delta, frame, streams } from '../support/openai-streams.ts';
import { cutAt, readPieces, type StreamReader, sentText } from '../support/read-pieces.ts';
import { chatDecoder, completionDecoder } from '../support/upstream-call.ts';

const request = { model: 'm', isStream: true, choices: 1 };

/** Each runs over pieces and gives something that can be compared. */
const readers: Readonly<Record<string, (pieces: readonly Buffer[]) => unknown>> = {
  'the chat relay': relayed(() => relayChat.relayStream({ ...request, wantsUsage: false })),
  'the chat relay with usage': relayed(() => relayChat.relayStream({ ...request, wantsUsage: true })),
  'the completions relay': relayed(() => relayCompletions.relayStream({ ...request, wantsUsage: false })),
  'the chat decoder': decoded(() => chatDecoder(1)),
  'the completions decoder': decoded(() => completionDecoder(1)),
};

describe.each(Object.entries(readers))('%s', (_, read) => {
  test.each(Object.entries(streams))('15, 16, 17: reads %s alike, however it is cut', (__, text) => {
    const bytes = Buffer.from(text);
    const whole = read([bytes]);
    expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole);
    for (let at = 0; at <= bytes.length; at += cutStep(1)) {
      const halves = read([bytes.subarray(0, at), bytes.subarray(at)]);
      // Comparing is dear; a message is only needed where they differ.
      if (JSON.stringify(halves) !== JSON.stringify(whole)) expect(halves, `cut at ${at}`).toEqual(whole);
    }
    fc.assert(
      fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 20 }), (cuts) => {
        expect(read(cutAt(bytes, cuts))).toEqual(whole);
      }),
      { seed: 3, numRuns: 30 },
    );
  });

  test.each([
    ['as long as allowed', 0, false],
    ['one byte longer', 1, true],
  ])('takes an event %s the same way, whole and in pieces', (__, more, isRefused) => {
    const empty = JSON.stringify(delta({ content: '' })).length;
    // The relay counts the whole event, the decoders its data: the decoders may take six bytes more.
    for (const prefix of ['data: '.length, 0]) {
      const bytes = Buffer.from(frame(delta({ content: 'x'.repeat(eventBytesMax - prefix - empty + more) })));
      const whole = read([bytes]);
      expect(read(cutAt(bytes, [100_000, 1_000_000]))).toEqual(whole);
      for (const back of [1, 2, 3, 4, 9]) expect(read(cutAt(bytes, [bytes.length - back]))).toEqual(whole);
      if (prefix > 0 && !isRefused) expect(JSON.stringify(whole)).not.toContain('longer than');
      if (prefix === 0 && isRefused) expect(JSON.stringify(whole)).toContain('longer than');
    }
  });

  test('reports a line without end as too long', () => {
    const piece = Buffer.alloc(64 * 1024, 0x78);
    const pieces = [Buffer.from('data: {"a":"'), ...Array<Buffer>(40).fill(piece)];
    expect(JSON.stringify(read(pieces))).toContain('an event of it is longer than 1048576 bytes');
  });
});

test.each([
  ['the relay', () => relayChat.relayStream({ ...request, wantsUsage: false })],
  ['the chat decoder', () => chatDecoder(1)],
  ['the completions decoder', () => completionDecoder(1)],
] satisfies [string, () => StreamReader<unknown>][])(
  '%s does not wait for the end of an endless line',
  (_, open) => {
    const reader = open();
    const piece = Buffer.alloc(64 * 1024, 0x78);
    reader.push(Buffer.from('data: {"a":"'));
    for (let left = 17; left > 0; left--) reader.push(piece);
    expect(reader.facts.fault?.kind).toBe('too-large');
  },
);

function relayed(open: () => StreamReader<Buffer | undefined>): (pieces: readonly Buffer[]) => unknown {
  return (pieces) => {
    const reading = readPieces(open(), pieces);
    return { sent: sentText(reading), facts: copyOf(reading.facts) };
  };
}

function decoded(open: () => StreamReader<readonly unknown[]>): (pieces: readonly Buffer[]) => unknown {
  return (pieces) => {
    const reading = readPieces(open(), pieces);
    return { parts: reading.out.flat(), facts: copyOf(reading.facts) };
  };
}

function copyOf(facts: AnswerFacts): AnswerFacts {
  return { ...facts };
}
