// Backup and restore of a ledger. A backup is one SQLite file, for both databases.

import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readPage } from './read-page.ts';
import type { StorePlace } from './settings.ts';
import { copyIn, copyOut, describeCopy, isEmpty, linesOf, refusalLinesOf, removeCopy } from './store/copy.ts';
import type { LedgerStore } from './store/store.ts';

const isBackup = /^ledger-\d{8}T\d{6}Z\.sqlite$/;

/**
 * @param keep Backups in the folder, this one too; older ones are removed. Undefined: all.
 * @returns the path of the file.
 */
export async function backUp(
  place: StorePlace,
  folder: string,
  nowMs: number,
  keep: number | undefined,
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const path = join(folder, `ledger-${time}.sqlite`);
  const unfinished = `${path}.unfinished`;
  await removeCopy(unfinished);
  try {
    await copyOut(place, unfinished);
    // The copy holds personal data (who used what), so only its owner may read it.
    await chmod(unfinished, 0o600);
    await rename(unfinished, path);
  } catch (error) {
    await removeCopy(unfinished);
    throw error;
  }
  const all = (await readdir(folder)).filter((name) => isBackup.test(name)).sort();
  if (keep !== undefined) for (const name of all.slice(0, -keep)) await rm(join(folder, name));
  return path;
}

export interface Imported {
  readonly added: number;
  /** Known by their id before. */
  readonly duplicates: number;
  readonly asides: number;
  /** Sums of days before this one are not among what was imported; undefined: nothing is missing. */
  readonly sumsFrom: string | undefined;
}

/**
 * Copies everything into an empty ledger; into another one only the records that it lacks, by their ids. Imported parts of a file are
 * not read again.
 *
 * @returns undefined where all of it was copied.
 */
export async function importFile(
  path: string,
  place: StorePlace,
  open: () => Promise<LedgerStore>,
  nowMs: number,
): Promise<Imported | undefined> {
  const { identity, keptFrom, lastSequence } = describeCopy(path);
  const source = `import-${identity}`;
  const wasEmpty = await isEmpty(place);
  if (wasEmpty) await copyIn(path, place);
  const store = await open();
  try {
    if (wasEmpty) {
      await store.take({ source, cursor: String(lastSequence), entries: [], asides: [] }, nowMs);
      return undefined;
    }
    const { id } = await store.state();
    const after = Number((await store.cursorOf(source)) ?? 0);
    let [added, duplicates, asides] = [0, 0, 0];
    for (const { lines, last } of linesOf(path, after)) {
      const page = readPage(Buffer.from(lines.join('\n')));
      const taken = await store.take({ source, cursor: String(last), ...page }, nowMs);
      added += taken.added;
      duplicates += taken.duplicates;
      asides += taken.asides;
    }
    // They count once, however often they are read.
    const cursor = String((await store.cursorOf(source)) ?? after);
    for (const lines of refusalLinesOf(path))
      await store.take({ source, cursor, ...readPage(Buffer.from(lines.join('\n'))) }, nowMs);
    const isOther = id !== identity && keptFrom !== '';
    return { added, duplicates, asides, sumsFrom: isOther ? keptFrom : undefined };
  } finally {
    await store.close();
  }
}
