// Is this JSON, and what is where in it? A walk over the bytes that accepts what JSON.parse accepts, and makes neither strings nor objects.
// Its callers give up at the first thing that is not plain, and parse.

import { type ShortText, shortText } from './short-texts.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Below the bounds of every body, so that those who parse it say what is wrong. */
const depthMax = 60;

/** Longer texts are not walked over. */
export const walkedBytesMax = 64 * 1024;

/** What is walked over, with zeros behind it: an array that is always the same, and never read beyond its end, is read twice as fast. */
const scratch = new Uint8Array(walkedBytesMax + 8);
const words = new Int32Array(scratch.buffer);

/** Walks so far: only the last one has its text in the scratch. */
let walks = 0;

/** Of one text at a time: the next walk takes its place. */
export class JsonWalk {
  readonly bytes: Buffer;
  at: number;
  /** A string ends as those do that name something outside of the body, or has an escape that could hide it: see outside-input.ts. */
  mayNameOutside = false;
  private readonly walk = ++walks;
  private depth = 0;
  /** No byte of it is a control character: long strings need no look at each. */
  private readonly isClean: boolean;
  /** The first backslash from where it was last looked for. */
  private slashAt = -1;

  /** @throws {RangeError} if there are more bytes than `walkedBytesMax`. */
  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
    scratch.set(bytes);
    scratch.fill(0, bytes.length, bytes.length + 8);
    this.isClean = isClean(bytes.length);
  }

  /** 0 at the end. */
  get code(): number {
    return scratch[this.at] ?? 0;
  }

  get isAtDigit(): boolean {
    return isDigit(this.code);
  }

  get isAtString(): boolean {
    return this.code === QUOTE;
  }

  /** A string that is not empty. */
  get isAtText(): boolean {
    return this.isAtString && scratch[this.at + 1] !== QUOTE;
  }

  /** No other value begins like it. */
  get isAtNull(): boolean {
    return this.code === 0x6e;
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  space(): void {
    while (isSpace(this.code)) this.at++;
  }

  /**
   * Over an opening brace or bracket, to what is in it.
   *
   * @throws {Error} if another text is walked over by now.
   */
  enter(open: number): boolean {
    if (this.walk !== walks) throw new Error('a walk goes on over the text of another one');
    if (this.code !== open || ++this.depth > depthMax) return false;
    this.at++;
    this.space();
    return true;
  }

  /** Over the name of a member and its colon, to its value. */
  name(): boolean {
    return this.code === QUOTE && this.string() && this.colon();
  }

  /** As `name`; undefined if it is long, or not plain ASCII. */
  shortName(): ShortText | undefined {
    const name = this.shortString();
    return name !== undefined && this.colon() ? name : undefined;
  }

  /** Over a string; undefined if it is none, long, or not plain ASCII. */
  shortString(): ShortText | undefined {
    const from = this.at + 1;
    return this.code === QUOTE && this.string() ? shortText(this.bytes, from, this.at - 1) : undefined;
  }

  private colon(): boolean {
    this.space();
    if (this.code !== COLON) return false;
    this.at++;
    this.space();
    return true;
  }

  /** Behind a value: true if another one follows, and the walk is at it. */
  hasNext(): boolean {
    this.space();
    if (this.code !== COMMA) return false;
    this.at++;
    this.space();
    return true;
  }

  /** Over the end of what was entered. */
  leave(open: number): boolean {
    this.depth--;
    // Either closing sign is two behind its opening one.
    return scratch[this.at++] === open + 2;
  }

  /** Over one value, whatever it is. */
  value(): boolean {
    switch (this.code) {
      case QUOTE:
        return this.string();
      case OPEN_BRACE:
        return this.members();
      case OPEN_BRACKET:
        return this.entries();
      case 0x74:
        return this.word('true');
      case 0x66:
        return this.word('false');
      case 0x6e:
        return this.word('null');
      default:
        return this.number();
    }
  }

  private members(): boolean {
    if (!this.enter(OPEN_BRACE)) return false;
    if (this.code !== CLOSE_BRACE) {
      do {
        if (!this.name() || !this.value()) return false;
      } while (this.hasNext());
    }
    return this.leave(OPEN_BRACE);
  }

  private entries(): boolean {
    if (!this.enter(OPEN_BRACKET)) return false;
    if (this.code !== CLOSE_BRACKET) {
      do {
        if (!this.value()) return false;
      } while (this.hasNext());
    }
    return this.leave(OPEN_BRACKET);
  }

  private word(word: string): boolean {
    for (let place = 0; place < word.length; place++) {
      if (scratch[this.at + place] !== word.charCodeAt(place)) return false;
    }
    this.at += word.length;
    return true;
  }

  private number(): boolean {
    if (this.code === 0x2d) this.at++;
    if (this.code === 0x30) this.at++;
    else if (!this.digits()) return false;
    if (this.code === 0x2e) {
      this.at++;
      if (!this.digits()) return false;
    }
    if ((this.code | 0x20) === 0x65) {
      this.at++;
      if (this.code === 0x2b || this.code === 0x2d) this.at++;
      return this.digits();
    }
    return true;
  }

  /** At least one. */
  private digits(): boolean {
    const from = this.at;
    while (isDigit(this.code)) this.at++;
    return this.at > from;
  }

  /** From its opening quote. */
  private string(): boolean {
    let at = this.at + 1;
    const soon = at + soonBytes;
    while (at < soon && isOrdinary[scratch[at] ?? 0] === 1) at++;
    if (at === soon && this.isClean) at = this.endOrSlash(at);
    for (;;) {
      while (isOrdinary[scratch[at] ?? 0] === 1) at++;
      const code = scratch[at];
      if (code === QUOTE) break;
      if (code !== BACKSLASH) return false;
      at = this.afterEscape(at + 1);
      if (at === 0) return false;
    }
    if (endsLikeOutside(at)) this.mayNameOutside = true;
    this.at = at + 1;
    return true;
  }

  /** The first quote or backslash from here on. */
  private endOrSlash(from: number): number {
    const { bytes } = this;
    const quote = bytes.indexOf(QUOTE, from);
    if (this.slashAt < from) {
      const slash = bytes.indexOf(BACKSLASH, from);
      this.slashAt = slash === -1 ? bytes.length : slash;
    }
    return quote === -1 ? bytes.length : Math.min(quote, this.slashAt);
  }

  /** @returns 0 if it is none. */
  private afterEscape(at: number): number {
    const code = scratch[at] ?? 0;
    if (code !== 0x75) return isEscape[code] === 1 ? at + 1 : 0;
    for (let digit = at + 1; digit < at + 5; digit++) if (!isHex(scratch[digit] ?? 0)) return 0;
    if (scratch[at + 1] === 0x30 && scratch[at + 2] === 0x30) this.mayNameOutside = true;
    return at + 5;
  }
}

/** Most strings are shorter: a native search takes as long as a look at so many bytes. */
const soonBytes = 24;

function isClean(length: number): boolean {
  const whole = length >> 2;
  for (let at = 0; at < whole; at++) {
    const word = words[at] ?? 0;
    // Of four bytes at once, whether one is below 0x20.
    if (((word - 0x20202020) & ~word & 0x80808080) !== 0) return false;
  }
  for (let at = whole << 2; at < length; at++) if ((scratch[at] ?? 0) < 0x20) return false;
  return true;
}

/** Whether a byte continues a string and says nothing else. */
const isOrdinary = new Uint8Array(256).fill(1, 0x20);
isOrdinary[QUOTE] = 0;
isOrdinary[BACKSLASH] = 0;

const isEscape = new Uint8Array(256);
for (const letter of '"\\/bfnrt') isEscape[letter.charCodeAt(0)] = 1;

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isHex(code: number): boolean {
  return isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);
}

/** The last four letters of each name in outside-input.ts; `url` has three, and its last two are enough. */
const outsideEnds = new Set(
  ['e_id', 'data', 'ence', 'udio', 'ment'].map((end) => Buffer.from(end).readInt32BE()),
);

function endsLikeOutside(quoteAt: number): boolean {
  const last = scratch[quoteAt - 1] ?? 0;
  const before = scratch[quoteAt - 2] ?? 0;
  if (last === 0x6c) return before === 0x72;
  // d, a, e, o, t
  if (last !== 0x64 && last !== 0x61 && last !== 0x65 && last !== 0x6f && last !== 0x74) return false;
  const end =
    ((scratch[quoteAt - 4] ?? 0) << 24) | ((scratch[quoteAt - 3] ?? 0) << 16) | (before << 8) | last;
  return outsideEnds.has(end);
}
