// Is a line as it was written? Each line of the journal ends with a checksum of all that is before it: a disk that lies,
// or a crash in the middle of a page, must not become money.

import { crc32 } from 'node:zlib';

const sealPattern = /^,"crc":"([0-9a-f]{8})"\}$/;
const sealBytes = ',"crc":"00000000"}'.length;

/** What the checksum adds to an object. */
const sealHead = Buffer.from(',"crc":"');
const hexDigits = Buffer.from('0123456789abcdef');

/** Bytes that a sealed line takes at most, without its end. */
export function sealedBytesMax(json: string): number {
  return json.length * 3 + sealBytes;
}

/**
 * @param json An object with a member at least; the checksum becomes its last.
 * @returns The position after it.
 */
export function writeSealed(json: string, buffer: Buffer, at: number): number {
  const end = at + buffer.write(json, at);
  const checksum = crc32(buffer.subarray(at, end));
  // In place of its last brace.
  let to = end - 1;
  for (let from = 0; from < sealHead.length; from++) buffer[to++] = sealHead[from] ?? 0;
  for (let bits = 28; bits >= 0; bits -= 4) buffer[to++] = hexDigits[(checksum >>> bits) & 15] ?? 0;
  buffer[to++] = 0x22;
  buffer[to++] = 0x7d;
  return to;
}

export function sealLine(json: string): string {
  const buffer = Buffer.allocUnsafe(sealedBytesMax(json));
  return buffer.toString('utf8', 0, writeSealed(json, buffer, 0));
}

/** A line without a checksum was written by an earlier version, and is judged by its form alone. */
function isSound(line: Buffer): boolean {
  const seal = sealPattern.exec(line.subarray(-sealBytes).toString('latin1'));
  if (seal) return crc32('}', crc32(line.subarray(0, -sealBytes))) === Number.parseInt(seal[1] ?? '', 16);
  try {
    return typeof JSON.parse(line.toString('utf8')) === 'object';
  } catch {
    return false;
  }
}

interface SortedLines {
  /** Whole lines, with their ends, that are as they were written. */
  readonly sound: Buffer;
  /** The others. */
  readonly damaged: readonly Buffer[];
}

/** @param bytes Whole lines. Those that are all sound are given back as they are. */
export function sortLines(bytes: Buffer): SortedLines {
  const sound: Buffer[] = [];
  const damaged: Buffer[] = [];
  let from = 0;
  for (let to = bytes.indexOf(0x0a); to !== -1; to = bytes.indexOf(0x0a, from)) {
    const isGood = isSound(bytes.subarray(from, to));
    (isGood ? sound : damaged).push(bytes.subarray(from, to + 1));
    from = to + 1;
  }
  return { sound: damaged.length === 0 ? bytes : Buffer.concat(sound), damaged };
}
