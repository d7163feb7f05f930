// What do chat completions of an upstream mean, plain and streamed?

import { describe, expect, test } from 'vitest';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { delta, done, frame, usageChunk } from '../support/openai-streams.ts';
import { readPieces } from '../support/read-pieces.ts';
import { chatDecoder, makeConversation, target } from '../support/upstream-call.ts';

function decode(text: string, choices = 1) {
  const { out, facts } = readPieces(chatDecoder(choices), [Buffer.from(text)]);
  return { parts: out.flat(), facts };
}

const short = (parts: readonly StreamPart[]): string[] =>
  parts.map((part) => {
    switch (part.type) {
      case 'part-start':
        return `${part.choice}.${part.index} start ${part.head.type}`;
      case 'part-delta':
        return `${part.choice}.${part.index} ${part.text}`;
      case 'part-end':
        return `${part.choice}.${part.index} end`;
      case 'choice-end':
        return `${part.choice} ${part.finish}`;
      default:
        return part.type;
    }
  });

describe('a stream', () => {
  test.each([
    [
      'of text',
      [
        delta({ role: 'assistant', content: '' }),
        delta({ content: 'a' }),
        delta({ content: 'b' }),
        delta({}, 'stop'),
      ],
      ['answer-start', '0.0 start text', '0.0 a', '0.0 b', '0.0 end', '0 stop'],
    ],
    [
      'of thinking, then text',
      [delta({ reasoning_content: 'hm' }), delta({ reasoning: 'hm' }), delta({ content: 'a' }, 'length')],
      [
        'answer-start',
        '0.0 start thinking',
        '0.0 hm',
        '0.0 hm',
        '0.0 end',
        '0.1 start text',
        '0.1 a',
        '0.1 end',
        '0 length',
      ],
    ],
    [
      'of a refusal',
      [delta({ refusal: 'no' }, 'stop')],
      ['answer-start', '0.0 start refusal', '0.0 no', '0.0 end', '0 stop'],
    ],
    [
      'of two choices that interleave',
      [
        delta({ content: 'a' }),
        delta({ content: 'b' }, null, 1),
        delta({ content: 'c' }, 'stop'),
        delta({}, 'content_filter', 1),
      ],
      [
        ...[
          'answer-start',
          '0.0 start text',
          '0.0 a',
          '1.0 start text',
          '1.0 b',
          '0.0 c',
          '0.0 end',
          '0 stop',
        ],
        ...['1.0 end', '1 content-filter'],
      ],
    ],
    ['of nothing', [delta({}, 'stop')], ['answer-start', '0 stop']],
    ['that finishes twice', [delta({}, 'stop'), delta({}, 'length')], ['answer-start', '0 stop']],
    [
      'with an empty finish reason',
      [delta({ content: 'a' }, '')],
      ['answer-start', '0.0 start text', '0.0 a'],
    ],
    [
      'with content as a list of parts',
      [delta({ content: [{ type: 'text', text: 'a' }, { type: 'other' }] })],
      ['answer-start', '0.0 start text', '0.0 a'],
    ],
    [
      'with text behind its finish reason',
      [delta({ content: 'a' }, 'length'), delta({ content: 'b' }), delta({}, 'stop', 1)],
      ['answer-start', '0.0 start text', '0.0 a', '0.0 b', '1 stop'],
    ],
    [
      'with text behind its finish reason, and another reason behind that',
      [
        delta({ content: 'a' }, 'stop'),
        delta({ content: 'b' }, 'stop'),
        delta({}, 'length'),
        delta({}, 'stop', 1),
      ],
      ['answer-start', '0.0 start text', '0.0 a', '0.0 b', '0.0 end', '0 length', '1 stop'],
    ],
    [
      'with content as a list of thinking and text',
      [
        delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'h' }] }] }),
        delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'm' }] }] }),
        delta({ content: [{ type: 'text', text: 'a' }] }),
        delta({ content: 'b' }),
      ],
      ['answer-start', '0.0 start thinking', '0.0 h', '0.0 m', '0.0 end', '0.1 start text', '0.1 a', '0.1 b'],
    ],
    ['with usage', [usageChunk], ['answer-start', 'usage']],
    ['with odd choices', [{ choices: ['x', null, 7] }, { choices: 'x' }], ['answer-start']],
  ])('%s', (_, events, wanted) => {
    expect(short(decode(events.map(frame).join(''), 2).parts)).toEqual(wanted);
  });

  test('names the model, and gives the usage', () => {
    const { parts, facts } = decode(frame(delta({ content: 'a' })) + frame(usageChunk) + done);
    expect(parts[0]).toEqual({
      type: 'answer-start',
      id: 'chatcmpl-1',
      model: 'served',
      createdAt: 1_700_000_000,
    });
    expect(facts).toMatchObject({
      servedModel: 'served',
      hasContent: true,
      isComplete: true,
      usage: { input: 7 },
    });
  });

  test.each([
    ['{"error":{"message":"no","code":429}}', { kind: 'error-event', error: { message: 'no', status: 429 } }],
    ['{"error":[{"message":"no"}]}', { kind: 'error-event', error: { message: 'no' } }],
    ['{"error":500}', { kind: 'error-event', error: { code: '500' } }],
    ['[{"error":{"message":"no"}}]', { kind: 'error-event', error: { message: 'no' } }],
    ['<html>\n\ndata: </html>', { kind: 'malformed' }],
    ['[]\n\ndata: []', { kind: 'malformed' }],
  ])('12: with the event %s ends there', (data, fault) => {
    const { parts, facts } = decode(
      frame(delta({ content: 'a' })) + frame(data) + frame(delta({ content: 'b' })) + done,
    );
    expect(facts).toMatchObject({ fault, isComplete: false });
    expect(short(parts)).toEqual(['answer-start', '0.0 start text', '0.0 a']);
  });

  test.each([
    ['the terminal marker alone', done],
    ['a role', frame(delta({ role: 'assistant' })) + done],
  ])('with nothing but %s counts as failed', (_, text) => {
    expect(decode(text).facts).toMatchObject({ isComplete: false, fault: { kind: 'malformed' } });
  });

  // A provider that forgets the terminal marker and stays open would keep the client waiting.
  test('is complete with its usage, where all choices have ended', () => {
    const decoder = chatDecoder();
    decoder.push(Buffer.from(frame(delta({ content: 'a' }, 'stop')) + frame(usageChunk)));
    expect(decoder.facts.isComplete).toBe(true);
  });

  test('is not complete with usage alone, nor with usage beside a choice', () => {
    const decoder = chatDecoder();
    decoder.push(Buffer.from(frame(delta({ content: 'a' })) + frame(usageChunk)));
    const { usage } = usageChunk;
    decoder.push(Buffer.from(frame({ ...delta({}, 'stop'), usage })));
    expect(decoder.facts.isComplete).toBe(false);
  });

  test('without finish reasons ends every choice', () => {
    const { parts } = decode(frame(delta({ content: 'a' })) + done);
    expect(short(parts).slice(-2)).toEqual(['0.0 end', '0 stop']);
  });

  test('of a finish reason and no content is an empty answer', () => {
    expect(decode(frame(delta({}, 'stop')) + done).facts).toMatchObject({
      isComplete: true,
      fault: undefined,
    });
  });

  test('with an event that is named an error ends there', () => {
    const { facts } = decode(`event: error\ndata: out of luck\n\n${done}`);
    expect(facts.fault).toMatchObject({ kind: 'error-event', error: { message: 'out of luck' } });
  });
});

describe('a plain answer', () => {
  const decodeBody = (value: unknown) =>
    openAiChat.asUpstream
      .open(makeConversation(), target)
      .decodeAnswer(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

  test.each([
    [{ content: 'a' }, 'stop', [{ type: 'text', text: 'a' }], 'stop'],
    [{ content: null, refusal: 'no' }, 'content_filter', [{ type: 'refusal', text: 'no' }], 'content-filter'],
    [{ content: '', reasoning: 'hm' }, 'length', [{ type: 'thinking', text: 'hm' }], 'length'],
    [
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      null,
      [{ type: 'text', text: 'ab' }],
      'stop',
    ],
    [
      {
        content: [
          {
            type: 'thinking',
            thinking: [
              { type: 'text', text: 'h' },
              { type: 'text', text: 'm' },
            ],
          },
          { type: 'text', text: 'a' },
        ],
      },
      'stop',
      [
        { type: 'thinking', text: 'hm' },
        { type: 'text', text: 'a' },
      ],
      'stop',
    ],
    [{}, 'eos', [], 'stop'],
    [{}, 'function_call', [], 'tool-calls'],
    [null, undefined, [], 'stop'],
  ])('with the message %j and finish reason %j', (message, finish_reason, parts, finish) => {
    expect(decodeBody({ choices: [{ index: 0, message, finish_reason }] })).toMatchObject({
      ok: true,
      answer: { choices: [{ index: 0, parts, finish }] },
    });
  });

  test.each([
    ['<html>', 'malformed'],
    ['[]', 'malformed'],
    ['{}', 'malformed'],
    [{ choices: [] }, 'malformed'],
    [{ choices: 'x' }, 'malformed'],
    [{ error: { message: 'no' } }, 'error-event'],
    [{ error: 'no', choices: [{}] }, 'error-event'],
    [{ error: [] }, 'error-event'],
    [[{ error: { message: 'no' } }], 'malformed'],
  ])('%j is refused as %s', (body, kind) => {
    expect(decodeBody(body)).toMatchObject({ ok: false, fault: { kind } });
  });

  test('an error member that is null is not an error', () => {
    expect(decodeBody({ error: null, choices: [{ message: { content: 'a' } }] }).ok).toBe(true);
  });
});
