// Which programs do the pods of this checkout run? The bundles that a build ships, built once for a run: a test starts dozens of
// processes, and from single files each starts with half of the work.

import { access, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { buildDist } from '../../tools/pack/bundles.ts';
import { withLock } from '../support/lock.ts';

const project = fileURLToPath(new URL('../../', import.meta.url));

/** The folder of the bundles, such as `gateway.js`. */
export async function builtCheckout(): Promise<string> {
  const dist = join(inject('clusterFolder'), 'dist');
  await withLock(`${dist}.lock`, async () => {
    if (await isThere(dist)) return;
    // Whole or not there.
    await buildDist(project, `${dist}.unfinished`);
    await rename(`${dist}.unfinished`, dist);
  });
  return dist;
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
