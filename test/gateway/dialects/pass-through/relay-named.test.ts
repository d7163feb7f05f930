// What holds of every stream of named events that passes through, whichever dialect it is?

import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { relayMessages } from '../../../../gateway/dialects/anthropic-messages/relay.ts';
import { relayResponses } from '../../../../gateway/dialects/openai-responses/relay.ts';
import { runs } from '../../../support/runs.ts';
import {
  blockStop,
  messageDelta,
  messageStart,
  messageStop,
  textDelta,
  textStart,
} from '../support/messages-events.ts';
import { named } from '../support/named-events.ts';
import { readPieces, sentText } from '../support/read-pieces.ts';
import { response, responseBeginning, responseUsage } from '../support/response-events.ts';
import { streamFacts } from './stream-facts.ts';

const message = messageStart + textStart + textDelta('a') + textDelta('b');
const responseDelta = named('response.output_text.delta', { delta: 'a' });

const dialects = [
  {
    dialect: 'messages',
    relay: relayMessages,
    begun: message,
    more: message,
    ends: [
      blockStop() + messageDelta('end_turn') + messageStop,
      messageStart,
      named('error', { error: { type: 'overloaded_error', message: 'no' } }),
    ],
    bits: ['event: message_stop\n', 'event: content_block_delta\ndata: {', 'message', '{"type":"ping"}'],
  },
  {
    dialect: 'responses',
    relay: relayResponses,
    begun: responseBeginning,
    more: responseDelta,
    ends: [
      named('response.completed', { response: { ...response, usage: responseUsage } }),
      named('response.failed', {}),
      named('error', {}),
    ],
    bits: ['event: response.completed\n', 'event: response.output_text.delta\ndata: {', '{"type":"a.delta"}'],
  },
] as const;

describe.each(dialects)('a stream of $dialect', ({ relay, begun, more, ends, bits }) => {
  test('sends nothing after a fault or the end', () => {
    for (const end of ends) {
      const stream = relay.relayStream(streamFacts);
      stream.push(Buffer.from(begun + end));
      const facts = structuredClone(stream.facts);
      expect(stream.push(Buffer.from(more))).toBeUndefined();
      expect(stream.end()).toBeUndefined();
      expect(stream.facts).toEqual(facts);
    }
  });

  test('never holds anything but named events with JSON data, whatever an upstream sends', () => {
    const bit = fc.constantFrom(
      ...['data: ', 'data:', 'event: ', 'event:', '\n', '\n\n', '\r', '\r\n', ': c', 'id: 1', 'retry: 1'],
      ...['event: error\n', '[DONE]', ...bits],
      ...['{"type":"a b"}', '{', '}', '"', '[', ']', '"error"', '\uFEFF', '\u0000', '<html>'],
    );
    fc.assert(
      fc.property(fc.array(bit, { maxLength: 30 }), fc.boolean(), (pieces, hasStarted) => {
        const text = (hasStarted ? begun : '') + pieces.join('');
        const sent = sentText(readPieces(relay.relayStream(streamFacts), [Buffer.from(text)]));
        expect(sent).toMatch(/^(event:[^\r\n]+\ndata:[^\r\n]*\{[^\r\n]*\}[^\r\n]*\n\n)*$/);
        const events: string[] = [];
        const parser = createParser({ onEvent: ({ event, id }) => events.push(`${event} ${id}`) });
        parser.feed(sent);
        expect(events).toHaveLength(sent.split('\n\n').length - 1);
        for (const event of events) expect(event).toMatch(/^(?!undefined).* undefined$/);
      }),
      { seed: 5, numRuns: runs(3_000) },
    );
  });
});
