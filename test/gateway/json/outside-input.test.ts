// Which bodies name something to be read that they do not hold?

import { describe, expect, test } from 'vitest';
import { namesOutsideInput } from '../../../gateway/json/outside-input.ts';

const url = 'https://example.com/report.pdf';

function isNamed(json: string, chunkBytes = 65_536): boolean {
  const body = Buffer.from(json);
  const chunks = Array.from({ length: Math.ceil(body.length / chunkBytes) }, (_, at) =>
    body.subarray(at * chunkBytes, (at + 1) * chunkBytes),
  );
  return namesOutsideInput(chunks);
}

const bodyWith = (part: object) => ({ messages: [{ role: 'user', content: ['words', part] }] });

describe('input outside of a body', () => {
  test.each<[string, object]>([
    ['a file of chat', { type: 'file', file: { file_id: 'file-1' } }],
    ['a file of chat behind an address', { type: 'file', file: { file_data: url } }],
    ['a film behind an address', { type: 'video_url', video_url: { url } }],
    ['a sound behind an address', { type: 'audio_url', audio_url: { url } }],
    ['a sound that was put out before', { role: 'assistant', audio: { id: 'audio_1' } }],
    ['a file of responses', { type: 'input_file', file_id: 'file-1' }],
    ['a file of responses behind an address', { type: 'input_file', file_url: url }],
    ['an item that was put out before', { type: 'item_reference', id: 'msg_1' }],
    ['a document of messages behind an address', { type: 'document', source: { type: 'url', url } }],
    ['the same in another order', { source: { url, type: 'url' }, type: 'document' }],
    ['a file of messages', { type: 'document', source: { type: 'file', file_id: 'file_1' } }],
  ])('is %s, in any layout and any cut', (_, part) => {
    for (const blanks of [0, 2]) {
      const json = JSON.stringify(bodyWith(part), null, blanks);
      for (const chunkBytes of [1, 7, 65_536]) expect(isNamed(json, chunkBytes)).toBe(true);
    }
  });

  test.each<[string, object]>([
    ['a picture behind an address', { type: 'image', source: { type: 'url', url } }],
    ['a picture of chat behind an address', { type: 'image_url', image_url: { url } }],
    ['a document that is there', { type: 'document', source: { type: 'base64', data: 'JVBERi0x' } }],
    ['a film that is there', { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } }],
    ['what is only spoken of', { text: JSON.stringify({ file_id: 'file-1', type: 'item_reference' }) }],
    ['a parameter of a tool', { properties: { file_id: { type: 'string' } }, required: ['file_id'] }],
  ])('is not %s', (_, part) => {
    expect(isNamed(JSON.stringify(bodyWith(part)))).toBe(false);
  });

  test.each(['\\u0066ile_id', 'file\\u005fid', 'file_i\\u0064', 'F\\u0049LE'])(
    'is what hides its name: %s',
    (name) => {
      const json = `{"input":[{"type":"input_file","${name}":"file-1"}]}`;
      for (const chunkBytes of [1, 7, 65_536]) expect(isNamed(json, chunkBytes)).toBe(true);
    },
  );

  test.each(['\\u003cb\\u003e \\u0026 \\u0027', '\\u00e9\\u001b', '\\\\u0061', '\\\\\\\\u0061'])(
    'is not a text as encoders write it: %s',
    (text) => {
      expect(isNamed(`{"input":"${text}"}`)).toBe(false);
    },
  );
});
