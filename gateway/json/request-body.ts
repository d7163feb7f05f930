// What did the caller send, without copying it? The chunks as they arrived, where their top-level
// members are, and the same bytes with single members replaced.

import { isAscii, isUtf8 } from 'node:buffer';
import { parseInSteps } from './parse-in-steps.ts';
import { asRecord, type JsonRecord } from './record.ts';
import {
  JsonStructureError,
  type Member,
  type MemberScan,
  scanInSteps,
  scanMembers,
} from './scan-members.ts';
import { scanPlain } from './scan-plain.ts';

/**
 * Replaces the bytes `from` to `to` (exclusive) by `text`. With `from === to` at the closing brace
 * `text` is a further member, without its comma.
 */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Larger ones are seldom parsed. */
const keptBytesMax = 16 * 1024;

/** A JSON object as it arrived. Offsets count bytes over all chunks. */
export class RequestBody {
  readonly chunks: readonly Buffer[];
  readonly bytes: number;
  readonly scan: MemberScan;
  /** One character per byte, for a small body in one piece; dropped when the body is sent. */
  latin1: string | undefined;
  /** Valid JSON in one small chunk; otherwise the content of its members is not scanned. */
  readonly isPlain: boolean;
  /** False: there is nothing for `namesOutsideInput` to find. */
  readonly mayNameOutside: boolean;
  /** False: no value begins like one that the gateway made. */
  readonly mayBeginAsOurs: boolean;
  /** All values, where the body has been parsed whole. */
  private values: JsonRecord | undefined;

  /**
   * @param scan What was found in it already.
   * @throws {JsonStructureError} if the chunks hold no JSON object, or one that breaks a structure limit.
   */
  constructor(chunks: readonly Buffer[], scan?: MemberScan) {
    this.chunks = chunks;
    this.bytes = bytesOf(chunks);
    const [only] = chunks;
    const isSmall = only !== undefined && chunks.length === 1 && only.length <= keptBytesMax;
    const plain = scan ? undefined : scanPlain(chunks, this.bytes);
    const text = scan || plain ? undefined : latin1Of(chunks, this.bytes);
    this.latin1 = isSmall ? text : undefined;
    this.scan = scan ?? plain ?? scanMembers(text ?? '');
    this.isPlain = isSmall && plain?.isValid === true;
    this.mayNameOutside = plain?.mayNameOutside ?? true;
    this.mayBeginAsOurs = plain?.mayBeginAsOurs ?? true;
  }

  member(name: string): Member | undefined {
    for (const member of this.scan.members) if (member.name === name) return member;
    return undefined;
  }

  /** Makes sure that all of it is valid: worth it if it is small. Throws as `parse` does. */
  check(): void {
    if (!this.isPlain) this.parse();
  }

  /**
   * Parses the whole body.
   *
   * @throws {JsonStructureError} if it is not UTF-8.
   * @throws {SyntaxError} if it is not valid JSON.
   */
  parse(): void {
    if (this.values) return;
    this.values = asRecord(JSON.parse(this.textOf(this.range(0, this.bytes))));
  }

  private textOf(bytes: Buffer): string {
    // Most bodies are ASCII, which is the same in both.
    if (this.latin1 !== undefined && isAscii(bytes)) return this.latin1;
    // Each invalid byte would become a character that the client did not send.
    if (!isUtf8(bytes)) throw new JsonStructureError('the body is not valid JSON: it is not UTF-8');
    return bytes.toString('utf8');
  }

  /** The same in steps; throws as `parse` does. */
  *parseInSteps(): Generator<undefined, void, undefined> {
    if (this.values) return;
    const text = yield* latin1InSteps(this.chunks);
    this.values = asRecord(yield* parseInSteps(text, stepBytes));
  }

  /**
   * The value of a member, parsed.
   *
   * @throws {SyntaxError} if its bytes are not valid JSON.
   */
  read(member: Member): unknown {
    if (this.isPlain && isLongValue(member)) this.parse();
    if (this.values) return this.values[member.name];
    return JSON.parse(this.slice(member.valueStart, member.valueEnd));
  }

  /** All of a plain body that has not been parsed: it can be looked into. */
  get unread(): Buffer | undefined {
    return this.isPlain && !this.values ? this.chunks[0] : undefined;
  }

  /** The unchanged JSON text of a member's value, one character per byte; at most this many from its beginning. */
  text({ valueStart, valueEnd }: Member, bytesMax = Number.POSITIVE_INFINITY): string {
    return this.range(valueStart, Math.min(valueEnd, valueStart + bytesMax)).toString('latin1');
  }

  /** Whether its value is the word `null`. */
  isNull({ valueStart, valueEnd }: Member): boolean {
    return valueEnd - valueStart === 4 && this.slice(valueStart, valueEnd) === 'null';
  }

  /** The bytes with the edits made. Edits must not overlap; chunks are cut, never joined. */
  edited(edits: readonly Edit[]): Buffer[] {
    if (edits.length === 0) return [...this.chunks];
    const ordered = this.inOrder(edits);
    const [only] = this.chunks;
    if (this.chunks.length === 1 && only && this.bytes <= joinedBytesMax) return [editedWhole(only, ordered)];
    const parts: Buffer[] = [];
    let at = 0;
    for (const { from, to, text } of ordered) {
      this.copyRange(at, from, parts);
      if (text !== '') parts.push(Buffer.from(text));
      at = to;
    }
    this.copyRange(at, this.bytes, parts);
    return parts;
  }

  /** By their places; further members with the comma that parts them from those before. */
  private inOrder(edits: readonly Edit[]): readonly Edit[] {
    const { closingBrace, members } = this.scan;
    if (edits.length === 1 && edits[0]?.from !== closingBrace) return edits;
    let hasMembers = members.length > 0;
    const ordered = edits.toSorted((a, b) => a.from - b.from);
    return ordered.map((edit) => {
      if (edit.from !== closingBrace) return edit;
      const needsComma = hasMembers && edit.text !== '';
      hasMembers = true;
      return needsComma ? { ...edit, text: `,${edit.text}` } : edit;
    });
  }

  private copyRange(from: number, to: number, parts: Buffer[]): void {
    let offset = 0;
    for (const chunk of this.chunks) {
      const start = Math.max(from - offset, 0);
      const end = Math.min(to - offset, chunk.length);
      if (start < end) parts.push(start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end));
      offset += chunk.length;
      if (offset >= to) return;
    }
  }

  private slice(from: number, to: number): string {
    const [only] = this.chunks;
    if (this.chunks.length === 1 && only) return only.toString('utf8', from, to);
    return this.range(from, to).toString('utf8');
  }

  private range(from: number, to: number): Buffer {
    const [only] = this.chunks;
    if (this.chunks.length === 1 && only) return only.subarray(from, to);
    const parts: Buffer[] = [];
    this.copyRange(from, to, parts);
    return Buffer.concat(parts);
  }
}

/** Worth caching, because it may be read again. */
function isLongValue({ valueStart, valueEnd }: Member): boolean {
  return valueEnd - valueStart > 256;
}

/** Above, pieces are cut rather than copied. */
const joinedBytesMax = 16 * 1024;

/** One small buffer costs less than the pieces of it. */
function editedWhole(bytes: Buffer, ordered: readonly Edit[]): Buffer {
  let size = bytes.length;
  for (const { from, to, text } of ordered) size += Buffer.byteLength(text) - (to - from);
  const whole = Buffer.allocUnsafe(size);
  let at = 0;
  let length = 0;
  for (const { from, to, text } of ordered) {
    length += bytes.copy(whole, length, at, from);
    length += whole.write(text, length);
    at = to;
  }
  bytes.copy(whole, length, at);
  return whole;
}

/** A millisecond at most of looking at bytes. */
const stepBytes = 256 * 1024;

/** The work of the constructor, in steps that can be spread over turns of the event loop. Throws as the constructor does. */
export function* readInSteps(chunks: readonly Buffer[]): Generator<undefined, RequestBody, undefined> {
  const scan = yield* scanInSteps(yield* latin1InSteps(chunks), stepBytes);
  return new RequestBody(chunks, scan);
}

/** Replaces a member's value, or adds the member. `value` is JSON text. */
export function setMember(body: RequestBody, name: string, value: string): Edit {
  const member = body.member(name);
  if (member) return { from: member.valueStart, to: member.valueEnd, text: value };
  const { closingBrace } = body.scan;
  return { from: closingBrace, to: closingBrace, text: `${JSON.stringify(name)}:${value}` };
}

/** Takes members out, each with one of the commas beside it; all that go out of a body go together. */
export function removeMembers({ scan: { members } }: RequestBody, removed: readonly Member[]): Edit[] {
  const firstKept = members.findIndex((member) => !removed.includes(member));
  return removed.map((member) => {
    const at = members.indexOf(member);
    const [before, after] = [members[at - 1], members[at + 1]];
    // Members kept at the beginning stay in place; there is no comma before the first one.
    if (before && firstKept !== -1 && firstKept < at)
      return { from: before.valueEnd, to: member.valueEnd, text: '' };
    return { from: member.start, to: after ? after.start : member.valueEnd, text: '' };
  });
}

/**
 * One character per byte. Large bodies are gathered in one reused buffer: a fresh copy of each
 * costs more in garbage collection than in copying.
 */
function latin1Of(chunks: readonly Buffer[], bytes: number): string {
  const [only] = chunks;
  if (chunks.length === 1 && only) return only.toString('latin1');
  if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const chunk of chunks) {
    scratch.set(chunk, at);
    at += chunk.length;
  }
  return scratch.toString('latin1', 0, bytes);
}

/** Not in the buffer that is reused: others come in between. */
function* latin1InSteps(chunks: readonly Buffer[]): Generator<undefined, string, undefined> {
  const whole = Buffer.allocUnsafeSlow(bytesOf(chunks));
  let at = 0;
  let until = copyBytes;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
    if (at < until) continue;
    yield;
    until = at + copyBytes;
  }
  return whole.toString('latin1');
}

const copyBytes = 1024 * 1024;

export function bytesOf(chunks: readonly Buffer[]): number {
  let sum = 0;
  for (const chunk of chunks) sum += chunk.length;
  return sum;
}

let scratch = Buffer.allocUnsafeSlow(0);
