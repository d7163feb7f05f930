// Is a line as it was written? Each line of the journal ends with a checksum of all that is before it: a disk that lies,
// or a crash in the middle of a page, must not become money.

import { crc32 } from 'node:zlib';

const sealPattern = /^,"crc":"([0-9a-f]{8})"\}$/;
const sealBytes = ',"crc":"00000000"}'.length;

/** @param json An object with a member at least; the checksum becomes its last. */
export function sealLine(json: string): string {
  return `${json.slice(0, -1)},"crc":"${crc32(json).toString(16).padStart(8, '0')}"}`;
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
