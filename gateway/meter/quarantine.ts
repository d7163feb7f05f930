// Where do lines go whose checksum does not fit? Into a file of their own, so that a person can look at them.

import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sortLines } from './sealed-line.ts';

/** In the files of a journal. */
export interface Place {
  readonly segment: number;
  readonly offset: number;
}

/** More is counted, and not kept. */
const bytesMax = 16 * 1024 * 1024;

export class Quarantine {
  private readonly path: string;
  private readonly onDamage: (lines: number) => void;
  private readonly onFailure: (error: unknown) => void;
  private bytes = 0;
  /** Pages before it have been looked at. */
  private checked: Place = { segment: 0, offset: 0 };
  /** Lines. */
  count = 0;

  constructor(folder: string, onDamage: (lines: number) => void, onFailure: (error: unknown) => void) {
    this.path = join(folder, 'damaged.jsonl');
    this.onDamage = onDamage;
    this.onFailure = onFailure;
  }

  /** The undamaged lines of a page. Damaged lines of a page that is read twice are reported once. */
  async sortOut({ segment, offset }: Place, page: Buffer): Promise<Buffer> {
    const { sound, damaged } = sortLines(page);
    const { checked } = this;
    if (segment > checked.segment || (segment === checked.segment && offset >= checked.offset)) {
      this.checked = { segment, offset: offset + page.length };
      await this.add(damaged);
    }
    return sound;
  }

  async add(lines: readonly Buffer[]): Promise<void> {
    if (lines.length === 0) return;
    this.count += lines.length;
    this.onDamage(lines.length);
    const bytes = Buffer.concat(lines);
    this.bytes += bytes.length;
    if (this.bytes > bytesMax) return;
    try {
      await appendFile(this.path, bytes, { mode: 0o600 });
    } catch (error) {
      this.onFailure(error);
    }
  }
}
