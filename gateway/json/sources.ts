// From which JSON text does a parsed object come? Where it is written again it shall be that text: parsing loses how numbers are
// written (1.0, 1e2, more digits than a number holds) and the order of names that look like numbers. Kept only where the text may
// lose something, which costs one search of it.

import { isCloser, isSpace, stringEnd } from './read-parts.ts';
import { isRecord, type JsonRecord } from './record.ts';
import { JsonText } from './write-json.ts';

/** Longer texts are not looked at: that would hold up the requests of others. */
export const sourceLengthMax = 1024 * 1024;

const sources = new WeakMap<object, string>();

/**
 * @param value What `JSON.parse` gives for the text.
 * @param latin1 The text, one character for each byte of its UTF-8.
 */
export function keepSources(value: unknown, latin1: string): void {
  if (latin1.length > sourceLengthMax || !mayLose.test(latin1)) return;
  new SourceReader(Buffer.from(latin1, 'latin1').toString('utf8')).read(value);
}

/** The object as JSON text: as it came, else written again. */
export function textOfObject(value: JsonRecord): string {
  return sources.get(value) ?? JSON.stringify(value);
}

/** The object itself, to be written as it came. */
export function asWritten(value: JsonRecord): unknown {
  return changeAsWritten(value, (same) => same);
}

/** The rewritten object: its own text if nothing changes, otherwise with its numbers as they were written. */
export function changeAsWritten(value: unknown, change: (value: unknown) => unknown): unknown {
  const changed = change(value);
  const source = isRecord(value) ? sources.get(value) : undefined;
  if (source === undefined) return changed;
  return JSON.stringify(changed) === JSON.stringify(value)
    ? new JsonText(source)
    : change(JSON.parse(source, numberAsWritten));
}

function numberAsWritten(
  _name: string,
  value: unknown,
  { source }: { readonly source?: string } = {},
): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source
    ? new JsonText(source)
    : value;
}

/**
 * Numbers that come out in another way: a zero at the end of a fraction, an exponent, many digits, many zeros, minus zero; and names that
 * look like numbers. Finds them in texts in vain.
 */
const mayLose =
  /[[:,\s]-?(?:[\d.]{16}|0\.00000|\d{1,16}\.\d{0,16}0(?!\d)|\d[\d.]{0,16}[eE])|-0(?![.\d])|"\d{1,10}"\s{0,16}:/;

/** Walks through a text and what it was parsed to at once. */
class SourceReader {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  read(value: unknown): void {
    this.skipSpace();
    const start = this.at;
    switch (this.text[start]) {
      case '{':
        this.members((name) => (isRecord(value) ? value[name] : undefined));
        // Of equal names parsers take the last, and so is this.
        if (isRecord(value)) sources.set(value, this.text.slice(start, this.at));
        return;
      case '[': {
        let index = 0;
        this.entries(() => this.read(Array.isArray(value) ? value[index++] : undefined));
        return;
      }
      case '"':
        this.skipText();
        return;
      default:
        this.skipScalar();
    }
  }

  private members(memberOf: (name: string) => unknown): void {
    this.entries(() => {
      const start = this.at;
      this.skipText();
      const name = String(JSON.parse(this.text.slice(start, this.at)));
      this.skipSpace();
      // The colon.
      this.at++;
      this.read(memberOf(name));
    });
  }

  /** The entries of a list or an object; ends after its closing bracket. */
  private entries(readEntry: () => void): void {
    for (;;) {
      // The bracket, or a comma.
      this.at++;
      this.skipSpace();
      if (isCloser(this.text.charCodeAt(this.at))) break;
      readEntry();
      this.skipSpace();
      if (this.text[this.at] !== ',') break;
    }
    this.at++;
  }

  private skipText(): void {
    this.at = stringEnd(this.text, this.at);
  }

  private skipSpace(): void {
    while (isSpace(this.text.charCodeAt(this.at))) this.at++;
  }

  private skipScalar(): void {
    for (; this.at < this.text.length; this.at++) {
      const code = this.text.charCodeAt(this.at);
      if (code === 0x2c || isCloser(code) || isSpace(code)) return;
    }
  }
}
