// Which events are taken for ones that differ in their text alone?

import { describe, expect, test } from 'vitest';
import { ChunkForms } from '../../../../gateway/dialects/openai/chunk-forms.ts';

const event = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c1', model: 'u', choices: [{ index: 0, delta, finish_reason: null }], ...more })}`;
const first = event({ content: 'a' });

function formsOf(...events: readonly string[]): ChunkForms {
  const forms = new ChunkForms();
  for (const one of events) forms.learn(one);
  return forms;
}

const isSame = (forms: ChunkForms, one: string): boolean =>
  forms.endOf(Buffer.from(`${one}\n\nmore`), 0) === one.length + 2;

describe('an event that differs', () => {
  test.each<[string, string, boolean]>([
    ['in its text', event({ content: 'another' }), true],
    ['in its text, which holds quotes', event({ content: 'say "x"' }), true],
    ['in its text, which ends with a backslash', event({ content: 'x\\' }), true],
    ['in its text, which looks like an end', event({ content: '"},"finish_reason":null}]}' }), true],
    ['in its text, which is empty', event({ content: '' }), false],
    ['in its id', first.replace('c1', 'c2'), false],
    ['in its model', first.replace('"u"', '""'), false],
    ['by a member after the text', event({ content: 'x', tool_calls: [{}] }), false],
    ['by a member at the end', event({ content: 'x' }, { error: { message: 'no' } }), false],
    ['by its finish reason', first.replace('null', '"stop"'), false],
    ['by its choice', first.replace('"index":0', '"index":1'), false],
  ])('%s', (_, other, wanted) => {
    expect(isSame(formsOf(first), other)).toBe(wanted);
  });

  test('by its padding too', () => {
    const padded = (content: string, obfuscation: string): string =>
      event({ content }, { usage: null, obfuscation });
    const forms = formsOf(padded('a', 'xyz'));
    expect(isSame(forms, padded('another', ''))).toBe(true);
    expect(isSame(forms, padded('another', 'abcdef'))).toBe(true);
    expect(isSame(forms, padded('a', 'x').replace('}', ',"error":1}'))).toBe(false);
    expect(forms.hasUsage).toBe(true);
  });

  test('from the latest, but not from an earlier one', () => {
    const forms = formsOf(first, event({ reasoning_content: 'a' }));
    expect(isSame(forms, event({ content: 'x' }))).toBe(true);
  });
});

test('where the id is after the text, an event with other members is no longer alike', () => {
  const late = '{"choices":[{"delta":{"content":"a"},"index":0}],"id":"c1"}';
  expect(isSame(formsOf(`data: ${late}`), `data: ${late.replace('"a"', '"b"')}`)).toBe(true);
  expect(formsOf(`data: ${late}`).beginsAlike(`data: ${late.replace('"c1"', '""')}`, 0)).toBe(false);
});
