// What is the text of an error that an upstream has compressed without being asked?

import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { codingsOf } from './content-coding.ts';

type Decoder = (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer;

/** A map: the upstream names the entry, and an object has more names than its own. */
const decoders: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
  ['zstd', zstdDecompressSync],
]);

/** The body as it was before it was compressed; nothing if it cannot be read, or would grow beyond the limit. */
export function plainBody(body: Buffer, encoding: string | undefined, bytesMax: number): Buffer {
  const [name, ...more] = codingsOf(encoding);
  if (name === undefined || body.length === 0) return body;
  const decode = more.length === 0 ? decoders.get(name) : undefined;
  if (!decode) return Buffer.alloc(0);
  try {
    return decode(body, { maxOutputLength: bytesMax });
  } catch {
    return Buffer.alloc(0);
  }
}
