// Where does a line end? Bytes in any pieces give whole lines.

interface LineSplitter {
  /** The lines that this piece completes, without their ends. @throws {RangeError} if one is longer than allowed. */
  push(piece: Buffer): string[];
  /** Bytes of a line that has no end yet: after the last piece, of one that was cut off. */
  restBytes(): number;
}

/** A line longer than `lineBytesMax` is refused as soon as it is, so no more than that is ever kept. */
export function makeLineSplitter(lineBytesMax: number): LineSplitter {
  let rest: Buffer[] = [];
  let restBytes = 0;

  function check(bytes: number): void {
    if (bytes > lineBytesMax) throw new RangeError(`a line is longer than ${lineBytesMax} bytes`);
  }

  return {
    push(piece) {
      const lines: string[] = [];
      let start = 0;
      for (let end = piece.indexOf(10); end !== -1; end = piece.indexOf(10, start)) {
        check(restBytes + end - start);
        const last = piece.subarray(start, end);
        // Decoded only as a whole: a piece may end inside of a character.
        lines.push((rest.length === 0 ? last : Buffer.concat([...rest, last])).toString('utf8'));
        rest = [];
        restBytes = 0;
        start = end + 1;
      }
      if (start < piece.length) {
        const open = piece.subarray(start);
        check(restBytes + open.length);
        rest.push(open);
        restBytes += open.length;
      }
      return lines;
    },
    restBytes: () => restBytes,
  };
}
