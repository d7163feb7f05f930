// Does it matter how an upstream writes and the network cuts a stream of named events that passes through? Any split of
// the bytes gives the same client bytes and facts, and every way of writing the same events gives the same events.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { relayMessages } from '../../../../gateway/dialects/anthropic-messages/relay.ts';
import type { AnswerStream } from '../../../../gateway/dialects/dialect.ts';
import { eventBytesMax, responseEventBytesMax } from '../../../../gateway/dialects/events/sse-events.ts';
import { relayResponses } from '../../../../gateway/dialects/openai-responses/relay.ts';
import { cutStep, runs } from '../../../support/runs.ts';
import { blockDelta, messageStart, textDelta, textStart, wholeMessage } from '../support/messages-events.ts';
import { named, waysToWrite } from '../support/named-events.ts';
import { cutAt, readPieces, sentText } from '../support/read-pieces.ts';
import { wholeResponse } from '../support/response-events.ts';
import { streamFacts } from './stream-facts.ts';

const brokenOff = { message: 'gone', type: 'server_error', code: 'upstream_error', param: null };

function read(open: () => AnswerStream, pieces: readonly Buffer[]) {
  const stream = open();
  const reading = readPieces(stream, pieces);
  return {
    sent: sentText(reading),
    facts: { ...reading.facts },
    broken: stream.errorFrame?.(brokenOff),
  };
}

const dialects = [
  ['messages', () => relayMessages.relayStream(streamFacts), wholeMessage],
  ['responses', () => relayResponses.relayStream(streamFacts), wholeResponse],
] as const;

describe.each(dialects)('%s', (_, open, whole) => {
  const ways = waysToWrite(whole);

  test.each(Object.entries(ways))(
    '15, 16, 18: are relayed alike however the network cuts them: %s',
    (__, text) => {
      const bytes = Buffer.from(text);
      const wanted = read(open, [bytes]);
      const wantedText = JSON.stringify(wanted);
      expect(
        read(
          open,
          [...bytes].map((byte) => Buffer.from([byte])),
        ),
      ).toEqual(wanted);
      for (let at = 0; at <= bytes.length; at += cutStep(2)) {
        const halves = read(open, [bytes.subarray(0, at), bytes.subarray(at)]);
        // Comparing is dear; a message is only needed where they differ.
        if (JSON.stringify(halves) !== wantedText) expect(halves, `cut at ${at}`).toEqual(wanted);
      }
      fc.assert(
        fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 30 }), (cuts) => {
          expect(JSON.stringify(read(open, cutAt(bytes, cuts)))).toBe(wantedText);
        }),
        { seed: 7, numRuns: runs(60) },
      );
    },
  );

  test.each([
    'CRLF line ends',
    'lone CR line ends',
    'mixed line ends',
    'no event lines',
    'events called messages',
    'the event line behind the data',
    'comments, ids and retries',
    'comments, ids and retries with CRLF',
    'a byte order mark',
    'blank lines between events',
    'empty data',
    'no last blank line',
    'an end mark of another dialect',
    'something after the end',
  ])('16: reach the client as if they were written plainly: %s', (way) => {
    const { sent, facts } = read(open, [Buffer.from(ways[way] ?? '')]);
    expect(sent).toBe(whole);
    expect(facts).toMatchObject({ isComplete: true, hasContent: true, fault: undefined });
  });

  test.each(['as it is', 'no spaces behind the colons'])('17: go on as their own bytes: %s', (way) => {
    expect(read(open, [Buffer.from(ways[way] ?? '')]).sent).toBe(ways[way]);
  });

  test('with their data over several lines or their type last are the same events', () => {
    for (const way of ['data over several lines', 'no event lines and the type last']) {
      const { sent, facts } = read(open, [Buffer.from(ways[way] ?? '')]);
      expect(dataOf(sent)).toEqual(dataOf(whole));
      expect(facts.isComplete).toBe(true);
    }
  });
});

describe.each([
  [
    'messages',
    () => relayMessages.relayStream(streamFacts),
    messageStart + textStart + textDelta('a'),
    eventBytesMax,
  ],
  [
    'responses',
    () => relayResponses.relayStream(streamFacts),
    named('response.output_text.delta', { delta: 'a' }),
    responseEventBytesMax,
  ],
] as const)('%s', (_, open, start, bytesMax) => {
  test.each([
    ['as long as allowed', 0, false],
    ['one byte longer', 1, true],
  ])('with an event %s are taken the same way, whole and in pieces', (__, more, isRefused) => {
    const type = start.includes('message_start') ? 'content_block_delta' : 'response.output_text.delta';
    const event = (text: string): string =>
      type === 'content_block_delta'
        ? blockDelta({ type: 'text_delta', text })
        : named(type, { delta: text });
    const room = bytesMax - (event('').length - 2) + more;
    const bytes = Buffer.from(start + event('x'.repeat(room)));
    const whole = read(open, [bytes]);
    expect(whole.facts.fault?.kind).toBe(isRefused ? 'too-large' : 'truncated');
    expect(whole.sent.length).toBe(isRefused ? start.length : bytes.length);
    expect(read(open, cutAt(bytes, [100_000, 1_000_000])).facts).toEqual(whole.facts);
    for (const back of [1, 2, 3, 4, 9]) {
      expect(read(open, cutAt(bytes, [bytes.length - back])).facts).toEqual(whole.facts);
    }
  });

  test('do not keep the gateway waiting for the end of an endless line', () => {
    const stream = open();
    stream.push(Buffer.from(`${start}event: x\ndata: {"a":"`));
    const part = 64 * 1024;
    for (let left = bytesMax / part + 1; left > 0; left--) stream.push(Buffer.alloc(part, 0x78));
    expect(stream.facts.fault?.kind).toBe('too-large');
  });
});

function dataOf(sent: string): unknown[] {
  return sent
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line): unknown => JSON.parse(line.slice(5)));
}
