// What is a body that cannot be read as an answer? By its first bytes, and in our own words: none of it is repeated.

/** Bytes that are looked at. */
const lookedAt = 64;

export function describeBody(body: Buffer): string {
  if (body.length === 0) return 'it is empty';
  for (const [name, ...magic] of compressions) {
    if (magic.every((byte, at) => body[at] === byte)) return `it is compressed with ${name}`;
  }
  const start = body.toString('latin1', 0, lookedAt).trimStart().toLowerCase();
  if (start.startsWith('<!doctype html') || start.startsWith('<html')) return 'it is HTML';
  if (start.startsWith('<')) return 'it is XML or HTML';
  if (beginsEvents.test(start)) return 'it is a stream of events';
  if (start.startsWith('{')) return 'it begins as one, but is cut off or not valid';
  if (start.startsWith('[')) return 'it is a list';
  return start === '' ? 'it is blank' : 'it is other text';
}

/**
 * What a body begins as: no field of server-sent events begins as JSON does, or as a page. Undefined if all of it is blank, or
 * the beginning of a byte order mark.
 */
export function formOf(body: Buffer): 'events' | 'json' | 'other' | undefined {
  const begin = body[0];
  const first = begin === undefined || blanks.has(begin) ? body.find((byte) => !blanks.has(byte)) : begin;
  if (first === undefined) return undefined;
  if (first === 0x7b || first === 0x5b) return 'json';
  return first === 0x3c || compressions.some(([, byte]) => byte === first) ? 'other' : 'events';
}

/** White space, and the bytes of the mark. */
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

const beginsEvents = /^(?:data|event|id|retry)?:/;

const compressions: readonly (readonly [string, ...number[]])[] = [
  ['gzip', 0x1f, 0x8b],
  ['zstd', 0x28, 0xb5, 0x2f, 0xfd],
];
