// JSON.parse in steps: other requests run in between, because a text of megabytes would block all of them.

import { isUtf8 } from 'node:buffer';
import { JsonStructureError } from './scan-members.ts';

/** A longer string is put together of pieces. */
const pieceBytes = 64 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LETTER_U = 0x75;

/** A list or an object that has not ended yet; entries have names in an object alone. */
interface Open {
  readonly isObject: boolean;
  readonly values: unknown[];
  readonly names: string[];
}

/**
 * @param text JSON as latin1 of its UTF-8 bytes.
 * @param stepBytes About how many bytes are parsed in one step.
 * @throws {SyntaxError} if it is not valid JSON.
 * @throws {JsonStructureError} if it is not UTF-8.
 */
export function* parseInSteps(text: string, stepBytes: number): Generator<undefined, unknown, undefined> {
  const open: Open[] = [];
  let at = 0;
  let until = stepBytes;

  const skipSpace = (): void => {
    while (isSpace(text.charCodeAt(at))) at++;
  };
  const next = (): number => {
    skipSpace();
    return text.charCodeAt(at);
  };
  function* readString(): Generator<undefined, string, undefined> {
    let whole = '';
    at++;
    for (;;) {
      const from = at;
      const isLast = skipPiece();
      whole += decodePiece(text.slice(from, at));
      if (isLast) {
        at++;
        return whole;
      }
      if (at < until) continue;
      yield;
      until = at + stepBytes;
    }
  }
  /** True: to its closing quote. Escapes and characters of several bytes stay whole. */
  const skipPiece = (): boolean => {
    const end = at + pieceBytes;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return true;
      if (at >= text.length) throw new SyntaxError('a string does not end');
      if (at >= end && !isContinuation(code)) return false;
      if (code !== BACKSLASH) at++;
      else at += text.charCodeAt(at + 1) === LETTER_U ? 6 : 2;
    }
  };
  function* readName(): Generator<undefined, string, undefined> {
    if (next() !== QUOTE) throw new SyntaxError('a member has no name');
    const name = yield* readString();
    if (next() !== COLON) throw new SyntaxError('a name has no value');
    at++;
    return name;
  }
  const readScalar = (): unknown => {
    const from = at;
    while (at < text.length && !isEnd(text.charCodeAt(at))) at++;
    return JSON.parse(text.slice(from, at));
  };

  for (;;) {
    const code = next();
    let value: unknown;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const isObject = code === OPEN_BRACE;
      at++;
      if (next() !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
        open.push({ isObject, values: [], names: isObject ? [yield* readName()] : [] });
        continue;
      }
      at++;
      value = isObject ? {} : [];
    } else value = code === QUOTE ? yield* readString() : readScalar();
    // What ends here may be the last part of what is around it, and so on.
    for (;;) {
      const around = open.at(-1);
      const code = next();
      if (!around) {
        if (at < text.length) throw new SyntaxError('something follows the value');
        return value;
      }
      around.values.push(value);
      at++;
      if (code === COMMA) {
        if (around.isObject) around.names.push(yield* readName());
        break;
      }
      if (code !== (around.isObject ? CLOSE_BRACE : CLOSE_BRACKET))
        throw new SyntaxError('a value does not end');
      open.pop();
      value = around.isObject
        ? Object.fromEntries(around.names.map((name, index) => [name, around.values[index]]))
        : around.values;
    }
    if (at < until) continue;
    yield;
    until = at + stepBytes;
  }
}

function decodePiece(piece: string): string {
  const text = isAsciiAlone(piece) ? piece : decodeUtf8(Buffer.from(piece, 'latin1'));
  return String(JSON.parse(`"${text}"`));
}

function decodeUtf8(bytes: Buffer): string {
  // Each invalid byte would become a character that the client did not send.
  if (!isUtf8(bytes)) throw new JsonStructureError('the body is not valid JSON: it is not UTF-8');
  return bytes.toString('utf8');
}

function isAsciiAlone(piece: string): boolean {
  return !/[\x80-\xff]/.test(piece);
}

function isContinuation(code: number): boolean {
  return (code & 0xc0) === 0x80;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isEnd(code: number): boolean {
  return code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code);
}
