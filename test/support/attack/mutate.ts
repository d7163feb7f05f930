// Which bytes are almost what a server expects? One to four changes to valid ones.

/** Bytes that mean something to a JSON parser, or to nobody. */
const pieces = [
  ...[
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '0',
    '9',
    '-',
    '.',
    'e',
    'true',
    'null',
    '\0',
    '\n',
    '\ufeff',
    '\ud83d',
  ],
  ...['"model":', '\\u', '\xff', ' ', '/*', '1e999', '__proto__'],
];

/** A byte replaced, a piece put in, some bytes taken out, or a part repeated. */
export function mutate(bytes: Buffer, random: () => number): Buffer {
  let changed = bytes;
  const changes = 1 + Math.floor(random() * 4);
  for (let change = 0; change < changes; change++) {
    const at = Math.floor(random() * (changed.length + 1));
    const to = Math.min(changed.length, at + Math.floor(random() * 12));
    const before = changed.subarray(0, at);
    switch (Math.floor(random() * 4)) {
      case 0:
        changed = Buffer.concat([
          before,
          Buffer.from([Math.floor(random() * 256)]),
          changed.subarray(at + 1),
        ]);
        break;
      case 1:
        changed = Buffer.concat([
          before,
          Buffer.from(pieces[Math.floor(random() * pieces.length)] ?? ''),
          changed.subarray(at),
        ]);
        break;
      case 2:
        changed = Buffer.concat([before, changed.subarray(to)]);
        break;
      default:
        changed = Buffer.concat([before, changed.subarray(at, to), changed.subarray(at)]);
    }
  }
  return changed;
}
