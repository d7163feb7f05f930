// Is there anything that an upstream can send, or a network do to it, that breaks the reading of messages?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../../gateway/request/errors.ts';
import { cutStep, runs } from '../../../support/runs.ts';
import { blockOf, endOf, start, textBlock } from '../support/messages-events.ts';
import { named } from '../support/named-events.ts';
import { cutAt } from '../support/read-pieces.ts';
import { call, decodeRequest, decodeStream } from './talk.ts';

const json = (partial: string) => ({ type: 'input_json_delta', partial_json: partial });

const whole = [
  start,
  named('ping'),
  blockOf(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'Hm — 漢字' },
    { type: 'signature_delta', signature: 'EqQ=' },
  ),
  textBlock(1, 'Grüße', ', 😀'),
  blockOf(2, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }, json('{"at":"'), json('ü"}')),
  endOf('tool_use'),
].join('');

const streams: Readonly<Record<string, string>> = {
  'a whole answer': whole,
  'CRLF line ends': whole.replaceAll('\n', '\r\n'),
  'lone CR line ends': whole.replaceAll('\n', '\r'),
  'an error in the middle': start + textBlock(0, 'ä') + named('error', { error: { message: 'Oh' } }) + whole,
  'a cut answer': whole.slice(0, -60),
  garbage: `${start}${textBlock(0, 'ä')}data: <html>\n\n${whole}`,
};

describe.each(Object.entries(streams))('15, 16: %s', (_, text) => {
  const bytes = Buffer.from(text);
  const expected = JSON.stringify(decodeStream([bytes]));

  test('reads the same cut in two, anywhere', () => {
    for (let at = 0; at <= bytes.length; at += cutStep(1)) {
      const halves = JSON.stringify(decodeStream([bytes.subarray(0, at), bytes.subarray(at)]));
      if (halves !== expected) expect(halves, `cut at ${at}`).toBe(expected);
    }
    expect(expected).toContain('part-delta');
  });

  test('reads the same in any pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 20 }), (cuts) => {
        expect(JSON.stringify(decodeStream(cutAt(bytes, cuts)))).toBe(expected);
      }),
      { seed: 3, numRuns: runs(300) },
    );
  });
});

/** Members that mean something, with values of any kind, so that the reading gets far. */
const names = [
  'type',
  'message',
  'content',
  'content_block',
  'delta',
  'index',
  'usage',
  'text',
  'thinking',
  'signature',
  'data',
  'input',
  'id',
  'name',
  'partial_json',
  'stop_reason',
  'stop_details',
  'stop_sequence',
  'error',
  'model',
  'output_tokens',
  'source',
  'title',
  'role',
  'tool_use_id',
  'cache_control',
  'citations',
];
const words = [
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
  'image',
  'document',
  'base64',
  'url',
  'message_start',
  'message_delta',
  'message_stop',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'text_delta',
  'input_json_delta',
  'user',
  'assistant',
  'system',
  'refusal',
];
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...words),
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('members'),
  ),
  members: fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 6 }),
}));

test('any JSON as an answer is an answer or a fault', () => {
  fc.assert(
    fc.property(anything.value, (value) => {
      const decoded = call().decodeAnswer(Buffer.from(JSON.stringify(value)));
      expect(typeof decoded.ok).toBe('boolean');
    }),
    { seed: 5, numRuns: runs(2000) },
  );
});

test('any JSON as events ends in an answer or a fault, and every part that begins ends', () => {
  const oneEvent = fc
    .tuple(fc.constantFrom(...words), anything.members)
    .map(([type, members]) => named(type, { ...members, type }));
  fc.assert(
    fc.property(fc.array(oneEvent, { maxLength: 12 }), fc.boolean(), (events, isEnded) => {
      const { parts, facts } = decodeStream(start + events.join('') + (isEnded ? endOf('end_turn') : ''));
      expect(facts.isComplete).toBe(facts.fault === undefined);
      const count = (type: string) => parts.filter((part) => part.type === type).length;
      if (facts.isComplete) expect(count('part-end')).toBe(count('part-start'));
      expect(count('part-start') - count('part-end')).toBeLessThanOrEqual(1);
      expect(count('choice-end')).toBe(facts.isComplete ? 1 : 0);
    }),
    { seed: 7, numRuns: runs(2000) },
  );
});

test('any JSON is a valid request, or is refused by name', () => {
  const members = fc.record(
    {
      messages: fc.oneof(anything.value, fc.array(anything.members, { maxLength: 3 })),
      system: anything.value,
      tools: fc.oneof(anything.value, fc.array(anything.members, { maxLength: 3 })),
      tool_choice: anything.members,
      thinking: anything.members,
      output_config: anything.members,
      metadata: anything.members,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(members, (request) => {
      try {
        decodeRequest(request as Record<string, unknown>);
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
        expect((error as GatewayError).param).toBeDefined();
      }
    }),
    { seed: 9, numRuns: runs(2000) },
  );
});
