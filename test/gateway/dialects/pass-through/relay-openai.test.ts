// What does a client get of a stream that passes through, and what does the gateway learn of it?

import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AnswerFacts } from '../../../../gateway/dialects/dialect.ts';
import { hasDeltaContent, relayChat } from '../../../../gateway/dialects/openai-chat/relay.ts';
import { relayCompletions } from '../../../../gateway/dialects/openai-completions/relay.ts';
import { asRecord } from '../../../../gateway/json/record.ts';
import { runs } from '../../../support/runs.ts';
import { delta, done, frame, piece, usage, usageChunk, wholeChat } from '../support/openai-streams.ts';
import { readPieces, sentText } from '../support/read-pieces.ts';

interface Options {
  readonly choices?: number;
  readonly wantsUsage?: boolean;
}

function relay(text: string, options: Options = {}): { sent: string; facts: AnswerFacts } {
  return relayEach([text], options);
}

/** Each in a chunk of its own. */
function relayEach(pieces: readonly string[], options: Options = {}): { sent: string; facts: AnswerFacts } {
  const facts = { model: 'm', isStream: true, choices: 1, wantsUsage: false, ...options };
  const chunks = pieces.map((piece) => Buffer.from(piece));
  const reading = readPieces(relayChat.relayStream(facts), chunks);
  return { sent: sentText(reading), facts: reading.facts };
}

const first = frame(delta({ role: 'assistant', content: 'Hi' }));
const last = frame(delta({}, 'stop'));

describe('forwarded events', () => {
  const event = frame(delta({ content: 'x' }));
  test.each([
    [
      'an event, byte for byte',
      'data: {"choices": [ {"delta":{"content":"x"}} ] ,"n":12345678901234567890}\n\n',
      undefined,
    ],
    ['an event without a space behind the colon', event.replace('data: ', 'data:'), undefined],
    ['unknown members', frame({ ...delta({ content: 'x', new: [1] }), newer: { a: null } }), undefined],
    ['CRLF as LF', event.replaceAll('\n', '\r\n'), event],
    ['CR as LF', event.replaceAll('\n', '\r'), event],
    ['no comments', `: ping\n\n${event}: ping\n\n`, event],
    ['no comment inside an event', event.replace('data:', ': ping\ndata:'), event],
    ['no id and no retry', `id: 1\nretry: 100\n${event}`, event],
    ['no event names', `event: chunk\n${event}`, event],
    ['no empty data', `data:\n\ndata: \n\n${event}`, event],
    ['no lines that are no field', `hello\n\n${event}`, event],
    [
      'data of several lines on one',
      'data: {"choices":\ndata: [{"delta":{"content":"x"}}]}\n\n',
      'data: {"choices": [{"delta":{"content":"x"}}]}\n\n',
    ],
    ['a chunk without a choice: not at all', 'data: {"choices":[]}\n\ndata: {"id":"x"}\n\n', ''],
    ['a usage chunk not asked for: not at all', frame(usageChunk), ''],
    ['half of one: not at all', frame({ ...usageChunk, usage: { prompt_tokens: 7 } }), ''],
    ['a null usage not asked for: without it', frame({ ...delta({ content: 'x' }), usage: null }), event],
    [
      'a null usage written with spaces: without it',
      event.replace(',"choices"', ', "usage" : null,"choices"'),
      event,
    ],
    ['a null usage in first place: without it', event.replace('{"id"', '{"usage": null, "id"'), event],
    ['usage on a chunk with content: without it', frame({ ...delta({ content: 'x' }), usage }), event],
    [
      'fragile numbers beside a usage that is taken out',
      'data: {"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":1},"n":[1e400,-0,12345678901234567890]}\n\n',
      'data: {"choices":[{"delta":{"content":"x"}}],"n":[1e400,-0,12345678901234567890]}\n\n',
    ],
    ['an event that is cut: not at all', event.slice(0, 30), ''],
    ['an event that lacks its blank line', event.trimEnd(), event],
  ])('%s', (_, text, wanted) => {
    expect(relay(text).sent).toBe(wanted ?? text);
    // The same after the first content, where events are looked at, not parsed.
    expect(relay(first + text).sent).toBe(first + (wanted ?? text));
  });

  test('the first event, without the byte order mark before it', () => {
    expect(relay(`\uFEFF${event}`).sent).toBe(event);
  });

  test('usage that was asked for stays, chunk and nulls', () => {
    const { sent, facts } = relay(wholeChat, { wantsUsage: true });
    expect(sent + done).toBe(wholeChat);
    expect(facts.usage).toMatchObject({ input: 7, output: 3 });
  });

  test('the terminal marker is held back: the gateway ends the stream itself', () => {
    expect(relay(wholeChat).sent).not.toContain('[DONE]');
    expect(relay(`${first}data:[DONE] \n\n`).facts.isComplete).toBe(true);
  });

  test('completions are passed on the same way', () => {
    const text = frame(piece('a')) + frame(piece('', 'stop'));
    const options = { model: 'm', isStream: true, choices: 1, wantsUsage: false };
    const reading = readPieces(relayCompletions.relayStream(options), [Buffer.from(text)]);
    expect(sentText(reading)).toBe(text);
    expect(reading.facts).toMatchObject({ hasContent: true, isComplete: true, servedModel: 'served' });
  });
});

// The relay looks for words in the bytes. A model can write those words too; nothing of that may be taken for ours.
describe('text of a model is never read as an event of the provider', () => {
  const texts = [
    '"error"',
    '{"error":{"message":"no"}}',
    ',"usage":null',
    '"usage":{"prompt_tokens":1}',
    '"finish_reason":"stop"',
    '[DONE]',
    'data: [DONE]\n\n',
    '\\",\\"usage\\":null',
    '\\',
    '\r\n\r\n',
    '\uFEFF',
  ];
  test.each(texts)('%j as content', (text) => {
    const events = frame(delta({ content: text })) + frame(delta({ content: text }));
    const { sent, facts } = relay(first + events);
    expect(sent).toBe(first + events);
    expect(facts).toMatchObject({ isComplete: false, fault: { kind: 'truncated' }, usage: undefined });
  });

  test.each(texts)('%j as arguments of a tool', (text) => {
    const event = frame(delta({ tool_calls: [{ index: 0, function: { arguments: JSON.stringify(text) } }] }));
    expect(relay(first + event + event).sent).toBe(first + event + event);
  });

  test('any text', () => {
    const word = fc.constantFrom(...texts, ',', ':', '"', '\\', 'null', '\n');
    const text = fc
      .array(fc.oneof(word, fc.string({ unit: 'grapheme' })), { maxLength: 6 })
      .map((words) => words.join(''));
    fc.assert(
      fc.property(
        fc.array(text, { maxLength: 5 }),
        fc.boolean(),
        fc.boolean(),
        (contents, hasNull, wantsUsage) => {
          const chunk = (content: string): object =>
            hasNull ? { ...delta({ content }), usage: null } : delta({ content });
          const events = contents.map((content) => frame(chunk(content)));
          const together = relay(first + events.join('') + last + done, { wantsUsage });
          expect(contentOf(together.sent)).toBe(`Hi${contents.join('')}`);
          if (!wantsUsage) expect(together.sent).not.toContain(',"usage":null');
          expect(relayEach([first, ...events, last, done], { wantsUsage })).toEqual(together);
          // The last ones need a look, which those before them in the same chunk do not.
          expect(relayEach([first, events.join('') + last + done], { wantsUsage })).toEqual(together);
          expect(
            relayEach([first, ...events.slice(0, -1), events.slice(-1) + last, done], { wantsUsage }),
          ).toEqual(together);
        },
      ),
      { seed: 11, numRuns: runs(500) },
    );
  });
});

// Whatever an upstream sends, a client is only sent frames of one `data:` line that holds a JSON object.
test('an upstream cannot put anything but data frames into the stream', () => {
  const bit = fc.constantFrom(
    ...[
      'data: ',
      'data:',
      '\n',
      '\n\n',
      '\r',
      '\r\n',
      ': c',
      'id: 1',
      'retry: 1',
      'event: x',
      'event: error',
      '[DONE]',
    ],
    ...[
      '{"choices":[]}',
      '{"choices":[{"delta":{"content":"x"}}]}',
      '{',
      '}',
      '"',
      '[',
      ']',
      ',"usage":null',
      '"error"',
    ],
    ...['\uFEFF', '\u0000', '\u2028', '<html>', 'data'],
  );
  fc.assert(
    fc.property(fc.array(bit, { maxLength: 30 }), fc.boolean(), (bits, hasStarted) => {
      const { sent } = relay((hasStarted ? first : '') + bits.join(''));
      expect(sent).toMatch(/^(data:[^\r\n]*\{[^\r\n]*\}[^\r\n]*\n\n)*$/);
      const events: string[] = [];
      const parser = createParser({ onEvent: ({ data, event, id }) => events.push(`${event}${id}${data}`) });
      parser.feed(sent);
      expect(events).toHaveLength(sent.split('\n\n').length - 1);
      for (const event of events) expect(event).toMatch(/^undefinedundefined\s*\{/);
    }),
    { seed: 5, numRuns: runs(3_000) },
  );
});

describe('first content', () => {
  test.each([
    [{ role: 'assistant' }, false],
    [{ role: 'assistant', content: '', refusal: null }, false],
    [{ content: null }, false],
    [{ tool_calls: [] }, false],
    [{ content: [] }, false],
    [{ reasoning_content: '' }, false],
    [{}, false],
    [null, false],
    ['text', false],
    [{ content: 'x' }, true],
    [{ content: ' ' }, true],
    [{ content: '', tool_calls: [{ index: 0 }] }, true],
    [{ content: [{ type: 'text', text: 'x' }] }, true],
    [{ refusal: 'no' }, true],
    [{ reasoning_content: 'hm' }, true],
    [{ reasoning: 'hm' }, true],
    [{ reasoning_details: [{ type: 'reasoning.text' }] }, true],
    [{ thinking_blocks: [{}] }, true],
    [{ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '' } }] }, true],
    [{ function_call: { name: 'f' } }, true],
    [{ audio: { id: 'a' } }, true],
  ])('%j: %s', (value, isContent) => {
    expect(relay(frame(delta(value))).facts.hasContent).toBe(isContent);
    expect(hasDeltaContent(asRecord(value))).toBe(isContent);
  });

  test('a usage chunk, a comment and a chunk without choices do not count as content', () => {
    expect(relay(`: hi\n\n${frame(usageChunk)}${frame({ id: 'x', model: 'served' })}`).facts.hasContent).toBe(
      false,
    );
  });

  test('it may be the second of two choices', () => {
    const chunk = {
      choices: [
        { index: 0, delta: {} },
        { index: 1, delta: { content: 'x' } },
      ],
    };
    expect(relay(frame(chunk), { choices: 2 }).facts.hasContent).toBe(true);
  });
});

describe('the end', () => {
  const ends = (...indexes: number[]): string =>
    indexes.map((index) => frame(delta({}, 'stop', index))).join('');
  test.each([
    ['one choice that finished', first + ends(0), 1, true],
    ['one choice that did not', first, 1, false],
    ['three that finished', first + ends(2, 0, 1), 3, true],
    ['two of three', first + ends(2, 0), 3, false],
    ['one of them twice', first + ends(0, 0), 2, false],
    ['the terminal marker alone', first + done, 3, true],
    ['a finish reason that is null', first + frame(delta({}, null)), 1, false],
    [
      'a finish reason that is empty, as some providers write for none',
      first + frame(delta({ content: 'x' }, '')),
      1,
      false,
    ],
    ['an unknown finish reason', first + frame(delta({}, 'eos')), 1, true],
    [
      'a choice without an index',
      first + frame({ choices: [{ delta: {}, finish_reason: 'stop' }] }),
      1,
      true,
    ],
    [
      'two finish reasons in one event',
      first +
        frame({
          choices: [
            { index: 0, finish_reason: 'stop' },
            { index: 1, finish_reason: 'stop' },
          ],
        }),
      2,
      true,
    ],
    [
      'finish reasons written with spaces',
      `${first}data: {"choices" : [{"index" : 0, "finish_reason" : "stop"}]}\n\n`,
      1,
      true,
    ],
    [
      'a finish reason inside generated text',
      first + frame(delta({ content: '"finish_reason":"stop"' })),
      1,
      false,
    ],
    ['nothing', '', 1, false],
  ])('of a stream with %s', (_, text, choices, isComplete) => {
    const { facts } = relay(text, { choices });
    expect(facts.isComplete).toBe(isComplete);
    expect(facts.fault).toEqual(isComplete ? undefined : { kind: 'truncated' });
  });

  test.each([
    ['the terminal marker alone', done],
    ['a role', frame(delta({ role: 'assistant' })) + done],
    ['usage', frame(usageChunk) + done],
  ])('of a stream with nothing but %s counts as failed', (_, text) => {
    const { facts } = relay(text);
    expect(facts).toMatchObject({ isComplete: false, fault: { kind: 'malformed' } });
  });

  test('a usage chunk after the last finish reason ends the stream without a terminal marker', () => {
    const stream = relayChat.relayStream({ model: 'm', isStream: true, choices: 1, wantsUsage: false });
    stream.push(Buffer.from(first + last));
    expect(stream.facts.isComplete).toBe(false);
    stream.push(Buffer.from(frame(usageChunk)));
    expect(stream.facts).toMatchObject({ isComplete: true, usage: { input: 7, output: 3 } });
  });
});

describe('error events', () => {
  test.each([
    [
      'an object',
      { error: { message: 'no', type: 't', code: 'c', param: 'p' } },
      { message: 'no', type: 't', code: 'c', param: 'p' },
    ],
    ['a numeric code', { error: { message: 'no', code: 429 } }, { code: '429', status: 429 }],
    ['a status', { error: { message: 'no', status: 503 } }, { status: 503 }],
    ['a string', { error: 'no' }, { message: 'no' }],
    ['a number', { error: 500 }, { message: '', code: '500' }],
    ['true', { error: true }, { message: '' }],
    ['an empty object', { error: {} }, { message: '' }],
    ['an empty list', { error: [] }, { message: '' }],
    ['a list', { error: [{ message: 'no' }] }, { message: 'no' }],
    ['a list around it', [{ error: { message: 'no', code: 400 } }], { message: 'no', status: 400 }],
    ['a marked object', { object: 'error', message: 'no', code: 400 }, { message: 'no', status: 400 }],
    ['one beside choices', { ...delta({ content: 'x' }), error: { message: 'no' } }, { message: 'no' }],
  ])('%s', (_, event, wanted) => {
    for (const before of ['', first]) {
      const { sent, facts } = relay(before + frame(event) + last + done);
      expect(facts.fault).toMatchObject({ kind: 'error-event', error: wanted });
      expect(facts.isComplete).toBe(false);
      expect(sent).toBe(before);
    }
  });

  test.each([
    ['JSON with a message', '{"message":"no"}', 'no'],
    ['JSON with an error', '{"error":{"message":"no"}}', 'no'],
    ['text', 'upstream is gone', 'upstream is gone'],
  ])('an event named error with %s', (_, data, message) => {
    for (const before of ['', first]) {
      const { sent, facts } = relay(`${before}event: error\ndata: ${data}\n\n${done}`);
      expect(facts.fault).toMatchObject({ kind: 'error-event', error: { message } });
      expect(sent).toBe(before);
    }
  });

  test.each([null, false, '', 0])('an error member %j is not an error', (error) => {
    const event = frame({ ...delta({ content: 'x' }), error });
    expect(relay(first + event + last)).toMatchObject({
      sent: first + event + last,
      facts: { isComplete: true },
    });
  });
});

describe('events of no chat stream', () => {
  test.each(['<html>no</html>', 'PROCESSING', '{"choices":', '[1]', '"text"', '17', '{"a":1}]'])(
    '%s ends the stream as malformed',
    (data) => {
      // One behind content is left out: see lost-events.test.ts.
      for (const before of ['', first]) {
        const { sent, facts } = relay(before + frame(data) + (before && frame(data)) + last + done);
        expect(facts.fault?.kind).toBe('malformed');
        expect(sent).toBe(before);
        expect(sent).not.toContain('<html>');
      }
    },
  );

  test('an HTML page instead of a stream is a truncated stream', () => {
    expect(relay('<html>\n<body>\n\n</body></html>').facts.fault).toEqual({ kind: 'truncated' });
  });

  test('nothing is sent after a fault or the end', () => {
    for (const end of [frame('garbage') + frame('garbage'), done, frame({ error: 'no' })]) {
      const stream = relayChat.relayStream({ model: 'm', isStream: true, choices: 1, wantsUsage: false });
      stream.push(Buffer.from(first + end));
      const facts = structuredClone(stream.facts);
      expect(stream.push(Buffer.from(first))).toBeUndefined();
      expect(stream.end()).toBeUndefined();
      expect(stream.facts).toEqual(facts);
    }
  });
});

test('a stream with a null usage in every event is forwarded in runs, as any other', () => {
  const event = (content: string): string => frame({ ...delta({ content }), usage: null });
  const stream = relayChat.relayStream({ model: 'm', isStream: true, choices: 1, wantsUsage: false });
  stream.push(Buffer.from(event('a')));
  // Nobody parses these: what is in the text would be found.
  const odd = event('b').replace('"b"', '"\u0001"');
  expect(String(stream.push(Buffer.from(odd)))).toBe(odd.replace(',"usage":null', ''));
});

test('without usage the output is counted by its content events', () => {
  const { facts } = relay(first + frame(delta({ content: 'a' })) + frame(delta({ tool_calls: [] })) + last);
  // The empty one is counted as well: after the first content events are not parsed.
  expect(facts.outputEstimate).toBe(3);
  expect(facts.usage).toBeUndefined();
});

test('the last of several usage reports counts, not the sum', () => {
  const { facts } = relay(
    frame({ ...delta({ content: 'a' }), usage: { prompt_tokens: 7, completion_tokens: 1 } }) +
      frame({ ...delta({ content: 'b' }, 'stop'), usage: { prompt_tokens: 7, completion_tokens: 2 } }),
  );
  expect(facts.usage).toMatchObject({ input: 7, output: 2 });
});

function contentOf(sent: string): string {
  return sent
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => String(JSON.parse(event.slice(6)).choices[0]?.delta.content ?? ''))
    .join('');
}
