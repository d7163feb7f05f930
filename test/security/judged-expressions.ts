// How does the time of an expression grow with its text? As the checker says; what it has said once is kept, since it takes seconds for some.

import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { check } from 'recheck';
import recheck from 'recheck/package.json' with { type: 'json' };
import { z } from 'zod';

/** Minutes on a machine that does much else: this only ends a check that hangs. */
export const checkMs = 10 * 60_000;
/** The checker's own limits are steps, which a busy machine takes as well as an idle one: of time there is no other limit. */
const limits = {
  timeout: checkMs,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  randomSeed: 1,
};
const keptSchema = z.record(z.string(), z.string());

/** Verdicts by expression; of another version of the checker none is kept. */
export class JudgedExpressions {
  private readonly folder: string;
  private readonly file: string;
  private readonly kept: Map<string, string>;

  private constructor(folder: string, file: string, kept: Map<string, string>) {
    this.folder = folder;
    this.file = file;
    this.kept = kept;
  }

  /** @param folder Default: `$XDG_CACHE_HOME/penstock/expressions`, else `~/.cache/penstock/expressions`. */
  static async open(
    folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'penstock', 'expressions'),
  ): Promise<JudgedExpressions> {
    const file = join(folder, `recheck-${recheck.version}.json`);
    const text = await readFile(file, 'utf8').catch(() => '{}');
    return new JudgedExpressions(folder, file, new Map(Object.entries(keptSchema.parse(JSON.parse(text)))));
  }

  /** `safe`, or how the time grows; `unknown` where the checker does not come to an end, which is not kept. */
  async growthOf(source: string, flags: string): Promise<string> {
    const name = createHash('sha256')
      .update(JSON.stringify([source, flags]))
      .digest('hex');
    const known = this.kept.get(name);
    if (known !== undefined) return known;
    const judged = await check(source, flags, limits);
    const growth = judged.status === 'vulnerable' ? judged.complexity.summary : judged.status;
    if (growth !== 'unknown') this.kept.set(name, growth);
    return growth;
  }

  /** Whole or not at all: others may read it at the same time. */
  async keep(): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    const fresh = `${this.file}.${process.pid}`;
    await writeFile(fresh, JSON.stringify(Object.fromEntries(this.kept)));
    await rename(fresh, this.file);
  }
}
