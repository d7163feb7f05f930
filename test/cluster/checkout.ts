// Which programs do the pods of this checkout run? The bundles that a build ships, built once for all runs of the same sources: a test
// starts dozens of processes, and from single files each starts with half of the work.

import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { builtFolder } from '../support/cache-folder.ts';
import { keptBuild, sourcesKey } from './kept-build.ts';

const project = fileURLToPath(new URL('../../', import.meta.url));

/** The folder of the bundles, such as `gateway.js`; nothing may be changed there. */
export function builtCheckout(): Promise<string> {
  const run = inject('clusterFolder');
  // Without git nothing says whether sources have changed: a build for this run alone.
  const isKnown = existsSync(join(project, '.git'));
  return keptBuild({
    folder: isKnown ? builtFolder() : join(run, 'built'),
    run,
    key: () => (isKnown ? sourcesKey(project).catch(() => basename(run)) : Promise.resolve(basename(run))),
    async build(folder) {
      // The bundlers are loaded only where they have something to do.
      const { buildDist } = await import('../../tools/pack/bundles.ts');
      await buildDist(project, folder);
    },
  });
}
