// Does this test file need the test cluster? It does when it imports, by any way round, the file that gives it.

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const door = fileURLToPath(new URL('shared.ts', import.meta.url));
const testFolder = fileURLToPath(new URL('../', import.meta.url));

export function makeNeedsCluster(): (file: string) => boolean {
  const known = new Map<string, boolean>();
  return function needsCluster(file: string): boolean {
    if (file === door) return true;
    const answer = known.get(file);
    if (answer !== undefined) return answer;
    // Also what ends a cycle.
    known.set(file, false);
    const needs = importsOf(file).some(needsCluster);
    known.set(file, needs);
    return needs;
  };
}

/** Only those below test/: the product imports no test. */
function importsOf(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  return [...text.matchAll(/\b(?:from|import)\s*\(?\s*['"](\.[^'"]+\.ts)['"]/g)]
    .map(([, specifier = '']) => resolve(dirname(file), specifier))
    .filter((path) => path.startsWith(testFolder));
}
