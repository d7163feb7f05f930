// Where are the top-level members of a JSON object? One pass, no parse: positions only, so that a
// large body can be forwarded as it came with single members replaced.
//
// The pass reads the whole text: JSON parsers take the last of two equal names, so stopping at the
// first `model` would let a caller be checked for one model and served another. For the same reason
// names must differ by more than case (Go's parser takes `Model` for `model`), and outside of strings
// only JSON's own characters are allowed: a parser that takes comments or single quotes would
// see other members. Other text that is not valid JSON may pass; the next parser refuses
// it. Only the ranges are ever used.

import { foldName } from './fold-name.ts';

/** One `"name": value`; offsets count bytes from the start of the text. */
export interface Member {
  readonly name: string;
  /** Of the opening quote of the name. */
  readonly start: number;
  readonly valueStart: number;
  /** One past the last byte of the value. */
  readonly valueEnd: number;
}

export interface MemberScan {
  readonly members: readonly Member[];
  /** Of the closing brace: where further members can be put in. */
  readonly closingBrace: number;
}

/** Bounds against JSON bombs: many small values cost 13 to 29 times their size in memory. */
export interface StructureLimits {
  readonly depthMax: number;
  readonly tokensMax: number;
  /** Above this many bytes, at most one structural token per `bytesPerToken` bytes. */
  readonly denseBytesMin: number;
  readonly bytesPerToken: number;
}

export const structureLimits: StructureLimits = {
  depthMax: 64,
  tokensMax: 250_000,
  denseBytesMin: 64 * 1024,
  bytesPerToken: 8,
};

/** How many structural characters a text of so many bytes may have. */
export function structuralMax(bytes: number, limits: StructureLimits = structureLimits): number {
  const { denseBytesMin, tokensMax, bytesPerToken } = limits;
  return bytes > denseBytesMin ? Math.min(tokensMax, Math.floor(bytes / bytesPerToken)) : tokensMax;
}

/** The text is no JSON object, or breaks a structure limit. The message is fit for the caller. */
export class JsonStructureError extends Error {
  /** The top-level member at fault, where it is one. */
  readonly member: string | undefined;
  /** Above one of the limits, though perhaps valid. */
  readonly isOverLimit: boolean;

  constructor(message: string, member?: string, isOverLimit = false) {
    super(message);
    this.name = 'JsonStructureError';
    this.member = member;
    this.isOverLimit = isOverLimit;
  }
}

/** Dialects have some forty; each of them is kept by name, which costs more than a value that is only passed over. */
const membersMax = 1_000;

const firstNamesMax = 8;

/** Escapes that are no further apart are a crowd. */
const crowdBytes = 2;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Real members have shorter names; each name is kept and compared. */
const nameBytesMax = 64 * 1024;

/**
 * @param text The body as latin1: one character per byte, so offsets are byte offsets.
 * @throws {JsonStructureError}
 */
export function scanMembers(text: string, limits: StructureLimits = structureLimits): MemberScan {
  const scan = new Scanner(text, limits).scan(Number.POSITIVE_INFINITY);
  if (!scan) throw new Error('a scan without a bound came to no end');
  return scan;
}

/** The same in steps of about this many bytes, so that other requests run in between. Throws as `scanMembers` does. */
export function* scanInSteps(text: string, stepBytes: number): Generator<undefined, MemberScan, undefined> {
  const scanner = new Scanner(text, structureLimits);
  for (let until = stepBytes; ; until += stepBytes) {
    const scan = scanner.scan(until);
    if (scan) return scan;
    yield;
  }
}

/**
 * The same bounds for any JSON value; what its members are called does not matter.
 *
 * @throws {JsonStructureError}
 */
export function checkStructure(text: string, limits: StructureLimits): void {
  new Scanner(text, limits).skip();
}

type OpenMember = Omit<Member, 'valueEnd'> & { valueEnd: number };

class Scanner {
  private readonly text: string;
  private readonly limits: StructureLimits;
  private readonly tokensMax: number;
  /** Folded, of a few members: to compare with each costs less than a Set, but many would cost their square. */
  private readonly firstNames: string[] = [];
  /** Of all others. */
  private names: Set<string> | undefined;
  private readonly members: Member[] = [];
  private at = 0;
  private tokens = 0;
  /** A string or a list that goes beyond it is left there, to be gone on with. */
  private until = 0;
  private hasBegun = false;
  /** Its value has not ended yet. */
  private open: OpenMember | undefined;
  private depth = 0;
  private isInString = false;

  constructor(text: string, limits: StructureLimits) {
    this.text = text;
    this.limits = limits;
    this.tokensMax = structuralMax(text.length, limits);
  }

  /** Undefined: it has come to `until`, and not to the end. */
  scan(until: number): MemberScan | undefined {
    const { members } = this;
    this.until = until;
    if (this.hasBegun || this.begin()) {
      for (;;) {
        this.open ??= this.beginMember();
        if (!this.skipValue()) return undefined;
        this.open.valueEnd = this.at;
        members.push(this.open);
        this.open = undefined;
        if (members.length > membersMax) {
          throw new JsonStructureError(`the body has more than ${membersMax} members`);
        }
        this.skipSpace();
        const code = this.code();
        if (code === CLOSE_BRACE) break;
        if (code !== COMMA) throw this.unexpected('"," or "}" after a member');
        this.count();
        this.at++;
        this.skipSpace();
      }
    }
    const closingBrace = this.at;
    this.at++;
    this.skipSpace();
    if (this.at < this.text.length) throw this.unexpected('nothing after the closing brace');
    return { members, closingBrace };
  }

  skip(): void {
    this.until = Number.POSITIVE_INFINITY;
    this.skipSpace();
    this.skipValue();
  }

  /** False: there are no members. */
  private begin(): boolean {
    this.hasBegun = true;
    this.skipSpace();
    if (this.code() !== OPEN_BRACE) throw new JsonStructureError('the body is not a JSON object');
    this.at++;
    this.skipSpace();
    return this.code() !== CLOSE_BRACE;
  }

  private beginMember(): OpenMember {
    const start = this.at;
    if (this.code() !== QUOTE) throw this.unexpected('a member name in double quotes');
    while (!this.skipString());
    if (this.at - start > nameBytesMax) {
      const kibibytes = nameBytesMax / 1024;
      throw new JsonStructureError(`a member name is longer than ${kibibytes} KiB`, undefined, true);
    }
    const name = decodeName(this.text.slice(start, this.at), start);
    const folded = foldName(name);
    if (!this.isNew(folded)) {
      // A name may be very long.
      const shown = name.slice(0, 256);
      throw new JsonStructureError(
        `the member ${JSON.stringify(shown)} appears twice, or again in another case; send it once`,
        shown,
      );
    }
    this.skipSpace();
    if (this.code() !== COLON) throw this.unexpected('":" after a member name');
    this.count();
    this.at++;
    this.skipSpace();
    return { name, start, valueStart: this.at, valueEnd: this.at };
  }

  private isNew(folded: string): boolean {
    const { firstNames } = this;
    if (firstNames.includes(folded) || this.names?.has(folded)) return false;
    if (firstNames.length < firstNamesMax) firstNames.push(folded);
    else {
      this.names ??= new Set();
      this.names.add(folded);
    }
    return true;
  }

  /** False: it continues beyond `until`. */
  private skipValue(): boolean {
    if (this.depth > 0) return this.skipNested();
    const code = this.code();
    if (this.isInString || code === QUOTE) return this.skipString();
    if (code === OPEN_BRACE || code === OPEN_BRACKET) return this.skipNested();
    this.skipScalar();
    return true;
  }

  private skipNested(): boolean {
    const { text } = this;
    let { depth } = this;
    this.depth = 0;
    for (;;) {
      const code = this.isInString ? QUOTE : text.charCodeAt(this.at);
      switch (code) {
        case QUOTE:
          if (!this.skipString() || this.at >= this.until) {
            this.depth = depth;
            return false;
          }
          continue;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          depth++;
          // The outermost object is depth 1 already.
          // guard: body-depth
          if (depth >= this.limits.depthMax) {
            const depthMax = this.limits.depthMax;
            throw new JsonStructureError(`the body nests deeper than ${depthMax} levels`, undefined, true);
          }
          this.count();
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          depth--;
          this.count();
          if (depth === 0) {
            this.at++;
            return true;
          }
          break;
        case COMMA:
        case COLON:
          this.count();
          break;
        default:
          if (this.at >= text.length) throw this.unexpected('the end of a list or object');
          if (!isPlain(code)) throw this.unexpected('a value');
      }
      this.at++;
    }
  }

  private skipScalar(): void {
    const start = this.at;
    for (let code = this.code(); isPlain(code) && !isSpace(code); code = this.code()) this.at++;
    if (this.at === start) throw this.unexpected('a value');
  }

  /** From an opening quote to one past the closing one; false: it continues beyond `until`. */
  private skipString(): boolean {
    const { text } = this;
    let from = this.isInString ? this.at : this.at + 1;
    this.isInString = false;
    let escaped = Number.NEGATIVE_INFINITY;
    for (;;) {
      const quote = text.indexOf('"', from);
      if (quote === -1) {
        this.at = text.length;
        throw this.unexpected('the end of a string');
      }
      let backslashes = 0;
      while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
      from = quote + 1;
      if (backslashes % 2 === 0) break;
      // Going by characters is faster in text with dense escapes, and slower in prose.
      let end = quote - escaped <= crowdBytes ? from + crowdBytes : from;
      escaped = quote;
      while (from < end) {
        const code = text.charCodeAt(from++);
        if (code === BACKSLASH) end = ++from + crowdBytes;
        else if (code === QUOTE) {
          this.at = from;
          return true;
        }
        if (from >= this.until) break;
      }
      if (from >= this.until && from < text.length) {
        this.isInString = true;
        this.at = from;
        return false;
      }
    }
    this.at = from;
    return true;
  }

  private skipSpace(): void {
    while (isSpace(this.code())) this.at++;
  }

  private code(): number {
    return this.text.charCodeAt(this.at);
  }

  private count(): void {
    this.tokens++;
    if (this.tokens > this.tokensMax) {
      throw new JsonStructureError(
        `the body has too many values for its size (more than ${this.tokensMax} structural characters)`,
        undefined,
        true,
      );
    }
  }

  private unexpected(wanted: string): JsonStructureError {
    const found = this.at >= this.text.length ? 'the body ends' : `byte ${this.at} is something else`;
    return new JsonStructureError(`the body is not valid JSON: expected ${wanted}, but ${found}`);
  }
}

/** What numbers, `true`, `false`, `null` and the space around them are made of. */
const plain = new Uint8Array(256);
for (const character of ' \t\n\r+-.0123456789') plain[character.charCodeAt(0)] = 1;
for (let letter = 0x41; letter <= 0x5a; letter++) {
  plain[letter] = 1;
  plain[letter + 0x20] = 1;
}

/** False after the end of the text, too. */
function isPlain(code: number): boolean {
  return plain[code] === 1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** A name as written, quotes included; latin1 of UTF-8 bytes. */
function decodeName(quoted: string, at: number): string {
  // Names the gateway knows are plain ASCII; everything else takes the slow, exact way.
  if (/^"[\w-]*"$/.test(quoted)) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(Buffer.from(quoted, 'latin1').toString('utf8')));
  } catch {
    throw new JsonStructureError(`the body is not valid JSON: the member name at byte ${at} is malformed`);
  }
}
