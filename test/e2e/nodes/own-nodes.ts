// A cluster for scenarios in which nodes, network and processes fail: this machine's own, with the image on its nodes.

import type { StartOptions } from '../../cluster/nodes/start.ts';
import { type OwnCluster, startNodes } from '../../cluster/nodes/start.ts';
import { packPenstock } from './image.ts';

/** `node`: the binary that goes into the image; default: the one that runs this. @throws where the machine cannot have nodes. */
export async function openOwnNodes({
  node,
  ...options
}: StartOptions & { readonly node?: string } = {}): Promise<OwnCluster> {
  const image = await packPenstock(node);
  try {
    const cluster = await startNodes(options);
    try {
      await cluster.importImage(image.archive);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  } finally {
    await image.remove();
  }
}
