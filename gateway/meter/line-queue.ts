// Sealed lines that wait to be written, as the bytes they will be on disk, outside of the heap:
// thousands of waiting strings or objects would be copied by every garbage collection.

import { sealedBytesMax, writeSealed } from './sealed-line.ts';

/** Big enough that one holds what a busy process writes in a tenth of a second. */
const chunkBytes = 512 * 1024;

interface Chunk {
  readonly buffer: Buffer;
  /** Lines before this place have been dropped. */
  from: number;
  to: number;
  lines: number;
}

export class LineQueue {
  private chunks: Chunk[] = [];
  /** An emptied chunk, kept for the next one. */
  private spare: Buffer | undefined;

  get lines(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.lines, 0);
  }

  /** @param json An object, not yet sealed. */
  add(json: string): void {
    const bytesMax = sealedBytesMax(json) + 1;
    let chunk = this.chunks.at(-1);
    if (!chunk || chunk.to + bytesMax > chunk.buffer.length) {
      chunk = this.openChunk(bytesMax);
      this.chunks.push(chunk);
    }
    chunk.to = writeSealed(json, chunk.buffer, chunk.to);
    chunk.buffer[chunk.to++] = 0x0a;
    chunk.lines++;
  }

  /** Drops the oldest lines until this many are left. @returns The number of dropped lines. */
  keepLatest(linesMax: number): number {
    const dropped = Math.max(0, this.lines - linesMax);
    for (let left = dropped; left > 0; ) {
      const [oldest] = this.chunks;
      if (!oldest) break;
      if (oldest.lines <= left) {
        left -= oldest.lines;
        this.chunks.shift();
        continue;
      }
      oldest.from = oldest.buffer.indexOf(0x0a, oldest.from) + 1;
      oldest.lines--;
      left--;
    }
    return dropped;
  }

  /** Hands over all lines. `putBack` restores them before newer lines; `done` releases them. */
  take(): { readonly bytes: readonly Buffer[]; readonly lines: number; putBack(): void; done(): void } {
    const taken = this.chunks;
    this.chunks = [];
    return {
      lines: taken.reduce((sum, { lines }) => sum + lines, 0),
      bytes: taken.map(({ buffer, from, to }) => buffer.subarray(from, to)),
      putBack: () => {
        this.chunks = [...taken, ...this.chunks];
      },
      done: () => {
        this.spare = taken.find(({ buffer }) => buffer.length === chunkBytes)?.buffer ?? this.spare;
      },
    };
  }

  private openChunk(bytesMin: number): Chunk {
    const { spare } = this;
    this.spare = undefined;
    const buffer =
      spare && bytesMin <= chunkBytes ? spare : Buffer.allocUnsafeSlow(Math.max(chunkBytes, bytesMin));
    return { buffer, from: 0, to: 0, lines: 0 };
  }
}
