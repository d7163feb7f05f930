// What do the manifests say now, and what would they say after a change of one file?

import type { Manifests } from './manifests.ts';
import { parseManifests } from './parse-manifests.ts';
import { readFolder } from './read-folder.ts';

export interface FileChange {
  readonly file: string;
  /** Undefined: it goes. */
  readonly content: string | undefined;
}

export interface ManifestReader {
  /** @throws {Error} one sentence, where there is no such folder. */
  now(): Promise<Manifests>;
  /** Nothing is written, and what would be new is no object that was seen. @throws as `now` */
  after(change: FileChange): Promise<Manifests>;
}

/** An object is as old as the file in which it was first seen, however often that is written. */
export function createManifestReader(folder: string, wallMs: () => number): ManifestReader {
  const seen = new Map<string, number>();
  const firstSeen = (id: string, modifiedMs: number): number => {
    const known = seen.get(id);
    if (known !== undefined) return known;
    seen.set(id, modifiedMs);
    return modifiedMs;
  };
  return {
    now: async () => parseManifests(await readFolder(folder), firstSeen),
    async after({ file, content }) {
      const others = (await readFolder(folder)).filter(({ name }) => name !== file);
      const changed = content === undefined ? [] : [{ name: file, content, modifiedMs: wallMs() }];
      return parseManifests([...others, ...changed], (id, modifiedMs) => seen.get(id) ?? modifiedMs);
    },
  };
}
