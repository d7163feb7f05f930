// What do the manifests say now, and what would they say after a change of one file?

import type { Manifests, Remark } from './manifests.ts';
import { holdsAnything, parseManifests } from './parse-manifests.ts';
import { type FolderClock, type FolderReading, openFolder } from './read-folder.ts';

export interface FileChange {
  readonly file: string;
  /** Undefined: it goes. */
  readonly content: string | undefined;
}

export interface ManifestReader {
  /** @throws {Error} one sentence, if the folder does not exist. */
  now(): Promise<Manifests>;
  /** Nothing is written, and what would be new is no object that was seen. @throws as `now` */
  after(change: FileChange): Promise<Manifests>;
}

const emptied = 'is empty now, so its objects are removed; write objects into the file, or delete it';

/**
 * An object is as old as the file in which it was first seen, however often that is written.
 *
 * @param onUnsettled A file was caught while it was saved: what is given has its last content, and is to be asked for again.
 */
export function createManifestReader(
  folder: string,
  clock: FolderClock,
  onUnsettled: () => void = () => {},
): ManifestReader {
  const seen = new Map<string, number>();
  const firstSeen = (id: string, modifiedMs: number): number => {
    const known = seen.get(id);
    if (known !== undefined) return known;
    seen.set(id, modifiedMs);
    return modifiedMs;
  };
  const reader = openFolder(folder, clock);
  const read = async (): Promise<FolderReading['files']> => {
    const { files, isSettled } = await reader.read();
    if (!isSettled) onUnsettled();
    return files;
  };
  /** Files that have had something in them. */
  const filled = new Set<string>();
  const noteEmptied = (files: FolderReading['files']): readonly Remark[] => {
    const [full = [], empty = []] = [true, false].map((isFull) =>
      files.filter((file) => ('reason' in file || holdsAnything(file)) === isFull),
    );
    for (const { name } of full) filled.add(name);
    return empty
      .filter(({ name }) => filled.has(name))
      .map(({ name }) => ({ place: name, id: `${name} emptied`, text: emptied }));
  };
  return {
    async now() {
      const files = await read();
      const manifests = parseManifests(files, firstSeen);
      return { ...manifests, notes: [...manifests.notes, ...noteEmptied(files)] };
    },
    async after({ file, content }) {
      const others = (await read()).filter(({ name }) => name !== file);
      const changed = content === undefined ? [] : [{ name: file, content, modifiedMs: clock.wallMs() }];
      return parseManifests([...others, ...changed], (id, modifiedMs) => seen.get(id) ?? modifiedMs);
    },
  };
}
