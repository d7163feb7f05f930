// An error that came compressed, though nobody asked for that.

import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { plainBody } from '../../../gateway/attempt/plain-body.ts';

const text = Buffer.from('{"error":{"message":"too hot"}}');

test.each([
  ['gzip', gzipSync(text)],
  ['GZIP', gzipSync(text)],
  ['deflate', deflateSync(text)],
  ['br', brotliCompressSync(text)],
  ['zstd', zstdCompressSync(text)],
  ['identity', text],
  [undefined, text],
])('24: %s is read', (encoding, body) => {
  expect(plainBody(body, encoding, 1024)).toEqual(text);
});

test.each([
  ['an unknown encoding', 'pack200', text],
  ['an encoding called as what every object has', 'constructor', text],
  ['an encoding called as the prototype of every object', '__proto__', text],
  ['what is not compressed at all', 'gzip', text],
  ['half of it', 'gzip', gzipSync(text).subarray(0, 20)],
  ['what grows beyond the limit', 'gzip', gzipSync(Buffer.alloc(100_000))],
])('%s says nothing', (_, encoding, body) => {
  expect(plainBody(body, encoding, 1024)).toEqual(Buffer.alloc(0));
});
