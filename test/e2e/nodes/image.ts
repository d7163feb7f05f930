// What do nodes run? The image as it is shipped, packed from this checkout.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildDist } from '../../../tools/pack/bundles.ts';
import { type PackedImage, packImage } from '../../../tools/pack/pack.ts';
import { root as project } from '../../architecture/project.ts';

/** The caller runs `remove` when the nodes have it. */
export async function packPenstock(
  node: string = process.execPath,
): Promise<PackedImage & { remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-image-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const dist = join(folder, 'dist');
    await buildDist(project, dist);
    return { ...(await packImage({ dist, node, folder })), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
