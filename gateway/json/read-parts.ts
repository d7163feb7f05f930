// Where do the parts of a nested JSON value stand in its text?

/** From a value down to one inside it: places in lists, names in objects. */
export type Path = readonly (number | string)[];

/** An element of a list, or a member of an object. */
export interface Part {
  readonly name: string | undefined;
  readonly start: number;
  readonly valueStart: number;
  /** One past the last byte. */
  readonly end: number;
}

/**
 * The parts of the list or object that begins there.
 *
 * @param text Valid JSON as latin1 of its UTF-8 bytes.
 */
export function readParts(text: string, at: number): Part[] {
  const parts: Part[] = [];
  const isObject = text[at] === '{';
  let next = skipSpace(text, at + 1);
  if (isCloser(text.charCodeAt(next))) return parts;
  for (;;) {
    const start = next;
    let name: string | undefined;
    if (isObject) {
      const nameEnd = stringEnd(text, start);
      name = String(JSON.parse(Buffer.from(text.slice(start, nameEnd), 'latin1').toString('utf8')));
      // The colon.
      next = skipSpace(text, skipSpace(text, nameEnd) + 1);
    }
    const end = valueEnd(text, next);
    parts.push({ name, start, valueStart: next, end });
    next = skipSpace(text, end);
    if (text[next] !== ',') return parts;
    next = skipSpace(text, next + 1);
  }
}

/** The part that one step of a path leads to. */
export function placeOf(parts: readonly Part[], key: number | string): number {
  // Parsers take the last of two equal names.
  return typeof key === 'number' ? key : parts.findLastIndex(({ name }) => name === key);
}

function valueEnd(text: string, start: number): number {
  if (text[start] === '"') return stringEnd(text, start);
  let at = start;
  for (let depth = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = stringEnd(text, at);
      continue;
    }
    if (code === 0x7b || code === 0x5b) depth++;
    else if (isCloser(code)) {
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (code === 0x2c || isSpace(code))) return at;
    at++;
  }
  return at;
}

/** One past the closing quote. */
export function stringEnd(text: string, start: number): number {
  for (let from = start + 1; ; ) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return text.length;
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes++;
    from = quote + 1;
    if (backslashes % 2 === 0) return from;
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

export function isCloser(code: number): boolean {
  return code === 0x7d || code === 0x5d;
}

export function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
