// Is an event that was read by its text alone the same as one that was parsed?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../../core/parse-json.ts';
import { TextEvents } from '../../../../gateway/dialects/events/text-events.ts';
import { runs } from '../../../support/runs.ts';

const chunk = (text: string, more = '') =>
  `{"id":"c","choices":[{"index":0,"delta":{"content":${text}},"finish_reason":null}]${more}}`;

/** What the members of a stream's events come from, beside the text that changes. */
const shapes: readonly ((text: string) => string)[] = [
  chunk,
  (text) => chunk(text, ', "usage": null'),
  (text) => `{"type": "content_block_delta", "delta": {"type": "text_delta", "text": ${text}}}`,
  (text) => `{"delta":[${text},"a"]}`,
  (text) => `{"a":"b\\"",${text}:1}`,
  (text) => `{"__proto__":${text}}`,
  (text) => `{"a":${text},"a":1}`,
  (text) => `{"a":1,"b":"the text of this event","c":${text}}`,
  (text) => `{"b":"\\u0074he text of this event","a":${text},"a":1}`,
  (text) => text,
];

const text = fc.oneof(
  fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value)),
  // Also what is no JSON, and what would end the text and go on behind it.
  fc
    .string({ unit: fc.constantFrom('"', '\\', 'u', '0', 'a', ',', ':', '{', '}', '\n', ' ') })
    .map((value) => `"${value}"`),
  fc.constantFrom(
    'null',
    '""',
    '" "',
    ' "a" ',
    '"a","content":"b"',
    '"a"},"x":{"content":"b"',
    '"a\\"',
    '"\u0001"',
    '{}',
  ),
);

const anyEvent = fc.oneof(
  fc
    .record({ shape: fc.nat({ max: shapes.length - 1 }), text })
    .map((picked) => shapes[picked.shape]?.(picked.text) ?? ''),
  fc.json(),
  fc.string(),
);

describe('the reader of text events returns what a parser returns', () => {
  test('for texts of any kind in events of one shape', () => {
    fc.assert(
      fc.property(fc.constantFrom(...shapes), fc.array(text, { maxLength: 12 }), (shape, texts) => {
        expectParsed(texts.map(shape));
      }),
      { seed: 5, numRuns: runs(10_000) },
    );
  });

  test('for events of any shapes', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 12 }), (events) => {
        expectParsed(events);
      }),
      { seed: 5, numRuns: runs(10_000) },
    );
  });

  test('for deep nesting', () => {
    const deep = (value: string) => `{"b":${'['.repeat(2000)}${value}${']'.repeat(2000)}}`;
    expectParsed(['"a"', '"b"', '"c"', '"d"'].map(deep));
  });
});

test('events that differ in one text only are not parsed again', () => {
  const events = new TextEvents();
  const read = (text: string) => events.parse(chunk(text));
  read('"a"');
  read('"b"');
  const third = read('"c"');
  expect(third).toEqual(parseJson(chunk('"c"')));
  expect(read('"\\n"')).toBe(third);
  expect(third).toEqual(parseJson(chunk('"\\n"')));
});

test('the reader learns a new form if a stream goes on with another member', () => {
  const thought = (value: string) => `{"delta":{"reasoning_content":${value}}}`;
  const events = new TextEvents();
  const isReused = (data: readonly string[]) => {
    const values = data.map((one) => events.parse(one));
    return values.at(-1) === values.at(-2);
  };
  expect(isReused([thought('"a"'), thought('"b"'), thought('"c"'), thought('"d"')])).toBe(true);
  expect(isReused([chunk('"a"'), chunk('"b"'), chunk('"c"'), chunk('"d"')])).toBe(true);
});

function expectParsed(data: readonly string[]): void {
  const events = new TextEvents();
  // As text: each value holds until the next one only.
  const read = data.map((one) => JSON.stringify(events.parse(one)));
  expect(read).toEqual(data.map((one) => JSON.stringify(parseJson(one))));
}
