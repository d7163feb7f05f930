// How many private words has each folder, and may it have so many? Counts only fall: what is above the last one is a fault.

import { posix } from 'node:path';
import { findWords, type Hit, withoutCode } from './private-words.ts';

/** By folder, two levels deep; `commit titles` beside them. */
type Counts = Readonly<Record<string, number>>;
export type Hits = ReadonlyMap<string, readonly (Hit & { readonly path: string })[]>;

export interface Text {
  readonly path: string;
  readonly text: string;
}

const titles = 'commit titles';
const titleLength = 72;

const isProse = /\.(?:css|html|md|mjs|sh|tpl|tsx?|txt|ya?ml)$|(?:^|\/)(?:Dockerfile|run)$/;
/** Recorded bytes, the words themselves, and what generate makes of texts that are counted where they are written. */
const isLeftOut =
  /^test\/fixtures\/|^tools\/words\/|^test\/tools\/words|^(?:crds|charts\/[^/]+\/templates\/crds)\/|^charts\/penstock-crds\/|^docs\/(?:api|errors|metrics|reasons|dialects)\.md$/;

export const isCounted = (path: string): boolean => isProse.test(path) && !isLeftOut.test(path);

export function hitsOf(texts: readonly Text[]): Hits {
  const hits = new Map<string, (Hit & { path: string })[]>();
  for (const { path, text } of texts) {
    const found = findWords(path.endsWith('.md') ? withoutCode(text) : text);
    if (found.length === 0) continue;
    const folder = folderOf(path);
    const others = hits.get(folder) ?? [];
    hits.set(folder, [...others, ...found.map((hit) => ({ ...hit, path }))]);
  }
  return hits;
}

/** A title of a commit is held to the words, and to a length. */
export function hitsOfTitles(lines: readonly string[]): Hits {
  const hits = lines.flatMap((title) => [
    ...findWords(withoutCode(title)).map((hit) => ({ ...hit, path: title })),
    ...(title.length > titleLength
      ? [{ line: 1, path: title, word: `${title.length} characters`, instead: `at most ${titleLength}` }]
      : []),
  ]);
  return new Map(hits.length > 0 ? [[titles, hits]] : []);
}

/** Where there are more than there were: one line for each place. */
export function faultsOf(hits: Hits, allowed: Counts): readonly string[] {
  return [...hits].flatMap(([folder, found]) => {
    const most = allowed[folder] ?? 0;
    if (found.length <= most) return [];
    return [
      `${folder}: ${found.length} private words, ${most} at most:`,
      ...found.map(({ path, line, word, instead }) => `  ${path}:${line} ${word} -> ${instead}`),
    ];
  });
}

/** None is higher than it was, and folders without any are left out. */
export function tightened(hits: Hits, allowed: Counts): Counts {
  const counts = Object.entries(allowed).map(
    ([folder, most]) => [folder, Math.min(most, hits.get(folder)?.length ?? 0)] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function folderOf(path: string): string {
  return posix.dirname(path).split('/').slice(0, 2).join('/');
}
