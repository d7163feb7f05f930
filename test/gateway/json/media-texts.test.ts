// Which texts of a body are the bytes of a picture, a sound or a file, and which are words?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { looksLikeBase64, mediaTextBytesMin, mediaTexts } from '../../../gateway/json/media-texts.ts';

const base64 = (bytes: number): string =>
  Buffer.from('penstock'.repeat(bytes)).toString('base64').slice(0, bytes);
const picture = `data:image/png;base64,${base64(8_000)}`;
/** Base64 as mail has it. */
const lines = (end: string): string => base64(8_000).replace(/.{76}/g, `$&${end}`);

function textsOf(json: string, chunkBytes = 65_536): readonly string[] {
  const body = Buffer.from(json);
  const chunks = Array.from({ length: Math.ceil(body.length / chunkBytes) }, (_, at) =>
    body.subarray(at * chunkBytes, (at + 1) * chunkBytes),
  );
  return Array.from(mediaTexts(chunks), ({ from, to }) => body.subarray(from, to).toString());
}

describe('media', () => {
  test.each<[string, object]>([
    ['a picture in chat', { type: 'image_url', image_url: { url: picture } }],
    ['a sound', { type: 'input_audio', input_audio: { data: base64(8_000), format: 'wav' } }],
    ['a file', { type: 'file', file: { file_data: `data:application/pdf;base64,${base64(8_000)}` } }],
    ['a picture in messages', { type: 'image', source: { type: 'base64', data: base64(8_000) } }],
    ['a picture in responses', { type: 'input_image', image_url: picture }],
    ['a picture that a model has made', { type: 'image_generation_call', result: base64(8_000) }],
    ['base64 for addresses', { data: `${base64(300)}-_${base64(8_000)}` }],
    ['in lines', { data: lines('\r\n') }],
    ['in lines of Unix', { data: lines('\n') }],
  ])('is %s', (_, part) => {
    expect(textsOf(JSON.stringify({ messages: [{ role: 'user', content: [part, part] }] }))).toHaveLength(2);
  });

  test.each([
    ['slashes', picture.replaceAll('/', '\\/')],
    ['pluses', picture.replaceAll('+', '\\u002B').replace('Z', '\\u002b')],
    ['slashes, and equals signs', picture.replaceAll('/', '\\u002F').replace('Z', '\\u003d')],
  ])('is a picture whose %s are escaped', (_, url) => {
    expect(textsOf(`{"image_url":{"url":"${url}"}}`)).toEqual([url]);
  });

  test('is found however the JSON is laid out, and wherever it is cut', () => {
    const json = JSON.stringify(
      { text: 'a "word"', image_url: { url: picture }, more: [picture, { data: picture }] },
      null,
      '\t',
    );
    for (const chunkBytes of [1, 7, 4_096, 65_536])
      expect(textsOf(json, chunkBytes)).toEqual([picture, picture]);
  });
});

test.each<[string, object, boolean]>([
  ['a PDF in messages', { data: `JVBERi0xLjcK${base64(8_000)}` }, true],
  ['a PDF in chat', { url: `data:application/pdf;base64,JVBERi0xLjcK${base64(8_000)}` }, true],
  ['any file of chat', { file_data: `data:application/octet-stream;base64,${base64(8_000)}` }, true],
  ['a picture', { url: picture }, false],
])('%s is reported with or without pages', (_, part, isDocument) => {
  const media = [...mediaTexts([Buffer.from(JSON.stringify({ messages: [part] }))])];
  expect(media).toMatchObject([{ isDocument }]);
});

describe('words', () => {
  const long = (text: string): string => text.repeat(Math.ceil(8_000 / text.length));
  test.each<[string, object]>([
    ['Chinese', { data: long('水流过闸门，带动涡轮。') }],
    [
      'Japanese behind a beginning of letters',
      { data: `${'A'.repeat(300)}${long('水は水門を通って流れる。')}` },
    ],
    ['Thai', { content: long('น้ำไหลผ่านประตู') }],
    ['without a blank at their beginning', { data: `${'A'.repeat(300)}${long(' and then words')}` }],
    ['with marks of their own', { data: long('a,b;c(d)') }],
    ['in an escape that base64 never needs', { data: long('\\u0041') }],
    ['letters without a blank that are not a picture', { content: long('A') }],
    ['base64 that is text of a conversation', { content: picture, text: picture }],
    ['thoughts under a seal', { type: 'reasoning', encrypted_content: base64(8_000) }],
    ['the name of a member', { [long('data')]: long('a b') }],
    ['JSON in a text', { content: `{"url":"${picture.slice(0, 300)}` + `${picture}"}` }],
    ['a small picture, which costs its length at most', { data: base64(mediaTextBytesMin - 1) }],
  ])('are %s', (_, part) => {
    expect(textsOf(JSON.stringify({ messages: [part, { role: 'user' }] }))).toEqual([]);
  });
});

test('a prefix of base64 may end in the middle of an escape', () => {
  const head = 'Q\\/\\n\\r\\u002b\\u002FQ=\\/';
  for (let end = 1; end <= head.length; end++)
    expect(looksLikeBase64(head.slice(0, end)), head.slice(0, end)).toBe(true);
  expect(looksLikeBase64('')).toBe(false);
  expect(looksLikeBase64('\\t')).toBe(false);
});

test('of any members in any cut, only those of media are found', () => {
  const names = fc.constantFrom('url', 'data', 'text', 'content', 'file_data');
  const texts = fc.constantFrom(
    picture,
    lines('\n'),
    '"',
    'a "b" c',
    base64(mediaTextBytesMin),
    '\\',
    '水'.repeat(3_000),
    '',
  );
  fc.assert(
    fc.property(
      fc.array(fc.tuple(names, texts)),
      fc.integer({ min: 1, max: 9_000 }),
      (members, chunkBytes) => {
        const wanted = members.filter(
          ([name, text]) => !['text', 'content'].includes(name) && /^[\w:/+=;,\n-]{4096,}$/.test(text),
        );
        const json = JSON.stringify(members.map(([name, text]) => ({ [name]: text })));
        expect(textsOf(json, chunkBytes)).toEqual(
          wanted.map(([, text]) => JSON.stringify(text).slice(1, -1)),
        );
      },
    ),
    { numRuns: 60 },
  );
});
