// Does this test file need the test cluster? It does when it imports, by any way round, the file that gives it.

import { fileURLToPath } from 'node:url';
import { importsOf } from '../support/imports-of.ts';

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
    const needs = testsLoadedBy(file).some(needsCluster);
    known.set(file, needs);
    return needs;
  };
}

/** Only those below test/: the product imports no test. */
function testsLoadedBy(file: string): string[] {
  return importsOf(file)
    .map(({ module }) => module)
    .filter((path) => path.startsWith(testFolder));
}
